"""Memory for programs with a client library or a framework, in the terms of each."""
