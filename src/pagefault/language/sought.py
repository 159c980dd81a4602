"""What a query looks for: terms, and words that are another term in each of several languages."""

from __future__ import annotations

Sought = str | tuple[str, ...]
"""A term of a query, or several of which any will do: those of one word."""


def alternatives(sought: Sought) -> tuple[str, ...]:
    """The terms of which any will do."""
    return (sought,) if isinstance(sought, str) else sought
