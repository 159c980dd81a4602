"""Claims: decisions, preferences and facts that are held true, with their evidence."""
