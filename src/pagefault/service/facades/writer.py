"""The verbs that write to a session.

A verb that writes runs whole or not at all for its caller: it plans, appends the plan as one batch,
and folds the events that come back. Cancelling the caller's wait cancels none of that; a retry with
the same `key` returns the first result. A new verb awaits `self.owned.whole`, and only the code
inside it may change the state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from itertools import groupby

from pagefault.model.errors import BadInput
from pagefault.model.events import Checkpointed, Pinned, Reported, Unpinned
from pagefault.model.ids import NOTHING, PageId, Seq
from pagefault.model.kinds import (
    IMPORT,
    LOCAL_FILE,
    MODEL_GENERATED,
    USER_TYPED,
    Actor,
    EventType,
    Level,
    Mode,
    Origin,
    Role,
    Source,
)
from pagefault.model.page import Page
from pagefault.model.request import ToolCall, Usage
from pagefault.model.signatures import checked_verbs
from pagefault.model.trust import is_untrusted
from pagefault.pack.tools import PAGE_FAULT, SEARCH_PAGES
from pagefault.service.arguments import a_count, a_level, a_moment, an_origin, check_name, one_of
from pagefault.service.configure import configure
from pagefault.service.derived.compression import compress
from pagefault.service.derived.compressor_call import ask
from pagefault.service.facades.parts import SessionParts, check_open
from pagefault.service.inspection.checkpoints import check_new
from pagefault.service.inspection.relayed import Telling
from pagefault.service.inspection.work_events import hash_of
from pagefault.service.turn.artifacts import describe
from pagefault.service.turn.drafts import Incoming
from pagefault.service.turn.goals import plan_goal
from pagefault.service.turn.host_tools import (
    MemoryAnswer,
    ToolOutput,
    a_call,
    a_result,
    kept_as,
    not_open,
    sniffed,
    told_apart,
)
from pagefault.service.turn.stated_events import STATED_BY, stated
from pagefault.service.turn.turn import id_as_kept
from pagefault.service.turn.undo import Undone, plan_redo, plan_undo
from pagefault.service.window import exchanges
from pagefault.service.window.host_calls import awaited, meant
from pagefault.service.window.room import check_pins
from pagefault.store.precedence import appending


@checked_verbs(usable=check_open)
class Writer(SessionParts):
    """The verbs that write to a session: messages, pins, goals, undo, configuration."""

    # --- messages -----------------------------------------------------------------------------

    async def user(
        self, text: str, *, speaker: str = "", occurred_at: str | datetime = "", key: str = ""
    ) -> PageId:
        """Log a message that the user typed, and open the next turn. Returns the id of its (first)
        page.

        Raises `MessageTooLarge`, with nothing written, if it could not be shown whole.
        """
        at = a_moment(occurred_at)
        said = Incoming(text=text, role=Role.USER, speaker=speaker, occurred_at=at, key=key)
        return (await self._log([said], USER_TYPED))[0]

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
        """Log the model's answer, if you call the model yourself; `model` is its name, if it is not
        the one that the memory was opened with.

        `calls` are all calls that it made with this text, in order. Calls of memory's own tools are
        served at once. The others are yours: `open_calls` lists them, and each needs a
        `tool_result` before the next request. Returns the id of the first page, or "" if there is
        none: calls of memory alone make none.
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
        return (await self._log([said], MODEL_GENERATED))[0]

    async def _reply(
        self, said: Incoming, calls: Sequence[ToolCall]
    ) -> tuple[PageId, list[ToolCall]]:
        """Log text and calls, each run of host calls as one batch, between calls of memory. Returns
        the first page, and the host calls under the ids by which they are stored.
        """
        [made], fresh = await self._saying.known([said])
        if not fresh:  # a retry: nothing of it is new, or served again
            return made[0], []
        apart = told_apart(calls, self._state, self._runtime.journal.clean)
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
                await self._calls.serve(call, cause=cause or None)
        return first, open_calls

    async def _exchange(
        self, items: Sequence[Incoming], cause: Seq
    ) -> tuple[list[PageId], Seq, bool]:
        """Log parts of a reply. Returns their pages, their cause, and whether they are new."""

        async def verb() -> tuple[list[PageId], Seq, bool]:
            known, fresh = await self._saying.known(items[:1])  # of a retry, nothing is new
            if not fresh:
                return known[0], cause, False
            led_to = cause or self._state.reply_cause or Seq(self.session)
            made, _ = await self._saying.say(items, MODEL_GENERATED, cause=led_to)
            return [page for pages in made for page in pages], led_to, True

        return await self.owned.whole(verb)

    async def replied(
        self, text: str, calls: Sequence[ToolCall], model: str
    ) -> tuple[PageId, list[ToolCall]]:
        """Like `assistant`; also returns the calls that then wait for results."""
        said = Incoming(text=text, role=Role.ASSISTANT, model=model or self._runtime.model)
        return await self._reply(said, calls)

    def is_of_memory(self, call: ToolCall) -> bool:
        """Whether memory serves a call: it is of one of its own tools, and they are offered."""
        return call.name in (PAGE_FAULT, SEARCH_PAGES) and self._state.mode is not Mode.PASSIVE

    def open_calls(self) -> list[ToolCall]:
        """The calls of your own tools that wait for a `tool_result`, oldest first, including those
        that an earlier process left open. Their arguments are as the model wrote them; those that
        another process logged are as stored, without secrets.
        """
        calls = exchanges.calls_awaited(self._state)
        given = {call.call_id: self._given.get(call.call_id, call.arguments) for call in calls}
        self._given = {one: given[one] for one in self._given if one in given}  # less closed ones
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
        """Log a text of any length. It is split into linked pages, which can be searched and
        faulted.

        The window gets one line that announces it. `source` is "docs", "files", "git", "terminal"
        or "chat".
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
        """Log the result of one of your tools. A long result is split, and its head enters the
        window.

        `tool_result(call_id, result)` answers a call that `assistant` logged, in any order. The
        result is a text, any JSON value, or bytes: bytes are stored as an artifact (of
        `media_type`, if their first bytes do not show it), which the result then names. For a
        failed call set `is_error`, with the reason as the text. Raises `BadInput` for a call that
        is not open.

        `tool_result(text, name="sql")` logs a tool's output without a call.

        `source` is what the tool read, if it is not the conversation itself: "terminal", "git",
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
                    "a result needs the id of its call",
                    hint="tool_result(call_id, result) answers a call",
                )
            return await self.say([said], origin=an_origin(f"tool:{name}"))
        if result is not None or not call_id:
            said = replace(said, call_id=call_id or text, text="")
        else:
            result = text
        origin = result.origin if isinstance(result, MemoryAnswer) else None
        return await self._answer(said, a_result(result), media_type, origin)

    async def _answer(
        self, said: Incoming, result: str | bytes, media_type: str, given: Origin | None
    ) -> list[PageId]:
        """Log the result of an open call, with its tool as the origin unless `given` is one."""

        async def verb() -> list[PageId]:
            known, fresh = await self._saying.known([said])  # first: it may be a retry
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
                self._expect(f"tool:{call.name}", result)
                blob = await asyncio.to_thread(self._runtime.blobs.put, result)
                items = [replace(kept, blob=blob)]
                text = kept_as(state, kept)
            else:
                text = result
            waiting = awaited(state.layout.pending)
            cause = next(e.cause for e, one in waiting if one.call_id == call.call_id)
            origin = given or an_origin(f"tool:{call.name}")
            made, _ = await self._saying.say(
                [*items, replace(told, text=text)], origin, cause=cause
            )
            self._given.pop(call.call_id, None)
            self.prefetcher.tool_returned(call.name)
            return made[-1]

        return await self.owned.whole(verb)

    def _expect(self, origin: str, data: bytes) -> None:
        self._runtime.journal.expect(self.session, origin, len(data))

    def _open_call(self, call_id: str) -> ToolCall | None:
        kept = id_as_kept(call_id, self._runtime.journal.clean)
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
        """Store bytes: an image, a recording, a file. Returns the id of its page.

        The page's text is a line with name, type and size, and `text`, e.g. a caption: it is shown
        and found by these. `media_type` is guessed from the name if it is not given. The bytes are
        stored as they are, and are not searched for secrets; `artifact_bytes` returns them.
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
            known, fresh = await self._saying.known([said])  # first: forgotten messages stay away
            if not fresh:
                return known[0][0]
            self._expect(LOCAL_FILE, data)
            blob = await asyncio.to_thread(put, data)
            return (await self._say([replace(said, blob=blob)], LOCAL_FILE))[0]

        return await self.owned.whole(verb)

    async def say(self, items: Sequence[Incoming], *, origin: str) -> list[PageId]:
        """Log several messages in one batch: all or none. Returns the id of every page."""
        channel = an_origin(origin)
        if any(item.blob for item in items):
            raise BadInput("`say` keeps no bytes", hint="`artifact` does")
        if any(item.origin is not None for item in items):
            raise BadInput("one call cannot mix origins", hint="use several calls")
        return await self._log(items, channel)

    async def _log(self, items: Sequence[Incoming], origin: Origin) -> list[PageId]:
        return await self.owned.whole(lambda: self._say(items, origin))

    async def _say_each(
        self, items: Sequence[Incoming], origin: Origin, telling: Telling | None = None
    ) -> list[list[PageId]]:
        """Log a client's history in one batch, with the events `telling` of its requests. Returns
        the pages of each message.
        """
        return await self.owned.whole(lambda: self._said(items, origin, telling))

    async def _say(self, items: Sequence[Incoming], origin: Origin) -> list[PageId]:
        return [page for pages in await self._said(items, origin) for page in pages]

    async def _said(
        self, items: Sequence[Incoming], origin: Origin, telling: Telling | None = None
    ) -> list[list[PageId]]:
        with appending():
            made, fresh = await self._saying.say(items, origin, telling=telling)
        for item in fresh:
            if item.role is Role.TOOL and item.title:
                self.prefetcher.tool_returned(item.title)
        if fresh and self._runtime.limits.loading == "speculative":
            self._requests.look_ahead("\n".join(item.text for item in fresh))
        return made

    async def record_event(
        self,
        event_type: str,
        text: str = "",
        *,
        facts: Mapping[str, object] | None = None,
        occurred_at: str | datetime = "",
        key: str = "",
    ) -> PageId:
        """Record an event that no call shows; `Memory.events` finds it. Returns the id of its
        (first) page.

        A "voice_transcript" is something the user said aloud, and opens a turn; a "command_intent"
        is a command that somebody wants to run. Both consist of their `text`. The others have
        `facts`, and may have their output as `text`. "command_run": `argv` (a list), `exit_code`,
        `duration_ms`. "file_change": `path`, `change` (written, edited, deleted), and `content`, of
        which only a keyed hash is stored. "test_result": `runner`, `passed`, `failed`, `skipped`
        (counts), `passing`, `failing` (names), `duration_ms`; without facts these are parsed from
        the text. Raises `BadInput` for any other type or fact.
        """
        said = stated(
            event_type, text, facts or {}, lambda content: hash_of(self._runtime, content)
        )
        said = replace(said, occurred_at=a_moment(occurred_at), key=key)
        return (await self._log([said], STATED_BY[said.event_type]))[0]

    def written(self, text: str) -> str:
        """A text as it would be written: with secrets redacted."""
        return self._runtime.journal.clean(text)

    # --- actions ------------------------------------------------------------------------------

    async def pin(self, page_id: str) -> None:
        """Pin a page: it stays in the window whatever policy says. Raises `PinsFull`, naming the
        pins.
        """

        async def verb() -> None:
            state = self._state
            page = await self._pages.get(page_id)
            await self._check_trusted(page)
            if state.table.is_pinned(page.page_id) and page.page_id not in state.hot:
                return
            check_pins(state, page)
            await self.owned.record(Pinned(page_id=page.page_id), actor=Actor.USER)

        await self.owned.whole(verb)

    async def _check_trusted(self, page: Page) -> None:
        """Raise `BadInput` for a page that may not be pinned."""
        quarantine = self._runtime.quarantine
        raising = "`Memory.raise_origin` does, given the digest that `Memory.origins` shows"
        if quarantine.is_withdrawn(page.row):
            raise BadInput(
                f"{page.page_id} was withdrawn and has not been raised again", hint=raising
            )
        if page.row.origin == IMPORT:
            if quarantine.holds(page.row):
                raise BadInput(
                    f"{page.page_id} was imported and has not been approved",
                    hint="`Memory.approve_import` does that",
                )
            return
        await self.owned.written()  # the log decides the origin of a page
        label = await asyncio.to_thread(self._labels.label, page)
        if is_untrusted(label):
            raise BadInput(
                f"{page.page_id} has the label {label} and has not been approved",
                hint=raising,
            )

    async def unpin(self, page_id: str) -> None:
        """Unpin a page: it may leave the window again. Harmless if it is not pinned."""

        async def verb() -> None:
            if page_id in self._state.hot or page_id in self._state.sections.values():
                raise BadInput(
                    f"{page_id} is not a pin: it is hot, or core memory",
                    hint="`Session.heat_spill` takes it out, `Session.core_replace` edits it",
                )
            if self._state.table.is_pinned(PageId(page_id)):  # it may have been forgotten meanwhile
                unpinned = Unpinned(page_id=PageId(page_id))
                await self.owned.record(unpinned, actor=Actor.USER)
            else:
                await self._pages.get(page_id)

        await self.owned.whole(verb)

    async def goal(self, text: str) -> PageId | None:
        """Make `text` the active goal: it is pinned in the window until the next goal replaces it.

        Returns its page's id; an empty text ends the active goal, and returns None. Raises
        `PinsFull` if the pins leave no room for it, and `BadInput` if it is blank but not empty.
        """

        async def verb() -> PageId | None:
            planned = self._runtime.journal.forgets
            drafts, page_id = plan_goal(self.owned, text)
            await self.owned.commit(drafts, planned=planned)
            return page_id

        return await self.owned.whole(verb)

    async def undo(self, *, dry_run: bool = False) -> Undone:
        """Undo the newest pin, unpin or goal, the claims made from a message, a stated or
        retracted claim, or a ruling on one (a verdict, an end, a contradiction).

        What it replaced is restored, as far as it still exists: `CannotUndo` says what was
        forgotten or edited since, or that there is nothing left. `PinsFull` as for `pin`. Undo is
        logged like any action, so `redo` works after a restart, too, until the next pin, goal or
        claim. A fork undoes what it saw, for itself alone. A `dry_run` refuses the same things,
        returns what would be undone, and writes nothing.
        """
        return await self.owned.carry_out(
            lambda: plan_undo(self.owned, self._runtime), dry_run=dry_run
        )

    async def redo(self, *, dry_run: bool = False) -> Undone:
        """Redo what the last `undo` reverted. `dry_run` and errors are as for `undo`."""
        return await self.owned.carry_out(
            lambda: plan_redo(self.owned, self._runtime), dry_run=dry_run
        )

    async def compress(self, page_id: str, level: int = 1) -> Page:
        """Let the next epoch keep a shorter form of a page: 1 reduced, 2 abstract.

        Returns the id of the shorter form, a page of its own; or the page itself, if nothing can be
        left out. Level 0 stays as it was said, and `page` always returns it. Pins, and pages in
        their place in the conversation, are shown whole all the same. In a conversation that comes
        through the proxy, the short form is in the front, once its page has left. It is made by the
        memory's compressor, if the memory has one; the page's `derived.made_by` names the maker.
        """
        wanted = a_level(level, least=Level.REDUCED)
        # Before the verb, which blocks others: a model may take its time.
        asked = await self._pages.get(page_id)
        written = await ask(self._runtime, self._levels, asked, wanted)

        async def verb() -> Page:
            await self.owned.lease()
            page = await self._pages.get(page_id)
            return compress(self._state, self._levels, page, wanted, written)

        return await self.owned.whole(verb)

    async def flush(self) -> None:
        """Write every derived page that is only in memory, and wait for all queued writes."""
        await self.owned.whole(self.owned.flush)

    async def checkpoint(self, name: str) -> Seq:
        """Name this point of the session, after a flush. Returns the record's seq, which identifies
        the session's state here. Raises `BadInput` if the name is taken.
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
            await self.owned.record(body, actor=Actor.USER)  # dirty pages are written before it
            return self.owned.folded

        return await self.owned.whole(verb)

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
            lambda: configure(
                self.owned,
                self._runtime,
                name=self.name,
                window=window,
                mode=mode,
                system=system,
                layout=layout,
            )
        )

    async def observe(self, usage: Usage) -> None:
        """Record the provider's token counts for the last request: from here on, the window is kept
        to the provider's own count. The ledger compares the tokens read from its cache with the
        prediction.

        `usage.input_tokens` is the whole prompt, including cached tokens: OpenAI's `prompt_tokens`;
        for Anthropic the sum of `input_tokens`, `cache_read_input_tokens` and
        `cache_creation_input_tokens`. `run` does this by itself. Raises `BadInput` for an invalid
        count.
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
