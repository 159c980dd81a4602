"""What is sent of a request: the client's own messages, those that are left out, and quotes."""
