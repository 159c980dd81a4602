"""Modality-aware LRU: media leave before text, and of each what was used longest ago first."""

from __future__ import annotations

from collections.abc import Collection

from pagefault.model.ids import PageId
from pagefault.model.kinds import Modality
from pagefault.paging.questions import Resident
from pagefault.policy.lru import LRU


class ModalityLRU(LRU):
    def __init__(self) -> None:
        super().__init__()
        self._media: set[PageId] = set()

    def admitted(self, page: Resident) -> None:
        super().admitted(page)
        if page.modality is not Modality.TEXT:
            self._media.add(page.page_id)

    def departed(self, page_id: PageId) -> None:
        super().departed(page_id)
        self._media.discard(page_id)

    def victims(self, evictable: Collection[PageId], tokens_needed: int) -> list[PageId]:
        media = super().victims([p for p in evictable if p in self._media], tokens_needed)
        short = tokens_needed - sum(self._tokens[page_id] for page_id in media)
        return media + super().victims([p for p in evictable if p not in self._media], short)
