"""Reading a session: the next request, results of the model's calls, pages.

What the model and a person need to continue the conversation. Requests and calls are logged as they
are served; the other verbs write nothing. `inspector.py` has what is known *about* the session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, cast, overload

from pagefault.engine.formats import FORMATS, Format, to_wire
from pagefault.model.errors import ArchiveMissing, BadInput, NoSuchPage, RecordGone, StoreCorrupt
from pagefault.model.ids import PageId
from pagefault.model.kinds import Level, Mode, Profile, Tier
from pagefault.model.page import Page, PageDetails, PageRow, Scope
from pagefault.model.request import Request, ToolCall
from pagefault.model.signatures import ANY_TEXT, checked_verbs
from pagefault.model.wanted import ANY, SearchFilter
from pagefault.pack.envelope import told_level
from pagefault.paging.deferred import DeferredPage, placeholder
from pagefault.recall.search import SearchResult
from pagefault.service.arguments import a_level
from pagefault.service.configure import configure
from pagefault.service.derived.cards import Card, cards_of
from pagefault.service.derived.claims import ClaimInfo
from pagefault.service.derived.compression import nearest
from pagefault.service.facades.parts import SessionParts, check_open
from pagefault.service.inspection.timetravel import ACCESSES, history
from pagefault.service.lookup.knowledge import (
    PAGES_MAX,
    Knowledge,
    about,
    known_of,
    withdrawn_about,
)
from pagefault.service.lookup.questions import Asking
from pagefault.service.lookup.session_search import ANSWERS_MAX, SAID
from pagefault.service.turn.artifacts import bytes_of
from pagefault.service.turn.host_tools import check_answered
from pagefault.service.turn.media import dimensions, duration_seconds
from pagefault.service.turn.stated_claims import a_kind
from pagefault.service.turn.toolset import Tool, a_toolset
from pagefault.service.turn.turn import id_as_kept
from pagefault.service.window import exchanges
from pagefault.service.window.host_calls import unused


@checked_verbs(usable=check_open)
class Reader(SessionParts, Asking):
    """What a session serves: requests, calls, pages, and search results. `request` and `call`
    append records; the other verbs only read.
    """

    @overload
    async def request(self, *, tools: Sequence[Tool] | None = None) -> Request: ...
    @overload
    async def request(
        self, format: Format, *, tools: Sequence[Tool] | None = None
    ) -> dict[str, Any]: ...
    async def request(
        self, format: str | None = None, *, tools: Sequence[Tool] | None = None
    ) -> Request | dict[str, Any]:
        """The next request: messages and tools that fit the window, durable in the log.

        At a turn's first request the runtime itself recalls pages for the message. With a `format`
        it is the body of a call, without the model's name: "openai" (Chat Completions),
        "openai-responses", "anthropic" (Messages; it also needs `max_tokens`) or "gemini"
        (generateContent).

        `tools` are additional ones of your own, each a `ToolSpec` or a tool in one of these
        formats. They stay until others are given (`[]`: none), count against the window, and a
        change begins an epoch. Raises `BadInput` while a call waits for its `tool_result`, and
        `WindowTooSmall` if the tools leave no room to converse.
        """
        offered = None if tools is None else a_toolset(tools, self._runtime.journal.clean)
        if format not in (None, *FORMATS):
            raise BadInput(
                f"unknown format {format!r}", hint=f"one of {', '.join(FORMATS)}, or none"
            )

        async def verb() -> Request:
            check_answered(exchanges.calls_awaited(self._state))
            if offered is not None:
                await configure(self.owned, self._runtime, name=self.name, tools=offered)
            with self._runtime.timed("request"):
                return await self._requests.next()

        request = self._marker.marked(
            await self.owned.whole(verb),
            cast("Format | None", format),
            prices=self._runtime.epochs.prices,
            front_messages=self._state.front_messages,
        )
        return request if format is None else to_wire(request, format)

    async def call(self, call: ToolCall, *, said: Annotated[str, ANY_TEXT] = "") -> str:
        """Serve one tool call of the model and return the result's text.

        Never raises for the model's mistakes: a refusal is a result too, and is logged; only if the
        window has no room left for it is a call refused and not logged. The record of the call is
        durable before the next request is, not before this returns.
        """

        if self._state.mode is Mode.PASSIVE:
            raise BadInput(
                "a passive session serves no calls: its requests offer no tools",
                hint='configure(mode="active"), or ignore the call',
            )

        if any(call.name == tool.name for tool in self._state.tools):
            raise BadInput(
                f"{call.name} is your own tool: memory cannot call it",
                hint="log the reply with assistant(text, calls=[…]), run the tool, and give its "
                "result with tool_result(call_id, result)",
            )
        kept = id_as_kept(call.call_id, self._runtime.journal.clean)
        call_id = unused([kept], self._state.layout.entries())[0] if kept else kept
        return await self._calls.serve(ToolCall(call_id, call.name, call.arguments), said)

    async def page(self, page_id: str, *, details: bool = False) -> Page:
        """A page at level 0. Raises `NoSuchPage`; `RecordGone` if it was forgotten.

        With `details` it also has what its record does not have: its `label`, the least trusted of
        everything that went into it; when it was last accessed and how often, which reads the
        session's whole log; and the `dimensions` or `duration_seconds` of its bytes, which reads
        these.
        """
        page = await self._pages.get(page_id)
        return replace(page, details=await self._details(page)) if details else page

    async def _details(self, page: Page) -> PageDetails:
        await self.owned.caught_up()
        moved = await asyncio.to_thread(
            history, self._runtime, self.session, page.page_id, actor=None
        )
        used = [one.at_ms for one in moved if one.what in ACCESSES]
        data = b""
        if page.blob:
            with suppress(RecordGone, StoreCorrupt):  # the page exists, and its bytes do not
                data = await asyncio.to_thread(bytes_of, page, self._state, self._runtime)
        label = None
        with suppress(ArchiveMissing):  # then the label is unknown
            label = await asyncio.to_thread(self._labels.label, page)
        return PageDetails(
            last_accessed=datetime.fromtimestamp(max(used) / 1000, UTC) if used else None,
            access_count=len(used),
            dimensions=dimensions(data),
            duration_seconds=duration_seconds(data),
            label=label,
        )

    async def tiers(self, page_ids: Sequence[str]) -> dict[PageId, Tier]:
        """The tier of each of these pages now: L0 the window, L1 memory (a derived page that is not
        written yet), L2 the log, L3 the blob store, L4 the archive. Raises `NoSuchPage`.

        In a proxied session none is L0: its client decides what the window holds.
        """
        self.owned.check_there()
        await self._runtime.journal.look()

        def look() -> list[tuple[PageRow, bool]]:
            rows = [self._pages.row(PageId(page_id)) for page_id in page_ids]
            archived = self._runtime.log.archived([row.seq for row in rows if row.seq])
            return [(row, row.seq in archived) for row in rows]

        rows = await asyncio.to_thread(look)
        return {r.page_id: self._state.tier_of(r, is_archived=away) for r, away in rows}

    async def at_level(self, page_id: str, level: int) -> tuple[Level, str, int]:
        """A page at `level` or the nearest fuller one: that level, text and tokens.

        A picture's text is its caption, which is level 2 at most. Writes nothing.
        """
        wanted = a_level(level)
        page = await self._pages.get(page_id)
        ladder = self._levels.ladder(page)
        served = ladder.fullest(nearest(ladder, wanted))
        return told_level(page.row, served), ladder.text(served), ladder[served]

    async def artifact_bytes(self, page_id: str) -> bytes:
        """The bytes of an artifact. Raises `BadInput` for a page that has none, and as `page`."""
        page = await self._pages.get(page_id)
        return await asyncio.to_thread(bytes_of, page, self._state, self._runtime)

    async def defer(self, page_id: str) -> DeferredPage:
        """Start reading a page without waiting for it: for answers that stream.

        Returns a placeholder at once, and with it the page once it is read. Raises `NoSuchPage`.
        """
        self.owned.check_there()
        page_id = PageId(page_id)
        row = self._state.table.find(page_id)
        if row is None and self._state.l1.page(page_id) is None:
            raise self._pages.no_such(page_id)
        loading = asyncio.ensure_future(self.page(page_id))
        self._runtime.under_way.add(loading)
        loading.add_done_callback(self._runtime.under_way.discard)
        loading.add_done_callback(_look_at)
        return DeferredPage(page_id, placeholder(page_id), loading)

    async def claims(self) -> list[ClaimInfo]:
        """The decisions, preferences and facts of this session, oldest first, with their status."""
        self.owned.check_there()
        await self.owned.refresh()
        return await asyncio.to_thread(self._claims.told, self._state)

    async def cards(self) -> list[Card]:
        """The same as memory cards, with requirement 004's field names; without retraction
        notes.
        """
        claims = await self.claims()
        return await asyncio.to_thread(cards_of, self._runtime, self.owned.scope, claims)

    async def known(self, query: str, *, kinds: Sequence[str] = ()) -> Knowledge:
        """Whether something is in memory: the claims about it that hold, or else what was said
        about it; or else why not: nobody said it, or it was retracted or withdrawn, is stale or
        expired. It matches words, like searches: a question in other words does not find it.

        With `kinds`, as of `claim`, only claims of these answer: something discussed, and never
        decided, is no decision in memory.
        """
        asked = frozenset(map(a_kind, kinds))
        scope = await self._asked(ANY)
        claims = {one.claim_id: one for one in await self.claims()}
        past = replace(ANY, history=True)
        found = await self._runtime.in_search_thread(
            lambda: self._finder.claims(scope, query, limit=ANSWERS_MAX, wanted=past)
        )
        said = replace(ANY, kinds=tuple(SAID))
        pages = await self._finder.find(scope, query, limit=PAGES_MAX, wanted=said)
        texts: list[str] = []
        for hit in pages.hits:
            with suppress(RecordGone, ArchiveMissing):
                texts.append((await self._pages.get(hit.page.page_id)).text)
        told = [claims[hit.page.page_id] for hit in found if hit.page.page_id in claims]
        bear = await asyncio.to_thread(about, self._runtime.index, scope, query, told, texts)
        found = [hit for hit in found if hit.page.page_id in bear]
        gone = withdrawn_about(claims.values(), query)
        return known_of(claims, found, pages.hits, asked, gone)

    def resident(self) -> list[PageId]:
        """The pages that the model sees in full, coldest first."""
        return list(self._state.working_set)

    def pinned(self) -> list[PageId]:
        """The pages that are pinned, in the order of the pins."""
        return self._state.pins_there()

    def visible(self) -> set[PageId]:
        """The pages that the model can cite: those it sees in full, or at level 1 or 2."""
        pages = self._state.working_set
        shown = (self._state.l1.page(page_id) for page_id in pages)
        return {*pages, *(p.derived.represents for p in shown if p is not None and p.derived)}

    def host_tools(self) -> list[str]:
        """The names of your own tools in a request."""
        return [tool.name for tool in self._state.tools]

    def calls_that_fit(self) -> int:
        """How many more calls the window can take in this turn, if each were refused."""
        return self._calls.fit()

    def no_such_page(self, page_id: str) -> NoSuchPage:
        """The error for a page that this session does not have."""
        return self._pages.no_such(page_id)

    async def _find(
        self, scope: Scope, query: str, limit: int, wanted: SearchFilter, profile: Profile | None
    ) -> SearchResult:
        return await self._finder.find(scope, query, limit=limit, wanted=wanted, profile=profile)

    def _reach(self, scope: Scope, wanted: SearchFilter) -> list[Scope]:
        is_said = not wanted.kinds or not SAID.isdisjoint(wanted.kinds)
        return self._runtime.reach(scope) if is_said else []

    async def _asked(self, wanted: SearchFilter) -> Scope:
        if wanted.sessions is not None:
            raise BadInput(
                "a session's recall searches only what it sees",
                hint="use the memory's own `recall` for several sessions",
            )
        if wanted.session not in ("", self.name, self.session_id):
            raise BadInput(
                f"this session cannot see {wanted.session!r}",
                hint="use the memory's own `recall` for every session",
            )
        self.owned.check_there()
        await self._runtime.journal.look()
        return self.owned.scope


def _look_at(loading: asyncio.Future[Page]) -> None:
    """A deferred page may never be awaited: then its failure is ignored."""
    if not loading.cancelled():
        loading.exception()
