"""The layout of a paged request: which turns it shows, what it quotes, which tools it offers.

A conversation gets memory's tools with its first request or with an epoch, since both break the
prefix that a provider caches. A request for a summary is made of what the model has seen: nothing
leaves with it, and nothing is quoted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from pagefault.model.kinds import Role
from pagefault.proxy.conversation.state import ConversationState
from pagefault.proxy.history.history import History, Json, Part, essence
from pagefault.proxy.history.trie import Change, Match
from pagefault.proxy.layout.faults import Offer, Serving
from pagefault.proxy.layout.outgoing import Composed, Outgoing
from pagefault.proxy.layout.quotes import Chosen
from pagefault.proxy.wires.pairs import TakenApart
from pagefault.proxy.wires.wire import Wire
from pagefault.service.turn.relayed_calls import View

ROOM_TOKENS: Final = 64  # of the window that no call of memory's may fill: counting is not exact


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedLayout:
    """What is sent of a paged request. `history` is the client's as its provider knows it: with the
    calls of memory's tools in it.
    """

    history: History
    apart: TakenApart
    outgoing: Outgoing
    composed: Composed
    quotes: Chosen
    offer: Offer | None  # of memory's tools

    def put(self, wire: Wire, body: Json) -> Json | None:
        """The body to send, or None if it is the client's own."""
        if not self.composed.changed and self.offer is None:
            return None
        put = wire.put(body, self.composed.messages)
        return put if self.offer is None else put | {"tools": self.offer.tools}

    def serving(self, state: ConversationState) -> Serving | None:
        """Serves the calls in the answer; None if no tools are offered."""
        if self.offer is None:
            return None

        # As of this request: while its answer is under way, the state may be restored from the log,
        # with another tree, and quotes are made anew after a forgetting.
        pages, quoted = state.pages, state.quotes.quoted_whole(self.outgoing)

        def look() -> View:
            nodes = self.outgoing.shown()
            shown = quoted.union(*(pages.of(node) for node in nodes))
            hidden = {page for node in self.outgoing.hidden() for page in pages.of(node)}
            served = state.faults.loaded(self.apart, {node.key for node in nodes})
            return View(shown=shown, hidden=hidden - shown, served=served)

        left = (state.verbatim.window_tokens - self.composed.tokens) / self.composed.factor
        return Serving(look, int(left) - ROOM_TOKENS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPlan:
    """A request that is not laid out yet. `history` is the client's as its provider knows it."""

    body: Json
    history: History
    match: Match
    apart: TakenApart
    outgoing: Outgoing
    offer: Offer | None
    is_aside: bool

    async def quotes_nothing(self, state: ConversationState) -> bool:
        """Whether the layout plans no epoch and quotes nothing, whether or not what is new in the
        request is logged.
        """
        if self.is_aside or self.match.edited or self.match.change is Change.COMPACTED:
            return False
        return await state.quotes.is_nothing_due(self.outgoing)


def planned(
    state: ConversationState, body: Json, history: History, match: Match, *, is_aside: bool
) -> RequestPlan:
    """The plan of a request. `is_aside` if it asks for a summary."""
    faults, pages = state.faults, state.pages
    apart = TakenApart(history, {})
    offer = faults.offer(body, history, is_aside=is_aside)
    if offer is not None:
        apart = faults.taken_apart(history, match)
        history = replace(apart.history, tools=offer.tools)
    is_plain = offer is None and faults.has_them
    outgoing = (state.verbatim.plain() if is_plain else state.verbatim).outgoing(
        body,
        history,
        match,
        is_kept=pages.is_kept,
        is_said=pages.is_said,
        is_pinned=state.pinned_now(),
        pages_of=pages.of if offer is not None else None,
        state=(state.changes, state.pins()),
    )
    return RequestPlan(
        body=body,
        history=history,
        match=match,
        apart=apart,
        outgoing=outgoing,
        offer=offer,
        is_aside=is_aside,
    )


async def lay_out(
    state: ConversationState, plan: RequestPlan, *, quotes_nothing: bool = False
) -> PagedLayout:
    """The layout of a request; `quotes_nothing` if its plan said so. Never raises for the memory: a
    failure is noted, and nothing is quoted.
    """
    faults, pages = state.faults, state.pages
    body, history, offer, is_aside = plan.body, plan.history, plan.offer, plan.is_aside
    apart, outgoing = plan.apart, plan.outgoing
    quotes = Chosen()
    if not (is_aside or quotes_nothing):
        here = {node.key for node in outgoing.shown()} if apart.pairs else ()
        quotes = await state.quotes.choose(
            outgoing,
            _newest(history),
            is_compacted=plan.match.change is Change.COMPACTED,
            loaded=faults.loaded(apart, here),
        )
    if outgoing.has_new_front and not faults.has_them:
        offer = faults.could_offer(body, history, is_aside=is_aside)
        if offer is not None:
            faults.has_them = True
            outgoing.offer(offer.tools, pages.of)
            history = replace(history, tools=offer.tools)
    return PagedLayout(
        history=history,
        apart=apart,
        outgoing=outgoing,
        composed=outgoing.compose(),
        quotes=quotes,
        offer=offer,
    )


def _newest(history: History) -> str:
    """What the user said last, in however many messages in a row."""
    said: list[str] = []
    for item in reversed(history.placed):
        if item.role is not Role.USER or item.part is not Part.TEXT:
            break
        said.append(essence(item.text))
    return "\n".join(reversed(said))
