"""Use-cases: memory, session, turn, drive. `bootstrap.py` alone wires the real parts together."""
