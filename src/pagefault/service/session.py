"""A session: one conversation, its window, and the verbs on them.

Every verb that writes runs whole or not at all from the caller's side: it plans, appends what it
planned as one batch, and folds the events that come back. Cancelling the caller's wait cancels
none of that; a retry with the same `key` finds what was done.

What other processes do to the session meanwhile is the affair of `ownership.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Annotated, Any, cast, overload

from pagefault.engine.api import Engine
from pagefault.engine.formats import FORMATS, Format, to_wire
from pagefault.model.catalogue import UNKNOWN
from pagefault.model.errors import (
    BadInput,
    NoSuchPage,
    RecordGone,
    StoreCorrupt,
)
from pagefault.model.events import (
    Checkpointed,
    Event,
    Faulted,
    OfferedTool,
    Pinned,
    Reported,
    SessionOpened,
    Unpinned,
)
from pagefault.model.ids import NOTHING, PageId, Seq
from pagefault.model.kinds import (
    LOCAL_FILE,
    MODEL_GENERATED,
    USER_TYPED,
    Actor,
    EventType,
    Level,
    Mode,
    Origin,
    Profile,
    Role,
    Source,
    Tier,
)
from pagefault.model.page import Page, PageDetails, PageRow, Scope
from pagefault.model.prices import PriceList
from pagefault.model.request import Request, ToolCall, Usage
from pagefault.model.signatures import ANY_TEXT, checked_verbs
from pagefault.model.wanted import SearchFilter
from pagefault.pack.abi import MemoryABI
from pagefault.pack.envelope import refusal, told_level
from pagefault.pack.tools import PAGE_FAULT, SEARCH_PAGES
from pagefault.paging.deferred import DeferredPage, placeholder
from pagefault.paging.pressure import Callback, Gauge
from pagefault.policy.prefetch import LOADING
from pagefault.recall.search import SearchResult
from pagefault.service.arguments import (
    a_count,
    a_level,
    a_moment,
    a_span_s,
    a_time,
    an_actor,
    an_origin,
    check_name,
    one_of,
)
from pagefault.service.configuring import configured
from pagefault.service.derived.asking import ask
from pagefault.service.derived.claiming import ClaimInfo, Claims
from pagefault.service.derived.compressing import compress, nearest
from pagefault.service.derived.levels import Levels
from pagefault.service.derived.procedures import Procedures
from pagefault.service.finding.finding import Finder
from pagefault.service.finding.questions import Asking
from pagefault.service.ownership import Owned
from pagefault.service.runtime import Runtime
from pagefault.service.telling.checkpoints import Checkpoint, check_new
from pagefault.service.telling.ledger import Entry
from pagefault.service.telling.looking import Looking
from pagefault.service.telling.received import ConversationItem
from pagefault.service.telling.reporting import Metrics
from pagefault.service.telling.status import Status, status_of
from pagefault.service.telling.timetravel import (
    ACCESSES,
    Difference,
    Moment,
    Movement,
    Sent,
    difference,
)
from pagefault.service.turn.artifacts import bytes_of, describe
from pagefault.service.turn.drive import Answer, Bounds, drive
from pagefault.service.turn.functions import CALLS_MAX, TIMEOUT_S, RunnableTool, Toolbox
from pagefault.service.turn.goals import plan_goal
from pagefault.service.turn.host_tools import (
    ToolOutput,
    a_call,
    a_result,
    check_answered,
    kept_as,
    not_open,
    sniffed,
    told_apart,
)
from pagefault.service.turn.marking import Marker
from pagefault.service.turn.media import dimensions, duration_seconds
from pagefault.service.turn.prefetch import Prefetcher
from pagefault.service.turn.recalling import TurnRecall
from pagefault.service.turn.requesting import Requests
from pagefault.service.turn.saying import Saying
from pagefault.service.turn.serving import REFUSAL_TOKENS, serve
from pagefault.service.turn.toolset import Tool, a_toolset
from pagefault.service.turn.turn import as_kept
from pagefault.service.turn.undo import Undone, UndoPlan, plan_redo, plan_undo
from pagefault.service.turn.writing import Incoming
from pagefault.service.window.abi import abi_of
from pagefault.service.window.host_calls import awaited, meant, unused
from pagefault.service.window.room import check_pins
from pagefault.service.window.state import SessionState

_DIGITS_MAX = 16  # of a page's number


@checked_verbs(usable=lambda session: session._runtime.journal.check_open())
class Session(Asking):
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
        self.prefetcher = Prefetcher(
            runtime,
            strategies=(*LOADING[runtime.limits.loading], *runtime.prefetch),
            depth=runtime.limits.prefetch_pages_max,
            gauge=self.pressure,
        )
        self._procedures = Procedures(runtime, owned.session)
        self._claims = Claims(runtime, owned.session, self._procedures)
        self._saying = Saying(owned, runtime, self._claims)
        self._finder = Finder(owned, runtime, self._claims)
        self._recall = TurnRecall(owned, runtime, self._finder, self._procedures, self.prefetcher)
        self._requests = Requests(
            owned,
            runtime,
            levels=self._levels,
            recall=self._recall,
            prefetcher=self.prefetcher,
            pressure=self.pressure,
        )
        self._looking = Looking(owned, runtime, name or session_id)
        self._marker = Marker(runtime.counter, session_id)
        self._given: dict[str, str] = {}  # arguments of open calls, as they were given

    def __repr__(self) -> str:
        return f"<Session {self.name or self.session_id}: {self._state.order_next} pages>"

    # --- what is said -------------------------------------------------------------------------

    async def user(
        self, text: str, *, speaker: str = "", occurred_at: str | datetime = "", key: str = ""
    ) -> PageId:
        """Log what the user typed and open the next turn. Returns the id of its (first) page.

        Raises `MessageTooLarge`, with nothing written, if it could not be shown whole.
        """
        at = a_moment(occurred_at)
        said = Incoming(text=text, role=Role.USER, speaker=speaker, occurred_at=at, key=key)
        return (await self.say([said], origin=USER_TYPED))[0]

    async def assistant(
        self,
        text: str,
        *,
        calls: Sequence[ToolCall] = (),
        speaker: str = "",
        model: str = "",
        occurred_at: str | datetime = "",
        key: str = "",
    ) -> PageId:
        """Log what the model answered, where you call the model yourself; `model` is its name, if
        it is not the one that the memory was opened with.

        `calls` are all that it called with these words, in their order. Those of memory's own tools
        are served at once. The others are yours: `open_calls` lists them, and each waits for
        its `tool_result` before there can be another request. Returns the id of the first page,
        or "" where there is none: calls of memory alone make none.
        """
        said = Incoming(
            text=text,
            role=Role.ASSISTANT,
            speaker=speaker,
            model=model or self._runtime.model,
            occurred_at=a_moment(occurred_at),
            key=key,
        )
        if calls:
            return (await self._reply(said, calls))[0]
        return (await self.say([said], origin=MODEL_GENERATED))[0]

    async def _reply(
        self, said: Incoming, calls: Sequence[ToolCall]
    ) -> tuple[PageId, list[ToolCall]]:
        """Words and calls, each run of the host's calls as one batch, between calls of memory.
        Returns the first page, and the host's calls under the ids by which they are kept.
        """
        apart = told_apart(calls, self._state, self.written)
        kept, given_ids = [one for one, _ in apart], {one.call_id: id_ for one, id_ in apart}
        open_calls = [
            ToolCall(one.call_id, one.name, call.arguments)
            for one, call in zip(kept, calls, strict=True)
            if not self.is_of_memory(one)
        ]
        first, cause = PageId(""), NOTHING
        words = [said] if said.text else []
        for of_memory, run in groupby(kept, key=self.is_of_memory):
            items = list(words)
            if not of_memory:
                items += (a_call(call, given_ids[call.call_id], said.model) for call in run)
            if items:
                if not first:
                    items[0] = replace(items[0], key=said.key)
                made, cause, is_new = await self._exchange(items, cause)
                if not is_new:
                    return made[0], []
                self._given |= {call.call_id: call.arguments for call in open_calls}
                first, words = first or made[0], []
            for call in run if of_memory else ():
                await self._serve(call, cause=cause or None)
        return first, open_calls

    async def _exchange(
        self, items: Sequence[Incoming], cause: Seq
    ) -> tuple[list[PageId], Seq, bool]:
        """Log parts of a reply: the pages they became, its cause, and whether they are new."""

        async def verb() -> tuple[list[PageId], Seq, bool]:
            known, fresh = await self._saying.known(items[:1])  # of a retry, nothing is new
            if not fresh:
                return known[0], cause, False
            led_to = cause or self._state.reply_cause or Seq(self.session)
            made, _ = await self._saying.say(items, MODEL_GENERATED, cause=led_to)
            return made, led_to, True

        return await self.owned.whole(verb)

    def open_calls(self) -> list[ToolCall]:
        """The calls of your own tools that wait for a `tool_result`, in the order they were made,
        whoever made them: a program that ended may have left some. Their arguments are as the model
        wrote them; of what another process logged, as they are kept: without secrets.
        """
        calls = self._state.calls_awaited()
        given = {call.call_id: self._given.get(call.call_id, call.arguments) for call in calls}
        self._given = {one: given[one] for one in self._given if one in given}  # less what went
        return [ToolCall(call.call_id, call.name, given[call.call_id]) for call in calls]

    async def document(
        self,
        text: str,
        *,
        title: str = "",
        origin: str = "local_file",
        source: str = "docs",
        occurred_at: str | datetime = "",
        key: str = "",
    ) -> list[PageId]:
        """Hand in a text of any length. It is split into linked pages, to be searched and faulted.

        The window gets one line that says it is there. `source` is "docs", "files", "git",
        "terminal" or "chat".
        """
        said = Incoming(
            text=text,
            role=Role.USER,
            event_type=EventType.DOCUMENT,
            title=title,
            source=one_of(Source, source, "source"),
            occurred_at=a_moment(occurred_at),
            key=key,
        )
        return await self.say([said], origin=an_origin(origin))

    async def tool_result(
        self,
        text: str,
        result: ToolOutput = None,
        *,
        name: str = "",
        call_id: str = "",
        is_error: bool = False,
        media_type: str = "",
        source: str = "chat",
        occurred_at: str | datetime = "",
        key: str = "",
    ) -> list[PageId]:
        """Log what a tool of yours returned. A long result is split; its head enters the window.

        `tool_result(call_id, result)` answers a call that `assistant` logged, in whatever order.
        The result is a text, or whatever JSON can say, or bytes: those are kept as an artifact
        (of `media_type`, if their first bytes do not tell), which the result then names. Where the
        call failed, `is_error` says so, and the text why. Raises `BadInput` for a call that is not
        open.

        `tool_result(text, name="sql")` logs what a tool returned without being called.

        `source` says what the tool read, if it is not the conversation itself: "terminal", "git",
        "files" or "docs".
        """
        said = Incoming(
            text=text,
            role=Role.TOOL,
            event_type=EventType.TOOL_RESULT,
            title=name,
            call_id=call_id,
            is_error=is_error,
            source=one_of(Source, source, "source"),
            occurred_at=a_moment(occurred_at),
            key=key,
        )
        if name and (not call_id or self._open_call(call_id) is None):
            if result is not None:
                raise BadInput(
                    "a result without its call", hint="tool_result(call_id, result) answers a call"
                )
            return await self.say([said], origin=an_origin(f"tool:{name}"))
        if result is not None or not call_id:
            said = replace(said, call_id=call_id or text, text="")
        else:
            result = text
        return await self._answer(said, a_result(result), media_type)

    async def _answer(self, said: Incoming, result: str | bytes, media_type: str) -> list[PageId]:
        """Log the result of a call that waits for it."""

        async def verb() -> list[PageId]:
            known, fresh = await self._saying.known([said])  # a retry comes first
            if not fresh:
                return known[0]
            state = self._state
            call = self._open_call(said.call_id)
            if call is None:
                raise not_open(said.call_id, state)
            told = replace(said, call_id=call.call_id, title=call.name)
            items = []
            if isinstance(result, bytes):
                kept = describe(
                    result,
                    name=call.name,
                    media_type=media_type or sniffed(result),
                    text="",
                    key="",
                    bytes_max=self._runtime.limits.artifact_bytes_max,
                )
                blob = await asyncio.to_thread(self._runtime.blobs.put, result)
                items = [replace(kept, blob=blob)]
                text = kept_as(state, kept)
            else:
                text = result
            waiting = awaited(state.layout.pending)
            cause = next(e.cause for e, one in waiting if one.call_id == call.call_id)
            origin = an_origin(f"tool:{call.name}")
            made, _ = await self._saying.say(
                [*items, replace(told, text=text)], origin, cause=cause
            )
            self._given.pop(call.call_id, None)
            self.prefetcher.tool_returned(call.name)
            return made[len(items) :]

        return await self.owned.whole(verb)

    def _open_call(self, call_id: str) -> ToolCall | None:
        kept = as_kept(ToolCall(call_id, "", ""), self.written).call_id
        return meant(kept, self._state.layout.pending)

    async def artifact(
        self,
        data: bytes,
        *,
        name: str,
        media_type: str = "",
        text: str = "",
        occurred_at: str | datetime = "",
        key: str = "",
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
        said = replace(said, occurred_at=a_moment(occurred_at))
        put = self._runtime.blobs.put

        async def verb() -> PageId:
            known, fresh = await self._saying.known([said])  # first: what was forgotten stays away
            if not fresh:
                return known[0][0]
            blob = await asyncio.to_thread(put, data)
            return (await self._say([replace(said, blob=blob)], LOCAL_FILE))[0]

        return await self.owned.whole(verb)

    async def artifact_bytes(self, page_id: str) -> bytes:
        """The bytes of an artifact. Raises `BadInput` for a page that has none, and as `page`."""
        page = await self.page(page_id)
        return await asyncio.to_thread(bytes_of, page, self._state, self._runtime)

    async def say(self, items: Sequence[Incoming], *, origin: str) -> list[PageId]:
        """Log several things in one batch: all or none. Returns the id of every page made."""
        channel = an_origin(origin)
        if any(item.blob for item in items):
            raise BadInput("`say` keeps no bytes", hint="`artifact` does")
        return await self.owned.whole(lambda: self._say(items, channel))

    async def _say(self, items: Sequence[Incoming], origin: Origin) -> list[PageId]:
        made, fresh = await self._saying.say(items, origin)
        for item in fresh:
            if item.role is Role.TOOL and item.title:
                self.prefetcher.tool_returned(item.title)
        if fresh and self._runtime.limits.loading == "speculative":
            self._requests.look_ahead("\n".join(item.text for item in fresh))
        return made

    # --- what the model sees ------------------------------------------------------------------

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

        At a turn's first request the runtime pages in by itself what the message calls for. With a
        `format` it is the body of a call, less the model's name: "openai" (Chat Completions),
        "openai-responses", "anthropic" (Messages; it wants `max_tokens` besides) or "gemini"
        (generateContent).

        `tools` are your own that the model may call besides, each a `ToolSpec` or what one of these
        formats takes. They stay until others are given (`[]`: none), count against the window, and
        another set begins an epoch. Raises `BadInput` while a call waits for its `tool_result`, and
        `WindowTooSmall` where the tools leave no room to converse.
        """
        offered = None if tools is None else a_toolset(tools, self.written)
        if format not in (None, *FORMATS):
            raise BadInput(
                f"unknown format {format!r}", hint=f"one of {', '.join(FORMATS)}, or none"
            )

        async def verb() -> Request:
            check_answered(self._state.calls_awaited())
            if offered is not None:
                await self._configure(tools=offered)
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

        Never raises for what the model got wrong: a refusal is a result too, and is logged; only
        where the window has no room left for it is a call refused and not kept. The
        record of the call is durable before the next request is, not before this returns.
        """

        if self._state.mode is Mode.PASSIVE:
            raise BadInput(
                "a passive session serves no calls: its requests offer no tools",
                hint='configure(mode="active"), or ignore the call',
            )

        if any(call.name == tool.name for tool in self._state.tools):
            raise BadInput(
                f"{call.name} is a tool of yours: memory cannot call it",
                hint="log the reply with assistant(text, calls=[…]), run the tool, and give its "
                "result with tool_result(call_id, result)",
            )
        kept = as_kept(call, self.written).call_id
        call_id = unused([kept], self._state.layout.entries())[0] if kept else kept
        return await self._serve(ToolCall(call_id, call.name, call.arguments), said)

    async def _serve(self, call: ToolCall, said: str = "", *, cause: Seq | None = None) -> str:
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
            with self._state.table.faults():
                body = await serve(
                    call,
                    said,
                    state=self._state,
                    read=self._runtime.pages.read,
                    find=self._recall.find_for_model,
                    levels=self._levels,
                    clean=self._runtime.journal.clean,
                )
                body = self._runtime.journal.clean_body(body)
                result = self.owned.note_call(body, cause=cause)
            if isinstance(body, Faulted) and not body.refusal:
                self.prefetcher.used([body.page_id])
            return result

        return await self.owned.whole(verb)

    async def run(
        self,
        engine: Engine,
        *,
        tools: Sequence[RunnableTool] | None = None,
        calls_max: int = CALLS_MAX,
        timeout_s: float = TIMEOUT_S,
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        """Let `engine` answer the turn: requests, tool calls, faults, until the final answer.

        The answer is logged and its citations checked against what the model could see.
        `on_text` is given pieces of text as they arrive.

        `tools` are yours. A function is called when the model calls it: its name, docstring and
        type hints tell the model what it does and takes; those of one reply run side by side if
        they are `async`, else one after the other, each on a thread. What it raises, or what takes
        longer than `timeout_s`, is a failed call, which the model reads; after `calls_max` calls
        the model is told to answer. Of a tool that is given as a schema (as `request` takes it),
        the calls are left to you: `Answer.calls` lists them, and once each has its `tool_result`,
        `run` goes on. All of it is logged.
        """
        bounds = Bounds(
            steps_max=self._state.limits.steps_per_turn_max,
            calls_max=a_count(calls_max, called="calls_max"),
            timeout_s=a_span_s(timeout_s, called="timeout_s"),
        )
        return await drive(
            self, engine, bounds, on_text, Toolbox(tools) if tools is not None else None
        )

    # --- pages --------------------------------------------------------------------------------

    async def _find(
        self, scope: Scope, query: str, limit: int, wanted: SearchFilter, profile: Profile | None
    ) -> SearchResult:
        return await self._finder.find(scope, query, limit=limit, wanted=wanted, profile=profile)

    async def _asked(self, wanted: SearchFilter) -> Scope:
        if wanted.session not in ("", self.name, self.session_id):
            raise BadInput(
                f"this session sees nothing of {wanted.session!r}",
                hint="a memory's own `recall` looks in every session",
            )
        self.owned.check_there()
        await self._runtime.journal.look()
        return self.owned.scope

    async def page(self, page_id: str, *, details: bool = False) -> Page:
        """A page at level 0. Raises `NoSuchPage`; `RecordGone` if it was forgotten.

        With `details` it also has what its record does not tell: when it was last accessed and how
        often, for which the session's whole log is read, and the `dimensions` or `duration_seconds`
        of its bytes, for which these are.
        """
        page = await self._page(page_id)
        return replace(page, details=await self._details(page)) if details else page

    async def _details(self, page: Page) -> PageDetails:
        moved = await self._looking.history(page.page_id, None)
        used = [one.at_ms for one in moved if one.what in ACCESSES]
        data = b""
        if page.blob:
            with suppress(RecordGone, StoreCorrupt):  # the page is there, and its bytes are not
                data = await asyncio.to_thread(bytes_of, page, self._state, self._runtime)
        return PageDetails(
            last_accessed=datetime.fromtimestamp(max(used) / 1000, UTC) if used else None,
            access_count=len(used),
            dimensions=dimensions(data),
            duration_seconds=duration_seconds(data),
        )

    async def _page(self, page_id: str) -> Page:
        self.owned.check_there()
        await self._runtime.journal.look()
        made = self._state.l1.page(PageId(page_id))
        if made is not None:
            return made
        row = await asyncio.to_thread(self._state.table.find, PageId(page_id))
        if row is None:
            if await asyncio.to_thread(self._was_there, page_id):
                raise RecordGone(f"page {page_id} is gone: it was forgotten")
            raise self.no_such_page(page_id)
        return await asyncio.to_thread(self._runtime.pages.read, row)

    async def tiers(self, page_ids: Sequence[str]) -> dict[PageId, Tier]:
        """Where the content of each of these pages is now: L0 the window, L1 memory (where it was
        made of others, and is not written yet), L2 the log, L3 the blob store, L4 the archive.
        Raises `NoSuchPage`.

        Of a proxied session none is L0: what the window holds is its client's affair.
        """
        self.owned.check_there()
        await self._runtime.journal.look()

        def look() -> list[tuple[PageRow, bool]]:
            rows = [self._row(PageId(page_id)) for page_id in page_ids]
            archived = self._runtime.log.archived([row.seq for row in rows if row.seq])
            return [(row, row.seq in archived) for row in rows]

        rows = await asyncio.to_thread(look)
        return {r.page_id: self._state.tier_of(r, is_archived=away) for r, away in rows}

    def _row(self, page_id: PageId) -> PageRow:
        """A page's row. Blocks on the store. Raises `NoSuchPage`."""
        made = self._state.l1.find_row(page_id)
        row = made or self._state.find_row(page_id)
        if row is None:
            raise self.no_such_page(page_id)
        return row

    def _was_there(self, page_id: str) -> bool:
        """Whether a page had this id once: ids are never given again, and have no gaps."""
        stem, _, number = page_id.rpartition("_")
        counts = self._runtime.index.prefix_counts(self.owned.scope)
        is_number = number.isascii() and number.isdecimal() and len(number) < _DIGITS_MAX
        return is_number and 1 <= int(number) <= counts.get(stem, 0)

    async def defer(self, page_id: str) -> DeferredPage:
        """Begin to read a page and do not wait for it: for answers that stream.

        Gives a placeholder at once, and the page when it is there. Raises `NoSuchPage`.
        """
        self.owned.check_there()
        page_id = PageId(page_id)
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
            check_pins(state, page)
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
        `PinsFull` if the pins leave no room for it, and `BadInput` if it is blank but not empty.
        """

        async def verb() -> PageId | None:
            planned = self._runtime.journal.forgets
            drafts, page_id = plan_goal(self.owned, self._runtime.journal, text)
            await self.owned.commit(drafts, planned=planned)
            return page_id

        return await self.owned.whole(verb)

    async def undo(self) -> Undone:
        """Take back the newest pin, unpin or goal, or what a message made be held true (claims).

        What it took the place of stands again, as far as it is there: `CannotUndo` says what was
        forgotten or edited since, or that there is nothing left. `PinsFull` as for `pin`. It is
        written down like anything done, so `redo` works after a restart, too, until something else
        is pinned, aimed at or claimed. A fork undoes what it saw, for itself alone.
        """
        return await self._undo(plan_undo)

    async def redo(self) -> Undone:
        """Do again what the last `undo` took back. Raises as `undo` does."""
        return await self._undo(plan_redo)

    async def _undo(self, plan: UndoPlan) -> Undone:
        async def verb() -> Undone:
            planned = self._runtime.journal.forgets
            drafts, told = await asyncio.to_thread(plan, self.owned, self._runtime)
            await self.owned.commit(drafts, planned=planned)
            return told

        return await self.owned.whole(verb)

    async def compress(self, page_id: str, level: int = 1) -> Page:
        """Let the next epoch keep a shorter form of a page: 1 reduced, 2 abstract.

        Returns what will stand for it, a page of its own; the page itself, where nothing can be
        left out. Level 0 stays as it was said, and `page` always gives it. Pins, and what stands
        in its place in the conversation, are shown whole all the same. In a conversation that comes
        through the proxy it stands in front, once its page has left. The memory's compressor is
        asked, if it was opened with one; `derived.made_by` of the page says whose the text is.
        """
        wanted = a_level(level, least=Level.REDUCED)
        # Before the verb, which keeps others waiting: a model may take its time.
        written = await ask(self._runtime, self._levels, await self.page(page_id), wanted)

        async def verb() -> Page:
            await self.owned.lease()
            page = await self.page(page_id)
            return compress(self._state, self._levels, page, wanted, written)

        return await self.owned.whole(verb)

    async def at_level(self, page_id: str, level: int) -> tuple[Level, str, int]:
        """A page at `level` or the nearest fuller one: what level that is, text and tokens.

        A picture's text is its caption, which is level 2 at most. Reads, and keeps nothing.
        """
        wanted = a_level(level)
        page = await self.page(page_id)
        ladder = self._levels.ladder(page)
        served = ladder.fullest(nearest(ladder, wanted))
        return told_level(page.row, served), ladder.text(served), ladder[served]

    async def flush(self) -> None:
        """Write every derived page that is only in memory, and wait for all that is queued."""
        await self.owned.whole(self.owned.flush)

    async def checkpoint(self, name: str) -> Seq:
        """Name this point of the session, everything flushed. Returns the record's seq, by which
        the log tells what the session was here. Raises `BadInput` if there is one of that name.
        """
        check_name(name, of="checkpoint")

        async def verb() -> Seq:
            state, cleaned = self._state, self._runtime.journal.clean(name)
            scope = self._runtime.scope(self.session)
            await asyncio.to_thread(check_new, self._runtime, scope, cleaned)
            body = Checkpointed(
                name=cleaned,
                turns=state.turn + 1,
                pages=state.order_next,
                epoch=state.epoch,
            )
            await self.owned.record(body, actor=Actor.USER)  # what is dirty goes with it, before
            return self.owned.folded

        return await self.owned.whole(verb)

    async def checkpoints(self) -> list[Checkpoint]:
        """Every checkpoint that this session can see, oldest first, its ancestors' included."""
        return await self._looking.checkpoints()

    def on_pressure(self, callback: Callback) -> Callable[[], None]:
        """Call `callback(before, now)` whenever the pressure on the window changes, with the
        request that changes it. Returns what ends that.

        What it raises, whoever asked for that request gets; asked again, they get the request.
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

        await self.owned.whole(
            lambda: self._configure(window=window, mode=mode, system=system, layout=layout)
        )

    async def _configure(
        self,
        *,
        window: int | None = None,
        mode: str | None = None,
        system: str | None = None,
        layout: str | None = None,
        tools: tuple[OfferedTool, ...] | None = None,
    ) -> None:
        body = configured(
            self._state,
            self._runtime,
            name=self.name,
            window=window,
            mode=mode,
            system=system,
            layout=layout,
            tools=tools,
        )
        if body is not None:
            await self.owned.record(body, actor=Actor.USER)

    async def fork(
        self,
        name: str = "",
        *,
        turn: int | None = None,
        seq: int | None = None,
        time: str | int | None = None,
        checkpoint: str | None = None,
    ) -> Session:
        """A new session that sees everything said here so far; or, with one of the times that `at`
        takes, what was said here by then. Pages are shared, not copied.
        """
        if name:
            check_name(name)
        times = turn, seq, time, checkpoint
        if all(one is None for one in times):
            return await self.owned.whole(lambda: self._fork(name))
        then, last = await self._looking.state_at(
            turn=turn,
            seq=seq,
            time_ms=None if time is None else a_time(time),
            checkpoint=checkpoint,
        )
        return await self.owned.whole(lambda: self._fork(name, then, last))

    async def restore(self, checkpoint: str) -> Session:
        """Go back to a checkpoint: a new session of the same name that goes on from there. By this
        name opens the one that was used last; what was said since stays in this session, which
        opens by its id. Raises `BadInput` if there is no such checkpoint.
        """
        return await self.fork(self.name, checkpoint=checkpoint)

    async def _fork(
        self, name: str, then: SessionState | None = None, last: Event | None = None
    ) -> Session:
        """A fork of the session as it was `then`, `last` being its last record; or as it is."""
        await self.owned.drain()  # calls under way are part of what was said so far
        state = then or self._state
        return await self._open_new(
            SessionOpened(
                session_id=self._runtime.mint_session_id(),
                name=self._runtime.journal.clean(name),
                window_tokens=state.window_tokens,
                mode=state.mode,
                system=state.system,
                layout=state.layout_name,
                tools=state.tools,
                parent=self.session if last is None else last.session,
                parent_seq=self.owned.folded if last is None else last.seq,
                epoch=state.epoch,
            )
        )

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
        return abi_of(self._state)

    async def faults(self) -> list[Event]:
        """Every fault of this session, oldest first, served or refused."""
        return await self._looking.faults()

    # --- what it tells about itself -----------------------------------------------------------

    async def metrics(self, *, per_turn: bool = False) -> Metrics:
        """What this session tells about itself, folded from its log: `service/telling/metrics.py`
        defines each figure. A fork counts its own turns.
        """
        return await self._looking.metrics(per_turn=per_turn)

    async def ledger(self) -> list[Entry]:
        """Every request of this session: what it shared with the one before, what the provider
        reported. `Entry.line(prices)` tells what it should have cost.
        """
        return await self._looking.ledger()

    @property
    def prices(self) -> PriceList:
        """What the requests of this session are weighed by: the prices, or the model's, that this
        memory was opened with; else those that are written down with the last request.
        """
        prices, told = self._runtime.epochs.prices, self._state.priced
        return told.prices if told is not None and prices == UNKNOWN.prices else prices

    async def at(
        self,
        *,
        turn: int | None = None,
        seq: int | None = None,
        time: str | int | None = None,
        checkpoint: str | None = None,
    ) -> Moment:
        """What the window held at the end of a turn, after a record, at a checkpoint, or at a time
        (ISO 8601, UTC without a zone, the day's end without an hour; or milliseconds since 1970).

        Raises `BadInput` for a time before the session began and for a turn, record or checkpoint
        that has not been.
        """
        time_ms = None if time is None else a_time(time)
        return await self._looking.at(turn=turn, seq=seq, time_ms=time_ms, checkpoint=checkpoint)

    async def page_at(
        self,
        page_id: str,
        time: str | int | None = None,
        *,
        turn: int | None = None,
        seq: int | None = None,
        checkpoint: str | None = None,
    ) -> Page:
        """A page as it stood at one of the times that `at` takes: where a message was edited, or a
        claim took the place of another, the page of the words that stood then, whichever of them
        `page_id` is. Raises `NoSuchPage`; `RecordGone` if these words were forgotten; `BadInput` if
        none of them had been written by then.
        """
        await self.page(page_id)  # or it says why there is none
        return await self._looking.page_at(
            PageId(page_id),
            turn=turn,
            seq=seq,
            time_ms=None if time is None else a_time(time),
            checkpoint=checkpoint,
        )

    async def sent(self, turn: int | None = None, *, request: int | None = None) -> Sent:
        """A past request, byte for byte as it was packed: the last of a turn, or the one of this
        number (`ledger` lists them). Where something of it was forgotten since, `missing` says so.

        Raises `BadInput` if there was none: a proxied client's requests are its own.
        """
        if (turn is None) == (request is None):
            raise BadInput("name one request", hint="sent(12), of turn 12, or sent(request=3)")
        return await self._looking.sent(turn=turn, number=request)

    async def items(self) -> list[ConversationItem]:
        """The conversation, item by item: messages, calls, results, and what no page holds of a
        proxied one, which is reasoning, media and what only its provider knows.
        """
        return await self._looking.items()

    async def client_json(self, message: int) -> str:
        """A message of a proxied session as its client sent it for the first time: the JSON that
        the client's own was, less secrets. `message` is that of an item (`items`).

        Raises `BadInput` if this is no message of this session, and `RecordGone` if it was
        forgotten, with any page of its turn.
        """
        return await self._looking.client_json(Seq(message))

    async def diff(self, before: int, after: int) -> Difference:
        """What changed in the window from the end of one turn to the end of another."""
        return difference(await self.at(turn=before), await self.at(turn=after))

    async def history(self, page_id: str = "", *, actor: str = "") -> list[Movement]:
        """Everything that happened to a page, or without one to all pages, oldest first; of one
        actor (user, model, tool, system) alone, if one is named. Raises `NoSuchPage`.
        """
        return await self._looking.history(page_id, an_actor(actor) if actor else None)

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
        the window is kept to the provider's own count from here on. The ledger tells what was read
        from its cache beside what should have been.

        `usage.input_tokens` is the whole prompt, what came from a cache included: OpenAI's
        `prompt_tokens`; of Anthropic's counts the sum of `input_tokens`,
        `cache_read_input_tokens` and `cache_creation_input_tokens`. `run` does this by itself.
        Raises `BadInput` for what is no count.
        """

        for counted in fields(usage):
            if getattr(usage, counted.name) is not None:
                a_count(getattr(usage, counted.name), called=counted.name)

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

    def written(self, text: str) -> str:
        """A text as it would be written down: without secrets."""
        return self._runtime.journal.clean(text)

    async def replied(
        self, text: str, calls: Sequence[ToolCall], model: str
    ) -> tuple[PageId, list[ToolCall]]:
        """As `assistant`, and the calls that wait for results because of it."""
        said = Incoming(text=text, role=Role.ASSISTANT, model=model or self._runtime.model)
        return await self._reply(said, calls)

    def is_of_memory(self, call: ToolCall) -> bool:
        """Whether memory serves a call: of one of its own tools, where it offers them."""
        return call.name in (PAGE_FAULT, SEARCH_PAGES) and self._state.mode is not Mode.PASSIVE

    def host_tools(self) -> list[str]:
        """The names of your own tools that a request offers."""
        return [tool.name for tool in self._state.tools]

    def calls_that_fit(self) -> int:
        """How many more calls the window can take in this turn, were each of them refused."""
        return max(0, self._state.room_for_results()) // REFUSAL_TOKENS


def _look_at(loading: asyncio.Future[Page]) -> None:
    """Nobody need ask for a deferred page: then its failure is nobody's."""
    if not loading.cancelled():
        loading.exception()
