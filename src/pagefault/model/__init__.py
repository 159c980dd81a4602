"""Values, tables and errors. Needs only the standard library; everything else may import it."""
