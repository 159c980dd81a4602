"""How pages shrink: a ladder of levels, each no longer than the one above, and what does it."""
