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

_COUNTS: Final = (2 << STRETCH_BITS) + 1  # of pages of two stretches that have a term: 0, 1, …
_AT_ONCE: Final = 3  # terms whose counts fit 16 bits together
_GROUP: Final = 64  # stretches
_REGION_BITS: Final = 14  # of places: what lies between regions that have a term costs nothing
_SCALE: Final = 1 << 20
_SOON: Final = 1.2  # how soon repeating a term stops to count, as in ranking

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_NONE: Final = np.empty(0, dtype=np.int64)


def rarity(pages: int, frequency: int) -> float:
    """How much a term tells that stands in `frequency` of `pages`, both counted of the same pages.

    The weight of Robertson and Spärck Jones, log((N - n + 0.5) / (n + 0.5)), is negative for a term
    in more than half of all pages, and a page would rank the lower for holding it. With one added
    inside the logarithm, as in Lucene's BM25, it falls with n and stays above zero up to n = N: a
    word that stands everywhere tells next to nothing, and still finds where it stands.
    """
    assert 0 <= frequency <= pages
    return math.log(1 + (pages - frequency + 0.5) / (frequency + 0.5))


def likeliest(
    lists: Sequence[Numbers], *, pages: int, limit: int, near: Numbers | None = None
) -> Numbers:
    """The places in the best `limit` stretches and in those beside them, ascending.

    `lists` has for each term the places where it stands, ascending. Of stretches that are worth
    the same, the latest come first. With `near`, places (ascending) of which some are looked for,
    no stretch counts that is neither one of theirs nor beside one.
    """
    telling = sorted((one for one in lists if len(one)), key=len)
    if not telling or limit <= 0:
        return _NONE
    gains = [rarity(pages, len(one)) for one in telling[:TERMS_MAX]]
    gains += [0.0] * (len(telling) - len(gains))
    if near is not None:
        looked_at = distinct(_each_once(near >> STRETCH_BITS)[:, None] + np.arange(-1, 2))
        held = [one[among(one >> STRETCH_BITS, looked_at)] for one in telling]
        gains = [gain for gain, one in zip(gains, held, strict=True) if len(one)]
        telling = [one for one in held if len(one)]
        if not telling:
            return _NONE
    kept = distinct(_best_stretches(telling, gains, limit)[:, None] + np.arange(-1, 2))
    return distinct(np.concatenate([_from(one, kept << STRETCH_BITS) for one in telling]))


def _best_stretches(lists: Sequence[Numbers], gains: Sequence[float], limit: int) -> Numbers:
    """The `limit` stretches that are worth most; of equals the last.

    Worth is counted in whole numbers, so that equals are equal.
    """
    first_of, laid, size = _laid_out(lists)
    worth = np.ones(size, dtype=np.int32)  # one more than it is
    has_term = np.zeros(size, dtype=np.bool_)
    stands = np.empty((size, 1 << STRETCH_BITS), dtype=np.bool_)
    in_each = stands.view(np.uint32)[:, 0]
    # Some terms at a time: what they are worth together is looked up once, by all their counts.
    for first in range(0, len(lists), _AT_ONCE):
        values, counts = np.zeros(1, dtype=np.int32), np.zeros(size, dtype=np.uint16)
        for one, gain in zip(lists[first:][:_AT_ONCE], gains[first:], strict=False):
            stands.fill(False)
            stands.reshape(-1)[_lay(one, first_of, laid)] = True
            own = np.bitwise_count(in_each)
            has_term |= own > 0
            own[:-1] += own[1:]  # a stretch and the next one
            counts *= _COUNTS
            counts += own
            values = np.add.outer(values, _values(gain)).ravel()
        worth += values.take(counts, mode="wrap")  # which looks for none beyond the end: quicker
    worth *= has_term
    found = np.flatnonzero(worth >= _least(worth, limit))
    best = found[_best(worth[found], limit)]
    return best + (first_of - laid)[np.searchsorted(laid, best, side="right") - 1]


def _least(worth: NDArray[np.int32], limit: int) -> int:
    """What at least `limit` of these are worth, if so many are worth anything; not much less than
    the best that this could be. Found by groups, each of which has one that is worth its most.
    """
    most = worth[: len(worth) // _GROUP * _GROUP].reshape(_GROUP, -1).max(axis=0)
    return max(int(np.partition(most, -limit)[-limit]) if len(most) > limit else 0, 1)


def _laid_out(lists: Sequence[Numbers]) -> tuple[Numbers, Numbers, int]:
    """All stretches that matter, side by side: the first of each region, where that one is laid,
    and how many there are.

    From one region to the next an empty stretch is left, but where they touch, so that neighbours
    stay neighbours and nothing else becomes one.
    """
    begins = [_begins(one) for one in lists]
    first = np.concatenate([one[at] for one, at in zip(lists, begins, strict=True)])
    last = np.concatenate(
        [one[np.append(at[1:], len(one)) - 1] for one, at in zip(lists, begins, strict=True)]
    )
    order = np.argsort(first, kind="stable")
    groups = _begins(first[order])
    first = first[order][groups] >> STRETCH_BITS
    last = np.maximum.reduceat(last[order], groups) >> STRETCH_BITS
    steps = last[:-1] - first[:-1] + np.minimum(first[1:] - last[:-1], 2)
    laid = np.cumsum(np.append(0, steps))
    return first, laid, int(laid[-1] + last[-1] - first[-1]) + 1


def _lay(places: Numbers, first: Numbers, laid: Numbers) -> Numbers:
    """Where these places are, once the stretches are laid."""
    begins = _begins(places)
    region = np.searchsorted(first, places[begins] >> STRETCH_BITS, side="right") - 1
    moved = (first - laid)[region] << STRETCH_BITS
    return places - np.repeat(moved, np.diff(begins, append=len(places)))


def _begins(places: Numbers) -> Numbers:
    """Where another region begins among these places."""
    return np.flatnonzero(_is_first(places >> _REGION_BITS))


def _values(gain: float) -> NDArray[np.int32]:
    """What a term adds that stands in so many (0, 1, …) of two stretches' pages."""
    near = np.arange(_COUNTS)
    values: NDArray[np.int32] = np.rint(_SCALE * gain * near / (near + _SOON)).astype(np.int32)
    return values


def _from(places: Numbers, stretches: Numbers) -> Numbers:
    """Those of the places that stand in these stretches, told by their first places."""
    first = np.searchsorted(places, stretches)
    counts = np.searchsorted(places, stretches | (1 << STRETCH_BITS) - 1, side="right") - first
    ends = np.cumsum(counts)
    chosen: Numbers = places[np.repeat(first - ends + counts, counts) + np.arange(counts.sum())]
    return chosen


def _best(worth: Numbers | NDArray[np.int32], limit: int) -> Flags:
    """The `limit` that are worth most; of equals the last."""
    if len(worth) <= limit:
        return np.ones(len(worth), dtype=np.bool_)
    least = np.partition(worth, -limit)[-limit]
    chosen: Flags = worth > least
    equal = np.flatnonzero(worth == least)
    chosen[equal[len(equal) - (limit - int(chosen.sum())) :]] = True
    return chosen


def distinct(numbers: Numbers) -> Numbers:
    """Ascending, each once. Far quicker than `np.unique`, which hashes."""
    return _each_once(np.sort(numbers, axis=None))


def _each_once(ordered: Numbers) -> Numbers:
    """Numbers that ascend, less their repetitions."""
    return ordered[_is_first(ordered)]


def _is_first(ordered: Numbers) -> Flags:
    """Of numbers that ascend, those that are other than the one before. Made in place, as this is
    asked dozens of times a search: `np.append` takes longer than all else.
    """
    found = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=found[1:])
    return found


def among(places: Numbers, others: Numbers) -> Flags:
    """For each place whether it is one of the others, which ascend."""
    if not len(others):
        return np.zeros(places.shape, dtype=np.bool_)
    at = others.searchsorted(places)
    at[at == len(others)] = 0
    found: Flags = others[at] == places
    return found
