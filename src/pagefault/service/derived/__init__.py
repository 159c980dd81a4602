"""Derived pages: claims, procedures, shorter forms; and the vectors of pages."""
