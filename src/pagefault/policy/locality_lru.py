"""Locality-aware LRU: pages that are expensive to bring back stay longer.

A page's credit is the cost per token of bringing it back from its tier, plus the credit of the last
page that left. The page with the least credit leaves first; using a page renews its credit. So a
distant page outlives nearer ones that were used after it, but not for ever. If all cost the same,
this is LRU.

Source: N. Young, "The k-server dual and loose competitiveness for paging", Algorithmica 11, 1994
(GreedyDual, as fast as LRU may be in the worst case); for pages of different sizes P. Cao and
S. Irani, "Cost-aware WWW proxy caching algorithms", USITS 1997. Requirement 000 §10.6.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Iterator, Set
from typing import Final

from pagefault.model.ids import PageId
from pagefault.model.kinds import Tier
from pagefault.paging.questions import Resident
from pagefault.policy.enough import enough
from pagefault.policy.indifferent import Indifferent

REFETCH: Final[dict[Tier, float]] = {
    Tier.L0: 1.0,
    Tier.L1: 1.0,
    Tier.L2: 1.0,  # one record of the log is read
    Tier.L3: 4.0,  # a blob beside it, perhaps over a network
    Tier.L4: 16.0,  # a whole archived segment is fetched and opened
}
"""The cost of bringing a page back, by tier, relative to a page in the log.

Chosen, not measured: only the order is certain, as long as the tiers are folders of one machine.
"""


class LocalityLRU(Indifferent):
    def __init__(self) -> None:
        self._now = 0
        self._floor = 0.0  # the credit of the last page that left
        self._pages: dict[PageId, tuple[float, int]] = {}  # refetch cost and tokens
        # By refetch cost; least credit, and so coldest, first: credit and last use.
        self._credits: dict[float, OrderedDict[PageId, tuple[float, int]]] = {}

    def admitted(self, page: Resident) -> None:
        self._pages[page.page_id] = page.refetch, page.tokens
        self._credits.setdefault(page.refetch, OrderedDict())
        self.touched(page.page_id)

    def touched(self, page_id: PageId) -> None:
        self._now += 1
        refetch, _ = self._pages[page_id]
        alike = self._credits[refetch]
        alike[page_id] = self._floor + refetch, self._now
        alike.move_to_end(page_id)

    def departed(self, page_id: PageId) -> None:
        refetch, _ = self._pages.pop(page_id)
        del self._credits[refetch][page_id]
        if not self._credits[refetch]:
            del self._credits[refetch]

    def evicted(self, page_id: PageId) -> None:
        page = self._pages.get(page_id)
        if page is not None:
            credit, _ = self._credits[page[0]][page_id]
            self._floor = max(self._floor, credit)

    def victims(self, evictable: Set[PageId], tokens_needed: int) -> list[PageId]:
        order = heapq.merge(*(self._by_credit(cost, evictable) for cost in self._credits))
        return enough(((p, self._pages[p][1]) for _, _, p in order), tokens_needed)

    def _by_credit(
        self, refetch: float, evictable: Set[PageId]
    ) -> Iterator[tuple[float, int, PageId]]:
        for page_id, (credit, used) in self._credits[refetch].items():
            if page_id in evictable:
                yield credit, used, page_id
