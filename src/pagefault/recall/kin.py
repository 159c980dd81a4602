"""Kin: words with the same beginning, as *decision* and *decide*, *Heizung* and *Heizungsanlage*.

Stemmers conflate the inflections of a word, but not derivations or compounds, and cover few
languages. In nearly all languages, words of one origin begin alike. So in a page without the
query's word, a word with the same first letters counts in part.

Such a match is a guess, so it counts half. It also counts less the more pages have that beginning:
*inter…* is everywhere. The weight is a share of the original word's, by the ratio of their
rarities.

What it gets wrong: words that begin alike by chance (*party*, *particular*), which the rarity of
the beginning makes cheap; and kin that begin differently (*mice*, *mouse*; prefixes).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

import numpy as np

from pagefault.store.api import Candidates
from pagefault.store.rarity import rarity

KIN: Final = 0.5
"""Weight of a kin match relative to an exact one. It was measured once, together with the number of
shared letters (docs/decisions/062); no other combination was.
"""


def with_kin(found: Candidates, kin: Collection[int]) -> Candidates:
    """The candidates with kin counted and their columns, the last ones, dropped. Each kin column
    counts for the term at its position in `kin`, in pages where that term does not occur.
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
