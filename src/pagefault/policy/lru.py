"""LRU: what was used longest ago leaves first."""

from __future__ import annotations

from collections.abc import Collection

from pagefault.model.ids import PageId, TurnNo
from pagefault.paging.questions import Resident


class LRU:
    def __init__(self) -> None:
        self._tokens: dict[PageId, int] = {}  # coldest first

    def admitted(self, page: Resident) -> None:
        self._tokens[page.page_id] = page.tokens

    def touched(self, page_id: PageId) -> None:
        self._tokens[page_id] = self._tokens.pop(page_id)

    def departed(self, page_id: PageId) -> None:
        del self._tokens[page_id]

    def turn_began(self, turn: TurnNo) -> None:
        pass

    def faulted(self, page_id: PageId) -> None:
        pass

    def evicted(self, page_id: PageId) -> None:
        pass

    def victims(self, evictable: Collection[PageId], tokens_needed: int) -> list[PageId]:
        wanted, chosen = set(evictable), []
        for page_id, tokens in self._tokens.items():
            if tokens_needed <= 0:
                break
            if page_id in wanted:
                chosen.append(page_id)
                tokens_needed -= tokens
        return chosen
