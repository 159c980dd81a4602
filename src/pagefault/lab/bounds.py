"""Offline-optimal bounds for pages of different weights.

With weights, the fewest misses are hard to compute (strongly NP-hard: M. Chrobak et al., "Caching
is hard, even in the fault model", Algorithmica 63, 2012), and Belady's rule is no longer optimal.
So the optimum is bracketed. `Belady` knows the future and evicts what is wanted last: its misses
are achievable, so they bound the optimum from above. `hits_at_most` bounds the hits of any choice
of pages, so all references minus that bound the optimum's misses from below.

The bound. A hit is an interval between two references of a page during which the page stays. At
each moment when room is scarce, the pages that stay must fit. Let pages stay in part, and give each
moment a price. For any prices, the value of the room at its price, plus the surplus of the
intervals over theirs, is at least the hits of any choice (the Lagrangian dual of the linear
program). A single price for all moments gives the bound PFOO-L of D. Berger, N. Beckmann and M.
Harchol-Balter, "Practical bounds on optimal caching with variable object sizes", SIGMETRICS 2018;
from there the prices descend by subgradients. Any prices give a bound; more steps tighten it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pagefault.model.ids import PageId
from pagefault.paging.questions import Resident
from pagefault.policy.enough import enough
from pagefault.policy.indifferent import Indifferent

_STEPS: Final = 300
_Prices = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A possible hit: keeping a page of `tokens` through the moments from `first` up to, but
    excluding, `end`.
    """

    first: int
    end: int
    tokens: int


def hits_at_most(intervals: Sequence[Interval], rooms: Sequence[int], *, reached: int) -> int:
    """An upper bound on hits, if at moment m the pages kept may have `rooms[m]` tokens.

    `reached`, hits that some choice achieves, sets the step size; any value gives a bound.
    """
    free = sum(one.first >= one.end for one in intervals)
    scarce = [one for one in intervals if one.first < one.end]
    if not scarce:
        return free
    first = np.array([one.first for one in scarce])
    end = np.array([one.end for one in scarce])
    tokens = np.array([one.tokens for one in scarce], dtype=float)
    room = np.maximum(0.0, np.array(rooms, dtype=float))
    moments = len(room)

    def at(prices: _Prices) -> tuple[float, _Prices]:
        """The bound at these prices, and the room left over at each moment."""
        upto = np.concatenate(([0.0], np.cumsum(prices)))
        gain = 1.0 - tokens * (upto[end] - upto[first])
        kept = gain > 0
        change = np.bincount(first[kept], tokens[kept], moments + 1)
        change -= np.bincount(end[kept], tokens[kept], moments + 1)
        bound = float(room @ prices + gain[kept].sum())
        return bound, room - np.cumsum(change)[:moments]

    area = np.sort(tokens * (end - first))  # PFOO-L: the cheapest intervals fill the room
    filled = int(np.searchsorted(np.cumsum(area), room.sum()))
    price = 1.0 / area[min(filled, len(area) - 1)]
    prices = np.full(moments, price)
    best = float(len(scarce))
    goal = max(0, reached - free)
    for _ in range(_STEPS):
        bound, left = at(prices)
        best = min(best, bound)
        slope = float(left @ left)
        if slope == 0.0 or bound <= goal:
            break
        prices = np.maximum(0.0, prices - (bound - goal) / slope * left)
    return free + math.floor(best + 1e-6)


class Belady(Indifferent):
    """Evicts first what is never wanted again, then what is wanted last. It must be given the time.

    An `EvictionPolicy` that knows the future, for the laboratory. `now` is the reference being
    served. Optimal if all pages weigh the same and each is evicted when room is needed for another
    (`lab/caches.py`); with weights, merely achievable.
    """

    def __init__(self, references: Sequence[PageId], pages: dict[PageId, Resident]) -> None:
        self.now = 0
        self._tokens = {page_id: page.tokens for page_id, page in pages.items()}
        self._uses: dict[PageId, list[int]] = {}
        for at, page_id in enumerate(references):
            self._uses.setdefault(page_id, []).append(at)

    def admitted(self, page: Resident) -> None:
        pass

    def touched(self, page_id: PageId) -> None:
        pass

    def departed(self, page_id: PageId) -> None:
        pass

    def victims(self, evictable: Set[PageId], tokens_needed: int) -> list[PageId]:
        order = sorted(evictable, key=lambda page_id: (-self._next(page_id), page_id))
        return enough(((p, self._tokens[p]) for p in order), tokens_needed)

    def _next(self, page_id: PageId) -> float:
        uses = self._uses.get(page_id, [])
        after = bisect_right(uses, self.now)
        return uses[after] if after < len(uses) else math.inf
