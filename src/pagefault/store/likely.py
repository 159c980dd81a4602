"""Which pages are worth ranking: those that stand where a query's words are told close together.

In a conversation the words of an answer are spread over neighbouring pages, so what is cut is not
pages but stretches of them. A stretch is worth what its terms and those of the next tell, a
repeated one little more than one, as in ranking. All pages of the best stretches that have a term
are candidates, the weak ones too, so their ranking by what stands around them is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

STRETCH_BITS: Final = 2
"""A stretch is 4 places: two neighbouring ones hold most of what ranking looks at."""

TERMS_MAX: Final = 16
"""Of more, the rarest so many decide which stretches are read."""

_NEAR_MAX: Final = 2 << STRETCH_BITS  # pages of two stretches
_SCALE: Final = 1 << 20  # what is worth 1
_SOON: Final = 1.2  # how soon repeating a term stops to count, as in ranking

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


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
        return _NO_NUMBERS
    gains = [rarity(pages, len(one)) for one in telling[:TERMS_MAX]]
    gains += [0.0] * (len(telling) - len(gains))
    most = [int(_worth(gain, np.array([_NEAR_MAX]))[0]) for gain in gains]
    left = [sum(most[len(most) - n :]) for n in range(len(most) + 1)]  # in the last lists, at most
    found, least = _NOTHING, 0
    rest = list(zip(telling, gains, strict=True))
    while rest and left[len(rest)] >= least:
        # From the rarest on, each time about as much as so far: it stays a few ascending runs.
        parts = [found]
        while rest and sum(len(part.stretches) for part in parts) <= 2 * len(found.stretches):
            parts.append(_added(*rest.pop(0)))
        found = _together(parts)
        least = found.least(limit)
    # Where none of those lists adds anything, the rest cannot add enough.
    while rest:
        found = found.only(found.worth + left[len(rest)] >= least)
        found = found.with_list(*rest.pop(0))
        least = found.least(limit)
    found = found.only(found.has_term)
    best = found.stretches[_best(found.worth, limit)]
    kept = distinct(best[:, None] + np.arange(-1, 2)) << STRETCH_BITS
    return distinct(np.concatenate([_from(one, kept) for one in telling]))


class _Found(NamedTuple):
    """Stretches; what each is worth with the one after it; whether it has a term itself."""

    stretches: Numbers
    worth: Numbers
    has_term: Flags

    def only(self, these: Flags) -> _Found:
        return _Found(self.stretches[these], self.worth[these], self.has_term[these])

    def least(self, limit: int) -> int:
        """What the best `limit` stretches are certainly worth, whatever else is added."""
        worth = self.worth[self.has_term]
        return int(np.partition(worth, -limit)[-limit]) if len(worth) >= limit else 0

    def with_list(self, places: Numbers, gain: float) -> _Found:
        """What a list adds to these stretches, and to no other."""
        begins, ends, ends_next = (
            np.searchsorted(places, self.stretches + n << STRETCH_BITS) for n in range(3)
        )
        worth = self.worth + _worth(gain, ends_next - begins)
        return _Found(self.stretches, worth, self.has_term | (ends > begins))


_NO_NUMBERS: Final = np.empty(0, dtype=np.int64)
_NOTHING: Final = _Found(_NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS > 0)


def _added(places: Numbers, gain: float) -> _Found:
    """What a list adds to the stretches where it stands, and then to those just before them."""
    at = places >> STRETCH_BITS
    begins = np.flatnonzero(np.append(True, at[1:] != at[:-1]))
    counts = np.diff(begins, append=len(at))
    at = at[begins]
    is_next = at[1:] == at[:-1] + 1
    near = counts.copy()
    near[:-1] += counts[1:] * is_next
    alone = np.append(True, ~is_next)  # the list does not stand just before
    values = _worth(gain, np.arange(_NEAR_MAX + 1))
    return _Found(
        np.concatenate([at, at[alone] - 1]),
        np.concatenate([values[near], values[counts[alone]]]),
        np.arange(len(at) + int(alone.sum())) < len(at),
    )


def _together(parts: Sequence[_Found]) -> _Found:
    """The sum of these, each stretch once, ascending."""
    stretches, worth, has_term = map(np.concatenate, zip(*parts, strict=True))
    order = np.argsort(stretches, kind="stable")  # quick where they are a few ascending runs
    stretches = stretches[order]
    ends = np.flatnonzero(np.append(stretches[1:] != stretches[:-1], True))
    return _Found(
        stretches[ends],
        np.diff(np.cumsum(worth[order])[ends], prepend=0),
        np.diff(np.cumsum(has_term[order])[ends], prepend=0) > 0,
    )


def _worth(gain: float, near: Numbers) -> Numbers:
    """What a term adds that stands in so many of two stretches' pages: whole numbers, so that sums
    are exact, and the same in any order.
    """
    worth: Numbers = np.rint(_SCALE * gain * near / (near + _SOON)).astype(np.int64)
    return worth


def _from(places: Numbers, stretches: Numbers) -> Numbers:
    """Those of the places that stand in these stretches, told by their first places."""
    first = np.searchsorted(places, stretches)
    counts = np.searchsorted(places, stretches | (1 << STRETCH_BITS) - 1, side="right") - first
    ends = np.cumsum(counts)
    return places[np.repeat(first - ends + counts, counts) + np.arange(counts.sum())]


def _best(worth: Numbers, limit: int) -> Flags:
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
    ordered = np.sort(numbers, axis=None)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def among(places: Numbers, others: Numbers) -> Flags:
    """For each place whether it is one of the others; both ascend."""
    if not len(others):
        return np.zeros(len(places), dtype=np.bool_)
    at = np.searchsorted(others, places)
    at[at == len(others)] = 0
    found: Flags = others[at] == places
    return found
