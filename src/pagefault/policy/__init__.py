"""Opinions, all pure: one idea per file."""
