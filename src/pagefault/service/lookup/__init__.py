"""Look-up and search of pages."""
