"""Read-only views of a memory, for people: built from a memory's verbs."""
