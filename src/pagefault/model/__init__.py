"""Values, tables and errors. Standard library only; all else may import this."""
