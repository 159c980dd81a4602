"""What ranking knows of the places that may answer: a row for each, and for the page before it."""

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
    """Columns of equal length, by place. `worth` is what a page's words and those around it come
    to, `best` the largest of it: what other parts of a score are measured in. Lengths are relative
    to the usual one of the role.
    """

    places: Numbers
    worth: Values
    best: float
    relative_lengths: Values
    days: Numbers
    told_days: tuple[Numbers, Numbers]  # the first and the last that it tells of, 0 for none
    roles: Numbers  # as `store/api.py` numbers them
    marks: Numbers
    likenesses: Numbers
    told: Values  # 0..1: how much of the question its own words tell
    spoken: Values  # 0..1: how much it is whose word is asked for
    marks_before: Numbers  # of the page before; 0 where there is none
    worth_before: Values  # of its own words alone

    @property
    def sittings(self) -> Numbers:
        """A number for each session and day: what was said in one sitting, most likely."""
        sessions = self.places >> ORDER_BITS
        order = np.lexsort((self.days, sessions))
        begins = (np.diff(sessions[order]) != 0) | (np.diff(self.days[order]) != 0)
        numbers = np.empty_like(order)
        numbers[order] = np.cumsum(np.append(0, begins))
        return numbers


def aligned(traits: Traits, places: Numbers) -> Traits:
    """A row for each of these places (ascending); zeros where no page stands."""
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
