"""Importance-weighted LRU: an idle page loses value, and an important one loses it more slowly.

A page's value is its importance times the weight of its kind (transcripts leave before artifacts,
those before summaries, those before claims), divided by the number of accesses since its last use.
The page of least value leaves first; LRU breaks ties. If all pages are alike, this is LRU.

Pages of equal weight are kept in LRU order, which is the order of their value, so only the coldest
of each weight is ever compared.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Iterator, Set
from typing import Final

from pagefault.model.ids import PageId
from pagefault.model.kinds import Kind
from pagefault.paging.questions import Resident
from pagefault.policy.enough import enough
from pagefault.policy.indifferent import Indifferent
from pagefault.policy.kinds import RULES

KIND_WEIGHT: Final[dict[Kind, float]] = {kind: rule.weight for kind, rule in RULES.items()}

_FLOOR: Final = 0.01  # a page of no importance still ages


class ImportanceLRU(Indifferent):
    def __init__(self) -> None:
        self._now = 0
        self._pages: dict[PageId, tuple[float, int]] = {}  # weight and tokens
        self._used: dict[float, OrderedDict[PageId, int]] = {}  # by weight, coldest first: last use

    def admitted(self, page: Resident) -> None:
        weight = max(page.importance, _FLOOR) * KIND_WEIGHT[page.kind]
        self._pages[page.page_id] = weight, page.tokens
        self._used.setdefault(weight, OrderedDict())
        self.touched(page.page_id)

    def touched(self, page_id: PageId) -> None:
        self._now += 1
        alike = self._used[self._pages[page_id][0]]
        alike[page_id] = self._now
        alike.move_to_end(page_id)

    def departed(self, page_id: PageId) -> None:
        weight, _ = self._pages.pop(page_id)
        del self._used[weight][page_id]
        if not self._used[weight]:
            del self._used[weight]

    def victims(self, evictable: Set[PageId], tokens_needed: int) -> list[PageId]:
        order = heapq.merge(*(self._by_worth(weight, evictable) for weight in self._used))
        return enough(((p, self._pages[p][1]) for _, _, p in order), tokens_needed)

    def _by_worth(
        self, weight: float, evictable: Set[PageId]
    ) -> Iterator[tuple[float, int, PageId]]:
        for page_id, used in self._used[weight].items():
            if page_id in evictable:
                yield weight / (self._now - used + 1), used, page_id
