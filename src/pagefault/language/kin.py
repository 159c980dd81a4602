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
    has the pairs that begin with it, since a text with it has nothing else; so has a doubled one:
    *妈妈* is often just *妈*.
    """
    kin: dict[int, tuple[str, ...]] = {}
    for at, term in enumerate(terms):
        begins = {letters: None for one in alternatives(term) if (letters := _beginning(one))}
        if begins and len(kin) < KIN_MAX:
            kin[at] = tuple(map(beginning_with, begins))
    return kin


def _beginning(term: str) -> str:
    """The letters that kin of a term share with it; empty if it has none."""
    if is_ideograph(term[:1]) and term in (term[0], 2 * term[0]):
        return term[0]
    is_word = len(term) >= LETTERS and term.isidentifier() and not any(map(str.isdigit, term))
    return term[:LETTERS] if is_word else ""
