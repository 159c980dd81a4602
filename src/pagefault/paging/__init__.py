"""The mechanism of paging: table, TLB, working set, faults. Decisions are left to policies."""
