"""The two sides of the proxy in HTTP: who is let in, bodies, and the way to providers."""
