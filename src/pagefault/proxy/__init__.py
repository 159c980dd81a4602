"""A proxy between clients and their providers, which pages the histories that clients resend."""
