"""A session's window: the fold of its records, and the plans of requests and epochs."""
