"""The next request: its recall, its plan, and the prefetch after it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pagefault.model.catalogue import UNKNOWN, find_model
from pagefault.model.events import Draft, Packed, Priced
from pagefault.model.ids import PageId
from pagefault.model.kinds import LayoutName
from pagefault.model.page import Page
from pagefault.model.request import Request
from pagefault.pack.manifest import ENTRIES_MAX
from pagefault.paging.pressure import Gauge
from pagefault.service.derived.compression import compress_due, due
from pagefault.service.derived.levels import Levels
from pagefault.service.derived.reading_ahead import awaits_reading, read_ahead
from pagefault.service.ownership import Owned
from pagefault.service.runtime import Runtime
from pagefault.service.turn.auto_recall import TurnRecall
from pagefault.service.turn.prefetch import Prefetcher
from pagefault.service.window.plan import plan_request
from pagefault.service.window.plan_developer import plan_developer
from pagefault.store.api import PageFilter


class Requests:
    def __init__(
        self,
        owned: Owned,
        runtime: Runtime,
        *,
        levels: Levels,
        recall: TurnRecall,
        prefetcher: Prefetcher,
        pressure: Gauge,
    ) -> None:
        self._owned = owned
        self._runtime = runtime
        self._levels = levels
        self._recall = recall
        self._prefetcher = prefetcher
        self._pressure = pressure
        self._prices = _given_prices(runtime)
        self._faults_noted = 0
        self.asked_s: float | None = None  # when a request was packed last, by a monotonic clock

    async def next(self) -> Request:
        """The next request, durable in the log."""
        planned = self._runtime.journal.forgets
        recalled = await self._recall.pages()
        drafts = [*self._priced(), *self._with_prefetches(await self._plan(recalled))]
        await self._owned.commit(drafts, planned=planned)
        # What is read ahead is lost with the process, and many processes make only one request.
        reads = self.asked_s is not None and awaits_reading(self._owned.state)
        self.asked_s = self._runtime.cache_s()
        self._note()
        if self._due() or reads:
            self._owned.afterwards(partial(self._prepare, reads=reads))
        self.look_ahead()
        return self._owned.state.request()

    def _due(self) -> list[Page]:
        now_ms = self._runtime.clock.now_ms()
        return due(self._owned.state, self._pressure.level, now_ms=now_ms)

    async def _prepare(self, *, reads: bool) -> None:
        """Compress old pages, and if it `reads` read those about to leave, for the next epoch,
        while the model works.
        """
        compress_due(self._owned.state, self._levels, self._due())
        if reads:
            read_ahead(self._owned.state)

    async def _plan(self, recalled: Sequence[Page]) -> list[Draft]:
        state, is_cold = self._owned.state, self._is_cold()
        if state.closures.lapsed_in(state.layout.entries()):
            state.epoch_due = state.epoch_due or "lapsed"
        if state.layout_name is LayoutName.STABLE:
            return plan_request(state, self._owned.session, recalled, is_cold=is_cold)
        bearing: list[PageId] = []
        recent: list[PageId] = []
        if state.awaits_request:  # later in the turn the listing stays
            newest = partial(self._runtime.index.pages, newest_first=True)
            rows = await asyncio.to_thread(
                newest, self._owned.scope, PageFilter(), limit=2 * ENTRIES_MAX
            )
            bearing, recent = (
                self._recall.bearing,
                [row.page_id for row in rows if not self._runtime.quarantine.holds(row)],
            )
        return plan_developer(
            state, self._owned.session, recalled, bearing, recent, is_cold=is_cold
        )

    def _with_prefetches(self, drafts: Sequence[Draft]) -> list[Draft]:
        """The same plan, with the prefetches since the previous request."""
        *before, last = drafts
        assert isinstance(last.body, Packed)
        loaded, used = self._prefetcher.take_record()
        body = replace(last.body, prefetched=loaded, prefetch_used=used)
        return [*before, replace(last, body=body)]

    def _priced(self) -> list[Draft]:
        """The record of the prices for this request, if they were given and are new."""
        if self._prices is None or self._prices == self._owned.state.priced:
            return []
        return [self._owned.draft(self._prices)]

    def look_ahead(self, text: str = "") -> None:
        """Prefetch what may be wanted next, in idle time."""
        state = self._owned.state
        if not self._prefetcher.is_on:
            return
        said = "".join(page.text for page in state.newest_user)
        facts = self._prefetcher.facts(state, bearing=self._recall.bearing, text=text or said)
        topic = frozenset(tag for page in state.newest_user for tag in page.topic_tags)
        facts = replace(facts, procedures=self._recall.procedures_of(facts.tools))
        self._prefetcher.plan(state, facts, topic)

    def _note(self) -> None:
        """Note that a request was packed: its size decides the pressure on the window."""
        state = self._owned.state
        faults = state.calls.served - self._faults_noted
        self._faults_noted = state.calls.served
        self._pressure.note(state.layout.tokens() / state.window_room, max(0, faults))

    def _is_cold(self) -> bool:
        """Whether the provider's cache of this session's prefix has lapsed, as far as we know:
        after a restart the time of the last request is unknown.
        """
        if self.asked_s is None:
            return True
        idle_s = self._runtime.cache_s() - self.asked_s
        return self._runtime.epochs.prices.is_cold(idle_s)


def _given_prices(runtime: Runtime) -> Priced | None:
    """The prices of this opening; None if neither they nor a known model were given."""
    prices = runtime.epochs.prices
    if prices == UNKNOWN.prices and not find_model(runtime.model).is_known:
        return None
    return Priced.of(prices, runtime.model)
