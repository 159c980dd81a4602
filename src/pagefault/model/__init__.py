"""Values, tables and errors. Standard library only; everything else in the package may import this."""
