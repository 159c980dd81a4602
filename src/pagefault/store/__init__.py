"""Where bytes live: the contracts (`api.py`), with an in-memory and an embedded implementation."""
