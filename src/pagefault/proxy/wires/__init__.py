"""The wire formats of providers: how requests and answers are read, and changed."""
