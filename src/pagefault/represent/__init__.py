"""Shorter forms of pages: a ladder of levels, and the compressors that produce them."""
