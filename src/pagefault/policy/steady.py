"""Anti-thrash (requirement 000 §2.4): what was just fetched stays a while, under any policy.

A page that was faulted at turn t is no victim before t + `protection`. A page that came back
after it had left is chosen only where the others do not suffice, for `cooldown` turns. Who should
leave among the rest is the inner policy's affair.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from pagefault.model.defaults import EVICTION_COOLDOWN_TURNS, FAULT_PROTECTION_TURNS
from pagefault.model.ids import PageId, TurnNo
from pagefault.paging.questions import EvictionPolicy, Resident

REMEMBERED: Final = 4_096  # pages that left, of which it is known when


class Steady:
    """An `EvictionPolicy` around another."""

    def __init__(
        self,
        inner: EvictionPolicy,
        *,
        protection: int = FAULT_PROTECTION_TURNS,
        cooldown: int = EVICTION_COOLDOWN_TURNS,
    ) -> None:
        self._inner = inner
        self._protection = protection
        self._cooldown = cooldown
        self._now = TurnNo(0)
        self._tokens: dict[PageId, int] = {}
        self._faulted: dict[PageId, TurnNo] = {}
        self._evicted: dict[PageId, TurnNo] = {}
        self._returned: dict[PageId, TurnNo] = {}

    def turn_began(self, turn: TurnNo) -> None:
        self._now = turn
        self._inner.turn_began(turn)
        self._faulted = _since(self._faulted, turn - self._protection)
        self._returned = _since(self._returned, turn - self._cooldown)

    def faulted(self, page_id: PageId) -> None:
        self._faulted[page_id] = self._now
        self._inner.faulted(page_id)

    def evicted(self, page_id: PageId) -> None:
        self._evicted[page_id] = self._now
        if len(self._evicted) > REMEMBERED:
            del self._evicted[next(iter(self._evicted))]
        self._inner.evicted(page_id)

    def admitted(self, page: Resident) -> None:
        self._tokens[page.page_id] = page.tokens
        if self._evicted.pop(page.page_id, None) is not None:
            self._returned[page.page_id] = self._now
        self._inner.admitted(page)

    def touched(self, page_id: PageId) -> None:
        self._inner.touched(page_id)

    def departed(self, page_id: PageId) -> None:
        del self._tokens[page_id]
        self._inner.departed(page_id)

    def victims(self, evictable: Collection[PageId], tokens_needed: int) -> list[PageId]:
        free = [page_id for page_id in evictable if page_id not in self._faulted]
        settled = [page_id for page_id in free if page_id not in self._returned]
        chosen = self._inner.victims(settled, tokens_needed)
        short = tokens_needed - sum(self._tokens[page_id] for page_id in chosen)
        if short > 0 and len(settled) < len(free):
            back = [page_id for page_id in free if page_id in self._returned]
            chosen += self._inner.victims(back, short)
        return chosen


def _since(turns: dict[PageId, TurnNo], turn: int) -> dict[PageId, TurnNo]:
    """Those whose turn is later."""
    return {page_id: at for page_id, at in turns.items() if at > turn}
