"""The dashboard: a memory in the browser, read-only, live, on this machine only."""
