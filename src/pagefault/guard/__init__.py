"""The guards between the world and the log, and between the log and the model."""
