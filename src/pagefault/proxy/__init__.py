"""Between a client and its provider: whole histories in, whole histories out, memory in between."""
