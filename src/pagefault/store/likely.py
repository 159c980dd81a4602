"""Which pages are worth ranking: those that stand where a query's words are told close together.

In a conversation the words of an answer are spread over neighbouring pages, so what is cut is not
pages but stretches of them. A stretch is worth what its terms and those of the next tell, a
repeated one little more than one, as in ranking. All pages of the best stretches that have a term
are candidates, the weak ones too, so their ranking by what stands around them is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

STRETCH_BITS: Final = 2
"""A stretch is 4 places: two neighbouring ones hold most of what ranking looks at."""

TERMS_MAX: Final = 16
"""Of more, the rarest so many decide which stretches are read."""

_SOON: Final = 1.2  # how soon repeating a term stops to count, as in ranking

Numbers = NDArray[np.int64]


def rarity(pages: int, frequency: int) -> float:
    """How much a term tells that stands in `frequency` of `pages` (Robertson and Spärck Jones)."""
    return math.log(1 + (pages - frequency + 0.5) / (frequency + 0.5))


def likeliest(lists: Sequence[Numbers], *, pages: int, limit: int) -> Numbers:
    """The places in the best `limit` stretches and in those beside them, ascending.

    `lists` has for each term the places where it stands, ascending. Of stretches that are worth
    the same, the latest come first.
    """
    telling = sorted((one for one in lists if len(one)), key=len)
    if not telling or limit <= 0:
        return np.empty(0, dtype=np.int64)
    stretches = distinct(np.concatenate(telling) >> STRETCH_BITS)
    if len(stretches) <= limit:
        return distinct(np.concatenate(telling))
    counts = np.zeros((len(stretches), min(len(telling), TERMS_MAX)), dtype=np.float32)
    for column, one in enumerate(telling[:TERMS_MAX]):
        at = np.searchsorted(stretches, one >> STRETCH_BITS)
        counts[:, column] = np.bincount(at, minlength=len(stretches))
    is_next = stretches[1:] == stretches[:-1] + 1
    near = counts.copy()
    near[:-1] += counts[1:] * is_next[:, None]
    gains = [rarity(pages, len(one)) for one in telling[:TERMS_MAX]]
    worth = (near / (near + _SOON)) @ np.array(gains, dtype=np.float32)
    chosen = _best(worth, limit)
    beside = np.append(False, chosen[:-1] & is_next) | np.append(chosen[1:] & is_next, False)
    kept = stretches[chosen | beside]
    return distinct(np.concatenate([one[among(one >> STRETCH_BITS, kept)] for one in telling]))


def _best(worth: NDArray[np.float32], limit: int) -> NDArray[np.bool_]:
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
