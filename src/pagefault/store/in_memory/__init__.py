"""The in-memory engine: as short as possible, and the specification in code."""
