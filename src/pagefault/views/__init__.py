"""What people look at, drawn from the verbs of a memory that is only read."""
