"""The mechanism of paging: table, TLB, working set, faults. It asks questions and holds no opinions."""
