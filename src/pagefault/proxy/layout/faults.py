"""Memory's tools in a proxied conversation: whether they are offered, and the calls that were
served.

Tools come first in every prefix that a provider caches. So whether a conversation has memory's is
decided with its first request and kept; one that began without them may get them with an epoch,
which breaks the prefix anyway. A request that cannot offer them (the client wants JSON, has a tool
of the same name, or asks for a summary) is sent as if there were none, and nothing in it names one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pagefault.model.errors import PagefaultError
from pagefault.model.events import (
    CallRefused,
    Event,
    Faulted,
    MemoryCalled,
    OriginalBody,
    Relayed,
    Searched,
    Splice,
)
from pagefault.model.ids import NOTHING, PageId, Seq
from pagefault.model.kinds import Level
from pagefault.model.request import CALL_ID_MAX, ToolCall
from pagefault.pack.envelope import refusal
from pagefault.pack.tools import MEMORY_TOOLS, PAGE_FAULT, SEARCH_PAGES, vm_tools
from pagefault.paging.fault import FaultLimits
from pagefault.proxy.history.history import History, Json
from pagefault.proxy.history.trie import Match
from pagefault.proxy.wires.chat_pairs import ChatForm
from pagefault.proxy.wires.gemini_pairs import GeminiForm
from pagefault.proxy.wires.messages_pairs import MessagesForm
from pagefault.proxy.wires.pairs import (
    CallForm,
    Cut,
    Editor,
    Kept,
    Pair,
    Round,
    TakenApart,
    taken_apart,
)
from pagefault.proxy.wires.responses_pairs import ResponsesForm
from pagefault.proxy.wires.wire import Wire
from pagefault.service.session import Session
from pagefault.service.turn.memory_calls import MemoryCalls, memory_specs
from pagefault.service.turn.relayed_calls import RelayedCalls, Served, View

FORMS: Final[Mapping[str, CallForm]] = {
    "chat": ChatForm(),
    "gemini": GeminiForm(),
    "messages": MessagesForm(),
    "responses": ResponsesForm(),
}
"""By the name of the wire."""
OURS: Final = frozenset({PAGE_FAULT, SEARCH_PAGES})


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools of a request, the client's first."""

    tools: list[Any]
    form: CallForm
    ours: frozenset[str] = OURS

    def editor(self) -> Editor:
        return self.form.editor(self.ours)


class Faults:
    """For one conversation. `wanted` is None if the client's own tools decide; `keeps_memory` also
    offers the tools of core and archival memory.
    """

    def __init__(
        self,
        wire: Wire,
        *,
        wanted: bool | None,
        limits: FaultLimits | None,
        keeps_memory: bool = False,
    ) -> None:
        form = FORMS.get(wire.name)
        self._wire = wire
        self._form = form if wanted is not False and limits is not None else None
        self._wanted = bool(wanted)
        self._names = OURS | (MEMORY_TOOLS if keeps_memory else frozenset())
        self._ours: list[Any] = []
        if form is not None and limits is not None:
            specs = (*vm_tools(limits), *(memory_specs() if keeps_memory else ()))
            self._ours = form.tools(tuple(sorted(specs, key=lambda spec: spec.name)))
        self._offered: tuple[Sequence[Any], list[Any]] | None = None  # the client's, and with ours
        self.is_begun = False  # a request was sent
        self.has_them = False  # the conversation has the tools
        self.kept: dict[str, Kept] = {}  # by the key of the answer's first node

    # --- what is offered ----------------------------------------------------------------------

    def offer(self, body: Json, history: History, *, is_aside: bool) -> Offer | None:
        """The offer of a request, if the conversation has the tools or begins with it."""
        offer = self.could_offer(body, history, is_aside=is_aside)
        if not self.is_begun and not is_aside:
            self.is_begun, self.has_them = True, offer is not None
        return offer if self.has_them else None

    def could_offer(self, body: Json, history: History, *, is_aside: bool) -> Offer | None:
        """The offer of a request if the conversation had the tools."""
        form, tools = self._form, history.tools
        if form is None or is_aside or ("tools" in body and not isinstance(body["tools"], list)):
            return None
        if not form.takes(body):
            return None
        if not tools and not (self._wanted or self.has_them):
            return None
        if any(name.startswith(ours) for name in form.names(tools) for ours in self._names):
            return None
        if self._offered is None or self._offered[0] is not tools:
            self._offered = tools, form.beside(tools, self._ours)
        return Offer(self._offered[1], form, self._names)

    def loaded(self, apart: TakenApart, here: Collection[str]) -> dict[PageId, Level]:
        """The pages that the results in a request show, in answers that begin with these nodes."""
        pairs = [pair for key, pairs in apart.pairs.items() if key in here for pair in pairs]
        return {page: level for pair in pairs for page, level in pair.loaded.items()}

    def taken_apart(self, history: History, match: Match) -> TakenApart:
        """The history as the provider knows it."""
        if self._form is None or not self.kept:
            return TakenApart(history, {})
        return taken_apart(history, match, self._wire, self._form, self.kept)

    # --- what was served ----------------------------------------------------------------------

    def keep(self, key: str, serving: Serving) -> None:
        """Keep the calls of an answer, by the node of its first item."""
        self.kept[key] = Kept(tuple(serving.pairs), tuple(serving.sent))

    def spliced(self, key: str) -> tuple[Splice, ...]:
        """The calls for the record of an answer, all or none: a reply stays whole."""
        kept = self.kept.get(key)
        told = [pair.splice for pair in kept.pairs] if kept is not None else []
        return tuple(one for one in told if one is not None) if all(told) else ()

    def drop(self, key: str) -> bool:
        """The client changed that answer: drop its calls. Returns whether it had any."""
        return self.kept.pop(key, None) is not None

    async def restore(
        self, events: Sequence[Event], key_of: Callable[[PageId], str], session: Session
    ) -> None:
        """Restore the calls from the log, without what was forgotten."""
        self.kept.clear()
        calls = calls_of(session)
        records = {event.seq: event.body for event in events}
        old = {event.body.supersedes for event in events if isinstance(event.body, OriginalBody)}
        for event in events:
            match event.body:
                case Relayed(offers=offers):
                    self.is_begun = True
                    self.has_them = self._form is not None and (self.has_them or offers)
                case OriginalBody(spliced=spliced, page_id=page_id) if spliced:
                    key = key_of(page_id)
                    if not key or page_id in old:
                        continue
                    pairs = [await _again(one, records.get(one.call), calls) for one in spliced]
                    found = [pair for pair in pairs if pair is not None]
                    if found:
                        self.kept[key] = Kept(found)


def calls_of(session: Session) -> RelayedCalls:
    async def find(query: str, limit: int) -> Any:
        return await session.recall(query, limit=limit)

    keeps = session.owned.runtime.limits.core_tools
    keep = MemoryCalls(session) if keeps else None
    return RelayedCalls(session.owned, find=find, read=session.page, keep=keep)


async def _again(splice: Splice, body: object, calls: RelayedCalls) -> Pair | None:
    """A pair from its place and its record; None if the record was forgotten."""
    if not isinstance(body, Searched | Faulted | CallRefused | MemoryCalled):
        return None
    return Pair(
        call=_call_of(body),
        result=await calls.result(body),
        reply=splice.reply,
        cut=Cut(splice.at, splice.kept_at),
        end=Cut(splice.end, splice.kept_end) if splice.end >= 0 else None,
        seq=splice.call,
        loaded=_loaded(body),
    )


def _call_of(body: Searched | Faulted | CallRefused | MemoryCalled) -> ToolCall:
    match body:
        case Searched():
            name = SEARCH_PAGES
        case Faulted():
            name = PAGE_FAULT
        case CallRefused() | MemoryCalled():
            name = body.name
    return ToolCall(body.call_id, name, body.arguments)


def _loaded(body: object) -> Mapping[PageId, Level]:
    """The pages that a result shows, and at which level."""
    match body:
        case Faulted(refusal="", already_mapped=False, page_id=page_id, level=level):
            return {page_id: Level(level)} if level < Level.REFERENCE else {}
    return {}


@dataclass(slots=True)
class Serving:
    """Serves the calls of one answer, over all replies. `problem` is why a record could not be
    written.
    """

    look: Callable[[], View]  # what the request shows, once it is needed
    room: int  # tokens left in the window
    pairs: list[Pair] = field(default_factory=list)
    loaded: dict[PageId, Level] = field(default_factory=dict)
    sent: list[Any] = field(default_factory=list)  # the replies so far, and their results
    replies: int = 0  # that made calls
    weighed: int = 0  # tokens of the answer already subtracted from the room
    problem: str = ""

    async def serve(
        self, round: Round, session: Session | None, *, cause: Seq, is_last: bool
    ) -> list[Pair]:
        """Serve the calls of a reply, in order. Those of the last reply that a turn may have are
        refused.
        """
        found: list[Pair] = []
        for number, one in enumerate(round.calls):
            call_id = one.call.call_id or f"call_{cause}_{len(self.pairs)}_{number}"
            call = ToolCall(call_id, one.call.name, one.call.arguments)
            served = await self._served(call, session, cause=cause, is_last=is_last)
            loaded = _loaded(served.body)
            self.loaded |= loaded
            found.append(
                Pair(
                    call=served.call,
                    result=served.result,
                    reply=self.replies,
                    cut=one.cut,
                    end=None if round.has_others else round.end,
                    seq=served.seq,
                    loaded=loaded,
                    extra=one.extra,
                    beside=round.extra,
                )
            )
        self.pairs += found
        self.replies += 1
        return found

    async def _served(
        self, call: ToolCall, session: Session | None, *, cause: Seq, is_last: bool
    ) -> Served:
        with suppress(PagefaultError):
            if session is not None and cause != NOTHING:
                calls = calls_of(session)
                if is_last:
                    served = await calls.refuse(call, "step_limit", NO_MORE, cause=cause)
                else:
                    view = self.look()
                    view = replace(view, served={**view.served, **self.loaded})
                    served = await calls.serve(call, view, room=self.room, cause=cause)
                self.problem = self.problem or served.problem
                counter = session.owned.runtime.counter
                self.room -= counter.count(served.result) + counter.count(call.arguments)
                return served
        why = "memory cannot be read now: answer from what you can see"
        body = CallRefused(
            call_id=call.call_id[:CALL_ID_MAX],
            name=call.name,
            arguments="{}",
            code="unavailable",
            why=why,
            relayed=True,
        )
        told = refusal(body.code, why, faults_left=0)
        return Served(_call_of(body), told, body, NOTHING, "")


NO_MORE: Final = "no more calls in this turn: answer from what you can see"
