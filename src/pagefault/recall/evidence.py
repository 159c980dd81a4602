"""Features of the places being ranked: one row each, with some of the page before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pagefault.recall.lexical import Values
from pagefault.store.api import Traits
from pagefault.store.likely import Numbers
from pagefault.store.place import ORDER_BITS

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Columns of equal length, one row per place. `worth` is the lexical score with its
    neighbourhood, and `best` its maximum, the unit of other parts of a score. Lengths are relative
    to the role's mean.
    """

    places: Numbers
    worth: Values
    best: float
    relative_lengths: Values
    days: Numbers
    told_days: tuple[Numbers, Numbers]  # first and last day that its text mentions; 0 for none
    roles: Numbers  # numbered as in `store/api.py`
    marks: Numbers
    likenesses: Numbers
    told: Values  # 0..1: share of the question covered by its own words
    spoken: Values  # 0..1: how much its speaker is the one asked about
    marks_before: Numbers  # of the preceding page; 0 if there is none
    worth_before: Values  # from the preceding page's own words alone

    @property
    def sittings(self) -> Numbers:
        """A number for each session and day, as an approximation of one sitting."""
        sessions = self.places >> ORDER_BITS
        order = np.lexsort((self.days, sessions))
        begins = (np.diff(sessions[order]) != 0) | (np.diff(self.days[order]) != 0)
        numbers = np.empty_like(order)
        numbers[order] = np.cumsum(np.append(0, begins))
        return numbers


def aligned(traits: Traits, places: Numbers) -> Traits:
    """Rows of `traits` for these places (ascending), zeros where there is no page."""
    position = np.searchsorted(traits.places, places)
    position[position == len(traits.places)] = 0
    if not len(traits.places):
        nothing = np.zeros(len(places), dtype=np.int64)
        return Traits(
            *(places, nothing, nothing, nothing, nothing, nothing, np.zeros(len(places))),
            told_first=nothing,
            told_last=nothing,
        )
    is_there = traits.places[position] == places

    def row(column: Numbers) -> Numbers:
        return np.where(is_there, column[position], 0)

    return Traits(
        places=places,
        lengths=row(traits.lengths),
        days=row(traits.days),
        roles=row(traits.roles),
        marks=row(traits.marks),
        likenesses=row(traits.likenesses),
        spoken=np.where(is_there, traits.spoken[position], 0.0),
        told_first=row(traits.told_first),
        told_last=row(traits.told_last),
    )
