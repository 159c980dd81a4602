"""Prefetch: pages that may be wanted soon are read while nobody waits, into memory and no further.

What is prefetched is at hand when the model faults it or recall brings it; it is not in the window,
and costs no fault, no token and no place there. A request records which pages were prefetched since
the one before, and which of those that ever were have been used since: the log judges it.
"""

from __future__ import annotations

import asyncio
import heapq
import re
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from pagefault.model.errors import PagefaultError
from pagefault.model.ids import PageId
from pagefault.model.kinds import PAGE_PREFIX
from pagefault.model.page import PageRow
from pagefault.paging.pressure import Gauge, Pressure
from pagefault.policy.prefetch import Facts, Habits, Strategy, Wish, wishes
from pagefault.service.inspection.status import PrefetchStatus
from pagefault.service.runtime import Runtime
from pagefault.service.window.state import SessionState

AT_ONCE: Final = 4  # pages read between two looks at whether somebody changed the topic
_ID: Final = re.compile(rf"\b(?:{'|'.join(sorted(PAGE_PREFIX.values()))})_[1-9]\d{{0,8}}\b")
REMEMBERED: Final = 256  # pages that were prefetched, and may still turn out to be of use


class Prefetcher:
    """Of one session. `depth` is how many pages a turn may prefetch."""

    def __init__(
        self, runtime: Runtime, *, strategies: Sequence[Strategy], depth: int, gauge: Gauge
    ) -> None:
        self._runtime = runtime
        self._strategies = strategies
        self._depth = depth
        self._gauge = gauge
        self._habits = Habits()
        self._tools: deque[str] = deque(maxlen=3)
        self._recent: deque[PageId] = deque(maxlen=4)  # wanted lately, the last one last
        self._queue: list[Wish] = []
        self._task: asyncio.Task[None] | None = None
        self._topic: frozenset[str] = frozenset()
        self._at_hand: dict[PageId, None] = {}  # prefetched and not used yet
        self._since: list[PageId] = []  # prefetched since the last request
        self._used_since: list[PageId] = []
        self._loaded = self._used = self._cancelled = 0
        self._failure = ""

    @property
    def is_on(self) -> bool:
        return bool(self._strategies) and self._depth > 0

    def status(self) -> PrefetchStatus:
        return PrefetchStatus(
            loaded=self._loaded,
            used=self._used,
            waiting=len(self._queue),
            cancelled=self._cancelled,
            failure=self._failure,
        )

    def used(self, page_ids: Iterable[PageId]) -> None:
        """Somebody wanted these pages: those that were at hand count."""
        for page_id in page_ids:
            self._habits.used(page_id, self._recent[-1] if self._recent else None)
            self._recent.append(page_id)
            if page_id in self._at_hand:
                del self._at_hand[page_id]
                self._used += 1
                self._used_since.append(page_id)

    def tool_returned(self, name: str) -> None:
        self._habits.called(name, list(self._recent))
        self._tools.append(name)

    def facts(self, state: SessionState, *, bearing: Sequence[PageId], text: str) -> Facts:
        """What there is to go by: the session, what bears on its newest message, a text of it."""
        return Facts(
            summaries=[page.page_id for page, _ in reversed(state.summaries)],
            claims=list(reversed(state.core)),
            tools=list(reversed(self._tools)),
            used=list(reversed(self._recent)),
            similar=bearing,
            named=list(dict.fromkeys(map(PageId, _ID.findall(text)))),
            habits=self._habits,
        )

    def take_record(self) -> tuple[tuple[PageId, ...], tuple[PageId, ...]]:
        """What was prefetched, and what of all that was used, since this was asked last."""
        told = tuple(self._since), tuple(self._used_since)
        self._since, self._used_since = [], []
        return told

    def plan(self, state: SessionState, facts: Facts, topic: frozenset[str]) -> None:
        """Wish for what these facts call for, and begin to read it once nobody waits.

        A topic that shares nothing with the one before ends what was wished for that.
        """
        if not self.is_on or self._gauge.level is Pressure.CRITICAL:
            return
        if self._topic and topic and self._topic.isdisjoint(topic):
            self.cancel()
        self._topic = topic or self._topic
        waiting = {wish.page_id for wish in self._queue}
        for wish in sorted(self._wishes(facts)):
            is_here = wish.page_id in state.working_set or wish.page_id in self._at_hand
            if not is_here and wish.page_id not in waiting:
                waiting.add(wish.page_id)
                heapq.heappush(self._queue, wish)
        self._queue = heapq.nsmallest(self._depth, self._queue)  # sorted, so a heap
        if self._queue and (self._task is None or self._task.done()):
            self._task = asyncio.ensure_future(self._read_on(state))
            self._runtime.under_way.add(self._task)
            self._task.add_done_callback(self._runtime.under_way.discard)

    def _wishes(self, facts: Facts) -> list[Wish]:
        """What all strategies wish for. One that fails wishes for nothing, and the status says so:
        no request is lost for what nobody asked for.
        """
        found: list[Wish] = []
        for strategy in self._strategies:
            try:
                found += wishes([strategy], facts)
            except Exception as bug:
                name = getattr(strategy, "name", type(strategy).__name__)
                self._failure = f"{name}: {bug!r}"
        return found

    def cancel(self) -> None:
        """Drop what is waiting. What is just being read is read to its end."""
        self._cancelled += len(self._queue)
        self._queue = []

    async def idle(self) -> None:
        """Wait until nothing is being read."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _read_on(self, state: SessionState) -> None:
        await asyncio.sleep(0)  # whoever waits for the request goes first
        while self._queue:
            batch = [heapq.heappop(self._queue) for _ in range(min(AT_ONCE, len(self._queue)))]
            read = await asyncio.to_thread(self._read, state, [wish.page_id for wish in batch])
            for row in read:
                page_id = row.page_id
                state.table.tlb.insert(row)
                self._loaded += 1
                self._since.append(page_id)
                self._at_hand[page_id] = None
            for page_id in list(islice(self._at_hand, max(0, len(self._at_hand) - REMEMBERED))):
                del self._at_hand[page_id]

    def _read(self, state: SessionState, page_ids: Sequence[PageId]) -> list[PageRow]:
        read: list[PageRow] = []
        for page_id in page_ids:
            try:
                row = state.find_row(page_id)
                if row is not None and not self._runtime.pages.holds(row):
                    self._runtime.pages.read(row)
                    read.append(row)
            except (PagefaultError, OSError, MemoryError):
                continue  # nobody asked for it: who does will be told
        return read
