"""Inspection of a session: figures, costs, its client's own JSON, its past windows."""
