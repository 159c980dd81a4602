"""The mechanism of paging: table, TLB, working set, faults. It asks, and holds no opinions."""
