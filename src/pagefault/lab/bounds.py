"""Offline-optimal bounds for pages of different weights.

With weights the fewest misses are hard to find (strongly NP-hard: M. Chrobak et al., "Caching is
hard, even in the fault model", Algorithmica 63, 2012), and Belady's rule is not optimal any more.
So there are two figures. `Belady` knows the future and evicts what is wanted last: it is reached by
somebody, so the optimum is at most that. `hits_at_most` is a bound: no choice of pages has more
hits, so the optimum's misses are at least all references less that. The optimum is between them.

The bound. A hit is an interval between two references of a page for which the page stays. At each
moment at which room is scarce, the pages that stay must fit. Let a page stay in part, and give each
moment a price: for any prices, what the room fetches at its price, and the intervals at what they
are worth above theirs, is more than the hits that anybody can have (Lagrange's dual of the linear
program). One price for all moments gives the bound PFOO-L of D. Berger, N. Beckmann and
M. Harchol-Balter, "Practical bounds on optimal caching with variable object sizes", SIGMETRICS
2018; from there the prices descend by subgradients. Any prices bound; more steps bound closer.
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
from pagefault.policy.indifferent import Indifferent

_STEPS: Final = 300
_Prices = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A hit that can be had by keeping a page of `tokens` through the moments from `first` up to,
    and not including, `end`.
    """

    first: int
    end: int
    tokens: int


def hits_at_most(intervals: Sequence[Interval], rooms: Sequence[int], *, reached: int) -> int:
    """No choice has more hits than this, if at the moment m what is kept has `rooms[m]` tokens.

    `reached` are hits that somebody has: the steps are measured by it, the bound holds for any.
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
        """The bound at these prices, and how much room is left over at each moment."""
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
    """Evicts what is wanted last, and what is never wanted before all. It has to be told the time.

    An `EvictionPolicy` that knows the future: for the laboratory. `now` is the reference that is
    being served. Optimal where all pages weigh the same and each is evicted when room is needed for
    another (`lab/caches.py`); with weights no more than a choice that somebody can make.
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
        chosen: list[PageId] = []
        for page_id in sorted(evictable, key=lambda page_id: (-self._next(page_id), page_id)):
            if tokens_needed <= 0:
                break
            chosen.append(page_id)
            tokens_needed -= self._tokens[page_id]
        return chosen

    def _next(self, page_id: PageId) -> float:
        uses = self._uses.get(page_id, [])
        after = bisect_right(uses, self.now)
        return uses[after] if after < len(uses) else math.inf
