"""The values that `Feed` returns for dashboard, studio and notebook.

Their texts are short and cleaned. Tokens are our own counts unless the name says `reported`. What
nobody reported is an estimate, marked as such.
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
    """The kinds of segments in a window, in their usual order."""

    RULES = "rules"  # instructions
    TOOLS = "tools"
    UNDIVIDED = "undivided"  # a proxied client's instructions and tools, and the framing of pages
    FRAMING = "framing"  # of pages: ids, speakers, times; and calls of memory's tools
    CLAIMS = "claims"
    SUMMARIES = "summaries"
    BROUGHT_BACK = "brought_back"
    STUBS = "stubs"  # notes that a page was here
    CONVERSATION = "conversation"
    TOOL_RESULTS = "tool_results"
    FREE = "free"


SEGMENT_WORDS: Final = {
    SegmentKind.RULES: "rules",
    SegmentKind.TOOLS: "tools",
    SegmentKind.UNDIVIDED: "instructions, tools and framing",
    SegmentKind.FRAMING: "framing of pages",
    SegmentKind.CLAIMS: "claims",
    SegmentKind.SUMMARIES: "summaries",
    SegmentKind.BROUGHT_BACK: "brought back",
    SegmentKind.STUBS: "stubs",
    SegmentKind.CONVERSATION: "conversation",
    SegmentKind.TOOL_RESULTS: "tool results",
    SegmentKind.FREE: "free",
}


class Spell(StrEnum):
    """A set of requests whose costs are summed."""

    SESSION = "session"
    TODAY = "today"  # since local midnight
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCard:
    """A session in the list. `title` is its name without what a proxy adds to distinguish
    conversations. `client` is the program that the conversation is from, "" if unknown.
    """

    session_id: str
    name: str
    title: str
    client: str
    requests: int
    turns: int
    pages: int  # that it can see, its parent's too
    last_used_ms: int
    parent: str = ""  # id of the session it was forked from


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSegment:
    """A piece of a window: a page, or something else, such as the rules or the free room.

    If a window has more pages than a picture can show, neighbours of one kind are merged: `pages`
    then names several, and `text` is the first one's.
    """

    kind: SegmentKind
    tokens: int
    pages: tuple[PageId, ...] = ()
    who: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BroughtBack:
    """A page that had left the window, and was first shown again in `request`. `why` is a sentence;
    `asked` is true if the model called for it, false if pagefault brought it unasked.
    """

    request: int
    page: Excerpt
    turn: TurnNo  # in which it was said
    asked: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLine:
    """A request, as a line of the log. `did` describes what the client did. Message counts are for
    proxied requests only, else 0. `without_tokens` is an estimate.
    """

    number: int  # from 0
    turn: TurnNo
    tokens: int
    seq: Seq = NOTHING  # none for a request that is not made yet
    at_ms: int = 0
    did: str = ""
    client_messages: int = 0
    messages: int = 0
    without_tokens: int = 0
    shared_tokens: int = 0
    reported_tokens: int | None = None
    reported_cached_tokens: int | None = None
    brought_back: int = 0
    rewrite: str = ""  # why the prefix was rewritten; "" if it was not

    @property
    def cached_share(self) -> float | None:
        """Cached tokens as a share of input tokens, both as reported; None if not reported."""
        if not self.reported_tokens or self.reported_cached_tokens is None:
            return None
        return self.reported_cached_tokens / self.reported_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowView:
    """The window of one request. `window_tokens` is its limit, 0 if none. `brought` are the pages
    shown out of place, latest first. `question` is the user's last message, None if it cannot be
    read.
    """

    session_id: str
    request: RequestLine
    window_tokens: int
    segments: tuple[WindowSegment, ...]
    brought: tuple[BroughtBack, ...] = ()
    question: Excerpt | None = None

    @property
    def is_next(self) -> bool:
        """Whether it is a preview of the next request, not one that was made."""
        return self.request.seq == NOTHING

    def tokens_of(self, kind: SegmentKind) -> int:
        return sum(one.tokens for one in self.segments if one.kind is kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """The state of a session. `requests`, `rewrites` and `brought_back` are counts; `pressure` is
    the newest request's.
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
    is_judged: bool  # else it is too long to judge here: see `Session.metrics`
    upto: Seq  # the last record included


@dataclass(frozen=True, slots=True, kw_only=True)
class MapView:
    """The memory map of a session, with an excerpt of each row's first message. `brought` counts,
    per column, the messages that came back with its requests.
    """

    map: MemoryMap
    brought: tuple[int, ...]
    excerpts: dict[PageId, Excerpt]
    window_tokens: int  # of the newest request


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsView:
    """The newest of `total` claims, newest first, and the edges between them."""

    claims: tuple[ClaimView, ...]
    total: int
    standing: int
    edges: tuple[ClaimEdge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """A page with its text and links: its sources, with the evidence in them, and the topics, tasks
    and names it mentions.
    """

    page: Excerpt
    text: str
    origin: str
    is_superseded: bool  # its text was replaced
    rests_on: tuple[PageId, ...]
    evidence: tuple[SpanView, ...]
    topics: tuple[str, ...]
    tasks: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLine:
    """An event in a session: `what` is changed, shipped or failed, `told` a line about it.
    `page_id` is the call, `result_id` its result.
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
    withdrawn: bool  # by a person: its outcome is not shown


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkView:
    """The work done in a session, newest first, from its last `events`; `more` if there are older
    ones.
    """

    lines: tuple[WorkLine, ...]
    files: int  # changed files
    events: int
    more: bool

    def count(self, what: str) -> int:
        return sum(one.what == what for one in self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepingView:
    """A memory's imports, retention rules and control modes."""

    imports: tuple[ImportedSession, ...]
    rules: tuple[RetentionRule, ...]
    control: str  # the viewed session's mode
    control_of_all: str
    names: dict[str, str]  # of sessions, by id

    @property
    def waiting(self) -> int:
        return sum(not one.is_approved for one in self.imports)


@dataclass(frozen=True, slots=True, kw_only=True)
class HitView:
    """A search hit and its session's title. `pieces` are parts of the excerpt, each with whether it
    matches; `relevance` is 0..1.
    """

    page_id: PageId
    session_id: str
    session: str
    who: str
    at_ms: int
    tokens: int
    relevance: float
    pieces: tuple[tuple[str, bool], ...]
    why: str = ""  # it was found, if not by its words


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundView:
    """The first of `total` pages found."""

    hits: tuple[HitView, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The health of a memory."""

    records: int
    sessions: int
    bytes: int
    is_adopted: bool
    notices: tuple[str, ...]
    withheld: int  # texts not kept because the secret scanner failed on them
    seq: Seq  # the last known record


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecord:
    """A new record, without its content. `session_id` is "" for records of the whole memory, and
    for sessions that are gone.
    """

    seq: Seq
    at_ms: int
    session_id: str
    turn: TurnNo
    type: str
    page_id: PageId
    tokens: int


def plain(value: Any) -> Any:
    """A value of this module as plain data, for JSON."""
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
