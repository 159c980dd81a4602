"""A session: one conversation, its window, and the verbs on them.

Every verb that writes runs whole or not at all from the caller's side: it plans, appends what it
planned as one batch, and folds the events that come back. Cancelling the caller's wait cancels
none of that; a retry with the same `key` finds what was done.

What other processes do to the session meanwhile is the affair of `ownership.py`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, cast, overload

from pagefault.engine.api import Engine
from pagefault.engine.formats import FORMATS, Format, to_wire
from pagefault.model.errors import (
    ArchiveMissing,
    BadInput,
    NoSuchPage,
    PinsFull,
    PlanOutdated,
    RecordGone,
    SessionNotFound,
    StoreCorrupt,
    WindowTooSmall,
)
from pagefault.model.events import (
    Checkpointed,
    Content,
    Draft,
    Event,
    Faulted,
    Packed,
    Pinned,
    Reported,
    SessionConfigured,
    SessionOpened,
    Unpinned,
    expected,
)
from pagefault.model.ids import PageId, Seq
from pagefault.model.kinds import (
    DERIVED_TYPES,
    LOCAL_FILE,
    MODEL_GENERATED,
    USER_TYPED,
    Actor,
    EventType,
    Kind,
    LayoutName,
    Level,
    Modality,
    Mode,
    Origin,
    Role,
)
from pagefault.model.page import Page, PageRow, Scope, SessionRow
from pagefault.model.prices import PriceList
from pagefault.model.request import Request, ToolCall, Usage
from pagefault.pack.abi import MemoryABI
from pagefault.pack.envelope import refusal
from pagefault.pack.manifest import ENTRIES_MAX
from pagefault.pack.render import LABEL_TOKENS
from pagefault.pack.tools import PAGE_FAULT
from pagefault.paging.deferred import DeferredPage, placeholder
from pagefault.paging.pressure import Callback, Gauge
from pagefault.policy.prefetch import LOADING
from pagefault.recall.gate import gate
from pagefault.recall.search import SearchResult
from pagefault.service.artifacts import describe
from pagefault.service.claiming import CLAIM, ClaimInfo, Claims
from pagefault.service.compressing import compress, compress_due, nearest
from pagefault.service.drive import Answer, drive
from pagefault.service.goals import active_goal, plan_goal
from pagefault.service.ledger import Entry
from pagefault.service.levels import Levels
from pagefault.service.marking import Marker
from pagefault.service.ownership import Owned
from pagefault.service.plan import plan_backlog, plan_request
from pagefault.service.plan_developer import plan_developer
from pagefault.service.prefetch import Prefetcher
from pagefault.service.reporting import Metrics, fold_session, report
from pagefault.service.room import check_window
from pagefault.service.runtime import Runtime
from pagefault.service.serving import REFUSAL_TOKENS, serve
from pagefault.service.state import SessionState, page_of
from pagefault.service.status import Status, status_of
from pagefault.service.timetravel import (
    Difference,
    Moment,
    Movement,
    difference,
    find_seq,
    history,
    moment,
)
from pagefault.service.topics import search_about
from pagefault.service.turn import encodable
from pagefault.service.writing import Said, write_down
from pagefault.store.api import PageFilter

_NAME: Final = re.compile(r"[^\x00-\x1f\x7f/\ud800-\udfff]{1,80}")
RECALL_CANDIDATES = 50  # pages that a turn-start recall looks at
CLAIMS_RECALLED: Final = 5  # claims that it brings at most: each is a line


class Session:
    """Made by `Memory.session`. All verbs may be awaited from one event loop, in any order."""

    def __init__(
        self,
        *,
        owned: Owned,
        session_id: str,
        name: str,
        runtime: Runtime,
        open_new: Callable[[SessionOpened], Awaitable[Session]],
    ) -> None:
        self.owned = owned  # for the floors around: how the session stands among processes
        self.session = owned.session
        self.session_id = session_id
        self.name = name
        self._runtime = runtime
        self._open_new = open_new
        self._levels = Levels(owned, runtime)
        self.pressure = Gauge()
        self._faults_noted = 0
        self.prefetcher = Prefetcher(
            runtime,
            strategies=LOADING[runtime.limits.loading],
            depth=runtime.limits.prefetch_pages_max,
            gauge=self.pressure,
        )
        self._claims = Claims(runtime, owned.session)
        self._bearing: list[PageId] = []  # on the newest message, best first
        self._marker = Marker(runtime.counter, session_id)
        self._asked_s: float | None = None  # when a request was packed last, by a steady clock

    def __repr__(self) -> str:
        return f"<Session {self.name or self.session_id}: {self._state.order_next} pages>"

    # --- what is said -------------------------------------------------------------------------

    async def user(
        self, text: str, *, speaker: str = "", occurred_at: str = "", key: str = ""
    ) -> PageId:
        """Log what the user typed and open the next turn. Returns the id of its (first) page.

        Raises `MessageTooLarge`, with nothing written, if it could not be shown whole.
        """
        said = Said(text=text, role=Role.USER, speaker=speaker, occurred_at=occurred_at, key=key)
        return (await self.say([said], origin=USER_TYPED))[0]

    async def assistant(
        self, text: str, *, speaker: str = "", occurred_at: str = "", key: str = ""
    ) -> PageId:
        """Log what the model answered, where you call the model yourself."""
        said = Said(
            text=text, role=Role.ASSISTANT, speaker=speaker, occurred_at=occurred_at, key=key
        )
        return (await self.say([said], origin=MODEL_GENERATED))[0]

    async def document(
        self, text: str, *, title: str = "", origin: str = "local_file", key: str = ""
    ) -> list[PageId]:
        """Hand in a text of any length. It is split into linked pages, to be searched and faulted.

        The window gets one line that says it is there.
        """
        said = Said(text=text, role=Role.USER, event_type=EventType.DOCUMENT, title=title, key=key)
        return await self.say([said], origin=_origin(origin))

    async def tool_result(
        self, text: str, *, name: str, call_id: str = "", key: str = ""
    ) -> list[PageId]:
        """Log what a tool of yours returned. A long result is split; its head enters the window."""
        said = Said(
            text=text,
            role=Role.TOOL,
            event_type=EventType.TOOL_RESULT,
            title=name,
            call_id=call_id,
            key=key,
        )
        return await self.say([said], origin=_origin(f"tool:{name}"))

    async def artifact(
        self, data: bytes, *, name: str, media_type: str = "", text: str = "", key: str = ""
    ) -> PageId:
        """Keep bytes: an image, a recording, a file. Returns the id of the page that stands for it.

        The page's text is one line of name, type and size, and `text`, a caption say: by these it
        is shown and found. `media_type` is guessed from the name if it is not given. The bytes are
        kept as they are, not searched for secrets; `artifact_bytes` gives them back.
        """
        said = describe(
            data,
            name=name,
            media_type=media_type,
            text=text,
            key=key,
            bytes_max=self._runtime.limits.artifact_bytes_max,
        )
        put = self._runtime.blobs.put

        async def verb() -> PageId:
            known, fresh = await self._known([said])  # first: what was forgotten stays away
            if not fresh:
                return known[0][0]
            blob = await asyncio.to_thread(put, bytes(data))
            return (await self._say([replace(said, blob=blob)], LOCAL_FILE))[0]

        return await self.owned.whole(verb)

    async def artifact_bytes(self, page_id: str) -> bytes:
        """The bytes of an artifact. Raises `BadInput` for a page that has none, and as `page`."""
        page = await self.page(page_id)
        if not page.blob:
            raise BadInput(f"{page_id} is a text and has no bytes", hint="`page` gives its text")
        try:
            return await asyncio.to_thread(self._runtime.blobs.get, page.blob)
        except KeyError:
            row = await asyncio.to_thread(self._state.table.find, PageId(page_id))
            if row is None or await asyncio.to_thread(self._runtime.journal.is_going, row.seq):
                raise RecordGone(f"page {page_id} is being forgotten just now") from None
            raise StoreCorrupt(
                f"the bytes of {page_id} are missing: blob {page.blob}",
                hint="put the blob back from a backup; the page's text is as it was",
            ) from None

    async def say(self, items: Sequence[Said], *, origin: Origin) -> list[PageId]:
        """Log several things in one batch: all or none. Returns the id of every page made."""
        return await self.owned.whole(lambda: self._say(items, origin))

    async def _say(self, items: Sequence[Said], origin: Origin) -> list[PageId]:
        planned = self._runtime.journal.forgets
        known, fresh = await self._known(items)
        drafts = write_down(
            fresh,
            origin,
            session=self.session,
            state=self._state,
            counter=self._runtime.counter,
            clean=self._runtime.journal.clean,
        )
        drafts += await self._claim(drafts)
        events = await self.owned.commit(drafts)
        if self._state.is_backlogged:
            backlog = plan_backlog(self._state, self.session)
            with suppress(PlanOutdated):  # the next text, or request, plans it again
                await self.owned.commit(backlog, planned=planned)
        for item in fresh:
            if item.role is Role.TOOL and item.title:
                self.prefetcher.tool_returned(item.title)
        if fresh and self._runtime.limits.loading == "speculative":
            self._look_ahead("\n".join(item.text for item in fresh))
        texts: list[list[PageId]] = []
        for event in events:
            assert isinstance(event.body, Content)
            if event.body.event_type in DERIVED_TYPES:
                continue
            if event.body.part == 0:
                texts.append([])
            texts[-1].append(event.body.page_id)
        written = iter(texts)
        by_key: dict[str, list[PageId]] = {}
        made: list[PageId] = []
        for item, pages in zip(items, known, strict=True):
            pages = pages or by_key.get(item.key) or next(written)
            by_key |= {item.key: pages} if item.key else {}
            made += pages
        return made

    async def _claim(self, drafts: Sequence[Draft]) -> list[Draft]:
        """Drafts of the claims that these make. Another thread waits for the store, if need be."""
        if self._claims.is_current(self._state):
            return self._claims.drafts(drafts, self._state)
        return await asyncio.to_thread(self._claims.drafts, drafts, self._state)

    # --- what the model sees ------------------------------------------------------------------

    @overload
    async def request(self) -> Request: ...
    @overload
    async def request(self, format: Format) -> dict[str, Any]: ...
    async def request(self, format: str | None = None) -> Request | dict[str, Any]:
        """The next request: messages and tools that fit the window, durable in the log.

        At a turn's first request the runtime pages in by itself what the message calls for. With a
        `format` it is the body of a call, less the model's name: "openai" (Chat Completions),
        "openai-responses", "anthropic" (Messages; it wants `max_tokens` besides) or "gemini"
        (generateContent).
        """
        if format not in (None, *FORMATS):
            raise BadInput(
                f"unknown format {format!r}", hint=f"one of {', '.join(FORMATS)}, or none"
            )

        async def verb() -> Request:
            with self._runtime.timed("request"):
                planned = self._runtime.journal.forgets
                recalled = await self._recall_for_turn()
                compress_due(
                    self._state,
                    self._levels,
                    self.pressure.level,
                    now_ms=self._runtime.clock.now_ms(),
                )
                drafts = self._with_prefetches(await self._plan(recalled))
                await self.owned.commit(drafts, planned=planned)
                self._asked_s = self._runtime.cache_s()
                self._note_request()
                self._look_ahead()
                return self._state.request()

        request = self._marker.marked(
            await self.owned.whole(verb),
            cast("Format | None", format),
            prices=self._runtime.epochs.prices,
            front_messages=self._state.front_messages,
        )
        return request if format is None else to_wire(request, format)

    async def _plan(self, recalled: Sequence[Page]) -> list[Draft]:
        is_cold = self._cache_is_cold()
        if self._state.layout_name is LayoutName.STABLE:
            return plan_request(self._state, self.session, recalled, is_cold=is_cold)
        bearing: list[PageId] = []
        recent: list[PageId] = []
        if self._state.awaits_request:  # later in the turn the listing stays
            newest = partial(self._runtime.index.pages, newest_first=True)
            rows = await asyncio.to_thread(
                newest, self.owned.scope, PageFilter(), limit=2 * ENTRIES_MAX
            )
            bearing, recent = self._bearing, [row.page_id for row in rows]
        return plan_developer(self._state, self.session, recalled, bearing, recent, is_cold=is_cold)

    async def call(self, call: ToolCall, *, said: str = "") -> str:
        """Serve one tool call of the model and return the result's text.

        Never raises for what the model got wrong: a refusal is a result too, and is logged; only
        where the window has no room left for it is a call refused and not kept. The
        record of the call is durable before the next request is, not before this returns.
        """

        if self._state.mode is Mode.PASSIVE:
            raise BadInput(
                "a passive session serves no calls: its requests offer no tools",
                hint='configure(mode="active"), or ignore the call',
            )

        async def verb() -> str:
            with self._runtime.timed("fault" if call.name == PAGE_FAULT else "search"):
                return await served()

        async def served() -> str:
            await self.owned.lease()  # a call is folded before its record is written
            if not self.calls_that_fit():
                return refusal(
                    "no_room",
                    "the window has no room for more calls in this turn: answer now",
                    faults_left=self._state.budget.faults_left,
                )
            body = await serve(
                call,
                said,
                state=self._state,
                read=self._runtime.pages.read,
                find=self._find_earlier,
                levels=self._levels,
            )
            if isinstance(body, Faulted) and not body.refusal:
                self.prefetcher.used([body.page_id])
            return self.owned.note_call(self._runtime.journal.clean_body(body))

        return await self.owned.whole(verb)

    async def run(self, engine: Engine, *, on_text: Callable[[str], None] | None = None) -> Answer:
        """Let `engine` answer the turn: requests, tool calls, faults, until the final answer.

        The answer is logged and its citations checked against what the model could see.
        `on_text` is given pieces of text as they arrive.
        """
        return await drive(self, engine, self._state.limits.steps_per_turn_max, on_text)

    # --- pages --------------------------------------------------------------------------------

    async def recall(
        self,
        query: str = "",
        *,
        limit: int = 5,
        modality: Modality | None = None,
        topic: str = "",
        task: str = "",
    ) -> SearchResult:
        """Pages that bear on `query`, best first, each with the parts of its score.

        With `topic` or `task` ("#42", "ABC-7"), only pages that have it among their tags; the
        query may then be empty.
        """
        self.owned.check_there()
        await self._runtime.journal.look()
        if topic or task:
            return await search_about(
                self._runtime, self.owned.scope, query, topic=topic, task=task, limit=limit
            )
        return await self._find(self.owned.scope, query, limit, modality)

    async def _find(
        self, scope: Scope, query: str, limit: int, modality: Modality | None = None
    ) -> SearchResult:
        return await self._runtime.search(scope, query, limit=limit, modality=modality)

    async def page(self, page_id: str) -> Page:
        """A page at level 0. Raises `NoSuchPage`; `RecordGone` if it was forgotten."""
        self.owned.check_there()
        await self._runtime.journal.look()
        made = self._state.l1.page(PageId(page_id))
        if made is not None:
            return made
        row = await asyncio.to_thread(self._state.table.find, PageId(encodable(page_id)))
        if row is None:
            raise self.no_such_page(page_id)
        return await asyncio.to_thread(self._runtime.pages.read, row)

    async def defer(self, page_id: str) -> DeferredPage:
        """Begin to read a page and do not wait for it: for answers that stream.

        Gives a placeholder at once, and the page when it is there. Raises `NoSuchPage`.
        """
        self.owned.check_there()
        page_id = PageId(encodable(page_id))
        row = self._state.table.find(page_id)
        if row is None and self._state.l1.page(page_id) is None:
            raise self.no_such_page(page_id)
        loading = asyncio.ensure_future(self.page(page_id))
        self._runtime.under_way.add(loading)
        loading.add_done_callback(self._runtime.under_way.discard)
        loading.add_done_callback(_look_at)
        return DeferredPage(page_id, placeholder(page_id), loading)

    async def claims(self) -> list[ClaimInfo]:
        """What was decided, preferred and told here, oldest first, with what became of it."""
        self.owned.check_there()
        await self.owned.refresh()
        return await asyncio.to_thread(self._claims.told, self._state)

    async def pin(self, page_id: str) -> None:
        """Keep a page in the window whatever policy says. Raises `PinsFull`, naming the pins."""

        async def verb() -> None:
            state = self._state
            page = await self.page(page_id)
            if state.table.is_pinned(page.page_id):
                return
            self._check_pins(page)
            await self.owned.record(Pinned(page_id=page.page_id), actor=Actor.USER)

        await self.owned.whole(verb)

    async def unpin(self, page_id: str) -> None:
        """Let policy decide about a page again. Harmless if it is not pinned."""

        async def verb() -> None:
            if self._state.table.is_pinned(PageId(page_id)):  # it may have been forgotten since
                unpinned = Unpinned(page_id=PageId(page_id))
                await self.owned.record(unpinned, actor=Actor.USER)
            else:
                await self.page(page_id)

        await self.owned.whole(verb)

    async def goal(self, text: str) -> PageId | None:
        """Make `text` the active goal: it stands in the window, pinned, until the next one does.

        Returns its page's id; an empty text ends the goal that stands, and returns none. Raises
        `PinsFull` if the pins leave no room for it.
        """

        async def verb() -> PageId | None:
            planned = self._runtime.journal.forgets
            drafts = plan_goal(self.owned, self._runtime.journal, text)
            pages = [
                page_of(e, e.body) for e in map(expected, drafts) if isinstance(e.body, Content)
            ]
            before = active_goal(self._state)
            if text:
                self._check_pins(pages[0], instead=before)
            await self.owned.commit(drafts, planned=planned)
            return pages[0].page_id if text else None

        return await self.owned.whole(verb)

    async def compress(self, page_id: str, level: int = 1) -> Page:
        """Let the next epoch keep a shorter form of a page: 1 reduced, 2 abstract.

        Returns what will stand for it, a page of its own; the page itself, where nothing can be
        left out. Level 0 stays as it was said, and `page` always gives it. Pins, and what stands
        in its place in the conversation, are shown whole all the same.
        """
        wanted = _a_level(level, least=Level.REDUCED)

        async def verb() -> Page:
            await self.owned.lease()
            page = await self.page(page_id)
            return compress(self._state, self._levels, page, wanted)

        return await self.owned.whole(verb)

    async def at_level(self, page_id: str, level: int) -> tuple[Level, str, int]:
        """A page at `level` or the nearest fuller one: what level that is, text and tokens.

        Reads, and keeps nothing.
        """
        wanted = _a_level(level)
        ladder = self._levels.ladder(await self.page(page_id))
        served = ladder.fullest(nearest(ladder, wanted))
        return served, ladder.text(served), ladder[served]

    async def flush(self) -> None:
        """Write every derived page that is only in memory, and wait for all that is queued."""
        await self.owned.whole(self.owned.flush)

    async def checkpoint(self, name: str) -> Seq:
        """Name this point of the session, everything flushed. Returns the record's seq, by which
        the log tells what the session was here.
        """
        check_name(name)

        async def verb() -> Seq:
            state = self._state
            body = Checkpointed(
                name=self._runtime.journal.clean(name),
                turns=state.turn + 1,
                pages=state.order_next,
                epoch=state.epoch,
            )
            await self.owned.record(body, actor=Actor.USER)  # what is dirty goes with it, before
            return self.owned.folded

        return await self.owned.whole(verb)

    def on_pressure(self, callback: Callback) -> Callable[[], None]:
        """Call `callback(before, now)` whenever the pressure on the window changes, with the
        request that changes it. Returns what ends that.
        """
        return self.pressure.on_change(callback)

    async def configure(
        self,
        *,
        window: int | None = None,
        mode: str | None = None,
        system: str | None = None,
        layout: str | None = None,
    ) -> None:
        """Change window, mode, system prompt or layout from the next request on."""

        async def verb() -> None:
            state = self._state
            body = SessionConfigured(
                window_tokens=state.window_tokens if window is None else a_window(window),
                mode=state.mode if mode is None else a_mode(mode),
                system=state.system if system is None else self._runtime.journal.clean(system),
                layout=state.layout_name if layout is None else a_layout(layout),
            )
            now = (state.window_tokens, state.mode, state.system, state.layout_name)
            if (body.window_tokens, body.mode, body.system, body.layout) == now:
                return
            self._runtime.check_opened(
                SessionOpened(
                    session_id=self.session_id,
                    name=self.name,
                    window_tokens=body.window_tokens,
                    mode=body.mode,
                    system=body.system,
                    layout=body.layout,
                ),
                state.must_show(),
                factor=state.factor,
            )
            await self.owned.record(body, actor=Actor.USER)

        await self.owned.whole(verb)

    async def fork(self, name: str = "") -> Session:
        """A new session that sees everything said here so far. Pages are shared, not copied."""
        if name:
            check_name(name)

        async def verb() -> Session:
            state = self._state
            await self.owned.drain()  # calls under way are part of what was said so far
            return await self._open_new(
                SessionOpened(
                    session_id=self._runtime.mint_session_id(),
                    name=self._runtime.journal.clean(name),
                    window_tokens=state.window_tokens,
                    mode=state.mode,
                    system=state.system,
                    layout=state.layout_name,
                    parent=self.session,
                    parent_seq=self.owned.folded,
                )
            )

        return await self.owned.whole(verb)

    async def status(self) -> Status:
        """What the session holds and what is left of its window and budgets, as of now."""
        self.owned.check_there()
        await self.owned.refresh()
        return status_of(
            self._state,
            self.pressure,
            self.prefetcher.status(),
            session_id=self.session_id,
            name=self.name,
        )

    def abi(self) -> MemoryABI:
        """What the window holds and could still take, for programs that weigh what memory costs."""
        self.owned.check_there()
        return self._state.abi()

    async def faults(self) -> list[Event]:
        """Every fault of this session, oldest first, served or refused."""
        self.owned.check_there()
        await self.owned.written()
        return await asyncio.to_thread(self._runtime.events_of, self.session, ("faulted",))

    # --- what it tells about itself -----------------------------------------------------------

    async def metrics(self, *, per_turn: bool = False) -> Metrics:
        """What this session tells about itself, folded from its log; `service/metrics.py` defines
        each figure. A fork counts its own turns.
        """
        await self._look()
        folded = await asyncio.to_thread(fold_session, self._runtime, self.session)
        return report(folded, self._runtime, self._state, per_turn=per_turn)

    async def ledger(self) -> list[Entry]:
        """Every request of this session: what it shared with the one before, what the provider
        reported. `Entry.line(prices)` tells what it should have cost.
        """
        await self._look()
        folded = await asyncio.to_thread(fold_session, self._runtime, self.session)
        return folded.ledger.entries

    @property
    def prices(self) -> PriceList:
        """What the epochs of this session are weighed by."""
        return self._runtime.epochs.prices

    async def at(
        self, *, turn: int | None = None, seq: int | None = None, time: str | int | None = None
    ) -> Moment:
        """What the window held at the end of a turn, after a record, or at a time (ISO 8601, UTC
        without a zone; or milliseconds since 1970). Raises `BadInput` for a time before the
        session began and a turn that has not been.
        """
        await self._look()
        time_ms = None if time is None else a_time(time)

        def look() -> Moment:
            row = self._row()
            scope = self._runtime.scope(self.session)
            upto = find_seq(self._runtime, scope, turn=turn, seq=seq, time_ms=time_ms)
            return moment(self._runtime, row, upto)

        return await asyncio.to_thread(look)

    async def diff(self, before: int, after: int) -> Difference:
        """What changed in the window from the end of one turn to the end of another."""
        return difference(await self.at(turn=before), await self.at(turn=after))

    async def history(self, page_id: str = "", *, actor: str = "") -> list[Movement]:
        """Everything that happened to a page, or without one to all pages, oldest first; of one
        actor (user, model, tool, system) alone, if one is named. Raises `NoSuchPage`.
        """
        await self._look()
        wanted = an_actor(actor) if actor else None
        if page_id and await asyncio.to_thread(self._state.table.find, PageId(page_id)) is None:
            raise self.no_such_page(page_id)
        named = PageId(page_id) if page_id else None
        return await asyncio.to_thread(
            partial(history, self._runtime, self.session, named, actor=wanted)
        )

    async def _look(self) -> None:
        """Before the records are read: all of ours are written, those of others are known."""
        self.owned.check_there()
        await self.owned.written()
        await self.owned.refresh()

    def _row(self) -> SessionRow:
        row = self._runtime.index.session(self.session)
        if row is None:
            raise SessionNotFound(self.name or self.session_id)
        return row

    def resident(self) -> list[PageId]:
        """The pages that the model can see in full, coldest first."""
        return list(self._state.working_set)

    def visible(self) -> set[PageId]:
        """The pages that the model can cite: those it sees in full, or at level 1 or 2."""
        pages = self._state.working_set
        shown = (self._state.l1.page(page_id) for page_id in pages)
        return {*pages, *(p.derived.represents for p in shown if p is not None and p.derived)}

    def fault_counts(self) -> tuple[int, int]:
        """Faults served and refused since this session was opened here."""
        return self._state.faults_served, self._state.faults_refused

    @property
    def paged_in_tokens(self) -> int:
        """What recall and faults have brought into the window in this turn."""
        return self._state.paged_in_tokens

    async def observe(self, usage: Usage) -> None:
        """Tell the session what a provider counted for the last request: it is written down, and
        the window is kept to the provider's own count from here on.
        """

        async def verb() -> None:
            await self.owned.lease()
            self.owned.note(
                Reported(
                    request=self._state.request_next - 1,
                    input_tokens=usage.input_tokens,
                    output_tokens=usage.output_tokens,
                    cached_tokens=usage.cached_tokens,
                    cache_write_tokens=usage.cache_write_tokens,
                )
            )

        await self.owned.whole(verb)

    def check(self) -> None:
        """Every invariant of this session's state, slowly: for tests."""
        self._state.check()

    def no_such_page(self, page_id: str) -> NoSuchPage:
        """The error for a page that this session does not have."""
        return NoSuchPage(page_id, self.name or self.session_id)

    # --- inside -------------------------------------------------------------------------------

    @property
    def _state(self) -> SessionState:
        """As it stands now: it may be another after every wait."""
        return self.owned.state

    def _check_pins(self, page: Page, *, instead: Page | None = None) -> None:
        """Raise `PinsFull` unless `page` can be pinned, `instead` of another."""
        state = self._state
        room = state.limits.core_tokens_max(state.window_tokens)
        pins = [pin for pin in state.pinned_pages() if instead is None or pin != instead]
        needed, taken = state.pin_tokens([page]), state.pin_tokens(pins)
        if taken + needed > room:
            names = ", ".join(pinned.page_id for pinned in pins) or "none"
            raise PinsFull(
                f"{page.page_id} takes {needed:,} tokens; pins may take {room:,} together "
                f"and take {taken:,} (pinned: {names})",
                hint="unpin something, or open the session with a larger window",
            )
        try:
            check_window(state, [*state.must_show(), page])
        except WindowTooSmall as full:
            raise PinsFull(
                f"{page.page_id} cannot be pinned beside the newest message: {full}",
                hint="pin it after the next message, or open the session with a larger window",
            ) from None

    def _with_prefetches(self, drafts: Sequence[Draft]) -> list[Draft]:
        """The same, with what was read ahead since the request before."""
        *before, last = drafts
        assert isinstance(last.body, Packed)
        loaded, used = self.prefetcher.take_record()
        body = replace(last.body, prefetched=loaded, prefetch_used=used)
        return [*before, replace(last, body=body)]

    def _look_ahead(self, text: str = "") -> None:
        """Read what may be wanted next, once nobody waits."""
        state = self._state
        if not self.prefetcher.is_on:
            return
        from pagefault.represent.topics import topic_tags

        said = "".join(page.text for page in state.newest_user)
        facts = self.prefetcher.facts(state, bearing=self._bearing, text=text or said)
        self.prefetcher.plan(state, facts, frozenset(topic_tags(said)))

    def _note_request(self) -> None:
        """A request was packed: what it says of the pressure on the window."""
        state = self._state
        faults = state.faults_served - self._faults_noted
        self._faults_noted = state.faults_served
        self.pressure.note(state.layout.tokens() / state.window_room, max(0, faults))

    def _cache_is_cold(self) -> bool:
        """Whether the provider has forgotten this session's prefix, as far as we can tell: after a
        restart nobody knows when it was asked last.
        """
        if self._asked_s is None:
            return True
        idle_s = self._runtime.cache_s() - self._asked_s
        return self._runtime.epochs.prices.is_cold(idle_s)

    def calls_that_fit(self) -> int:
        """How many more calls the window can take in this turn, were each of them refused."""
        return max(0, self._state.room_for_results()) // REFUSAL_TOKENS

    async def _known(self, items: Sequence[Said]) -> tuple[list[list[PageId]], list[Said]]:
        """For each item the pages it became before, if it did; and the items to write now."""
        known: list[list[PageId]] = []
        fresh: list[Said] = []
        keys: set[str] = set()
        for item in items:
            pages: list[PageId] = []
            if item.key:
                self._runtime.journal.clean(item.key)
                find = self._runtime.pages_of_key
                pages = await asyncio.to_thread(find, self.session, item.key)
            known.append(pages)
            if not pages and item.key not in keys:
                fresh.append(item)
            keys |= {item.key} if item.key else set()
        return known, fresh

    async def _recall_for_turn(self) -> list[Page]:
        """What the newest user message calls for and the window does not show, best first."""
        state = self._state
        if not state.awaits_request:
            return []
        query = "".join(page.text for page in state.newest_user)
        calls_for = gate(query)
        recall_room = state.limits.recall_room(state.window_tokens)
        chosen = await self._claims_for_turn(query, recall_room)
        room = int(calls_for.room_share * recall_room)
        room -= sum(row.tokens + LABEL_TOKENS for row in chosen)
        result = await self._find_earlier(query, RECALL_CANDIDATES, None)
        self._bearing = [hit.page.page_id for hit in result.hits]
        for hit in calls_for.admitted(result.hits):
            cost = hit.page.tokens + LABEL_TOKENS
            if hit.page.page_id not in state.working_set and cost <= room:
                chosen.append(hit.page)
                state.table.tlb.insert(hit.page)
                room -= cost
        self.prefetcher.used([row.page_id for row in chosen])
        return await asyncio.to_thread(self._read_all, chosen)

    async def _claims_for_turn(self, query: str, room: int) -> list[PageRow]:
        """The claims that bear on the newest message, best first: those that hold now."""
        state = self._state
        if CLAIM not in state.numbers:
            return []
        query = await asyncio.to_thread(self._claims.telling, query, state)
        scope = self._before_newest().derived
        find = self._runtime.search
        found = await find(scope, query, limit=CLAIMS_RECALLED, kinds=(Kind.CLAIM,))
        # By their own words: what stands beside a claim is another claim.
        rows = [hit.page for hit in found.hits if hit.parts["own"] > 0]
        newest = state.newest_user[0].row.seq
        chosen: list[PageRow] = []
        for row in await asyncio.to_thread(self._claims.current, rows, state):
            cost = row.tokens + LABEL_TOKENS
            is_earlier = row.seq < newest  # what this message itself claims stands in it
            if is_earlier and row.page_id not in state.working_set and cost <= room:
                chosen.append(row)
                state.table.tlb.insert(row)
                room -= cost
        return chosen

    def _before_newest(self) -> Scope:
        """What was said before the newest user message: no question answers itself."""
        scope, newest = self.owned.scope, self._state.newest_user
        if not newest:
            return scope
        before = Seq(newest[0].row.seq - 1)
        return Scope(tuple((part, min(upto, before)) for part, upto in scope.parts))

    async def _find_earlier(
        self, query: str, limit: int, modality: Modality | None
    ) -> SearchResult:
        """Search what was said before the newest user message."""
        return await self._find(self._before_newest(), query, limit, modality)

    def _read_all(self, rows: Sequence[PageRow]) -> list[Page]:
        pages = []
        for row in rows:
            with suppress(RecordGone, ArchiveMissing):
                pages.append(self._runtime.pages.read(row))
        return pages


def check_name(name: str) -> None:
    """Raise `BadInput` unless a session may be called so."""
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"{name!r} cannot be a session's name",
            hint="1 to 80 characters, without / and control characters",
        )


def _look_at(loading: asyncio.Future[Page]) -> None:
    """Nobody need ask for a deferred page: then its failure is nobody's."""
    if not loading.cancelled():
        loading.exception()


def _a_level(level: int, *, least: Level = Level.FULL) -> Level:
    if level not in list(Level) or level < least:
        raise BadInput(f"{level} is no level here", hint=f"one of {least:d} to {max(Level):d}")
    return Level(level)


def a_mode(mode: str) -> Mode:
    try:
        return Mode(mode)
    except ValueError:
        raise BadInput(f"unknown mode {mode!r}", hint=f"one of {', '.join(Mode)}") from None


def an_actor(actor: str) -> Actor:
    try:
        return Actor(actor)
    except ValueError:
        raise BadInput(f"unknown actor {actor!r}", hint=f"one of {', '.join(Actor)}") from None


def a_time(time: str | int) -> int:
    """A time in milliseconds since 1970. Raises `BadInput`."""
    if isinstance(time, int):
        return time
    try:
        at = datetime.fromisoformat(time)
    except ValueError:
        raise BadInput(f"{time!r} is no time", hint="ISO 8601: 2026-03-05T08:45:00Z") from None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


def a_layout(layout: str) -> LayoutName:
    try:
        return LayoutName(layout)
    except ValueError:
        raise BadInput(
            f"unknown layout {layout!r}", hint=f"one of {', '.join(LayoutName)}"
        ) from None


def a_window(tokens: int) -> int:
    if tokens < 1:
        raise BadInput(f"a window of {tokens} tokens cannot be", hint="give a positive number")
    return tokens


def _origin(text: str) -> Origin:
    try:
        return Origin(text)
    except ValueError as bad:
        raise BadInput(str(bad)) from None
