"""Memory inside programs that have a client or a framework already: each in its own words."""
