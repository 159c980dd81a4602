"""Readers of other programs' conversations: bytes in, neutral values out."""
