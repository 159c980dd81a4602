"""Ranked places, as columns.

Several steps of a search look at hundreds of places and move a few. They work on columns with one
row per place; only the places that are shown become objects.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pagefault.store.likely import Flags, Numbers

Values = NDArray[np.float64]


class Ranked(NamedTuple):
    """A place in the scope and the reasons for its rank: the parts add up to the score."""

    place: int
    score: float
    parts: Mapping[str, float]
    relevance: float  # 0..1: share of the query's weight in the page or around it
    likeness: int
    told: float = 0.0  # 0..1: share of it in the page itself
    asks: bool = False  # it ends with a question


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The best places as columns of `Ranked`. `total` is how many there are."""

    names: tuple[str, ...]  # of the parts
    places: Numbers
    scores: Values
    parts: Values  # a row per name, a column per place
    relevances: Values
    likenesses: Numbers
    told: Values
    asks: Flags
    total: int = 0

    def __len__(self) -> int:
        return len(self.places)

    def part(self, name: str) -> Values:
        """One part of each score; 0 if there is no such part."""
        if name not in self.names:
            return np.zeros(len(self))
        part: Values = self.parts[self.names.index(name)]
        return part

    def taken(self, rows: Numbers | Flags) -> Ranking:
        """Only these rows, in this order."""
        return Ranking(
            names=self.names,
            places=self.places[rows],
            scores=self.scores[rows],
            parts=self.parts[:, rows],
            relevances=self.relevances[rows],
            likenesses=self.likenesses[rows],
            told=self.told[rows],
            asks=self.asks[rows],
            total=self.total,
        )

    def ordered(self) -> Ranking:
        """Sorted best first; ties by place."""
        order = np.lexsort((self.places, -self.scores))
        return self if (order[1:] > order[:-1]).all() else self.taken(order)

    def times(self, factor: float) -> Ranking:
        """All scores and parts multiplied by a factor."""
        return replace(self, scores=factor * self.scores, parts=factor * self.parts)

    def plus(self, name: str, more: Values) -> Ranking:
        """With `more` added to one part and to the score."""
        parts = self.parts.copy()
        parts[self.names.index(name)] += more
        return replace(self, scores=self.scores + more, parts=parts)

    def rows(self, rows: Collection[int]) -> list[Ranked]:
        """These rows as objects."""
        these = self.taken(np.array(rows, dtype=np.int64))
        return [
            Ranked(place, score, dict(zip(self.names, parts, strict=True)), *others)
            for place, score, parts, *others in zip(
                these.places.tolist(),
                these.scores.tolist(),
                these.parts.T.tolist(),
                these.relevances.tolist(),
                these.likenesses.tolist(),
                these.told.tolist(),
                these.asks.tolist(),
                strict=True,
            )
        ]


def together(rankings: Sequence[Ranking]) -> Ranking:
    """Concatenate rankings that have the same parts."""
    first = rankings[0]
    return Ranking(
        names=first.names,
        places=np.concatenate([one.places for one in rankings]),
        scores=np.concatenate([one.scores for one in rankings]),
        parts=np.concatenate([one.parts for one in rankings], axis=1),
        relevances=np.concatenate([one.relevances for one in rankings]),
        likenesses=np.concatenate([one.likenesses for one in rankings]),
        told=np.concatenate([one.told for one in rankings]),
        asks=np.concatenate([one.asks for one in rankings]),
        total=first.total,
    )


def of_one_part(
    names: tuple[str, ...],
    places: Sequence[int],
    part: str,
    worth: Sequence[float],
    relevances: Sequence[float],
) -> Ranking:
    """A ranking, in the given order, whose scores have one part only."""
    parts = np.zeros((len(names), len(places)))
    parts[names.index(part)] = worth
    return Ranking(
        names=names,
        places=np.array(places, dtype=np.int64),
        scores=np.array(worth, dtype=np.float64),
        parts=parts,
        relevances=np.array(relevances, dtype=np.float64),
        likenesses=np.zeros(len(places), dtype=np.int64),
        told=np.zeros(len(places)),
        asks=np.zeros(len(places), dtype=np.bool_),
    )


_NO_PLACES: Final = np.empty(0, dtype=np.int64)

NOTHING_RANKED: Final = Ranking(
    names=(),
    places=_NO_PLACES,
    scores=np.empty(0),
    parts=np.empty((0, 0)),
    relevances=np.empty(0),
    likenesses=_NO_PLACES,
    told=np.empty(0),
    asks=np.empty(0, dtype=np.bool_),
)
