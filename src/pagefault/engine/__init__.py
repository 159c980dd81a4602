"""The models we call."""
