"""Candidate selection: the pages worth ranking are where a query's words occur close together.

In a conversation the words of an answer are spread over neighbouring pages, so the cut is by
stretches of pages, not by pages. A stretch is worth the information of its terms and those of the
next; a repeated term adds little, as in ranking. All pages of the best stretches that have a term
are candidates, even weak ones, so ranking by their neighbourhood is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pagefault.store.precedence import give_way
from pagefault.store.rarity import rarity

STRETCH_BITS: Final = 2
"""A stretch is 4 places: two adjacent ones cover most of what ranking looks at."""

TERMS_MAX: Final = 16
"""If a query has more, the rarest ones decide which stretches are read."""

_COUNTS: Final = (2 << STRETCH_BITS) + 1  # 0, 1, … pages of two stretches that have a term
_AT_ONCE: Final = 3  # terms whose counts fit into 16 bits together
_GROUP: Final = 64  # stretches
_REGION_BITS: Final = 14  # of places: gaps between regions with a term cost nothing
_SCALE: Final = 1 << 20
_SOON: Final = 1.2  # saturation of a repeated term, as in ranking

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_NONE: Final = np.empty(0, dtype=np.int64)


def likeliest(
    lists: Sequence[Numbers], *, pages: int, limit: int, near: Numbers | None = None
) -> Numbers:
    """The places in the best `limit` stretches and in those beside them, ascending.

    `lists` has the ascending places of each term. Ties go to the latest stretches. With `near`
    (ascending places, some of which are wanted), only their stretches, and those beside them,
    compete.
    """
    telling = sorted((one for one in lists if len(one)), key=len)
    if not telling or limit <= 0:
        return _NONE
    gains = [rarity(pages, len(one)) for one in telling[:TERMS_MAX]]
    if len(telling) > TERMS_MAX:
        telling[TERMS_MAX:] = [distinct(np.concatenate(telling[TERMS_MAX:]))]
        gains.append(0.0)
    if near is not None:
        looked_at = distinct(_each_once(near >> STRETCH_BITS)[:, None] + np.arange(-1, 2))
        held = [one[among(one >> STRETCH_BITS, looked_at)] for one in telling]
        gains = [gain for gain, one in zip(gains, held, strict=True) if len(one)]
        telling = [one for one in held if len(one)]
        if not telling:
            return _NONE
    first, last = min(one[0] for one in telling), max(one[-1] for one in telling)
    if (last >> STRETCH_BITS) - (first >> STRETCH_BITS) < limit:  # there are no more stretches
        return distinct(np.concatenate(telling))
    give_way()
    kept = distinct(_best_stretches(telling, gains, limit)[:, None] + np.arange(-1, 2))
    # Lists shorter than that are looked up all at once, as in `present`.
    short = np.concatenate([_NONE, *(one for one in telling if len(one) <= len(kept))])
    long = [_from(one, kept << STRETCH_BITS) for one in telling if len(one) > len(kept)]
    return distinct(np.concatenate([short[among(short >> STRETCH_BITS, kept)], *long]))


def _best_stretches(lists: Sequence[Numbers], gains: Sequence[float], limit: int) -> Numbers:
    """The `limit` stretches that are worth most; ties go to the last.

    Worth is in integers, so that equals are equal.
    """
    first_of, laid, size, begins = _laid_out(lists)
    worth = np.ones(size, dtype=np.int32)  # offset by one
    has_term = np.zeros(size, dtype=np.bool_)
    stands = np.empty((size, 1 << STRETCH_BITS), dtype=np.bool_)
    in_each = stands.view(np.uint32)[:, 0]
    # A few terms at a time: their joint worth is one look-up, by all their counts.
    for first in range(0, len(lists), _AT_ONCE):
        values, counts = np.zeros(1, dtype=np.int32), np.zeros(size, dtype=np.uint16)
        these = slice(first, first + _AT_ONCE)
        for one, at, gain in zip(lists[these], begins[these], gains[these], strict=True):
            give_way()
            stands.fill(False)
            stands.reshape(-1)[_lay(one, at, first_of, laid)] = True
            own = np.bitwise_count(in_each)
            has_term |= own > 0
            own[:-1] += own[1:]  # a stretch and the next one
            counts *= _COUNTS
            counts += own
            values = np.add.outer(values, _values(gain)).ravel()
        worth += values.take(counts, mode="wrap")  # no bounds check: faster
    give_way()
    worth *= has_term
    found = np.flatnonzero(worth >= _least(worth, limit))
    best = found[_best(worth[found], limit)]
    return best + (first_of - laid)[np.searchsorted(laid, best, side="right") - 1]


def _least(worth: NDArray[np.int32], limit: int) -> int:
    """A threshold that at least `limit` of these reach, if so many are positive; close to the best
    possible one. Found by groups, each of which has one member at its maximum.
    """
    most = worth[: len(worth) // _GROUP * _GROUP].reshape(_GROUP, -1).max(axis=0)
    return max(int(np.partition(most, -limit)[-limit]) if len(most) > limit else 0, 1)


def _laid_out(lists: Sequence[Numbers]) -> tuple[Numbers, Numbers, int, list[Numbers]]:
    """All relevant stretches in a compact layout: the first stretch of each region, its position in
    the layout, and the number of positions; and for each list the indexes of its regions' begins.

    An empty stretch separates two regions, unless they touch, so that neighbours stay neighbours
    and no others become neighbours.
    """
    least, most = min(one[0] for one in lists), max(one[-1] for one in lists)
    if least >> _REGION_BITS == most >> _REGION_BITS:  # as in most sessions
        at = np.array([least >> STRETCH_BITS])
        size = int((most >> STRETCH_BITS) - at[0]) + 1
        return at, np.zeros(1, dtype=np.int64), size, [np.zeros(1, dtype=np.int64)] * len(lists)
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
    return first, laid, int(laid[-1] + last[-1] - first[-1]) + 1, begins


def _lay(places: Numbers, begins: Numbers, first: Numbers, laid: Numbers) -> Numbers:
    """The positions of these places, whose regions begin at these indexes, in the layout."""
    moved: Numbers = (first - laid) << STRETCH_BITS
    if len(first) > 1:
        region = np.searchsorted(first, places[begins] >> STRETCH_BITS, side="right") - 1
        moved = np.repeat(moved[region], np.diff(begins, append=len(places)))
    return places - moved


def _begins(places: Numbers) -> Numbers:
    """The indexes at which a new region begins."""
    return np.flatnonzero(_is_first(places >> _REGION_BITS))


def _values(gain: float) -> NDArray[np.int32]:
    """What a term adds if it is in 0, 1, … pages of two stretches."""
    near = np.arange(_COUNTS)
    values: NDArray[np.int32] = np.rint(_SCALE * gain * near / (near + _SOON)).astype(np.int32)
    return values


def _from(places: Numbers, stretches: Numbers) -> Numbers:
    """The places that are in these stretches, each given by its first place."""
    first = places.searchsorted(stretches)
    counts = places.searchsorted(stretches + (1 << STRETCH_BITS)) - first
    ends = counts.cumsum()
    chosen: Numbers = places[(first - ends + counts).repeat(counts) + np.arange(ends[-1])]
    return chosen


def _best(worth: Numbers | NDArray[np.int32], limit: int) -> Flags:
    """A mask of the `limit` that are worth most; ties go to the last."""
    if len(worth) <= limit:
        return np.ones(len(worth), dtype=np.bool_)
    least = np.partition(worth, -limit)[-limit]
    chosen: Flags = worth > least
    equal = np.flatnonzero(worth == least)
    chosen[equal[len(equal) - (limit - int(chosen.sum())) :]] = True
    return chosen


def distinct(numbers: Numbers) -> Numbers:
    """Sorted, without duplicates. Far quicker than `np.unique`, which hashes."""
    return _each_once(np.sort(numbers, axis=None))


def _each_once(ordered: Numbers) -> Numbers:
    """Ascending numbers without duplicates."""
    return ordered[_is_first(ordered)]


def _is_first(ordered: Numbers) -> Flags:
    """A mask of the ascending numbers that differ from the one before. Allocated once and filled,
    as a search calls it dozens of times and `np.append` would dominate.
    """
    found = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=found[1:])
    return found


def among(places: Numbers, others: Numbers) -> Flags:
    """A mask of the places that are among the (ascending) others."""
    if not len(others):
        return np.zeros(places.shape, dtype=np.bool_)
    at = others.searchsorted(places)
    at[at == len(others)] = 0
    found: Flags = others[at] == places
    return found


_SHORT: Final = 8  # in places


def present(places: Numbers, lists: Sequence[Numbers]) -> Flags:
    """A mask of the (ascending) places, as rows, that are in each of the lists, as columns.

    Short lists are looked up all at once: there are dozens, and a call of NumPy costs more than
    they do.
    """
    found = np.zeros((len(places), len(lists)), dtype=np.bool_)
    short: list[int] = []
    for column, one in enumerate(lists):
        if len(one) <= _SHORT * len(places):
            short.append(column)
        else:
            found[:, column] = among(places, one)
    if len(places) and short:
        sought = np.concatenate([lists[column] for column in short])
        columns = np.repeat(short, [len(lists[column]) for column in short])
        rows = places.searchsorted(sought)
        rows[rows == len(places)] = 0
        stands = places[rows] == sought
        found[rows[stands], columns[stands]] = True
    return found
