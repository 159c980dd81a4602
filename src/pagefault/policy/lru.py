"""LRU: the least recently used page leaves first.

Source: L. A. Belady, "A study of replacement algorithms for a virtual-storage computer", IBM
Systems Journal 5(2), 1966. With pages of different sizes, as many leave as are needed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Set

from pagefault.model.ids import PageId
from pagefault.paging.questions import Resident
from pagefault.policy.enough import enough
from pagefault.policy.indifferent import Indifferent


class LRU(Indifferent):
    def __init__(self) -> None:
        self._tokens: OrderedDict[PageId, int] = OrderedDict()  # coldest first

    def admitted(self, page: Resident) -> None:
        self._tokens[page.page_id] = page.tokens

    def touched(self, page_id: PageId) -> None:
        self._tokens.move_to_end(page_id)

    def departed(self, page_id: PageId) -> None:
        del self._tokens[page_id]

    def victims(self, evictable: Set[PageId], tokens_needed: int) -> list[PageId]:
        return enough(((p, n) for p, n in self._tokens.items() if p in evictable), tokens_needed)
