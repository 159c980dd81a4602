"""The weight of a term by its rarity, without NumPy: what opens a memory needs only this."""

from __future__ import annotations

import math


def rarity(pages: int, frequency: int) -> float:
    """The weight of a term that occurs in `frequency` of `pages`, both from the same population.

    The weight of Robertson and Spärck Jones, log((N - n + 0.5) / (n + 0.5)), is negative for a term
    in more than half of all pages, so containing it would lower a page's rank. With one added
    inside the logarithm, as in Lucene's BM25, it falls with n and stays positive up to n = N: a
    word that occurs everywhere carries almost no information, but still matches.
    """
    assert 0 <= frequency <= pages
    return math.log(1 + (pages - frequency + 0.5) / (frequency + 0.5))
