"""Conversations that other programs wrote, read as neutral values: bytes in, values out."""
