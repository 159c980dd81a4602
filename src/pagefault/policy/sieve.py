"""SIEVE: a queue in order of arrival, and a hand that evicts pages not used since it last passed.

The hand goes from the oldest page to the newest, and round again. It spares a page once if the page
was used since the hand last passed, and evicts it otherwise. Using a page moves nothing, so recent
pages leave soon unless they are used, and old pages in use stay.

Source: Y. Zhang, J. Yang, Y. Yue, Y. Vigfusson, K. V. Rashmi, "SIEVE is simpler than LRU: an
efficient turn-key eviction algorithm for web caches", NSDI 2024. With pages of different sizes, the
hand takes as many as are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from pagefault.model.ids import PageId
from pagefault.paging.questions import Resident
from pagefault.policy.enough import enough
from pagefault.policy.indifferent import Indifferent


class Sieve(Indifferent):
    """`victims` does not move the hand: it moves when a page is evicted, up to that page."""

    def __init__(self) -> None:
        self._tokens: dict[PageId, int] = {}
        self._newer: dict[PageId, PageId | None] = {}  # a doubly linked list
        self._older: dict[PageId, PageId | None] = {}
        self._oldest: PageId | None = None
        self._newest: PageId | None = None
        self._hand: PageId | None = None  # the next page to look at; None: the oldest
        self._used: set[PageId] = set()

    def admitted(self, page: Resident) -> None:
        page_id, newest = page.page_id, self._newest
        self._tokens[page_id] = page.tokens
        self._newer[page_id], self._older[page_id] = None, newest
        if newest is None:
            self._oldest = page_id
        else:
            self._newer[newest] = page_id
        self._newest = page_id

    def touched(self, page_id: PageId) -> None:
        self._used.add(page_id)

    def departed(self, page_id: PageId) -> None:
        del self._tokens[page_id]
        newer, older = self._newer.pop(page_id), self._older.pop(page_id)
        if older is None:
            self._oldest = newer
        else:
            self._newer[older] = newer
        if newer is None:
            self._newest = older
        else:
            self._older[newer] = older
        if self._hand == page_id:  # the newest may be the page that needs the room
            self._hand = newer if newer != self._newest else None
        self._used.discard(page_id)

    def evicted(self, page_id: PageId) -> None:
        if page_id not in self._tokens:
            return
        if page_id in self._used:  # the hand has been all round to take it
            self._used.clear()
        for passed in self._round():
            if passed == page_id:
                break
            self._used.discard(passed)
        self._hand = page_id

    def victims(self, evictable: Set[PageId], tokens_needed: int) -> list[PageId]:
        return enough(((p, self._tokens[p]) for p in self._order(evictable)), tokens_needed)

    def _order(self, evictable: Set[PageId]) -> Iterator[PageId]:
        let_off: list[PageId] = []
        for page_id in self._round():
            if page_id in evictable and page_id in self._used:
                let_off.append(page_id)
            elif page_id in evictable:
                yield page_id
        yield from let_off  # the second time round

    def _round(self) -> Iterator[PageId]:
        """Every page once, in the order of the hand."""
        start = self._hand if self._hand is not None else self._oldest
        at, newer = start, self._newer
        while at is not None:
            yield at
            at = newer[at]
        at = self._oldest
        while at != start and at is not None:
            yield at
            at = newer[at]
