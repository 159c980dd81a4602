"""The verbs of a memory by what they are for: its control modes, erasing, imports, upkeep."""
