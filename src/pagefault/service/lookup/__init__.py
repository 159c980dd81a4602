"""How pages are asked for."""
