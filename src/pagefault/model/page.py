"""Pages: what the index knows of one, and the same with its text."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, Protocol

from pagefault.model.construction import fast_init
from pagefault.model.ids import FOREVER, PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import DERIVED_STEMS, PAGE_PREFIX, Kind, Modality, Origin, Role
from pagefault.model.reprs import counted, minute, outline

_SHARED: Final = PAGE_PREFIX["shared"] + "_"

DERIVED_ORDER: Final = 1 << 27
"""Derived pages are numbered from here on, so that the neighbours of a turn are turns."""


def is_derived(page_id: PageId) -> bool:
    """Whether the page with this id is derived."""
    return page_id.rpartition("_")[0] in DERIVED_STEMS


def is_shared(page_id: PageId) -> bool:
    """Whether the page with this id belongs to a region. No other page of the memory has its id."""
    return page_id.startswith(_SHARED)


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class PageRow:
    """What is known of a page without reading it."""

    page_id: PageId
    seq: Seq  # of the record with its text
    session: SessionNo  # where it was made; a fork sees its parent's pages
    order: int
    turn: TurnNo
    role: Role
    kind: Kind
    modality: Modality
    origin: Origin
    tokens: int
    importance: float
    at_ms: int
    part: int
    parts: int
    occurred_ms: int | None = None  # when it was said, if its record says
    superseded: Seq = Seq(0)  # the record that made it historical by replacing its text

    def __repr__(self) -> str:
        part = f"part {self.part + 1} of {self.parts}" if self.parts > 1 else ""
        size = counted(self.tokens, "token")
        return outline(self.page_id, self.role, minute(self.said_ms), self.kind, size, part)

    @property
    def said_ms(self) -> int:
        """When it was said, or, if unknown, when it was logged."""
        return self.at_ms if self.occurred_ms is None else self.occurred_ms

    @property
    def is_note(self) -> bool:
        """Whether it notes that a claim's words were edited away: no speaker said it."""
        return self.superseded == self.seq


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A span of a page's stored text, in bytes of UTF-8, that supports a claim."""

    page_id: PageId
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRef:
    """A claim of another session of the same user."""

    session_id: str
    claim_id: PageId


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEvidence:
    """A span of a file, in bytes, that supports a claim, and its first line. `path` is relative to
    the root of the project. `hash` is of the span's bytes, keyed with the memory's secret, so it
    confirms no guess.
    """

    path: str
    start: int
    end: int
    hash: str
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFacts:
    """Optional facts about a claim: where it is true, whose it is, how long it lasts (days; None:
    by its kind, 0: forever), and which files say it.
    """

    project_id: str = ""
    branch: str = ""
    path: str = ""
    owner: str = ""
    decay_days: int | None = None
    max_age_days: int | None = None
    files: tuple[FileEvidence, ...] = ()


NO_FACTS: Final = CardFacts()


@dataclass(frozen=True, slots=True)
class Quote:
    """Words from a page, as evidence given by a person or a program.

    They must match exactly, except for white space and the form of apostrophes and quotation marks.
    Without a `page_id` all original pages are searched: the newest match counts, and one that the
    user typed before any other.
    """

    words: str
    page_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """The derivation of a derived page.

    A representation is of one page, at `level`; a summary of the pages in `provenance`, which are a
    run of turns. A claim is about a `subject`, and `supersedes` the claim held before; `provenance`
    also has the claims that it was derived from.
    """

    provenance: tuple[PageId, ...] = ()
    represents: PageId = PageId("")
    level: int = 0
    evidence: tuple[Evidence, ...] = ()
    supersedes: PageId = PageId("")
    claim_type: str = ""
    subject: str = ""
    value: str = ""
    source_tokens: int = 0  # of the pages that a summary covers
    made_by: str = ""  # the compressor that wrote it, if not our rules
    restates: PageId = PageId("")  # the claim that this one writes again
    merges: tuple[PageId, ...] = ()  # further claims that it replaces
    repeats: PageId = PageId("")  # the claim that it is merged into: it says the same
    elsewhere: tuple[ClaimRef, ...] = ()  # claims that say the same
    card: CardFacts = NO_FACTS
    digest: str = ""  # of what was shown to the person who approved it


@dataclass(frozen=True, slots=True)
class FileQuote:
    """Words from a file, as evidence given by a person or a program.

    `path` is relative to `root`, the project's folder (by default the current one), and must stay
    inside. The words must match exactly, except for white space. They are not stored, only their
    position and a keyed hash, by which a check finds them again.
    """

    words: str
    path: str
    root: str = ""


class About(Protocol):
    """What a page is about, found by the form of its text."""

    @property
    def topic_tags(self) -> tuple[str, ...]: ...
    @property
    def entities(self) -> tuple[str, ...]: ...
    @property
    def task_refs(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a record states that its page is about."""

    topic_tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    task_refs: tuple[str, ...] = ()


NOT_TOLD: Final = Told()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageDetails:
    """Details of a page beyond its record; None if not requested or unknown.

    An access is a served fault, a recall by the runtime, or a citation in an answer.
    """

    last_accessed: datetime | None = None  # None if never
    access_count: int | None = None
    dimensions: tuple[int, int] | None = None  # of a picture: width and height in pixels
    duration_seconds: float | None = None  # of a recording
    label: Origin | None = None  # the least trusted of all its sources


NO_DETAILS: Final = PageDetails()


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page and its text at level 0."""

    row: PageRow
    text: str
    speaker: str = ""
    title: str = ""
    occurred_at: str = ""
    call_id: str = ""
    part_of: PageId = PageId("")
    blob: str = ""  # of an artifact: the name of its bytes
    mime_type: str | None = None  # of the bytes, else of the text
    size_bytes: int | None = None  # likewise
    derived: Derived | None = None  # its derivation, if derived
    newer_than: tuple[PageId, ...] = ()  # when recalled: earlier pages on the same subject
    older_than: tuple[PageId, ...] = ()  # and later ones
    lapse: str = ""  # of a claim: why it no longer holds; else: what closed words of it
    is_named: bool = False  # already in the window: shown only for what it is newer than
    about: About = field(default=NOT_TOLD, compare=False, repr=False)  # follows from the rest
    details: PageDetails = field(default=NO_DETAILS, compare=False)  # if requested

    def __repr__(self) -> str:
        who, when = self.speaker or str(self.row.role), self.occurred_at[:16]
        size = counted(self.row.tokens, "token")
        return outline(self.row.page_id, who, when or minute(self.row.at_ms), size, self.text)

    @property
    def created_at(self) -> datetime:
        """When it was written, in UTC; `occurred_at` may say when it was said."""
        return datetime.fromtimestamp(self.row.at_ms / 1000, UTC)

    @property
    def last_accessed(self) -> datetime | None:
        return self.details.last_accessed

    @property
    def access_count(self) -> int | None:
        return self.details.access_count

    @property
    def dimensions(self) -> tuple[int, int] | None:
        return self.details.dimensions

    @property
    def duration_seconds(self) -> float | None:
        return self.details.duration_seconds

    @property
    def label(self) -> Origin | None:
        """The least trusted label that went into it. `row.origin` is the channel it came by."""
        return self.details.label

    @property
    def page_id(self) -> PageId:
        return self.row.page_id

    @property
    def topic_tags(self) -> tuple[str, ...]:
        """A few words on what it is about, the most significant first."""
        return self.about.topic_tags

    @property
    def entities(self) -> tuple[str, ...]:
        """Names, identifiers, paths and dates in it, as written."""
        return self.about.entities

    @property
    def task_refs(self) -> tuple[str, ...]:
        """The tasks that it names: `ABC-7`, `#42`."""
        return self.about.task_refs


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """What is known of a session without reading its records."""

    session: SessionNo
    session_id: str
    name: str
    parent: SessionNo
    parent_seq: Seq
    turns: int  # turns begun, including the parent's
    pages: int  # visible pages, including the parent's
    opened_at_ms: int
    last_used_ms: int
    last_seq: Seq
    epoch_seq: Seq  # the record that began its current epoch; 0 if none did
    lease_seq: Seq = Seq(0)  # the record that says who may write to it
    own_pages: int = 0  # pages that it holds itself, at present; including derived ones
    bytes: int = 0  # of content in its own records, at present

    @property
    def called(self) -> str:
        """Its name, or its id if it has none."""
        return self.name or self.session_id

    def __repr__(self) -> str:
        held = counted(self.turns, "turn"), counted(self.pages, "page")
        used = f"last used {minute(self.last_used_ms)}"
        return outline(self.session_id, self.name and repr(self.name), *held, used)


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of the store that a reader may see: sessions, each up to some seq.

    A fork's scope is itself and its ancestors up to where each was forked, nearest first. A scope
    has the original pages, or, with `of_derived`, the pages derived from those.

    One that `is_several` has sessions that need not share a line of descent, each part once. As for
    everything, its pages include the derived ones, and their places are those in the whole store.
    """

    parts: tuple[tuple[SessionNo, Seq], ...]
    is_everything: bool = False  # including derived pages
    of_derived: bool = False
    is_several: bool = False

    @classmethod
    def whole(cls, *sessions: SessionNo) -> Scope:
        """These sessions to their ends, without their ancestors."""
        return cls(tuple((session, FOREVER) for session in sessions))

    @property
    def is_wide(self) -> bool:
        """Whether it spans more than one line of descent."""
        return self.is_everything or self.is_several

    @property
    def derived(self) -> Scope:
        """The derived pages of these sessions."""
        return replace(self, of_derived=True)

    def is_history(self, row: PageRow) -> bool:
        """Whether other text has replaced a page, as far as this scope sees."""
        if not row.superseded or self.is_everything:
            return bool(row.superseded)
        return any(s == row.session and row.superseded <= upto for s, upto in self.parts)


EVERYTHING: Final = Scope((), is_everything=True)
"""All pages of all sessions. Only for callers who may see all: never for a model's requests."""
