"""The engine of what is in a request: pure, and blind to text."""
