"""Events: frozen facts in the past tense, the only thing ever written to the log.

A caller makes a `Draft`; the log accepts it as an `Event` and so gives it seq, id and time. What an
event says is its *body*, one of the union `Body`. A body never changes once written; forgetting
replaces it by `Erased`. Fields may be added to a body with a default (a newer minor version);
renaming or removing one, or changing what one means, is a new major version.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, ClassVar, Final, get_args

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
from pagefault.model.page import NO_FACTS, CardFacts, Evidence, PageRow
from pagefault.model.prices import PriceList
from pagefault.model.times import iso_ms

VERSION: Final = (2, 1)
"""Major and minor version of the record format. `store/embedded/upgrade.py` knows that before."""


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
    parent_seq: Seq = NOTHING  # the last record of the parent that the fork can see
    holder: str = ""  # the opening of the memory that leases it first
    epoch: int = 0  # of a fork: its parent's, whose records may be forgotten
    tools: tuple[OfferedTool, ...] = ()  # of a fork: its parent's


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLeased:
    """An opening of the memory took a session over: from here on it alone writes there.

    `fence` is one more than that of the lease before, and the session's first lease, which stands
    in `session_opened`, has 0. Whose lease is not the last one has lost it, and writes nothing.
    """

    holder: str
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionConfigured:
    """The window, the mode, the system prompt, the layout, the host's tools or the control mode of
    a session changed.
    """

    window_tokens: int
    mode: Mode
    system: str
    layout: LayoutName = LayoutName.STABLE
    control: ControlMode = ControlMode.ASSIST
    tools: tuple[OfferedTool, ...] = ()  # sorted by name


@dataclass(frozen=True, slots=True, kw_only=True)
class PageBody:
    """The common envelope: what every record of a page tells.

    `tokens` counts `text` alone (o200k) and never changes. `order` numbers the pages of a session
    from 0 without gaps, across forks; those that were made of other pages from `DERIVED_ORDER`, in
    their turn. Where a record tells no tags, entities and tasks, its text does, when asked.
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

    if TYPE_CHECKING:  # fields of some, and the same for all of others

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
    """Where a call that the proxy served stands in an answer, of which its client has neither the
    call nor the result. `call` is the record of the call.

    Places are counted in the client's form of the answer: in what comes one after another in it
    (blocks, items of output; of Chat Completions, characters of the text), and in those of them
    that a client always sends back (of Chat Completions, its own calls). `reply` numbers the
    model's replies that are one answer to the client; `end` is where the one ended that made the
    call, so that the results stand there, -1 where the answer does.
    """

    call: Seq
    reply: int
    at: int
    kept_at: int
    end: int = -1
    kept_end: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalBody(PageBody):
    """What was said, done or handed in.

    A long text is split: its parts follow one another, every part but the first names the first in
    `part_of`, and the texts joined are the original, byte for byte.

    What a client of a proxy said `follows` the page before it in the client's history, or
    `HISTORY_START`; the first part of a text alone tells it. Where the client put other words in
    the place of a page, the page of these words `supersedes` it: it is history from then on. The
    first page of an answer tells which calls of memory's tools the proxy served in it (`spliced`).

    Where a reply called tools of the host, its words, its calls and their results name one `cause`,
    the record that led to the reply: they stand in the window as one exchange, which shows the
    first `shown` parts of each text.
    """

    role: Role
    modality: Modality = Modality.TEXT
    source: Source = Source.CHAT
    occurred_at: str = ""  # ISO 8601 with its zone, or local time where no zone is known
    speaker: str = ""
    part: int = 0
    parts: int = 1
    part_of: PageId = PageId("")
    follows: PageId = PageId("")
    supersedes: PageId = PageId("")
    spliced: tuple[Splice, ...] = ()
    shown: int = -1  # parts that enter the window by themselves; -1: as many as limits say
    kind: ClassVar[Kind] = Kind.TRANSCRIPT


@dataclass(frozen=True, slots=True, kw_only=True)
class Said(OriginalBody):
    """A message. `event_type` is one of `SAID_TYPES`: what somebody was doing who said it."""

    event_type: EventType
    call_id: str = ""  # of the tool call that it answers, if it does


@dataclass(frozen=True, slots=True, kw_only=True)
class Called(OriginalBody):
    """A model called a tool of the host or of a client, which `Returned` answers. `title` is the
    tool's name, where the host told of the call; `given_id` the id that the reply had for it, where
    an earlier call had that already.
    """

    call_id: str
    given_id: str = ""
    role: Role = Role.ASSISTANT
    event_type: ClassVar[EventType] = EventType.TOOL_CALL


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned(OriginalBody):
    """What a tool returned. `title` is its name."""

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
    """An artifact: the text describes it, and `blob` names its bytes in the blob store."""

    blob: str = ""
    mime_type: str = ""
    size_bytes: int = 0
    kind: ClassVar[Kind] = Kind.ARTIFACT
    event_type: ClassVar[EventType] = EventType.ARTIFACT


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared(OriginalBody):
    """A page of a region (`service/regions.py`), which the session `by` brought there: its own
    words, or those of the page whose record is `copy_of`. No fold of a conversation takes it.
    """

    by: SessionNo = SessionNo(0)
    copy_of: Seq = NOTHING
    event_type: ClassVar[EventType] = EventType.SHARED


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted(OriginalBody):
    """What was put into memory for later, and said to nobody: a record of archival memory, or an
    item of hot memory (`HeatMoved`). It enters no window by itself. Its origin is the least trusted
    of the channel that it came through and of all that its writer had seen.
    """

    note_type: NoteType
    area: str = ""  # one of `NoteArea`, where somebody said so
    metadata: str = ""  # JSON of the caller's
    is_quarantined: bool = False  # it reads like an order: never brought in unasked
    kind: ClassVar[Kind] = Kind.ARTIFACT
    event_type: ClassVar[EventType] = EventType.NOTE


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreWritten(OriginalBody):
    """The words of a section of core memory from here on, in the place of the version that it
    `supersedes`: they stand in every request, unless there are none. What nobody vouches for, by
    its origin, is proposed and takes nothing's place; so is what a model formed, as `is_proposed`
    says.
    """

    section: str
    is_proposed: bool = False
    kind: ClassVar[Kind] = Kind.ARTIFACT
    event_type: ClassVar[EventType] = EventType.CORE


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedBody(PageBody):
    """What was made of other pages, and could be made again."""

    provenance: tuple[PageId, ...] = ()
    role: ClassVar[Role] = Role.SYSTEM
    modality: ClassVar[Modality] = Modality.TEXT
    source: ClassVar[Source] = Source.CHAT
    occurred_at: ClassVar[str] = ""
    speaker: ClassVar[str] = ""
    part: ClassVar[int] = 0
    parts: ClassVar[int] = 1

    if TYPE_CHECKING:  # a field of some

        @property
        def evidence(self) -> tuple[Evidence, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarised(DerivedBody):
    """A run of turns was summed up; at level 0 it takes `source_tokens`. Where each of its lines
    names what it rests on, `evidence` is that.
    """

    source_tokens: int = 0
    evidence: tuple[Evidence, ...] = ()
    supersedes: ClassVar[PageId] = PageId("")
    kind: ClassVar[Kind] = Kind.SUMMARY
    event_type: ClassVar[EventType] = EventType.SUMMARY


@dataclass(frozen=True, slots=True, kw_only=True)
class Represented(DerivedBody):
    """A page of `source_tokens` was shortened: this stands for it at `level`, and `evidence` is
    what it shows of it word for word.
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
    """Something is held to be true from here on, or, as a retraction, no longer.

    `value` is what it says of its `subject`, as it was written; a later claim on the same subject
    `supersedes` it. `evidence` is where it is said. Where an undo or a redo has a claim stand
    again, its words are written once more: that claim `restates` the first, and so does one that
    was edited in anything but its words. One that `merges` others takes their places, too.

    In `provenance` stand the pages that it rests on, and the claims that it was derived from.
    `digest` is that of the words that a person was shown who agreed to them (`OriginRaised`).
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
    kind: ClassVar[Kind] = Kind.CLAIM
    event_type: ClassVar[EventType] = EventType.CLAIM


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned(DerivedBody):
    """A way to do something was stated: what it is for is its `subject`."""

    subject: str = ""
    evidence: tuple[Evidence, ...] = ()
    supersedes: PageId = PageId("")
    kind: ClassVar[Kind] = Kind.PROCEDURE
    event_type: ClassVar[EventType] = EventType.PROCEDURE


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed(DerivedBody):
    """A line for each of the oldest summaries, which it lists."""

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
    newer_than: tuple[PageId, ...] = ()  # what tells of the same and was said before it
    older_than: tuple[PageId, ...] = ()  # or since
    lapse: str = ""  # of a claim: why it did not hold then


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """One request was packed. Durable before the request is sent.

    Only what cannot be told from the other records is here: what the window holds is a fold of
    them all. `recalled` are pages that the runtime brought in by itself with this turn. The fields
    from `tokens_without_epoch` on are what the choice of epochs rests on, and what a provider's
    bill is compared with.
    """

    request: int  # counts from 0 within one session
    renderer: int  # version of the rendering rules; a new one begins an epoch
    tokens: int  # of the whole request, framing included, counted by us
    factor: float = 1.0  # the model's own count is at most this times ours
    recalled: tuple[PagedIn, ...] = ()
    named: tuple[PagedIn, ...] = ()  # in the window already: it says what these are newer than
    listed: tuple[PageId, ...] = ()  # in a manifest, as pages that could be loaded
    tokens_without_epoch: int = 0  # what it would have had; 0 where no epoch began
    shared: int = 0  # tokens at its beginning that are those of the request before
    tail: int = 0  # tokens of its volatile end, which no cache can hold
    dead: int = 0  # tokens that an epoch could have removed
    accrued: float = 0.0  # rent paid on such since the last epoch, in uncached input tokens
    is_cold: bool = False  # the provider's cache had lapsed, as far as anybody can tell
    prefetched: tuple[PageId, ...] = ()  # read ahead since the request before
    prefetch_used: tuple[PageId, ...] = ()  # of all that were read ahead, those wanted since
    called_for: tuple[PageId, ...] = ()  # in the window already, and bearing on the newest message


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What a provider said that a request cost, in its own tokens."""

    request: int
    input_tokens: int
    output_tokens: int = 0
    cached_tokens: int | None = None  # None where it did not say
    cache_write_tokens: int = 0
    relayed: bool = False  # of a request that was passed on, and not of one that was packed


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """What the requests from here on are weighed by, where somebody said so: the fields of a
    `PriceList`, and the model that was named. Written with the first request that it is true of.
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
        """Raises `BadInput` for what no price list can be."""
        return PriceList(**{one.name: getattr(self, one.name) for one in fields(PriceList)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Relayed:
    """A client's own request was passed on: it holds what the client put into it, less the turns
    that left it, and with what was quoted. Tokens are of our count.

    `change` is begun, same (sent again), extended, edited, branched, compacted (by the client),
    remodelled (another model is asked), reinstructed (other tools or instructions) or served (the
    proxy answered the model's calls of memory's tools, and asks again). The fields from `opening`
    on are what a restart needs to send the same bytes again.
    """

    request: int  # counts from 0 within one session, apart from those that were packed
    wire: str
    model: str
    change: str  # how it stands to the request before it
    tokens: int  # of what was sent
    window_tokens: int = 0  # that it was made to fit; 0 where it went on as it came
    factor: float = 1.0  # what the provider counts for one token of ours
    messages: int = 0  # that were sent
    client_messages: int = 0  # that the client sent
    left_tokens: int = 0  # of turns that were left out
    client_tokens: int = 0  # of what the client sent; 0 where that is not known
    client_shared: int = 0  # of these, at its beginning, those of what it had sent before
    added_tokens: int = 0  # of quotes and notices that the client did not send
    hidden: int = 0  # pages of this conversation that the request does not show
    before: int = -1  # tokens of the request before it; -1 for the first
    shared: int = 0  # tokens at its beginning that are those of the request before
    recalled: tuple[PageId, ...] = ()  # pages and claims quoted with it, for the first time
    passages: tuple[Evidence, ...] = ()  # of those of them that are quoted in part: which part
    epoch: str = ""  # why turns left with it, if any did
    is_over: bool = False  # what it has to hold is larger than the window
    is_cold: bool = False  # the provider's cache had lapsed, as far as anybody can tell
    is_marked: bool = False  # the client marked where to cache
    is_marked_here: bool = False  # the proxy did, for a client that does not
    opening: PageId = PageId("")  # the message before which `recalled` stands, less `core`
    core: tuple[PageId, ...] = ()  # of `recalled`: the claims that an epoch put in front
    epoch_at: PageId = PageId("")  # the newest page of the request with which the epoch began
    epoch_first: PageId = PageId("")  # the page that is shown first from then on
    epoch_front: PageId | None = None  # the one at which the epoch began whose notice is in front
    stubs: tuple[PageId, ...] = ()  # results of which, from then on, no more than a stub is shown
    upto: PageId = PageId("")  # the last page of the client's history that it has
    offers: bool = False  # memory's tools, beside the client's, and calls of them are answered


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedItem:
    """An item of a client's message, and the first page of its text, if a page holds any of it."""

    kind: ItemKind = ItemKind.MESSAGE
    page_id: PageId = PageId("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hole:
    """Where a text was taken out of a string of a client's JSON, as it stands elsewhere: characters
    `start` to `end` of the whole text whose first page is that of the item numbered `item`, or the
    `blob`, UTF-8, of `end` characters. `is_json` where the page holds it as JSON spells it.
    """

    at: int  # a place in the JSON less what was taken out
    item: int = 0
    start: int = 0
    end: int = 0
    is_json: bool = False
    blob: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A message as a client of a proxy sent it for the first time: its JSON, with holes where text
    stands that its pages hold. Secrets are redacted in it as they are in pages.

    A message of which no page holds anything `follows` a page of its client's history, or
    `HISTORY_START`.
    """

    json: str
    items: tuple[ReceivedItem, ...]
    holes: tuple[Hole, ...] = ()  # in the order of their places
    follows: PageId = PageId("")


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochBegun:
    """The window's prefix was rewritten in one batch; written together with the `Packed` it serves.

    The window then holds the claims of `core`, the `summaries` (each at its level; of `older` ones
    nothing but their number), the pages `kept` (coldest first) and, word for word, every message
    from `verbatim_from` on; calls of earlier turns and their results are gone from it. How recently
    and how often pages were used is counted afresh from here, so that a restart sees the same.
    """

    epoch: int  # counts from 1 within one session
    reason: str
    core: tuple[PageId, ...] = ()
    claims_left_out: int = 0  # that stand, and had no room in the core
    summaries: tuple[PagedIn, ...] = ()
    older: int = 0
    kept: tuple[PagedIn, ...] = ()
    verbatim_from: Seq = NOTHING
    evicted: tuple[PageId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One line of a search result. The hint is rendered from the page, so it is not kept twice."""

    page_id: PageId
    relevance: float
    lapse: str = ""  # of a claim: why it did not hold then


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """The model called `search_pages`. Calls of one reply share their `cause`, a `Packed`."""

    call_id: str
    arguments: str  # as the model wrote them
    query: str
    said: str = ""  # text that came with the call
    hits: tuple[Hit, ...] = ()
    total: int = 0
    refusal: str = ""
    why: str = ""
    faults_left: int = 0
    relayed: bool = False  # of a request that was passed on: the cause is a `Relayed`


@dataclass(frozen=True, slots=True, kw_only=True)
class Faulted:
    """The model called `page_fault`, and was served or refused (`refusal` is the stable code)."""

    call_id: str
    arguments: str
    page_id: PageId
    level: int  # what was served
    reason: FaultReason
    tokens: int = 0
    said: str = ""  # text that came with the call
    already_mapped: bool = False
    refusal: str = ""
    why: str = ""
    levels: tuple[int, ...] = ()  # what would have been served instead
    level_tokens: tuple[int, ...] = ()  # what each of these takes
    shows: PageId = PageId("")  # the representation that was served, below level 0
    lapse: str = ""  # of a claim: why it did not hold then
    faults_left: int = 0
    relayed: bool = False  # of a request that was passed on: the cause is a `Relayed`


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
    relayed: bool = False  # of a request that was passed on: the cause is a `Relayed`


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCalled:
    """The model of a client called a tool of core or archival memory, which the proxy served. What
    it read is made anew of the pages that this names.
    """

    call_id: str
    name: str
    arguments: str  # as the model wrote them
    status: str  # ok, proposed, archived, quarantined; or refused, and `why`
    why: str = ""
    hits: tuple[Hit, ...] = ()  # that were found
    made: tuple[PageId, ...] = ()  # that were written


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    page_id: PageId


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpinned:
    page_id: PageId


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRuled:
    """Something was found out about a claim, or somebody ruled on it: it holds from here on, for
    the claim and for whatever restates it.

    `checked` by these `validators`, it came to `outcome`; `contradicted`, it says something else
    than `other`; `undone`, the ruling `undoes` counts no more, or, if that was an undoing, again.
    """

    claim_id: PageId
    what: RulingKind
    outcome: CheckOutcome = CheckOutcome.UNKNOWN
    validators: tuple[Validator, ...] = ()
    other: PageId = PageId("")
    undoes: Seq = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMove:
    """A page that is kept nearer to the window from here on, or farther."""

    page_id: PageId
    to: Heat


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMoved:
    """Items of memory were moved by one act. What is hot stands in every request."""

    moves: tuple[HeatMove, ...]
    why: str = ""  # added, asked, room, recalled, cold_full


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatRecalled:
    """Items of memory that are not hot were asked for, and these were found: each was used once
    more. Of the question nothing is kept.
    """

    hits: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpointed:
    """Somebody named this point: all that the session had derived was written before it."""

    name: str
    turns: int
    pages: int
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FormationBegun:
    """A range of the conversation was taken up, for the `tries`-th time, to be formed into memory:
    the pages `first` to `last`, which have these orders. Durable before anybody is asked.

    `tokens` are those of the request that asks a model, by our count, and 0 where none is asked.
    Whoever `reads_window` has all before it that the last request showed, and what it makes is
    marked by all of that.
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
    """What was formed (`page_id`) says something else of a subject than what `stands`: here, or in
    another session of the same user.
    """

    page_id: PageId
    stands: PageId
    session_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """How many proposals were not taken for one reason (`service/derived/admission.py`)."""

    why: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FormationEnded:
    """A range is done with, once and for all: what was `made` of it stands in the same batch.

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
    cached_tokens: int | None = None  # None where it did not say


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What follows in this session was read from another program's files, by the import `run`.

    `conversation` is what that program calls it, and `of` the one that it was begun from, as a
    subagent's is. No path is told: `source_path_hash` is keyed with the memory's secret.
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
    """A person let the runtime recall what was imported into these sessions before this record."""

    sessions: tuple[SessionNo, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRevoked:
    """A person took that back."""

    sessions: tuple[SessionNo, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginRaised:
    """A person approved the text of a page, the record `page`, as it was shown with this digest: it
    has the label `user_approved` as long as it says just that. Lifts an earlier `OriginRevoked`.
    """

    page: Seq
    digest: str  # keyed with the memory's secret; goes when the page is forgotten


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginRevoked:
    """A person withdrew pages, and all that was made of them or answered under them: inclusive
    ranges of their records. None of these is recalled, pinned, recited or held true any more.
    """

    targets: tuple[tuple[Seq, Seq], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The largest number, and order, that a session had given to pages of one prefix, and how many
    turns it had.
    """

    session: SessionNo
    stem: str
    number: int
    order: int
    turns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Descent:
    """Where a session was forked off. Its forks see what it saw even when it is forgotten."""

    session: SessionNo
    parent: SessionNo
    parent_seq: Seq


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetBegun:
    """These records are to be erased. Written before anything is; redone at opening until done."""

    targets: tuple[tuple[Seq, Seq], ...]  # inclusive ranges of seq
    sessions: tuple[SessionNo, ...] = ()  # sessions that are forgotten whole
    taken: tuple[Taken, ...] = ()  # ids that stay taken though no record tells of them any more
    lineage: tuple[Descent, ...] = ()  # of forgotten sessions that were forks themselves


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetDone:
    """The receipt: no byte of the targets is left under this root; their heads hold neither a key
    nor a tool's or a model's name.
    """

    begun: Seq
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """How often a scrub put a mark of one name in place of something."""

    rule: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrubBegun:
    """What these records say is to be redacted: how they read then is kept beside the log until it
    is done. Written before anything is changed; gone on with at opening until done.

    `vouches` is SHA-256 over their new commitments, in their order, cut to 16 bytes: what they say
    from then on is what was meant. `marks` tells what was found, by rule; it quotes nothing.
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
    """From now on a session has this control mode, or every one where none is named, until it is
    given another.
    """

    control: ControlMode
    session_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRule:
    """How long pages are kept: those of a kind, of a session, or, where neither is named, of the
    whole memory.
    """

    kind: str = ""
    session_id: str = ""
    days: int = 0  # since they were written down; 0 is for ever


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionSet:
    """From now on the memory keeps its pages so long, in place of what was set before."""

    rules: tuple[RetentionRule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionSet:
    """Whom a region is for and who may do what there, from now on: its first record opens it.

    `read`, `write` and `promote` name sessions: "owner" is those of the region's `owner`, "anyone"
    all, "project:NAME", "user:NAME" and "session:NAME" those that are called so.
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
    """Whose a session is, and of which project, from now on: as the policies of regions know it."""

    session: SessionNo
    project: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MountSet:
    """A session looks into a region from now on, or no more, where no `mode` is told."""

    session: SessionNo
    region: SessionNo
    mode: MountMode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentSet:
    """The owner of a region lets a session look into it so, or takes that back: no `mode`."""

    region: SessionNo
    session: SessionNo
    mode: MountMode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What is left of a body that was forgotten: that it was there, and of which type."""

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
    """What a whole record is read as that no fold can take. Folds skip it; its bytes are kept."""

    type: str
    why: str  # quotes nothing of the record
    blobs: tuple[str, ...] = ()  # that it names


Body = (
    SessionOpened
    | SessionConfigured
    | SessionLeased
    | _Original
    | _Derived
    | Packed
    | Reported
    | Priced
    | Relayed
    | Received
    | EpochBegun
    | Searched
    | Faulted
    | CallRefused
    | MemoryCalled
    | Pinned
    | Unpinned
    | ClaimRuled
    | HeatMoved
    | HeatRecalled
    | Checkpointed
    | FormationBegun
    | FormationEnded
    | Imported
    | ImportApproved
    | ImportRevoked
    | OriginRaised
    | OriginRevoked
    | ForgetBegun
    | ForgetDone
    | ScrubBegun
    | ScrubDone
    | RetentionSet
    | ControlSet
    | RegionSet
    | SessionAssigned
    | MountSet
    | ConsentSet
    | Erased
    | Lost
    | Opaque
    | SetAside
)

Ruling = RegionSet | SessionAssigned | MountSet | ConsentSet
"""What says which session may see what of which region."""

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
"""Every type a record can have, and the class of its body."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What somebody wants written. `session` is 0 where the body opens a session; `model` is the
    one that acted, if one did and its name is known. A negative `cause` counts back from the draft
    itself: of a batch nobody knows the seqs yet.

    `key` makes a retry harmless: a draft whose key the session has seen is not written again, and
    the event of the first time is the answer. Keys are stored only as a keyed hash.
    """

    session: SessionNo
    turn: TurnNo
    actor: Actor
    origin: Origin
    body: Body
    cause: Seq = NOTHING  # the record that led to this one
    key: str = ""
    model: str = ""


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
        """The tool or the model that acted; "" where neither did, or its name is not known."""
        return self.origin.removeprefix(TOOL_PREFIX) if self.actor is Actor.TOOL else self.model


def expected(draft: Draft) -> Event:
    """A draft as the event it will be, but for what only the log can give: seq, id and time."""
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
    """What is left of an event that was forgotten: neither body nor key nor a tool's or a model's
    name.
    """
    origin = SOME_TOOL if is_tools(event.origin) else event.origin
    return replace(event, body=Erased(type=event.type), origin=origin, key="", model="")


def row_of(event: Event, body: PageBody) -> PageRow:
    """What is known of the page that a record made, without its text."""
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
