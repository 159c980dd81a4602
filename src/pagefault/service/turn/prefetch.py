"""Prefetch: reads pages that may be wanted soon into memory, in idle time.

A prefetched page is ready when the model faults it or recall brings it; it is not in the window,
and costs no fault, no token and no room there. A request records which pages were prefetched since
the previous one, and which prefetched pages were used since, so the log shows how useful prefetch
is.
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

AT_ONCE: Final = 4  # pages read between two checks for a change of topic
_ID: Final = re.compile(rf"\b(?:{'|'.join(sorted(PAGE_PREFIX.values()))})_[1-9]\d{{0,8}}\b")
REMEMBERED: Final = 256  # prefetched pages that may still count as used


class Prefetcher:
    """The prefetcher of one session. `depth` is how many pages a turn may prefetch."""

    def __init__(
        self, runtime: Runtime, *, strategies: Sequence[Strategy], depth: int, gauge: Gauge
    ) -> None:
        self._runtime = runtime
        self._strategies = strategies
        self._depth = depth
        self._gauge = gauge
        self._habits = Habits()
        self._tools: deque[str] = deque(maxlen=3)
        self._recent: deque[PageId] = deque(maxlen=4)  # recently wanted, the last one last
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
        """Note that these pages were wanted: prefetched ones count as used."""
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
        """The inputs of a plan: the session, pages relevant to its newest message, and a text of
        it.
        """
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
        """The pages prefetched, and those of all prefetched that were used, since the last call."""
        told = tuple(self._since), tuple(self._used_since)
        self._since, self._used_since = [], []
        return told

    def plan(self, state: SessionState, facts: Facts, topic: frozenset[str]) -> None:
        """Queue the pages that these facts suggest, and begin to read them in idle time.

        A topic that shares nothing with the previous one clears the queue.
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
        """The candidates of all strategies. One that fails has none, and the status says so: a
        failure here must not fail a request.
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
        """Clear the queue. A read in progress is finished."""
        self._cancelled += len(self._queue)
        self._queue = []

    async def idle(self) -> None:
        """Wait until nothing is being read."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _read_on(self, state: SessionState) -> None:
        await asyncio.sleep(0)  # let the request's caller go first
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
                continue  # nobody asked for it: a later fault reports the error
        return read
