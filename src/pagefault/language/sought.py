"""Search terms: terms, and words whose term differs between languages."""

from __future__ import annotations

from typing import Final

Sought = str | tuple[str, ...]
"""A query term, or alternatives that belong to one word. `deplo*` matches any term with the prefix
`deplo`: no term has a `*`.
"""

_ANY_ENDING: Final = "*"


def alternatives(sought: Sought) -> tuple[str, ...]:
    """The alternatives of a search term."""
    return (sought,) if isinstance(sought, str) else sought


def beginning_with(letters: str) -> str:
    """The search term for a prefix."""
    return letters + _ANY_ENDING


def beginning(term: str) -> str:
    """The prefix of a search term; empty if it is a whole term."""
    return term[:-1] if term.endswith(_ANY_ENDING) else ""
