"""A request that a conversation has taken in, as it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from pagefault.model.events import Relayed
from pagefault.model.ids import NOTHING, Seq
from pagefault.proxy.history.history import History, Json
from pagefault.proxy.history.trie import Match
from pagefault.proxy.layout.faults import Offer, Serving
from pagefault.proxy.layout.outgoing import Composed
from pagefault.proxy.wires.pairs import Pair


@dataclass(slots=True)
class Logged:
    """How a request was logged: its record, and where that is; or the problem, and the name of the
    quota that was full, if one was.
    """

    relayed: Relayed | None = None
    record: Seq = NOTHING
    problem: str = ""
    full: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A request as it is sent; `body` is None if the client's own bytes are. The task `logging`, if
    there is one, fills in `logged`.
    """

    match: Match
    composed: Composed | None = None
    body: Json | None
    recalled: int = 0  # pages and claims that are quoted
    brought_back: int = 0  # pages
    aside: bool = False  # asks for a summary: no part of the conversation, nor is its answer
    logged: Logged = field(default_factory=Logged)
    logging: asyncio.Task[None] | None = None
    evicted: int = 0  # pages that left with it
    model: str = ""  # that is asked
    offer: Offer | None = None  # memory's tools, beside the client's
    history: History | None = None  # as the provider knows it, if memory's tools are offered
    serving: Serving | None = None  # of their calls
    asked_tokens: int = 0  # of the newest request, once calls were served; 0 before
    plain: Json | None = None  # the body without our marks, if it has some
    sent: Json  # the body that is sent, the client's or ours

    @property
    def request(self) -> int:
        """Its number in the log; -1 if it is not logged."""
        relayed = self.logged.relayed
        return relayed.request if relayed is not None else -1

    @property
    def pairs(self) -> Sequence[Pair]:
        """The calls of memory's tools served in its answer so far."""
        return self.serving.pairs if self.serving is not None else ()


@dataclass(frozen=True, slots=True)
class Window:
    """What a request shows, in tokens and in items of the client's history."""

    tokens: int
    window_tokens: int
    left_tokens: int
    shown: int
    hidden: int
