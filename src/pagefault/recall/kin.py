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

from collections.abc import Collection
from dataclasses import replace
from typing import Final

import numpy as np

from pagefault.store.api import Candidates
from pagefault.store.likely import rarity

KIN: Final = 0.5
"""What a word counts that only begins like the term, of one that is it. That, and how many letters
kin share, was measured together once (docs/decisions/062); no other pair of them was.
"""


def with_kin(found: Candidates, kin: Collection[int]) -> Candidates:
    """The same candidates, with kin counted and their columns, the last ones, left out: each counts
    for the term at its position in `kin`, in pages where that term does not stand itself.
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
