"""The engine in memory: as short as it can be put, and the specification in code."""
