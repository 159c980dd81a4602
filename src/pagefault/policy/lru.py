"""LRU: what was used longest ago leaves first.

Source: L. A. Belady, "A study of replacement algorithms for a virtual-storage computer", IBM
Systems Journal 5(2), 1966; of pages that weigh different amounts as many leave as it takes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Set

from pagefault.model.ids import PageId, TurnNo
from pagefault.paging.questions import Resident


class LRU:
    def __init__(self) -> None:
        self._tokens: OrderedDict[PageId, int] = OrderedDict()  # coldest first

    def admitted(self, page: Resident) -> None:
        self._tokens[page.page_id] = page.tokens

    def touched(self, page_id: PageId) -> None:
        self._tokens.move_to_end(page_id)

    def departed(self, page_id: PageId) -> None:
        del self._tokens[page_id]

    def turn_began(self, turn: TurnNo) -> None:
        pass

    def faulted(self, page_id: PageId) -> None:
        pass

    def evicted(self, page_id: PageId) -> None:
        pass

    def victims(self, evictable: Set[PageId], tokens_needed: int) -> list[PageId]:
        chosen: list[PageId] = []
        for page_id, tokens in self._tokens.items():
            if tokens_needed <= 0:
                break
            if page_id in evictable:
                chosen.append(page_id)
                tokens_needed -= tokens
        return chosen
