"""Which of the pages that share a word with a query are worth ranking: a quick first cut.

A page is worth the sum of what its terms tell: rare ones more, a repeated one little more than one.
Length is not looked at, since reading it for each page would cost more than it tells.

The cut is exact, and yet reads few of the places where common terms stand (MaxScore: Turtle and
Flood, "Query evaluation: strategies and optimizations", 1995): lists are read from the rarest on,
until the rest together could not lift a page that is in none of them into the first `limit`; of the
rest only the pages that were met are looked up.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pagefault.store.tokens import COUNT_MAX

_UNIT: Final = 1 << 20  # worths are whole numbers, so that their sum does not depend on the order

Numbers = NDArray[np.int64]


class Postings(Protocol):
    """Where each term of a query stands at least once, twice … `COUNT_MAX` times.

    Terms are told by their position in the query. Places are numbers, larger for later pages;
    they come in ascending order, each once.
    """

    def size(self, term: int, count: int) -> int:
        """In how many places."""
        ...

    def places(self, term: int, count: int) -> Numbers:
        """All of them."""
        ...

    def beside(self, term: int, count: int, others: Collection[tuple[int, int]]) -> Numbers:
        """At least those that stand in one of the `others`, too, each a term and a count."""
        ...


class Likely(NamedTuple):
    """A place worth ranking, and how often each term stands there, up to `COUNT_MAX`."""

    place: int
    counts: tuple[int, ...]


def rarity(pages: int, frequency: int) -> float:
    """How much a term tells that stands in `frequency` of `pages` (Robertson and Spärck Jones)."""
    return math.log(1 + (pages - frequency + 0.5) / (frequency + 0.5))


def likeliest(
    postings: Postings, frequencies: Sequence[int], *, pages: int, limit: int
) -> list[Likely]:
    """At most `limit` places, likeliest first; of equals the latest first.

    `frequencies` says in how many of `pages` each term stands.
    """
    lists = sorted(_lists(postings, frequencies, pages), key=lambda one: (one.size, -one.gain))
    if limit <= 0 or not lists:
        return []
    met = _Met(limit)
    rest = sum(one.gain for one in lists)  # the most that the lists still to come can add
    for position, one in enumerate(lists):
        if rest < met.gain and rest < met.least():
            read = [(one.term, one.times) for one in lists[:position]]
            for other in sorted(lists[position:], key=lambda one: -one.gain):
                met.drop_below(met.least() - rest)
                met.raise_by(other, postings.beside(other.term, other.times, read))
                rest -= other.gain
            break
        met.add(one, postings.places(one.term, one.times))
        rest -= one.gain
    best = met.best()
    counts = np.zeros((len(best), len(frequencies)), dtype=np.int64)
    for one, places in met.lists:
        counts[:, one.term] += _among(best, places)
    return [
        Likely(place, tuple(row)) for place, row in zip(best.tolist(), counts.tolist(), strict=True)
    ]


class _List(NamedTuple):
    term: int
    times: int
    size: int
    gain: int  # what standing in it adds to a page's worth


def _lists(postings: Postings, frequencies: Sequence[int], pages: int) -> list[_List]:
    lists = []
    for term, frequency in enumerate(frequencies):
        size, times = frequency, 1
        while size:
            share = times / (times + 1) - (times - 1) / times
            gain = round(_UNIT * rarity(pages, frequency) * share)
            lists.append(_List(term, times, size, gain))
            times += 1
            size = postings.size(term, times) if times <= COUNT_MAX else 0
    return lists


class _Met:
    """The places met so far, ascending, and what each is worth by the lists read so far."""

    def __init__(self, limit: int) -> None:
        self.lists: list[tuple[_List, Numbers]] = []
        self.gain = 0  # the most that a place can be worth by now
        self._limit = limit
        self._places = np.empty(0, dtype=np.int64)
        self._worth = np.empty(0, dtype=np.int64)

    def add(self, one: _List, places: Numbers) -> None:
        """Meet every place of a list."""
        self.lists.append((one, places))
        self.gain += one.gain
        at = np.searchsorted(self._places, places)
        known = _among(places, self._places)
        self._worth[at[known]] += one.gain
        new = ~known
        self._places = np.insert(self._places, at[new], places[new])
        self._worth = np.insert(self._worth, at[new], one.gain)

    def raise_by(self, one: _List, places: Numbers) -> None:
        """Count a list for those of its places that were met, and meet no other."""
        self.lists.append((one, places))
        self._worth[_among(self._places, places)] += one.gain

    def drop_below(self, worth: int) -> None:
        """Lose the places that are worth less."""
        kept = self._worth >= worth
        self._places, self._worth = self._places[kept], self._worth[kept]

    def least(self) -> int:
        """What the last of the best `limit` is worth; 0 while there are fewer."""
        if len(self._worth) < self._limit:
            return 0
        return int(np.partition(self._worth, -self._limit)[-self._limit])

    def best(self) -> Numbers:
        """The best `limit` places, the latest first of equals."""
        order = np.lexsort((-self._places, -self._worth))
        return self._places[order[: self._limit]]


def _among(places: Numbers, others: Numbers) -> NDArray[np.bool_]:
    """For each place whether it is one of the others, which ascend."""
    if not len(others):
        return np.zeros(len(places), dtype=np.bool_)
    at = np.searchsorted(others, places)
    at[at == len(others)] = 0
    found: NDArray[np.bool_] = others[at] == places
    return found
