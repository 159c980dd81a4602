"""Which pages are worth ranking: those that stand where many of a query's words are told together.

In a conversation the words of an answer are spread over neighbouring pages, so what is cut is not
pages but stretches of them: a stretch is worth the rarity of the terms that stand in it or in the
next. All pages of the best stretches that have a term are candidates, the weak ones too, so their
ranking by what stands around them is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

STRETCH_BITS: Final = 3
"""A stretch is 8 places: two neighbouring ones hold every window that ranking looks at."""

TERMS_MAX: Final = 62
"""Of more, the rarest so many decide which stretches are read: a bit in a number for each."""

_CHUNK_BITS: Final = 12

Numbers = NDArray[np.int64]


def rarity(pages: int, frequency: int) -> float:
    """How much a term tells that stands in `frequency` of `pages` (Robertson and Spärck Jones)."""
    return math.log(1 + (pages - frequency + 0.5) / (frequency + 0.5))


def likeliest(lists: Sequence[Numbers], *, pages: int, limit: int) -> Numbers:
    """The places in the best `limit` stretches and those that follow them, ascending.

    `lists` has for each term the places where it stands, ascending. Of stretches that are worth
    the same, the latest come first.
    """
    by_rarity = sorted((one for one in lists if len(one)), key=len)[:TERMS_MAX]
    if not by_rarity or limit <= 0:
        return np.empty(0, dtype=np.int64)
    places = np.concatenate(by_rarity)
    bits = np.repeat(np.int64(1) << np.arange(len(by_rarity)), [len(one) for one in by_rarity])
    order = np.argsort(places, kind="stable")  # runs that ascend already: little is left to do
    places, bits = places[order], bits[order]
    stretch = places >> STRETCH_BITS
    begins = np.flatnonzero(np.append(True, stretch[1:] != stretch[:-1]))
    stretches, terms = stretch[begins], np.bitwise_or.reduceat(bits, begins)
    is_next = np.append(stretches[1:] == stretches[:-1] + 1, False)
    if len(stretches) > limit:
        within: Numbers = terms | np.where(is_next, np.append(terms[1:], 0), 0)
        chosen = _best(_worth(within, [rarity(pages, len(one)) for one in by_rarity]), limit)
        chosen[1:] |= chosen[:-1] & is_next[:-1]
        places = places[np.repeat(chosen, np.diff(begins, append=len(places)))]
    return distinct(places)


def _worth(terms: Numbers, gains: Sequence[float]) -> NDArray[np.float64]:
    """The sum of the gains whose bits are set."""
    worth = np.zeros(len(terms))
    for first in range(0, len(gains), _CHUNK_BITS):
        table = np.zeros(1)  # of every combination of so many bits
        for gain in gains[first : first + _CHUNK_BITS]:
            table = np.append(table, table + gain)
        worth += table[terms >> first & (len(table) - 1)]
    return worth


def _best(worth: NDArray[np.float64], limit: int) -> NDArray[np.bool_]:
    """The `limit` that are worth most; of equals the last."""
    least = np.partition(worth, -limit)[-limit]
    chosen: NDArray[np.bool_] = worth > least
    equal = np.flatnonzero(worth == least)
    chosen[equal[len(equal) - (limit - int(chosen.sum())) :]] = True
    return chosen


def distinct(numbers: Numbers) -> Numbers:
    """Ascending, each once. Far quicker than `np.unique`, which hashes."""
    ordered = np.sort(numbers, axis=None)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def among(places: Numbers, others: Numbers) -> NDArray[np.bool_]:
    """For each place whether it is one of the others; both ascend."""
    if not len(others):
        return np.zeros(len(places), dtype=np.bool_)
    at = np.searchsorted(others, places)
    at[at == len(others)] = 0
    found: NDArray[np.bool_] = others[at] == places
    return found
