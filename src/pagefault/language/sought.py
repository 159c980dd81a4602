"""What a query looks for: terms, and words that are another term in each of several languages."""

from __future__ import annotations

from typing import Final

Sought = str | tuple[str, ...]
"""A term of a query, or several of which any will do: those of one word. `deplo*` is any term that
begins with `deplo`: no term has a `*`.
"""

_ANY_ENDING: Final = "*"


def alternatives(sought: Sought) -> tuple[str, ...]:
    """The terms of which any will do."""
    return (sought,) if isinstance(sought, str) else sought


def beginning_with(letters: str) -> str:
    """What looks for any term that begins so."""
    return letters + _ANY_ENDING


def beginning(term: str) -> str:
    """How the terms begin that this looks for; empty, if it is one term."""
    return term[:-1] if term.endswith(_ANY_ENDING) else ""
