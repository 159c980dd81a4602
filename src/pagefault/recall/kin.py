"""Words that begin alike: *decision* may be told by *decide*, *Heizung* by *Heizungsanlage*.

Stemmers lead the forms of one word together, and know neither what was derived or compounded from
it nor most languages. What words of one origin share in nearly all of them is how they begin. So
for a page without a word of the query one counts in part that has the same first letters.

Such a word is a guess, so it counts half of one; and as the pages that begin so are more, it tells
less: *inter…* stands everywhere. What is asked for is a share of what the word itself tells, by how
rare each is.

What it gets wrong: words that begin alike by chance (*party*, *particular*), which the rarity of
the beginning makes cheap; and kin whose beginnings differ (*mice*, *mouse*; prefixes).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from pagefault.language.sought import Sought, alternatives, beginning_with
from pagefault.store.api import Candidates
from pagefault.store.likely import rarity

LETTERS: Final = 5  # that kin share; what is shorter has none
KIN: Final = 0.5  # of a word, as which one counts that begins like it
KIN_MAX: Final = 16  # words of a query, the first, of which kin are looked for: more are a text


def kin_of(terms: Sequence[Sought], but: Collection[int] = ()) -> dict[int, tuple[str, ...]]:
    """For each of these terms that may have kin, `but` for those at some positions, what looks for
    them: names of code, numbers and pairs of characters have none.
    """
    kin: dict[int, tuple[str, ...]] = {}
    for at, term in enumerate(terms):
        begins = {one[:LETTERS]: None for one in alternatives(term) if _is_word(one)}
        if begins and at not in but and len(kin) < KIN_MAX:
            kin[at] = tuple(map(beginning_with, begins))
    return kin


def _is_word(term: str) -> bool:
    return len(term) >= LETTERS and term.isidentifier() and not any(map(str.isdigit, term))


def with_kin(found: Candidates, kin: Collection[int]) -> Candidates:
    """The same candidates without the last columns, those of the kin of the terms at these
    positions, which count for these terms where they do not stand themselves.
    """
    terms = len(found.frequencies) - len(kin)
    counts = found.counts[:, :terms].astype(np.float64)
    for column, at in enumerate(kin, terms):
        here, all_kin = found.frequencies[at], found.frequencies[column]
        if all_kin > here:
            part = KIN * rarity(found.pages, all_kin) / rarity(found.pages, here)
            counts[:, at] = np.maximum(counts[:, at], part * (found.counts[:, column] > 0))
    stays = counts.any(axis=1)
    return replace(
        found,
        frequencies=found.frequencies[:terms],
        places=found.places[stays],
        counts=counts[stays],
    )
