"""The window engine: what a request shows. Pure, and never sees text."""
