"""The verbs of a session, by purpose: writing, reading, inspecting."""
