"""The verbs of a memory, by purpose: control modes, erasing, imports, upkeep."""
