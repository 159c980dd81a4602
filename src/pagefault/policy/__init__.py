"""Policies: pure functions that decide, one idea per file."""
