"""Where bytes live: three contracts (`api.py`), an in-memory and an embedded form of each."""
