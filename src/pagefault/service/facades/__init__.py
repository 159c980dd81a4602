"""The verbs of a session by what they are for: writing to it, reading of it, looking into it."""
