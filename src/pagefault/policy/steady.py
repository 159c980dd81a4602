"""Protection against thrashing: a page that was just fetched stays a while, under any policy.

A page that was faulted at turn t is not evicted before t + `FAULT_PROTECTION_TURNS`. A page that
came back after it had left is chosen only if the others do not suffice, for
`EVICTION_COOLDOWN_TURNS`, and for as many more each time it comes back: a page needed every few
turns eventually stays. Among the rest the inner policy chooses.

Events before the last `REACH_TURNS` turns affect no answer. So replaying the events since then,
after a restart, gives the same answers as without one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Set
from typing import Any, Final

from pagefault.model.defaults import (
    EVICTION_COOLDOWN_TURNS,
    EVICTION_MEMORY_TURNS,
    FAULT_PROTECTION_TURNS,
)
from pagefault.model.ids import PageId, TurnNo
from pagefault.paging.questions import EvictionPolicy, Resident

REMEMBERED: Final = 4_096  # pages remembered as having left, or come back
RETURNS_MAX: Final = 8
REACH_TURNS: Final = RETURNS_MAX * EVICTION_COOLDOWN_TURNS + 2 * EVICTION_MEMORY_TURNS + 1
"""The longest reach of an event: the protection after `RETURNS_MAX` returns, plus the memory of
those returns, plus the memory of the departure that made each of them a return.
"""


class Steady:
    """An `EvictionPolicy` that wraps another."""

    def __init__(self, inner: EvictionPolicy) -> None:
        self._inner = inner
        self._now = TurnNo(0)
        self._tokens: dict[PageId, int] = {}
        self._faulted: dict[PageId, TurnNo] = {}
        # In order of turns. Not a plain dict: finding its first key gets slower with each deletion
        # from the front.
        self._evicted = OrderedDict[PageId, TurnNo]()
        self._returned: dict[PageId, TurnNo] = {}  # until when that counts
        self._returns = OrderedDict[PageId, list[TurnNo]]()  # the turns of recent returns

    def turn_began(self, turn: TurnNo) -> None:
        self._now = turn
        long_ago = turn - EVICTION_MEMORY_TURNS
        while self._evicted and self._evicted[oldest := next(iter(self._evicted))] <= long_ago:
            del self._evicted[oldest]
        while self._returns and self._returns[oldest := next(iter(self._returns))][-1] <= long_ago:
            del self._returns[oldest]
        self._inner.turn_began(turn)
        self._faulted = {
            p: at for p, at in self._faulted.items() if at > turn - FAULT_PROTECTION_TURNS
        }
        self._returned = {p: until for p, until in self._returned.items() if until > turn}

    def faulted(self, page_id: PageId) -> None:
        self._faulted[page_id] = self._now
        self._inner.faulted(page_id)

    def evicted(self, page_id: PageId) -> None:
        self._evicted.pop(page_id, None)  # keeps the order of turns
        self._evicted[page_id] = self._now
        _trim(self._evicted)
        self._inner.evicted(page_id)

    def admitted(self, page: Resident) -> None:
        self._tokens[page.page_id] = page.tokens
        if self._evicted.pop(page.page_id, None) is not None:
            least = self._now - EVICTION_MEMORY_TURNS
            returns = [turn for turn in self._returns.pop(page.page_id, ()) if turn > least]
            self._returns[page.page_id] = [*returns, self._now][-RETURNS_MAX:]
            _trim(self._returns)
            turns = len(self._returns[page.page_id]) * EVICTION_COOLDOWN_TURNS
            self._returned[page.page_id] = TurnNo(self._now + turns)
        self._inner.admitted(page)

    def touched(self, page_id: PageId) -> None:
        self._inner.touched(page_id)

    def departed(self, page_id: PageId) -> None:
        del self._tokens[page_id]
        self._inner.departed(page_id)

    def victims(self, evictable: Set[PageId], tokens_needed: int) -> list[PageId]:
        free = evictable - self._faulted.keys()
        settled = free - self._returned.keys()
        chosen = self._inner.victims(settled, tokens_needed)
        short = tokens_needed - sum(self._tokens[page_id] for page_id in chosen)
        if short > 0 and len(settled) < len(free):
            chosen += self._inner.victims(free & self._returned.keys(), short)
        return chosen


def _trim(remembered: OrderedDict[PageId, Any]) -> None:
    """Drop the oldest entries."""
    while len(remembered) > REMEMBERED:
        remembered.popitem(last=False)
