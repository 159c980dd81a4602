"""The only loop around a turn: ask the engine, serve its calls, until it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pagefault.engine.api import Engine
from pagefault.model.errors import BadInput, EngineGarbled, PagefaultError
from pagefault.model.ids import PageId
from pagefault.model.request import Reply, Request, ToolCall, Usage
from pagefault.pack.citations import check
from pagefault.pack.render import without_label
from pagefault.pack.tools import SEARCH_PAGES
from pagefault.service.turn.functions import CALLS_MAX, TIMEOUT_S, Toolbox
from pagefault.service.turn.turn import Finish, Turn, as_kept, encodable, unique_call_ids

if TYPE_CHECKING:
    from pagefault.service.session import Session


CANCELLED: Final = "cancelled before there was a result"
HOST_CALLS_PER_REPLY_MAX: Final = 64
"""As `CALLS_PER_REPLY_MAX`, if the host has tools: a reply may call many of those at once."""

CALLS_PER_REPLY_MAX = 8
"""Calls of one reply; those beyond it are dropped, as if they had not been made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A finished turn. A citation is valid if the model could see the cited page, in full.

    If `calls` wait for results, the turn is not finished yet: they are of tools given as schemas,
    and `run` continues once each has its `tool_result`.
    """

    text: str
    page_id: PageId
    citations: tuple[PageId, ...]
    citations_invalid: tuple[PageId, ...]
    requests: int
    faults: int
    faults_refused: int
    searches: int
    paged_in_tokens: int  # by recall and by faults, in this turn
    request_tokens: int  # of the last request, by our count
    usage: Usage | None  # of the last request, by the provider's count
    complete: bool
    tool_calls: int = 0  # of the host's tools, including failed and refused ones
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The limits of one run."""

    steps_max: int  # requests, besides those with results of the host's tools
    calls_max: int = CALLS_MAX  # of the host's tools
    timeout_s: float = TIMEOUT_S  # of one such call; 0: none


async def drive(
    session: Session,
    engine: Engine,
    bounds: Bounds,
    on_text: Callable[[str], None] | None,
    toolbox: Toolbox | None = None,
) -> Answer:
    """Run one turn to its answer.

    Each pass is a request, its reply, and one of three: the turn ends, memory's own calls are
    served, or the host's are run (bounded by `calls_max`, not by steps). It ends early if calls are
    left to the caller (`Answer.calls`), or if nothing more fits (`complete` is False).
    """
    turn = Turn(bounds.steps_max)
    host = HostCalls(session, toolbox, bounds)
    requests = searches = 0
    faults_before = session.fault_counts()
    waiting: tuple[ToolCall, ...] = ()
    while True:
        request = await session.request(tools=toolbox.offered if toolbox and not requests else None)
        requests += 1
        reply = await _ask(engine, request, on_text)
        if reply.usage is not None:
            await session.observe(reply.usage)
        most = HOST_CALLS_PER_REPLY_MAX if session.host_tools() else CALLS_PER_REPLY_MAX
        calls_max = min(most, session.calls_that_fit()) if request.tools else 0
        given_calls = reply.tool_calls[:calls_max]
        reply_calls = unique_call_ids(
            [as_kept(call, session.written) for call in given_calls],
            str(requests),
            used={call.call_id for message in request.messages for call in message.tool_calls},
        )
        # It keeps calling, and nothing more fits.
        is_cut_off = bool(reply.tool_calls) and not reply_calls
        reply = replace(reply, tool_calls=reply_calls)
        of_host = host.are_called(reply_calls)
        if not (of_host and host.calls_left > 0):  # those have their own limit
            actions = turn.receive(reply)
            match actions:
                case [Finish(text=text, complete=complete)]:
                    complete = complete and not is_cut_off
                    break
        if of_host:
            text = encodable(without_label(reply.text))
            searches += sum(call.name == SEARCH_PAGES for call in reply_calls)
            asked = [  # functions get the model's arguments: stored ones have no secrets
                ToolCall(kept.call_id, kept.name, given.arguments)
                for kept, given in zip(reply_calls, given_calls, strict=True)
            ]
            page_id, waiting = await host.serve(text, asked, getattr(engine, "model", ""))
            if waiting:
                complete = False
                break
            continue
        for number, action in enumerate(actions):
            assert not isinstance(action, Finish)
            if number and not session.calls_that_fit():
                break  # the rest is dropped too: earlier calls took the room
            await session.call(action.call, said=reply.text if number == 0 else "")
            searches += action.call.name == "search_pages"
    visible = session.visible()
    paged_in = session.paged_in_tokens
    text = encodable(without_label(text))
    if not waiting:
        page_id = await session.assistant(text, model=getattr(engine, "model", ""))
    checked = check(text, visible)
    served, refused = session.fault_counts()
    return Answer(
        text=text,
        page_id=page_id,
        citations=checked.cited,
        citations_invalid=checked.invalid,
        requests=requests,
        faults=served - faults_before[0],
        faults_refused=refused - faults_before[1],
        searches=searches,
        paged_in_tokens=paged_in,
        request_tokens=request.tokens,
        usage=reply.usage,
        complete=complete,
        tool_calls=host.calls,
        calls=waiting,
    )


class HostCalls:
    """The calls of the host's tools in one run: each gets a result, whatever happens."""

    def __init__(self, session: Session, toolbox: Toolbox | None, bounds: Bounds) -> None:
        self.calls = 0
        self._session = session
        self._toolbox = toolbox or Toolbox(())
        self._bounds = bounds

    @property
    def calls_left(self) -> int:
        return self._bounds.calls_max - self.calls

    def are_called(self, calls: Sequence[ToolCall]) -> bool:
        """Whether the host must answer any of these: if it offers tools, all calls but those of
        memory's own.
        """
        return bool(self._session.host_tools()) and not all(map(self._session.is_of_memory, calls))

    async def serve(
        self, said: str, calls: Sequence[ToolCall], model: str
    ) -> tuple[PageId, tuple[ToolCall, ...]]:
        """Log a reply, run its calls, and log their results. Returns its first page, and the calls
        that are left to the caller.

        If cancelled, it logs that in place of the missing results.
        """
        reply = asyncio.ensure_future(self._session.replied(said, calls, model))
        tasks: list[asyncio.Future[None]] = []
        try:
            # Shielded: nobody could answer calls that are half logged.
            page_id, opened = await asyncio.shield(reply)
            tasks += [asyncio.ensure_future(self._answer(call)) for call in opened]
            await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(reply, *tasks, return_exceptions=True)
            made = [] if reply.cancelled() or reply.exception() else reply.result()[1]
            for call in made:
                with suppress(PagefaultError):
                    await self._session.tool_result(call.call_id, CANCELLED, is_error=True)
            raise
        return page_id, self._still_open(opened)

    async def _answer(self, call: ToolCall) -> None:
        """Run one call, if it is ours to run, and log its result."""
        self.calls += 1
        offered = self._session.host_tools()
        if call.name not in offered:
            known = ", ".join(offered)
            result, failed = f"there is no tool {call.name}; there are: {known}", True
        elif self.calls > self._bounds.calls_max:
            result, failed = "no calls are left in this turn: answer from what you have", True
        elif not self._toolbox.can_run(call):
            return
        else:
            result, failed = await self._toolbox.run(call, self._bounds.timeout_s)
        try:
            await self._session.tool_result(call.call_id, result, is_error=failed)
        except BadInput as refused:  # of the wrong type or size; or another caller gave one
            if self._still_open([call]):
                await self._session.tool_result(call.call_id, refused.message, is_error=True)

    def _still_open(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        names = {call.call_id for call in self._session.open_calls()}
        return tuple(call for call in calls if call.call_id in names)


async def _ask(engine: Engine, request: Request, on_text: Callable[[str], None] | None) -> Reply:
    reply: Reply | None = None
    async with aclosing(engine.reply(request)) as pieces:  # type: ignore[type-var]
        async for piece in pieces:
            if isinstance(piece, Reply):
                reply = piece
            elif on_text is not None:
                on_text(piece)
    if reply is None:
        raise EngineGarbled("the engine returned no reply", hint="try again")
    return reply
