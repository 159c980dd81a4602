"""The log of requests sent on, with their clients' JSON and their providers' counts.

A record is written before the request is sent if anything sent later depends on it: the request
decided or quoted something. Any other waits to be written in one batch with the answer: if the
process dies meanwhile, the figures of that request are lost, but no words.

Invariants:
 (1) What is pending is written before the next request is logged.
 (2) Records are in the order: request, the client's JSON, the provider's report, the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from pagefault.model.catalogue import find_model
from pagefault.model.clock import Clock
from pagefault.model.errors import PagefaultError
from pagefault.model.events import Relayed
from pagefault.model.ids import NOTHING, PageId, Seq
from pagefault.model.kinds import USER_TYPED
from pagefault.model.request import Usage
from pagefault.proxy.conversation.first_sent import News
from pagefault.proxy.conversation.passed import Passed
from pagefault.proxy.conversation.request_layout import PagedLayout
from pagefault.proxy.conversation.state import ConversationState
from pagefault.proxy.conversation.write_health import WriteHealth
from pagefault.proxy.history.history import History, Json
from pagefault.proxy.history.trie import Change, Match
from pagefault.proxy.layout.outgoing import Outgoing
from pagefault.proxy.layout.prefix import Weighed
from pagefault.proxy.wires.wire import Wire
from pagefault.service.inspection.relayed import SERVED, Telling, reported, tell
from pagefault.service.session import Session
from pagefault.service.turn.drafts import Incoming


@dataclass(slots=True)
class _RequestRecords:
    """Records of one request, and what of the client's JSON the log has once they are written."""

    records: Telling
    news: News | None = None


class RequestLog:
    """For one conversation, under its lock."""

    def __init__(
        self,
        state: ConversationState,
        *,
        wire: Wire,
        clock: Clock,
        health: WriteHealth,
    ) -> None:
        self._state = state
        self._wire = wire
        self._clock = clock
        self._health = health
        self._pending: _RequestRecords | None = None
        self._asked_s: float | None = None  # when the provider was asked last
        self._has_logged_offers = False  # that memory's tools are offered

    # --- requests -----------------------------------------------------------------------------

    async def record(
        self,
        body: Json,
        received: History,
        match: Match,
        layout: PagedLayout | None,
        *,
        model: str,
        is_marked_here: bool,
        may_wait: bool,
    ) -> tuple[Relayed | None, Seq]:
        """Log a request to `model` that is about to be sent as `body`; returns its record, and its
        place in the log if it is written already. None and NOTHING if there is no session, or
        nothing can be written. It is left pending if it `may_wait` and nothing sent later depends
        on it.
        """
        state = self._state
        if layout is None:  # nothing of it was counted before, which takes a thread
            messages: Sequence[Any] = received.messages
            weigh = state.prefix.weigh
            weighed = await asyncio.to_thread(weigh, body, received, messages, model=model)
        else:
            messages = layout.composed.messages
            weighed = state.prefix.weigh(body, layout.history, messages, model=model)
        clients = weighed
        if state.verbatim.window_tokens:
            own = received.messages
            clients = state.client_prefix.weigh(body, received, own, model=model)
        if state.session is None or self._health.full:  # nothing was said, or could be written
            return None, NOTHING
        relayed = Relayed(
            request=state.requests,
            wire=self._wire.name,
            model=model,
            change=_change(match, weighed),
            tokens=weighed.tokens,
            window_tokens=state.verbatim.window_tokens,
            factor=state.verbatim.factor,
            messages=len(messages),
            client_messages=len(received.messages),
            client_tokens=clients.tokens,
            client_shared=clients.shared,
            before=weighed.before,
            shared=weighed.shared,
            is_cold=self._is_cold(model),
            is_marked=state.verbatim.weights.known.is_marked(body),
            is_marked_here=is_marked_here,
            upto=state.pages.first_in(reversed(match.path)),
            **(self._paged(layout, received) if layout is not None else {}),
        )
        news = state.first_sent.find(received, match)
        entry, later = _RequestRecords(Telling(relayed=relayed, messages=news.messages), news), None
        may_wait = may_wait and not self._health.problem
        record = NOTHING
        if may_wait and self._is_plain(relayed):
            later = entry
        else:
            if may_wait:  # the client's JSON can wait all the same
                entry = _RequestRecords(Telling(relayed=relayed))
                later = _RequestRecords(Telling(messages=news.messages), news)
            record = await self._write(entry)
            if record == NOTHING:
                return None, NOTHING
        self._pending = later
        state.requests += 1
        return relayed, record

    async def record_again(
        self, body: Json, history: History, passed: Passed, tokens: int
    ) -> tuple[Relayed | None, Seq]:
        """Log a request that repeats another with the results of memory's tools behind it."""
        state, before = self._state, passed.logged.relayed
        weighed = state.prefix.weigh(body, history, history.messages, model=passed.model)
        if state.session is None or before is None:
            return None, NOTHING
        relayed = Relayed(
            request=state.requests,
            wire=self._wire.name,
            model=passed.model,
            change=SERVED,
            tokens=weighed.tokens,
            window_tokens=before.window_tokens,
            factor=before.factor,
            messages=len(history.messages),
            client_messages=before.client_messages,
            left_tokens=before.left_tokens,
            hidden=before.hidden,
            before=weighed.before,
            shared=weighed.shared,
            is_over=tokens > before.window_tokens,
            is_cold=self._is_cold(passed.model),
            is_marked=before.is_marked,
            is_marked_here=passed.plain is not None,
            upto=before.upto,
            offers=True,
        )
        record = await self._write(_RequestRecords(Telling(relayed=relayed)))
        if record == NOTHING:
            return None, NOTHING
        state.requests += 1
        return relayed, record

    # --- reports, and what is pending ---------------------------------------------------------

    async def report(self, request: int, usage: Usage) -> None:
        """Log the provider's count for a request."""
        await self._write(_RequestRecords(Telling(reported=reported(request, usage))))

    def report_later(self, request: int, usage: Usage) -> None:
        """Leave the provider's count pending."""
        entry = self._pending or _RequestRecords(Telling())
        entry.records = replace(entry.records, reported=reported(request, usage))
        self._pending = entry

    async def flush(self) -> Seq:
        """Write what is pending; returns where the record of the request is, if it was."""
        entry, self._pending = self._pending, None
        return NOTHING if entry is None else await self._write(entry)

    async def append(self, session: Session, items: Sequence[Incoming]) -> list[list[PageId]]:
        """Log items of the history in one batch with what is pending, which comes first. Returns
        the pages of each. Raises as the session does; what is pending then stays so.
        """
        entry = self._pending
        pages = await session._say_each(items, USER_TYPED, entry.records if entry else None)
        if entry is not None:
            self._pending = None
            self._written(entry)
        return pages

    async def _write(self, entry: _RequestRecords) -> Seq:
        if self._state.session is None:
            return NOTHING
        try:
            await tell(self._state.session.owned, entry.records)
        except PagefaultError as error:
            self._health.fails(error.message)
            return NOTHING
        self._written(entry)
        return entry.records.kept.request

    def _written(self, entry: _RequestRecords) -> None:
        kept = entry.records.kept
        if entry.news is not None and not kept.is_to_repeat:
            self._state.first_sent.keep(entry.news)
        self._health.problem = self._health.problem or kept.problem

    # --- what a record has --------------------------------------------------------------------

    def _paged(self, layout: PagedLayout, received: History) -> dict[str, Any]:
        """The fields of a request that is paged."""
        pages, composed, quotes = self._state.pages, layout.composed, layout.quotes
        weights, added_tokens = self._state.verbatim.weights, composed.added_tokens
        if layout.offer is not None:
            added_tokens += max(0, weights.of(layout.offer.tools) - weights.of(received.tools))
        return {
            "left_tokens": composed.left_tokens,
            "added_tokens": added_tokens,
            "hidden": pages.count(composed.hidden),
            "recalled": tuple(page.page_id for page in quotes.pages),
            "passages": tuple(quotes.passages.values()),
            "epoch": composed.epoch,
            "is_over": composed.over,
            "opening": pages.first(quotes.opening),
            "core": tuple(page.page_id for page in quotes.core),
            "offers": layout.offer is not None,
            **(self._epoch(layout.outgoing) if composed.epoch else {}),
        }

    def _epoch(self, outgoing: Outgoing) -> dict[str, Any]:
        """The fields of a request with which an epoch begins: its nodes, by their pages."""
        pages, path, window = self._state.pages, outgoing.path, outgoing.window
        keys = [node.key for node in path]
        told: dict[str, Any] = {"epoch_at": pages.first_in(reversed(path))}
        if window.first:
            told["epoch_first"] = pages.first_in(path[keys.index(window.first) :])
        fronts = (path[keys.index(one) :: -1] for one in window.front)
        told["epoch_front"] = pages.first_in(chain.from_iterable(fronts))
        return told | {"stubs": tuple(filter(None, map(pages.first, outgoing.stubs)))}

    def _is_plain(self, relayed: Relayed) -> bool:
        """Whether no later request depends on this record."""
        decides = relayed.epoch or relayed.recalled or relayed.change == Change.COMPACTED
        is_first_offer = relayed.offers and not self._has_logged_offers
        self._has_logged_offers = self._has_logged_offers or relayed.offers
        return not decides and not is_first_offer

    def _is_cold(self, model: str) -> bool:
        """Whether the provider's cache has presumably expired; after a restart nobody knows."""
        before, self._asked_s = self._asked_s, self._clock.monotonic_s()
        return before is None or find_model(model).prices.is_cold(self._asked_s - before)


def _change(match: Match, weighed: Weighed) -> str:
    """How a request differs from the one before it, as `Relayed` names it."""
    if weighed.has_another_model:
        return "remodelled"
    if match.change in (Change.SAME, Change.EXTENDED) and weighed.shared < weighed.before:
        if weighed.has_another_head:
            return "reinstructed"
        if match.edited:
            return "edited"
    return str(match.change)
