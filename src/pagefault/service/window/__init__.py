"""What a session's window holds: the fold of its records, the plans of requests and epochs."""
