"""What a dashboard, a studio or a notebook shows of a memory: values, as `Feed` hands them out.

Texts in them are short and cleaned. Tokens are by our own count unless a name says `reported`; a
number that nobody reported is an estimate, and its value says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from pagefault.model.events import RetentionRule
from pagefault.model.ids import NOTHING, PageId, Seq, TurnNo
from pagefault.pack.bill import BillRow
from pagefault.paging.pressure import Pressure
from pagefault.service.inspection.memory_map import MemoryMap
from pagefault.service.lookup.imported import ImportedSession
from pagefault.views.claim_graph import ClaimEdge
from pagefault.views.concerns import Concern
from pagefault.views.texts import ClaimView, Excerpt, SpanView


class SegmentKind(StrEnum):
    """What a piece of a request's window is made of, in the order of most windows."""

    RULES = "rules"  # instructions; of a proxied request, the client's tools with them
    TOOLS = "tools"
    CLAIMS = "claims"
    SUMMARIES = "summaries"
    BROUGHT_BACK = "brought_back"
    STUBS = "stubs"  # no more than a note that something stood here
    CONVERSATION = "conversation"
    TOOL_RESULTS = "tool_results"
    FREE = "free"


SEGMENT_WORDS: Final = {
    SegmentKind.RULES: "rules",
    SegmentKind.TOOLS: "tools",
    SegmentKind.CLAIMS: "claims",
    SegmentKind.SUMMARIES: "summaries",
    SegmentKind.BROUGHT_BACK: "brought back",
    SegmentKind.STUBS: "stubs",
    SegmentKind.CONVERSATION: "conversation",
    SegmentKind.TOOL_RESULTS: "tool results",
    SegmentKind.FREE: "free",
}


class Spell(StrEnum):
    """The requests that costs are the sum of."""

    SESSION = "session"
    TODAY = "today"  # since midnight of this computer's clock
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCard:
    """A line in the list of sessions. `title` is what a person calls it: its name, less what a
    proxy adds to tell conversations apart. `client` is the program whose conversation it is, ""
    where nobody says.
    """

    session_id: str
    name: str
    title: str
    client: str
    requests: int
    turns: int
    messages: int
    last_used_ms: int
    parent: str = ""  # the id of the session that it was forked from


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSegment:
    """A piece of a window: a page, or what stands there and is none, as the rules and what is free.

    Neighbours of one kind stand together where a window has more pages than a picture has room
    for: then `pages` names several, and `text` is of the first.
    """

    kind: SegmentKind
    tokens: int
    pages: tuple[PageId, ...] = ()
    who: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BroughtBack:
    """A page that had left the window, and that `request` was the first to show again. `why` is a
    sentence; `asked` tells that the model called for it, and else pagefault brought it by itself.
    """

    request: int
    page: Excerpt
    turn: TurnNo  # in which it was said
    asked: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLine:
    """A request, as a line of the log. `did` says in words what the client did; messages are of a
    proxied request alone, and 0 elsewhere. `without_tokens` is an estimate.
    """

    number: int  # from 0
    turn: TurnNo
    tokens: int
    seq: Seq = NOTHING  # of a request that is not made yet, there is no record
    at_ms: int = 0
    did: str = ""
    client_messages: int = 0
    messages: int = 0
    without_tokens: int = 0
    shared_tokens: int = 0
    reported_tokens: int | None = None
    reported_cached_tokens: int | None = None
    brought_back: int = 0
    rewrite: str = ""  # why the beginning was written anew; "" where it was not

    @property
    def cached_share(self) -> float | None:
        """Of what the provider counted, what it read from its cache; None where it did not say."""
        if not self.reported_tokens or self.reported_cached_tokens is None:
            return None
        return self.reported_cached_tokens / self.reported_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowView:
    """What one request held. `window_tokens` is its limit, 0 where there is none. `brought` are the
    pages that it showed out of their place, those that came last first. `question` is what the user
    had said last, None where that cannot be read.
    """

    session_id: str
    request: RequestLine
    window_tokens: int
    segments: tuple[WindowSegment, ...]
    brought: tuple[BroughtBack, ...] = ()
    question: Excerpt | None = None

    @property
    def is_next(self) -> bool:
        """Whether it is what the next request would hold, and not one that was made."""
        return self.request.seq == NOTHING

    def tokens_of(self, kind: SegmentKind) -> int:
        return sum(one.tokens for one in self.segments if one.kind is kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """How a session stands. `requests`, `rewrites` and `brought_back` count; `pressure` is that of
    its newest request.
    """

    card: SessionCard
    is_proxied: bool
    window_tokens: int
    requests: int
    rewrites: int
    brought_back: int
    brought_back_tokens: int
    pressure: Pressure
    bill: BillRow
    prices: str
    concerns: tuple[Concern, ...]
    is_judged: bool  # else it is too long for its figures to be judged here: `Session.metrics`
    upto: Seq  # the last record that is in it


@dataclass(frozen=True, slots=True, kw_only=True)
class MapView:
    """The memory map of a session, and of each row what its first message says. `brought` counts,
    for each column, the messages that came back with its requests.
    """

    map: MemoryMap
    brought: tuple[int, ...]
    excerpts: dict[PageId, Excerpt]
    window_tokens: int  # the limit of the newest request


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsView:
    """The newest claims, newest first, of `total`, and the edges between them."""

    claims: tuple[ClaimView, ...]
    total: int
    standing: int
    edges: tuple[ClaimEdge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """A page to be read, and where it leads: to pages that it rests on and the words there, to
    topics, tasks and files that it names.
    """

    page: Excerpt
    text: str
    origin: str
    is_superseded: bool  # other words stand in its place now
    rests_on: tuple[PageId, ...]
    evidence: tuple[SpanView, ...]
    topics: tuple[str, ...]
    tasks: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLine:
    """Something that was done in a session: `what` is changed, shipped or failed, and `told` a line
    of it. `page_id` is the call, `result_id` what came of it.
    """

    seq: Seq
    at_ms: int
    what: str
    told: str
    page_id: PageId
    result_id: PageId
    origin: str
    path: str
    exit_code: int | None
    failing: tuple[str, ...]
    withdrawn: bool  # by a person: what tells how it went


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkView:
    """What was done in a session, newest first, of its last `events`; `more` tells that there are
    older ones.
    """

    lines: tuple[WorkLine, ...]
    files: int  # that were changed
    events: int
    more: bool

    def count(self, what: str) -> int:
        return sum(one.what == what for one in self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepingView:
    """What a memory keeps, and what it does with it: imports, rules of retention, modes."""

    imports: tuple[ImportedSession, ...]
    rules: tuple[RetentionRule, ...]
    control: str  # of the session that is looked at
    control_of_all: str
    names: dict[str, str]  # of sessions, by their ids

    @property
    def waiting(self) -> int:
        return sum(not one.is_approved for one in self.imports)


@dataclass(frozen=True, slots=True, kw_only=True)
class HitView:
    """A page that a search found, and the title of its session. `pieces` are of the part that was
    found, each with whether it matches; `relevance` is 0..1.
    """

    page_id: PageId
    session_id: str
    session: str
    who: str
    at_ms: int
    tokens: int
    relevance: float
    pieces: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundView:
    """The first of the `total` pages that were found."""

    hits: tuple[HitView, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How a memory is."""

    records: int
    sessions: int
    bytes: int
    is_adopted: bool
    notices: tuple[str, ...]
    withheld: int  # texts that were not kept, because what looks for secrets failed on them
    seq: Seq  # the last record that is known


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecord:
    """A record that was written, without what it says. `session_id` is "" of what concerns the
    whole memory, and of a session that is gone.
    """

    seq: Seq
    at_ms: int
    session_id: str
    turn: TurnNo
    type: str
    page_id: PageId
    tokens: int


def plain(value: Any) -> Any:
    """A value of this module as plain ones: for JSON."""
    if isinstance(value, BillRow):
        return value.to_dict()
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    return value.name.lower() if isinstance(value, Pressure) else value
