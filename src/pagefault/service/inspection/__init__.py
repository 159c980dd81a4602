"""Looking at a session: figures, costs, its client's own JSON, its window in the past."""
