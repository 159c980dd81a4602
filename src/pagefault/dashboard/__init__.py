"""A page in the browser that shows a memory as it is used: read-only, on this machine, live."""
