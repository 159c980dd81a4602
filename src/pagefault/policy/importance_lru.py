"""Importance-weighted LRU: an idle page loses worth, and an important one loses it more slowly.

A page's worth is its importance times the weight of its kind (requirement 000 §1.1: transcripts
leave before artifacts, those before summaries, those before claims), divided by how many accesses
ago it was last used. The least worthy leaves first; LRU breaks ties.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from pagefault.model.ids import PageId, TurnNo
from pagefault.model.kinds import Kind
from pagefault.paging.questions import Resident
from pagefault.policy.kinds import RULES

KIND_WEIGHT: Final[dict[Kind, float]] = {kind: rule.weight for kind, rule in RULES.items()}

_FLOOR: Final = 0.01  # a page of no importance still ages


class ImportanceLRU:
    def __init__(self) -> None:
        self._now = 0
        self._pages: dict[PageId, Resident] = {}
        self._used: dict[PageId, int] = {}

    def admitted(self, page: Resident) -> None:
        self._pages[page.page_id] = page
        self.touched(page.page_id)

    def touched(self, page_id: PageId) -> None:
        self._now += 1
        self._used[page_id] = self._now

    def departed(self, page_id: PageId) -> None:
        del self._pages[page_id], self._used[page_id]

    def turn_began(self, turn: TurnNo) -> None:
        pass

    def faulted(self, page_id: PageId) -> None:
        pass

    def evicted(self, page_id: PageId) -> None:
        pass

    def victims(self, evictable: Collection[PageId], tokens_needed: int) -> list[PageId]:
        chosen: list[PageId] = []
        for page_id in sorted(evictable, key=lambda p: (self._worth(p), self._used[p])):
            if tokens_needed <= 0:
                break
            chosen.append(page_id)
            tokens_needed -= self._pages[page_id].tokens
        return chosen

    def _worth(self, page_id: PageId) -> float:
        page = self._pages[page_id]
        idle = self._now - self._used[page_id] + 1
        return max(page.importance, _FLOOR) * KIND_WEIGHT[page.kind] / idle
