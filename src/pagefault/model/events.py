"""Events: frozen facts in the past tense, the only thing ever written to the log.

A caller makes a `Draft`; the log accepts it as an `Event`, with a seq, an id and a time. An event's
content is its *body*, a member of the union `Body`. A body never changes once written; forgetting
replaces it by `Erased`. Fields may be added to a body with a default (a newer minor version).
Renaming or removing a field, or changing its meaning, is a new major version.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, ClassVar, Final, get_args

from pagefault.model.construction import fast_init
from pagefault.model.ids import NOTHING, PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import (
    SAID_TYPES,
    SOME_TOOL,
    TOOL_PREFIX,
    Actor,
    CheckOutcome,
    Consent,
    ControlMode,
    EventType,
    FaultReason,
    FormationOutcome,
    FormerKind,
    Heat,
    ItemKind,
    Kind,
    LayoutName,
    Modality,
    Mode,
    MountMode,
    NoteType,
    Origin,
    RegionScope,
    Role,
    RulingKind,
    Source,
    Validator,
    is_tools,
)
from pagefault.model.page import NO_FACTS, CardFacts, ClaimRef, Evidence, PageRow
from pagefault.model.prices import PriceList
from pagefault.model.times import iso_ms

VERSION: Final = (2, 1)
"""Major and minor version of the record format. `store/embedded/upgrade.py` has the earlier one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTool:
    """A tool of the host that the model may call. `parameters` is a JSON Schema, as JSON."""

    name: str
    description: str
    parameters: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOpened:
    """A session began. Its number is the seq of this record; a fork names its parent."""

    session_id: str
    name: str
    window_tokens: int
    mode: Mode
    system: str
    layout: LayoutName = LayoutName.STABLE
    control: ControlMode = ControlMode.ASSIST
    parent: SessionNo = SessionNo(0)
    parent_seq: Seq = NOTHING  # the last record of the parent that the fork sees
    holder: str = ""  # the opening of the memory that first leases it
    epoch: int = 0  # of a fork: its parent's, whose records may be forgotten
    tools: tuple[OfferedTool, ...] = ()  # of a fork: its parent's


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLeased:
    """An opening of the memory took over a session: from here on it alone may write there.
    Without a `holder`, the last one gave it up: any may take it.

    `fence` is one more than that of the lease before; a session's first lease, in `session_opened`,
    has 0. A holder whose lease is not the last one has lost it, and writes nothing.
    """

    holder: str
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionConfigured:
    """A session's window, mode, system prompt, layout, host tools or control mode changed."""

    window_tokens: int
    mode: Mode
    system: str
    layout: LayoutName = LayoutName.STABLE
    control: ControlMode = ControlMode.ASSIST
    tools: tuple[OfferedTool, ...] = ()  # sorted by name


@dataclass(frozen=True, slots=True, kw_only=True)
class PageBody:
    """The common envelope of every record of a page.

    `tokens` counts `text` alone (o200k) and never changes. `order` numbers the pages of a session
    from 0 without gaps, across forks; derived pages are numbered from `DERIVED_ORDER`. If a record
    has no tags, entities and tasks, they are found in its text on request.
    """

    page_id: PageId
    order: int
    text: str
    tokens: int
    title: str = ""
    topic_tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    task_refs: tuple[str, ...] = ()
    importance: float = 0.5

    if TYPE_CHECKING:  # fields of some subclasses, constant in the others

        @property
        def event_type(self) -> EventType: ...
        @property
        def kind(self) -> Kind: ...
        @property
        def role(self) -> Role: ...
        @property
        def modality(self) -> Modality: ...
        @property
        def occurred_at(self) -> str: ...
        @property
        def speaker(self) -> str: ...
        @property
        def source(self) -> Source: ...
        @property
        def part(self) -> int: ...
        @property
        def parts(self) -> int: ...
        @property
        def supersedes(self) -> PageId: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Splice:
    """The position of a call that the proxy served, within an answer whose client has neither the
    call nor the result. `call` is the record of the call.

    Positions are in the client's form of the answer: among its consecutive parts (blocks, items of
    output; for Chat Completions and generateContent, characters of the text), and among those that
    a client always sends back (for Chat Completions, its own calls). `reply` numbers the model's
    replies that form one answer to the client. `end` is where the reply with the call ended, which
    is where the results belong; -1 where the answer ends.
    """

    call: Seq
    reply: int
    at: int
    kept_at: int
    end: int = -1
    kept_end: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalBody(PageBody):
    """Original content: said, done or handed in.

    A long text is split into consecutive parts. Every part but the first names the first in
    `part_of`, and the parts joined are the original, byte for byte.

    A page from a proxy's client `follows` the page before it in the client's history, or
    `HISTORY_START`; only the first part of a text has it. If the client replaced a page by other
    words, their page `supersedes` it, which is historical from then on. The first page of an answer
    lists the memory tool calls that the proxy served in it (`spliced`).

    If a reply called tools of the host, its words, its calls and their results share a `cause`, the
    record that led to the reply. In the window they are one exchange, which shows the first `shown`
    parts of each text.
    """

    role: Role
    modality: Modality = Modality.TEXT
    source: Source = Source.CHAT
    occurred_at: str = ""  # ISO 8601 with its zone, or local time if no zone is known
    speaker: str = ""
    part: int = 0
    parts: int = 1
    part_of: PageId = PageId("")
    follows: PageId = PageId("")
    supersedes: PageId = PageId("")
    spliced: tuple[Splice, ...] = ()
    shown: int = -1  # parts that enter the window by themselves; -1: up to the limits
    kind: ClassVar[Kind] = Kind.TRANSCRIPT


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Said(OriginalBody):
    """A message. `event_type` is one of `SAID_TYPES`: what the speaker was doing."""

    event_type: EventType
    call_id: str = ""  # of the tool call that it answers, if any


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Called(OriginalBody):
    """A model called a tool of the host or of a client, which `Returned` answers. `title` is the
    tool's name, if the host gave it; `given_id` is the reply's id for the call, if an earlier call
    already had that id.
    """

    call_id: str
    given_id: str = ""
    role: Role = Role.ASSISTANT
    event_type: ClassVar[EventType] = EventType.TOOL_CALL


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Returned(OriginalBody):
    """A tool's result. `title` is the tool's name."""

    call_id: str = ""
    is_error: bool = False
    role: Role = Role.TOOL
    event_type: ClassVar[EventType] = EventType.TOOL_RESULT


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedIn(OriginalBody):
    """A document."""

    kind: ClassVar[Kind] = Kind.ARTIFACT
    event_type: ClassVar[EventType] = EventType.DOCUMENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored(OriginalBody):
    """An artifact: `text` describes it, and `blob` names its bytes in the blob store."""

    blob: str = ""
    mime_type: str = ""
    size_bytes: int = 0
    kind: ClassVar[Kind] = Kind.ARTIFACT
    event_type: ClassVar[EventType] = EventType.ARTIFACT


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared(OriginalBody):
    """A page of a region (`service/regions.py`), brought there by the session `by`: its own words,
    or a copy of the page in the record `copy_of`. No fold of a conversation takes it.
    """

    by: SessionNo = SessionNo(0)
    copy_of: Seq = NOTHING
    event_type: ClassVar[EventType] = EventType.SHARED


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted(OriginalBody):
    """Something kept for later, outside the conversation: a record of archival memory, or an item
    of hot memory (`HeatMoved`). It does not enter a window by itself. Its origin is the least
    trusted of its channel and of everything that its writer had seen.
    """

    note_type: NoteType
    area: str = ""  # one of `NoteArea`, if given
    metadata: str = ""  # the caller's JSON
    is_quarantined: bool = False  # it reads like an order: never recalled unasked
    kind: ClassVar[Kind] = Kind.ARTIFACT
    event_type: ClassVar[EventType] = EventType.NOTE


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreWritten(OriginalBody):
    """The new text of a section of core memory, replacing the version that it `supersedes`. It is
    in every request, unless it is empty. Text that its origin does not vouch for is only proposed,
    and replaces nothing; so is text that a model formed, as `is_proposed` says.
    """

    section: str
    is_proposed: bool = False
    kind: ClassVar[Kind] = Kind.ARTIFACT
    event_type: ClassVar[EventType] = EventType.CORE


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedBody(PageBody):
    """Derived from other pages, and could be derived again."""

    provenance: tuple[PageId, ...] = ()
    role: ClassVar[Role] = Role.SYSTEM
    modality: ClassVar[Modality] = Modality.TEXT
    source: ClassVar[Source] = Source.CHAT
    occurred_at: ClassVar[str] = ""
    speaker: ClassVar[str] = ""
    part: ClassVar[int] = 0
    parts: ClassVar[int] = 1

    if TYPE_CHECKING:  # a field of some subclasses

        @property
        def evidence(self) -> tuple[Evidence, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarised(DerivedBody):
    """A summary of a run of turns; in full they take `source_tokens`. If each of its lines names
    its basis, `evidence` has that.
    """

    source_tokens: int = 0
    evidence: tuple[Evidence, ...] = ()
    supersedes: ClassVar[PageId] = PageId("")
    kind: ClassVar[Kind] = Kind.SUMMARY
    event_type: ClassVar[EventType] = EventType.SUMMARY


@dataclass(frozen=True, slots=True, kw_only=True)
class Represented(DerivedBody):
    """A page of `source_tokens` was shortened: this represents it at `level`, and `evidence` is
    what it shows of the page word for word.
    """

    represents: PageId
    level: int
    evidence: tuple[Evidence, ...] = ()
    source_tokens: int = 0
    supersedes: ClassVar[PageId] = PageId("")
    kind: ClassVar[Kind] = Kind.SUMMARY
    event_type: ClassVar[EventType] = EventType.REPRESENTATION


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed(DerivedBody):
    """Something is held to be true from here on, or, for a retraction, no longer.

    `value` is what it says about its `subject`, as written; a later claim on the same subject
    `supersedes` it. `evidence` is where it is said. When an undo or redo restores a claim, its
    words are written again: that claim `restates` the first, and so does one that was edited in
    anything but its words. One that `merges` others replaces them, too. One that `repeats` another
    is a proposal that says the same, and is kept as further proof of it. `elsewhere` has claims of
    the user's other sessions that said the same when it was made.

    `provenance` has the pages that it rests on, and the claims that it was derived from. `digest`
    is that of the words shown to the person who approved them (`OriginRaised`).
    """

    claim_type: str  # decision, preference, fact, …
    subject: str = ""
    value: str = ""
    evidence: tuple[Evidence, ...] = ()
    supersedes: PageId = PageId("")
    confidence: float = 1.0
    restates: PageId = PageId("")
    merges: tuple[PageId, ...] = ()
    card: CardFacts = NO_FACTS
    digest: str = ""
    repeats: PageId = PageId("")
    elsewhere: tuple[ClaimRef, ...] = ()
    kind: ClassVar[Kind] = Kind.CLAIM
    event_type: ClassVar[EventType] = EventType.CLAIM


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned(DerivedBody):
    """A procedure was stated: its purpose is its `subject`."""

    subject: str = ""
    evidence: tuple[Evidence, ...] = ()
    supersedes: PageId = PageId("")
    kind: ClassVar[Kind] = Kind.PROCEDURE
    event_type: ClassVar[EventType] = EventType.PROCEDURE


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed(DerivedBody):
    """An index: a line for each of the oldest summaries."""

    supersedes: ClassVar[PageId] = PageId("")
    evidence: ClassVar[tuple[Evidence, ...]] = ()
    kind: ClassVar[Kind] = Kind.INDEX
    event_type: ClassVar[EventType] = EventType.INDEX


_Original = Said | Called | Returned | HandedIn | Stored | Shared | Noted | CoreWritten
_Derived = Summarised | Represented | Claimed | Learned | Indexed

HISTORY_START: Final = PageId("start")
"""What the first message of a client's history follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedIn:
    """A page that entered the window at some level."""

    page_id: PageId
    level: int = 0
    newer_than: tuple[PageId, ...] = ()  # earlier pages on the same subject
    older_than: tuple[PageId, ...] = ()  # later ones
    lapse: str = ""  # of a claim: why it did not hold then; else: what closed words of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A request was packed. Durable before the request is sent.

    It has only what cannot be derived from the other records: the window's content is a fold of all
    of them. `recalled` lists pages that the runtime recalled with this turn. The fields from
    `tokens_without_epoch` on are the basis for choosing epochs, and are compared with a provider's
    bill.
    """

    request: int  # counts from 0 within one session
    renderer: int  # version of the rendering rules; a new one begins an epoch
    tokens: int  # of the whole request, framing included, by our count
    factor: float = 1.0  # upper bound of the model's count relative to ours
    recalled: tuple[PagedIn, ...] = ()
    named: tuple[PagedIn, ...] = ()  # already in the window: it says what these are newer than
    listed: tuple[PageId, ...] = ()  # in a manifest, as available pages
    tokens_without_epoch: int = 0  # what the request would have had; 0 if no epoch began
    shared: int = 0  # common prefix with the request before
    tail: int = 0  # of its volatile end, which no cache can hold
    dead: int = 0  # that an epoch could have removed
    accrued: float = 0.0  # rent paid on dead tokens since the last epoch, in uncached input tokens
    is_cold: bool = False  # the provider's cache had presumably expired
    prefetched: tuple[PageId, ...] = ()  # since the request before
    prefetch_used: tuple[PageId, ...] = ()  # prefetched pages that were used since
    called_for: tuple[PageId, ...] = ()  # already in the window, and relevant to the newest message


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """A provider's report of a request's cost, in its own tokens."""

    request: int
    input_tokens: int
    output_tokens: int = 0
    cached_tokens: int | None = None  # None if it did not say
    cache_write_tokens: int = 0
    relayed: bool = False  # of a relayed request, not of a packed one


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """The prices for the requests from here on, if set explicitly: the fields of a `PriceList`, and
    the named model. Written with the first request that they apply to.
    """

    name: str
    as_of: str
    read: float
    write: float
    output: float
    ttl_s: float | None
    min_tokens: int = 0
    quantum: int = 1
    takes_marks: bool = False
    cliff_tokens: int | None = None
    cliff_factor: float = 1.0
    whole_units: bool = False
    model: str = ""

    @classmethod
    def of(cls, prices: PriceList, model: str) -> Priced:
        return cls(**{one.name: getattr(prices, one.name) for one in fields(prices)}, model=model)

    @property
    def prices(self) -> PriceList:
        """Raises `BadInput` if they are not a valid price list."""
        return PriceList(**{one.name: getattr(self, one.name) for one in fields(PriceList)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Relayed:
    """A client's own request was passed on: what the client put into it, without the turns that
    left it, and with quotes. Tokens are by our count.

    `change` is begun, same (sent again), extended, edited, branched, compacted (by the client),
    remodelled (another model), reinstructed (other tools or instructions) or served (the proxy
    answered the model's calls of memory tools, and asks again). The fields from `opening` on are
    what a restart needs to send the same bytes again.
    """

    request: int  # counts from 0 within one session, separately from packed ones
    wire: str
    model: str
    change: str  # how it differs from the request before
    tokens: int  # of what was sent
    window_tokens: int = 0  # that it was fitted to; 0 if it was passed on unchanged
    factor: float = 1.0  # the provider's tokens per token of ours
    messages: int = 0  # sent
    client_messages: int = 0  # sent by the client
    left_tokens: int = 0  # of turns that were left out
    client_tokens: int = 0  # sent by the client; 0 if unknown
    client_shared: int = 0  # of these, the common prefix with what it sent before
    added_tokens: int = 0  # quotes and notices that the client did not send
    hidden: int = 0  # pages of this conversation that the request does not show
    before: int = -1  # tokens of the request before; -1 for the first
    shared: int = 0  # common prefix with the request before, in tokens
    recalled: tuple[PageId, ...] = ()  # pages and claims first quoted with it
    passages: tuple[Evidence, ...] = ()  # the quoted parts of those quoted in part
    epoch: str = ""  # why turns left with it, if any did
    is_over: bool = False  # its mandatory content is larger than the window
    is_cold: bool = False  # the provider's cache had presumably expired
    is_marked: bool = False  # the client set cache marks
    is_marked_here: bool = False  # the proxy did, for a client that sets none
    opening: PageId = PageId("")  # the message before which `recalled` is inserted, except `core`
    core: tuple[PageId, ...] = ()  # those of `recalled` that an epoch put in front
    epoch_at: PageId = PageId("")  # the newest page of the request that began the epoch
    epoch_first: PageId = PageId("")  # the first page shown from then on
    epoch_front: PageId | None = None  # the page at which the epoch began whose notice is in front
    stubs: tuple[PageId, ...] = ()  # results shown as stubs from then on
    upto: PageId = PageId("")  # the last page that it has of the client's history
    offers: bool = False  # memory's tools are offered beside the client's, and served


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedItem:
    """An item of a client's message, and the first page of its text, if a page has any of it."""

    kind: ItemKind = ItemKind.MESSAGE
    page_id: PageId = PageId("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hole:
    """A text removed from a string of a client's JSON, because it is stored elsewhere: characters
    `start` to `end` of the text whose first page belongs to the item numbered `item`, or a `blob`,
    UTF-8, of `end` characters. `is_json` if the page has it in JSON's spelling.
    """

    at: int  # a position in the JSON without what was removed
    item: int = 0
    start: int = 0
    end: int = 0
    is_json: bool = False
    blob: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A message as a proxy's client first sent it: its JSON, with holes for text that its pages
    have. Secrets are redacted in it as in pages.

    A message of which no page has anything `follows` a page of its client's history, or
    `HISTORY_START`.
    """

    json: str
    items: tuple[ReceivedItem, ...]
    holes: tuple[Hole, ...] = ()  # by position
    follows: PageId = PageId("")


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochBegun:
    """The window's prefix was rewritten in one batch; written together with the `Packed` it serves.

    The window then has the claims of `core`, the `summaries` (each at its level; of `older` ones
    only their number), the pages `kept` (coldest first) and, word for word, every message from
    `verbatim_from` on; calls of earlier turns and their results are gone from it. Recency and
    frequency of page use are counted afresh from here, so that a restart computes the same.
    """

    epoch: int  # counts from 1 within one session
    reason: str
    core: tuple[PageId, ...] = ()
    claims_left_out: int = 0  # valid ones without room in the core
    summaries: tuple[PagedIn, ...] = ()
    older: int = 0
    kept: tuple[PagedIn, ...] = ()
    verbatim_from: Seq = NOTHING
    evicted: tuple[PageId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One line of a search result. The hint is rendered from the page, so it is not stored."""

    page_id: PageId
    relevance: float
    lapse: str = ""  # of a claim: why it did not hold then; else: what closed words of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """The model called `search_pages`. Calls of one reply share their `cause`, a `Packed`."""

    call_id: str
    arguments: str  # as the model wrote them
    query: str
    said: str = ""  # text sent along with the call
    hits: tuple[Hit, ...] = ()
    total: int = 0
    refusal: str = ""
    why: str = ""
    faults_left: int = 0
    relayed: bool = False  # of a relayed request: the cause is a `Relayed`


@dataclass(frozen=True, slots=True, kw_only=True)
class Faulted:
    """The model called `page_fault`, and was served or refused (`refusal` is the stable code)."""

    call_id: str
    arguments: str
    page_id: PageId
    level: int  # the level served
    reason: FaultReason
    tokens: int = 0
    said: str = ""  # text sent along with the call
    already_mapped: bool = False
    refusal: str = ""
    why: str = ""
    levels: tuple[int, ...] = ()  # levels that would have been served instead
    level_tokens: tuple[int, ...] = ()  # their sizes
    shows: PageId = PageId("")  # the representation served, below level 0
    lapse: str = ""  # of a claim: why it did not hold then; else: what closed words of it
    faults_left: int = 0
    relayed: bool = False  # of a relayed request: the cause is a `Relayed`


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRefused:
    """The model made a call that no memory could serve: an unknown tool, malformed arguments."""

    call_id: str
    name: str
    arguments: str
    code: str
    why: str
    said: str = ""
    faults_left: int = 0
    relayed: bool = False  # of a relayed request: the cause is a `Relayed`


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCalled:
    """A client's model called a tool of core or archival memory, which the proxy served. The result
    that it read is rendered again from the pages named here.
    """

    call_id: str
    name: str
    arguments: str  # as the model wrote them
    status: str  # ok, proposed, archived, quarantined; or refused, and `why`
    why: str = ""
    hits: tuple[Hit, ...] = ()  # found
    made: tuple[PageId, ...] = ()  # written


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    page_id: PageId


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpinned:
    page_id: PageId


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRuled:
    """A finding or a ruling about a claim. It holds from here on, for the claim and for any claim
    that restates it.

    `checked` by these `validators`, with this `outcome`; `contradicted` by `other`; `undone`: the
    ruling `undoes` is void, or, if that was an undoing itself, valid again.
    """

    claim_id: PageId
    what: RulingKind
    outcome: CheckOutcome = CheckOutcome.UNKNOWN
    validators: tuple[Validator, ...] = ()
    other: PageId = PageId("")
    undoes: Seq = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMove:
    """A page that is kept closer to the window from here on, or further away."""

    page_id: PageId
    to: Heat


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMoved:
    """Items of memory were moved in one step. Hot items are in every request."""

    moves: tuple[HeatMove, ...]
    why: str = ""  # added, asked, room, recalled, cold_full


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatRecalled:
    """Items of memory that are not hot were asked for and found, which counts as a use of each. The
    query is not stored.
    """

    hits: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpointed:
    """A checkpoint was named: everything that the session had derived was written before it."""

    name: str
    turns: int
    pages: int
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FormationBegun:
    """Formation began for a range of the conversation, for the `tries`-th time: the pages `first`
    to `last`, with these orders. Durable before a model is asked.

    `tokens` is the size of the request to the model, by our count, and 0 if none is asked. A former
    that `reads_window` sees everything that the last request showed, and its output is labelled by
    all of that.
    """

    first: PageId
    last: PageId
    order_from: int
    order_to: int
    tries: int
    former: FormerKind
    tokens: int = 0
    reads_window: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A formed page (`page_id`) contradicts `stands` on a subject: here, or in another session of
    the same user.
    """

    page_id: PageId
    stands: PageId
    session_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """The number of proposals rejected for one reason (`service/derived/admission.py`)."""

    why: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FormationEnded:
    """A range is finished for good: what was `made` of it is in the same batch.

    `outcome` is formed, nothing (there was nothing to keep) or given_up. The counts are those that
    the provider reported, else 0.
    """

    first: PageId
    last: PageId
    order_from: int
    order_to: int
    outcome: FormationOutcome
    made: tuple[PageId, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int | None = None  # None if it did not say


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What follows in this session was read from another program's files, by the import `run`.

    `conversation` is that program's id for it, and `of` the id of its parent, as for a subagent. No
    path is stored: `source_path_hash` is keyed with the memory's secret.
    """

    run: str
    source_system: str
    source_path_hash: str
    imported_at: str  # ISO 8601, UTC
    conversation: str = ""
    title: str = ""
    project: str = ""
    of: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportApproved:
    """A person allowed recall of what was imported into these sessions before this record."""

    sessions: tuple[SessionNo, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRevoked:
    """A person withdrew that approval."""

    sessions: tuple[SessionNo, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginRaised:
    """A person approved the text of a page, the record `page`, as shown with this digest: it has
    the label `user_approved` as long as it has exactly that text. Lifts an earlier `OriginRevoked`.
    """

    page: Seq
    digest: str  # keyed with the memory's secret; deleted when the page is forgotten


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginRevoked:
    """A person withdrew pages, and everything derived from them or answered under them, as
    inclusive ranges of records. None of these is recalled, pinned, recited or held true any more.
    """

    targets: tuple[tuple[Seq, Seq], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The largest number and order that a session had given to pages of one prefix, and its number
    of turns.
    """

    session: SessionNo
    stem: str
    number: int
    order: int
    turns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Descent:
    """Where a session was forked. Its own forks see what it saw even when it is forgotten."""

    session: SessionNo
    parent: SessionNo
    parent_seq: Seq


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetBegun:
    """These records are to be erased. Written before any is; redone on opening until done."""

    targets: tuple[tuple[Seq, Seq], ...]  # inclusive ranges of seq
    sessions: tuple[SessionNo, ...] = ()  # sessions forgotten as a whole
    taken: tuple[Taken, ...] = ()  # ids that stay used although no record has them any more
    lineage: tuple[Descent, ...] = ()  # of forgotten sessions that were forks themselves


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetDone:
    """The receipt: no byte of the targets is left under this root; their headers have no key and no
    tool's or model's name.
    """

    begun: Seq
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """How often a scrub inserted the mark of one name."""

    rule: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrubBegun:
    """These records are to be redacted: their new text is staged beside the log until done. Written
    before anything is changed; resumed on opening until done.

    `vouches` is SHA-256 over their new commitments, in order, cut to 16 bytes: it proves that their
    later text is the intended one. `marks` lists what was found, by rule; it quotes nothing.
    """

    targets: tuple[tuple[Seq, Seq], ...]  # inclusive ranges of seq
    vouches: str
    marks: tuple[Redacted, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrubDone:
    """The receipt: no byte of what was redacted in the targets is left under this root."""

    begun: Seq
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlSet:
    """The control mode of a session, or of every session if none is named, until the next such
    record.
    """

    control: ControlMode
    session_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRule:
    """How long pages of a kind or of a session are kept, or, if neither is named, those of the
    whole memory.
    """

    kind: str = ""
    session_id: str = ""
    days: int = 0  # since they were written; 0 is forever


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionSet:
    """The retention rules of the memory from now on, replacing the earlier ones."""

    rules: tuple[RetentionRule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionSet:
    """Whom a region is for and who may do what there, from now on; the first such record opens it.

    `read`, `write` and `promote` name sessions: "owner" means those of the region's `owner`,
    "anyone" all, and "project:NAME", "user:NAME" and "session:NAME" those of that name.
    """

    region: SessionNo
    scope: RegionScope
    owner: str = ""  # a user
    project: str = ""
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    promote: tuple[str, ...] = ()
    consent: Consent = Consent.WRITE


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionAssigned:
    """The owner and project of a session from now on, for the policies of regions."""

    session: SessionNo
    project: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MountSet:
    """A session mounts a region from now on, or, without a `mode`, unmounts it."""

    session: SessionNo
    region: SessionNo
    mode: MountMode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentSet:
    """A region's owner consents to a session's mount in this mode; without `mode`, revokes it."""

    region: SessionNo
    session: SessionNo
    mode: MountMode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """The remains of a forgotten body: that it existed, and its type."""

    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A record that damage destroyed and `repair` set aside. Its seq stays taken."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque:
    """A body of a type that this version does not know. Folds skip it; its bytes are kept."""

    type: str
    payload: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """The form of an intact record that no fold can take. Folds skip it; its bytes are kept."""

    type: str
    why: str  # quotes nothing of the record
    blobs: tuple[str, ...] = ()  # blobs that it names


MemoryAction = (
    Searched
    | Faulted
    | CallRefused
    | MemoryCalled
    | Pinned
    | Unpinned
    | ClaimRuled
    | HeatMoved
    | HeatRecalled
    | FormationBegun
    | FormationEnded
)
"""Records of what was done with memory: calls, pins, rulings on claims, heat, formation."""

Ruling = RegionSet | SessionAssigned | MountSet | ConsentSet
"""Records that determine which session may see what of which region."""

RecallRuling = ImportApproved | ImportRevoked | OriginRaised | OriginRevoked
"""Records that determine which imported or untrusted pages may be recalled."""

Upkeep = ForgetBegun | ForgetDone | ScrubBegun | ScrubDone | RetentionSet | ControlSet
"""Records of what is done to the whole store."""

Unreadable = Erased | Lost | Opaque | SetAside
"""Records whose content is lost, or not known to this version."""

Bookkeeping = SessionLeased | Checkpointed | Received | Imported
"""Records about a session: its write leases, checkpoints, client messages and imports."""

Aside = Bookkeeping | Ruling | RecallRuling | Upkeep | Unreadable
"""Records that change neither pages nor requests: folds of those name only the ones they need."""

Body = (
    SessionOpened
    | SessionConfigured
    | _Original
    | _Derived
    | Packed
    | Reported
    | Priced
    | Relayed
    | EpochBegun
    | MemoryAction
    | Aside
)

_TYPES: Final[dict[type, str]] = {
    SessionOpened: "session_opened",
    SessionConfigured: "session_configured",
    SessionLeased: "session_leased",
    Packed: "packed",
    Reported: "reported",
    Priced: "priced",
    Relayed: "relayed",
    Received: "received",
    EpochBegun: "epoch_begun",
    Searched: "searched",
    Faulted: "faulted",
    CallRefused: "call_refused",
    MemoryCalled: "memory_called",
    Pinned: "pinned",
    Unpinned: "unpinned",
    ClaimRuled: "claim_ruled",
    HeatMoved: "heat_moved",
    HeatRecalled: "heat_recalled",
    Checkpointed: "checkpointed",
    FormationBegun: "formation_begun",
    FormationEnded: "formation_ended",
    Imported: "imported",
    ImportApproved: "import_approved",
    ImportRevoked: "import_revoked",
    OriginRaised: "origin_raised",
    OriginRevoked: "origin_revoked",
    ForgetBegun: "forget_begun",
    ForgetDone: "forget_done",
    ScrubBegun: "scrub_begun",
    ScrubDone: "scrub_done",
    RetentionSet: "retention_set",
    ControlSet: "control_set",
    RegionSet: "region_set",
    SessionAssigned: "session_assigned",
    MountSet: "mount_set",
    ConsentSet: "consent_set",
    Lost: "lost",
} | {cls: str(cls.event_type) for cls in get_args(_Original | _Derived) if cls is not Said}

BODY_TYPES: Final[dict[str, type]] = {name: cls for cls, name in _TYPES.items()} | {
    str(name): Said for name in SAID_TYPES
}
"""Every record type, and the class of its body."""


def type_of(body: Body) -> str:
    """The record type of a body: its event type for content, else the name of what happened."""
    name = _TYPES.get(type(body))
    if name is not None:
        return name
    match body:
        case Said(event_type=event_type):
            return str(event_type)
        case Erased(type=name) | Opaque(type=name) | SetAside(type=name):
            return name
        case _:
            raise AssertionError(f"{type(body).__name__} has no type")


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A record to be written. `session` is 0 if the body opens a session. `model` is the one that
    acted, if one did and its name is known. A negative `cause` counts back from the draft itself,
    because the seqs of a batch are not known yet.

    `key` makes retries idempotent: a draft whose key the session has seen is not written again, and
    the first event is returned. Keys are stored only as a keyed hash.
    """

    session: SessionNo
    turn: TurnNo
    actor: Actor
    origin: Origin
    body: Body
    cause: Seq = NOTHING  # the record that led to this one
    key: str = ""
    model: str = ""


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A record of the log, as read back."""

    seq: Seq
    event_id: str
    session: SessionNo
    turn: TurnNo
    at_ms: int
    actor: Actor
    origin: Origin
    body: Body
    cause: Seq = NOTHING
    key: str = ""  # the keyed hash, never the caller's own
    model: str = ""

    @property
    def type(self) -> str:
        return type_of(self.body)

    @property
    def actor_id(self) -> str:
        """The tool or model that acted; "" if neither did, or its name is not known."""
        return self.origin.removeprefix(TOOL_PREFIX) if self.actor is Actor.TOOL else self.model


def expected(draft: Draft) -> Event:
    """The event that a draft will become, except for seq, id and time, which the log assigns."""
    return Event(
        seq=NOTHING,
        event_id="",
        session=draft.session,
        turn=draft.turn,
        at_ms=0,
        actor=draft.actor,
        origin=draft.origin,
        body=draft.body,
        cause=draft.cause,
        model=draft.model,
    )


def erased(event: Event) -> Event:
    """The remains of a forgotten event, without body, key, or a tool's or model's name."""
    origin = SOME_TOOL if is_tools(event.origin) else event.origin
    return replace(event, body=Erased(type=event.type), origin=origin, key="", model="")


def row_of(event: Event, body: PageBody) -> PageRow:
    """The row of the page that a record made, which does not have its text."""
    return PageRow(
        page_id=body.page_id,
        seq=event.seq,
        session=event.session,
        order=body.order,
        turn=event.turn,
        role=body.role,
        kind=body.kind,
        modality=body.modality,
        origin=event.origin,
        tokens=body.tokens,
        importance=body.importance,
        at_ms=event.at_ms,
        part=body.part,
        parts=body.parts,
        occurred_ms=iso_ms(body.occurred_at),
    )
