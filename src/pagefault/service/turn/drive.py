"""The only loop around a turn: ask the engine, serve its calls, until it answers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pagefault.engine.api import Engine
from pagefault.model.errors import EngineGarbled
from pagefault.model.ids import PageId
from pagefault.model.request import Reply, Request, Usage
from pagefault.pack.citations import check
from pagefault.pack.render import without_label
from pagefault.service.turn.turn import Finish, Turn, as_kept, encodable, unique_call_ids

if TYPE_CHECKING:
    from pagefault.service.session import Session


CALLS_PER_REPLY_MAX = 8
"""Of one reply; what a model calls beyond that is dropped, as if it had not been said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A finished turn. A citation is valid if the model could see the page it names, in full."""

    text: str
    page_id: PageId
    citations: tuple[PageId, ...]
    citations_invalid: tuple[PageId, ...]
    requests: int
    faults: int
    faults_refused: int
    searches: int
    paged_in_tokens: int  # brought in by recall and by faults, in this turn
    request_tokens: int  # of the last request, by our count
    usage: Usage | None  # of the last request, by the provider's
    complete: bool


async def drive(
    session: Session, engine: Engine, steps_max: int, on_text: Callable[[str], None] | None
) -> Answer:
    turn = Turn(steps_max)
    requests = searches = 0
    faults_before = session.fault_counts()
    while True:
        request = await session.request()
        requests += 1
        reply = await _ask(engine, request, on_text)
        if reply.usage is not None:
            await session.observe(reply.usage)
        calls_max = min(CALLS_PER_REPLY_MAX, session.calls_that_fit()) if request.tools else 0
        reply_calls = unique_call_ids(
            [as_kept(call, session.written) for call in reply.tool_calls[:calls_max]],
            str(requests),
            used={call.call_id for message in request.messages for call in message.tool_calls},
        )
        # It calls on, and nothing more fits.
        is_cut_off = bool(reply.tool_calls) and not reply_calls
        reply = replace(reply, tool_calls=reply_calls)
        actions = turn.receive(reply)
        match actions:
            case [Finish(text=text, complete=complete)]:
                complete = complete and not is_cut_off
                break
        for number, action in enumerate(actions):
            assert not isinstance(action, Finish)
            if number and not session.calls_that_fit():
                break  # the rest is dropped too: what came before it took the room
            await session.call(action.call, said=reply.text if number == 0 else "")
            searches += action.call.name == "search_pages"
    visible = session.visible()
    paged_in = session.paged_in_tokens
    text = encodable(without_label(text))
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
    )


async def _ask(engine: Engine, request: Request, on_text: Callable[[str], None] | None) -> Reply:
    reply: Reply | None = None
    async with aclosing(engine.reply(request)) as pieces:  # type: ignore[type-var]
        async for piece in pieces:
            if isinstance(piece, Reply):
                reply = piece
            elif on_text is not None:
                on_text(piece)
    if reply is None:
        raise EngineGarbled("the engine ended without a reply", hint="try again")
    return reply
