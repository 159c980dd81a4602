"""Modality-aware LRU: media leave before text, each in LRU order.

A picture takes as much room as many messages, and its caption stays.
"""

from __future__ import annotations

from collections.abc import Set

from pagefault.model.ids import PageId
from pagefault.model.kinds import Modality
from pagefault.paging.questions import Resident
from pagefault.policy.indifferent import Indifferent
from pagefault.policy.lru import LRU


class ModalityLRU(Indifferent):
    def __init__(self) -> None:
        self._media, self._text = LRU(), LRU()
        self._tokens: dict[PageId, int] = {}  # of the media

    def admitted(self, page: Resident) -> None:
        if page.modality is not Modality.TEXT:
            self._tokens[page.page_id] = page.tokens
        self._of(page.page_id).admitted(page)

    def touched(self, page_id: PageId) -> None:
        self._of(page_id).touched(page_id)

    def departed(self, page_id: PageId) -> None:
        self._of(page_id).departed(page_id)
        self._tokens.pop(page_id, None)

    def victims(self, evictable: Set[PageId], tokens_needed: int) -> list[PageId]:
        media = self._media.victims(evictable, tokens_needed)
        short = tokens_needed - sum(self._tokens[page_id] for page_id in media)
        return media + self._text.victims(evictable, short)

    def _of(self, page_id: PageId) -> LRU:
        return self._media if page_id in self._tokens else self._text
