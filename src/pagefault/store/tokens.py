"""What stands in the full-text index for a page: its terms, each as often as it counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

COUNT_MAX: Final = 3
"""A term that stands more often in a page counts as standing so often."""


def token(term: str, count: int) -> str:
    """What a page has that has this term so often. No term has a `#`."""
    return term if count == 1 else f"{term}#{count}"


def tokens(counts: Mapping[str, int]) -> str:
    """All that a page has, sorted, so that no sentence can be read back from where it waits."""
    words = list(counts)
    for term, count in counts.items():
        if count > 1:
            words += [token(term, n) for n in range(2, min(count, COUNT_MAX) + 1)]
    words.sort()
    return " ".join(words)
