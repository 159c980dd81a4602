"""Kin: words with a common beginning. `recall/kin.py` has their weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pagefault.language.known import is_ideograph
from pagefault.language.sought import Sought, alternatives, beginning_with

LETTERS: Final = 5  # that kin share; shorter words have none
KIN_MAX: Final = 16  # leading words of a query whose kin are searched: more are a text


def kin_of(terms: Sequence[Sought]) -> dict[int, tuple[str, ...]]:
    """For each of these terms that may have kin, by position, the prefix searches for them.
    Numbers, words with digits and pairs of characters have none. A word of one ideograph, as *药*,
    has the pairs that begin with it, since a text with it has nothing else.
    """
    kin: dict[int, tuple[str, ...]] = {}
    for at, term in enumerate(terms):
        begins = {one[:LETTERS]: None for one in alternatives(term) if _has_kin(one)}
        if begins and len(kin) < KIN_MAX:
            kin[at] = tuple(map(beginning_with, begins))
    return kin


def _has_kin(term: str) -> bool:
    return is_ideograph(term) or _is_word(term)


def _is_word(term: str) -> bool:
    return len(term) >= LETTERS and term.isidentifier() and not any(map(str.isdigit, term))
