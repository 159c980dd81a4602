"""What stands in the full-text index for a page: its terms, each as often as it counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

COUNT_MAX: Final = 3
"""A term that stands more often in a page counts as standing so often."""


def token(term: str, count: int) -> str:
    """What a page has that has this term so often. No term has a `#`."""
    return term if count == 1 else f"{term}#{count}"


_MARKS: Final = tuple(token("", count) for count in range(2, COUNT_MAX + 1))


def tokens(counts: Mapping[str, int]) -> str:
    """All that a page has. The order is the text's: sort it where it could be read back."""
    words = [*counts]
    again = [(term, count) for term, count in counts.items() if count > 1]  # seldom
    for least, mark in enumerate(_MARKS, 2):
        words += [term + mark for term, count in again if count >= least]
    return " ".join(words)
