"""Formation behind the proxy: the request by which a client's own model forms memory.

The last forwarded request is sent once more, over the same connection to the same provider: the
client's path, headers and body, followed by the answer and one more message. So its prefix is in
the provider's cache, and the account of the client's user pays for it. No request is made without
that user's consent (`client.wants_formation`), about another user's conversation, or while the
client waits.

With r the price of a cached token, forking a request of N tokens costs r·N, and asking about a
range of R tokens alone costs R. So a range is at least a tenth of the request: below that, the fork
costs more than it saves (the fork lemma, at r = 0.1).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from pagefault.engine.former import FormationRequest, Former, Proposals
from pagefault.model.catalogue import find_model
from pagefault.model.errors import EngineGarbled, EngineRefused, RecordGone
from pagefault.model.ids import PageId
from pagefault.model.kinds import FormerKind, Role
from pagefault.model.page import Page
from pagefault.model.request import Message, Request
from pagefault.model.segments import Facet, RenderedSegment
from pagefault.pack.count import MESSAGE_TOKENS, TokenCounter
from pagefault.pack.engine_former import asking, read_lines
from pagefault.proxy.conversation.node_pages import NodePages
from pagefault.proxy.conversation.passed import Passed
from pagefault.proxy.conversation.state import ConversationState
from pagefault.proxy.history.history import Json, Part
from pagefault.proxy.history.trie import Node
from pagefault.proxy.http.relay import Headers, Relay
from pagefault.proxy.layout.faults import FORMS
from pagefault.proxy.wires.pairs import CallForm
from pagefault.proxy.wires.reader import AnswerReader
from pagefault.proxy.wires.wire import Answered, Wire
from pagefault.represent.extractive_former import ExtractiveFormer
from pagefault.service.ownership import Owned
from pagefault.service.turn.admission import summary_room
from pagefault.service.turn.formation import Told
from pagefault.service.window.ranges import Ranges, size_within
from pagefault.service.window.state import SessionState

CACHED_PRICE: Final = 0.1  # of plain input: what most providers take
_OF_ONE_REQUEST: Final = frozenset((b"content-encoding", b"content-length", b"idempotency-key"))


@dataclass(frozen=True, slots=True)
class Fork:
    """A client's request on its way to the provider: connection, path and headers."""

    relay: Relay
    method: str
    target: bytes
    headers: Headers

    async def answer(self, wire: Wire, body: bytes) -> Answered:
        """The answer to this body. Raises `EngineError`."""
        headers = [one for one in self.headers if one[0].lower() not in _OF_ONE_REQUEST]
        reader = AnswerReader(wire)
        relay = self.relay
        async with relay.ask(self.method, self.target, headers, body, repeatable=True) as response:
            if response.status_code != 200:
                raise EngineRefused(
                    f"{relay.host} answered {response.status_code} where memory was to be formed"
                )
            reader.begin(response.status_code, response.headers)
            async with aclosing(relay.pieces(response)) as pieces:  # type: ignore[type-var]
                async for piece in pieces:
                    reader.feed(piece)
        return reader.answered()


def said_by(answered: Answered) -> str:
    """The text of an answer that ends a turn; "" where it calls a tool, or says nothing."""
    if not answered.complete or any(item.part is Part.CALL for item in answered.items):
        return ""
    return "\n\n".join(item.text for item in answered.items if item.part is Part.TEXT).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayedFormer:
    """A former that continues `body`, the last forwarded request, and its `answer`. `tokens_sent`
    is our count of both.
    """

    fork: Fork
    wire: Wire
    form_of: CallForm
    body: Json
    answer: str
    tokens_sent: int
    model: str
    counter: TokenCounter
    written: Callable[[Json], bytes]
    kind: FormerKind = FormerKind.ENGINE
    reads_window: bool = True

    def tokens(self, given: FormationRequest) -> int:
        asked = self.counter.count(asking(given, names_pages=True))
        return self.tokens_sent + asked + MESSAGE_TOKENS

    async def form(self, given: FormationRequest) -> Proposals:
        """As the protocol says."""
        sent, message = self.body[self.wire.messages], self.form_of.message
        before = [message(Role.USER, sent)] if isinstance(sent, str) else list(sent)
        asked = message(Role.USER, asking(given, names_pages=True))
        body = self.wire.put(self.body, [*before, message(Role.ASSISTANT, self.answer), asked])
        try:
            raw = self.written(body)
        except ValueError:
            raise EngineGarbled(
                "the client's request has numbers that JSON does not have"
            ) from None
        told = await self.fork.answer(self.wire, raw)
        text = said_by(told)
        if not text:
            raise EngineGarbled(
                "the model said nothing, or called a tool, where its memory was to be formed",
                hint="the range will be tried again",
            )
        read = read_lines(text.splitlines())
        return Proposals(proposals=read.proposals, unread=read.unread, usage=told.usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayedTurns:
    """The turns in a client's request and its answer: the `pages`, in order, that no range has yet.
    `tokens` is our count of both.
    """

    pages: Sequence[Page]
    response: str
    model: str
    tokens: int
    factor: float
    window_tokens: int  # that the proxy was given; 0 for none
    range_tokens: int  # of a small request
    formed_share: float  # of a range: what its summary may take
    is_answered: bool = True

    @property
    def size(self) -> int:
        return max(self.range_tokens, int(self.tokens * CACHED_PRICE))

    def in_place(self) -> list[Page]:
        return list(self.pages)

    def finished(self) -> list[Page]:
        return list(self.pages)

    def has_room(self, tokens: int) -> bool:
        """Whether the model's own window has room; the proxy's bounds only client requests."""
        known = find_model(self.model)
        most = known.window_tokens if known.is_known else self.window_tokens
        return not most or tokens * self.factor <= most

    def given(self, pages: Sequence[Page]) -> FormationRequest:
        return FormationRequest(
            request=Request(
                messages=tuple(Message(role=one.row.role, content=one.text) for one in self.pages),
                tools=(),
                tokens=self.tokens,
                factor=self.factor,
                window_tokens=self.window_tokens,
            ),
            segments=tuple(map(_segment, range(len(self.pages)), self.pages)),
            response=self.response,
            operations=(),
            pages=tuple(pages),
            tokens_max=summary_room(pages, self.formed_share),
        )


class RelayedFormation:
    """Formation for one conversation, by the model that its client asks, or by rules."""

    def __init__(self, state: ConversationState, *, wire: Wire, counter: TokenCounter) -> None:
        self._state = state
        self._wire = wire
        self._counter = counter
        self._lived: Callable[[], list[PageId]] | None = None  # in the newest request and answer
        self._asked: Passed | None = None  # that request: an older one may be answered after it

    def stop(self) -> None:
        """A request arrives: whoever forms at rest stops waiting for it."""
        self._lived = None
        if self._state.session is not None:
            self._state.session._formation.goes_on()

    def withdraw(self) -> None:
        """The user no longer agrees: what is under way ends, too."""
        if self._state.session is not None:
            self._state.session._formation.withdrawn()

    def note_answer(self, passed: Passed, answer: Sequence[Node], *, is_logged: bool) -> None:
        """Note what the model has before it with this answer. It is looked up only where memory
        is formed of it: most answers call a tool, and end no turn.
        """
        self._asked = passed
        hidden = passed.composed.hidden if passed.composed is not None else ()
        path, pages = (*passed.match.path, *answer), self._state.pages
        self._lived = partial(_shown, pages, path, hidden) if is_logged else None

    def begin(
        self,
        passed: Passed,
        answered: Answered,
        fork: Fork | None,
        written: Callable[[Json], bytes],
        told: Told,
    ) -> None:
        """Form closed ranges in the background: by a `fork` for a user who agreed, else by rules,
        if a way of compaction was named and turns can leave. Does nothing if the turn is not over,
        if the client left the model no free word, or if something was said since.
        """
        state, relayed = self._state, passed.logged.relayed
        noted = self._lived if self._asked is passed else None
        session, answer = state.session, said_by(answered)
        if session is None or relayed is None or passed.aside or not answer or noted is None:
            return
        tokens = relayed.tokens + self._counter.count(answer)
        window_tokens = state.verbatim.window_tokens
        former: Former | None = None
        if fork is not None:
            former = self._asking(fork, passed, answer, tokens, written)
        elif session.owned.runtime.names_compaction and window_tokens:
            former, tokens = ExtractiveFormer(self._counter.count), 0
        if former is None:
            return
        lived = noted()
        if not lived:
            return

        async def now(folded: SessionState) -> RelayedTurns | None:
            if self._lived is not noted:  # the next turn has begun: its request is the one to ask
                return None
            if not await asyncio.to_thread(is_all_there, session.owned, lived):
                return None
            return RelayedTurns(
                pages=await asyncio.to_thread(not_formed, session.owned, lived, folded.ranges),
                response=answer,
                model=passed.model,
                tokens=tokens,
                factor=relayed.factor,
                window_tokens=window_tokens,
                range_tokens=size_within(window_tokens, folded.limits.summarised_tokens_max),
                formed_share=folded.limits.formed_share,
            )

        session._formation.begin(former, now, told)

    def _asking(
        self,
        fork: Fork,
        passed: Passed,
        answer: str,
        tokens: int,
        written: Callable[[Json], bytes],
    ) -> RelayedFormer | None:
        form = FORMS.get(self._wire.name)
        if form is None or not form.takes(passed.sent):
            return None
        return RelayedFormer(
            fork=fork,
            wire=self._wire,
            form_of=form,
            body=passed.sent,
            answer=answer,
            tokens_sent=tokens,
            model=passed.model,
            counter=self._counter,
            written=written,
        )


def _shown(pages: NodePages, path: Sequence[Node], hidden: Sequence[Node]) -> list[PageId]:
    """The pages of a path that a request shows whole: none, unless all of it is logged and nothing
    of it was forgotten.
    """
    left = set(hidden)
    shown = [one for one in path if one not in left]
    if any(one.is_lost for one in shown) or not all(map(pages.is_kept, shown)):
        return []
    return [page for node in shown for page in pages.of(node)]


def _segment(number: int, page: Page) -> RenderedSegment:
    end = len(page.text.encode())
    facet = Facet(pages=(page.page_id,), turn=page.row.turn, start=0, end=end)
    return RenderedSegment(message=number, tokens=page.row.tokens, facets=(facet,))


def is_all_there(owned: Owned, shown: Sequence[PageId]) -> bool:
    """Whether none of these pages was forgotten or withdrawn. A client keeps sending such text, and
    memory formed with it in view may repeat its words. Blocks on the store.
    """
    runtime, scope = owned.runtime, owned.scope
    rows = (runtime.index.find_page(scope, page_id) for page_id in shown)
    return all(row is not None and not runtime.quarantine.is_withdrawn(row) for row in rows)


def not_formed(owned: Owned, shown: Sequence[PageId], ranges: Ranges) -> list[Page]:
    """The pages of a request that no finished range covers. Blocks on the store; reads from the end
    and stops at the first page that a range covers.
    """
    runtime, scope = owned.runtime, owned.scope
    begun = ranges.begun
    upto = ranges.upto if begun is None else begun.order_from - 1
    found: dict[PageId, Page] = {}
    for page_id in reversed(shown):
        row = runtime.index.find_page(scope, page_id)
        if row is not None and row.order <= upto:
            break
        with suppress(RecordGone):
            if row is not None and not runtime.quarantine.is_withdrawn(row):
                found[page_id] = runtime.pages.read(row)
    return sorted(found.values(), key=lambda page: page.row.order)
