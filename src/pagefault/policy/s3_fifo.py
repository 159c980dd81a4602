"""S3-FIFO: a small queue filters newcomers, a large one holds those that were used there.

Both queues are first in, first out. The small one has a tenth of the room. A page that reaches its
end unused leaves, and is a ghost until about a window's worth of others have left. A page that was
used, or comes back as a ghost, goes to the large queue. At the end of the large queue a page goes
round again as often as it was used, three times at most.

Source: J. Yang, Y. Zhang, Z. Qiu, Y. Yue, K. V. Rashmi, "FIFO queues are all you need for cache
eviction", SOSP 2023. There are three differences. Shares are of tokens, not of pages. Since a
policy does not know the window's size, the cache size is the most that was ever in the window. And
ghosts are looked up before room is made, not after.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator, Set
from typing import Final

from pagefault.model.ids import PageId
from pagefault.paging.questions import Resident
from pagefault.policy.indifferent import Indifferent

SMALL_SHARE: Final = 0.1
PROVED_USES: Final = 2  # in the small queue, for the large one
USES_MAX: Final = 3


class S3FIFO(Indifferent):
    """`victims` moves nothing: pages advance in the queues when the page behind is evicted."""

    def __init__(self) -> None:
        self._tokens: dict[PageId, int] = {}
        self._uses: dict[PageId, int] = {}
        self._small: OrderedDict[PageId, None] = OrderedDict()
        self._large: OrderedDict[PageId, None] = OrderedDict()
        self._ghosts: OrderedDict[PageId, int] = OrderedDict()  # left the small queue: tokens
        self._small_tokens = self._large_tokens = self._ghost_tokens = 0
        self._room = 0
        self._newest: PageId | None = None
        self._passed: dict[PageId, list[PageId]] = {}  # victim -> pages that advance before it

    def admitted(self, page: Resident) -> None:
        page_id, tokens = page.page_id, page.tokens
        self._room = max(self._room, self._small_tokens + self._large_tokens)
        self._newest = page_id
        self._tokens[page_id], self._uses[page_id] = tokens, 0
        ghost = self._ghosts.pop(page_id, None)
        if ghost is None:
            self._small[page_id] = None
            self._small_tokens += tokens
        else:
            self._ghost_tokens -= ghost
            self._large[page_id] = None
            self._large_tokens += tokens

    def touched(self, page_id: PageId) -> None:
        uses = self._uses[page_id]
        if uses < USES_MAX:
            self._uses[page_id] = uses + 1

    def departed(self, page_id: PageId) -> None:
        tokens = self._tokens.pop(page_id)
        del self._uses[page_id]
        if page_id in self._small:
            del self._small[page_id]
            self._small_tokens -= tokens
        else:
            del self._large[page_id]
            self._large_tokens -= tokens

    def evicted(self, page_id: PageId) -> None:
        for passed in self._passed.pop(page_id, ()):
            self._go_on(passed)
        if page_id in self._small:
            self._ghosts[page_id] = self._tokens[page_id]
            self._ghost_tokens += self._tokens[page_id]
            while self._ghost_tokens > self._room * (1 - SMALL_SHARE):
                _, tokens = self._ghosts.popitem(last=False)
                self._ghost_tokens -= tokens

    def victims(self, evictable: Set[PageId], tokens_needed: int) -> list[PageId]:
        chosen: list[PageId] = []
        self._passed = {}
        if tokens_needed <= 0:
            return chosen
        passed: list[PageId] = []
        for page_id, leaves in self._walk(evictable):
            if not leaves:
                passed.append(page_id)
                continue
            chosen.append(page_id)
            self._passed[page_id], passed = passed, []
            tokens_needed -= self._tokens[page_id]
            if tokens_needed <= 0:
                break
        return chosen

    def _walk(self, evictable: Set[PageId]) -> Iterator[tuple[PageId, bool]]:
        """Evictable pages as they reach the end of a queue, and whether they leave there."""
        small, large = iter(self._small), iter(self._large)
        small_tokens = self._small_tokens
        newest = self._newest
        if newest is not None and newest in self._small and newest not in evictable:
            small_tokens -= self._tokens[newest]  # room is being made for it
        again: deque[tuple[PageId, int]] = deque()  # pages that advanced, and their uses
        share = SMALL_SHARE * self._room
        has_small, proved = True, False
        while True:
            page_id: PageId | None = None
            if has_small and (proved or small_tokens >= share):
                page_id = next(small, None)
                has_small = page_id is not None
                if page_id is not None:
                    if page_id not in evictable:
                        continue
                    small_tokens -= self._tokens[page_id]
                    proved = self._uses[page_id] >= PROVED_USES
                    if proved:
                        again.append((page_id, 0))
                    yield page_id, not proved
                    continue
            page_id = next(large, None)
            uses = 0
            if page_id is not None:
                if page_id not in evictable:
                    continue
                uses = self._uses[page_id]
            elif again:
                page_id, uses = again.popleft()
            elif has_small:
                share = -1.0  # only the small queue is left
                continue
            else:
                return
            if uses > 0:
                again.append((page_id, uses - 1))
            yield page_id, uses <= 0

    def _go_on(self, page_id: PageId) -> None:
        """Move to the large queue, or round in it, with one use less."""
        if page_id in self._small:
            del self._small[page_id]
            self._small_tokens -= self._tokens[page_id]
            self._large[page_id] = None
            self._large_tokens += self._tokens[page_id]
            self._uses[page_id] = 0
        elif page_id in self._large:
            self._large.move_to_end(page_id)
            self._uses[page_id] = max(0, self._uses[page_id] - 1)
