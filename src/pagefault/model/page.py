"""Pages as the rest of the code sees them: what the index knows, and that plus the text."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, Protocol

from pagefault.model.ids import PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import DERIVED_STEMS, PAGE_PREFIX, Kind, Modality, Origin, Role

_SHARED: Final = PAGE_PREFIX["shared"] + "_"

DERIVED_ORDER: Final = 1 << 27
"""Derived pages are numbered from here on, so that the neighbours of a turn are turns."""


def is_derived(page_id: PageId) -> bool:
    """Whether the page of this id was made of other pages."""
    return page_id.rpartition("_")[0] in DERIVED_STEMS


def is_shared(page_id: PageId) -> bool:
    """Whether the page of this id is a region's. No other page of the memory has its id."""
    return page_id.startswith(_SHARED)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRow:
    """What is known of a page without reading it."""

    page_id: PageId
    seq: Seq  # of the record that holds its text
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
    occurred_ms: int | None = None  # when it was said, where its record tells
    superseded: Seq = Seq(0)  # the record that made it history: other words stand in its place

    @property
    def said_ms(self) -> int:
        """When it was said; if nothing tells that, when it was logged."""
        return self.at_ms if self.occurred_ms is None else self.occurred_ms

    @property
    def is_note(self) -> bool:
        """Whether it says of a claim that its words were edited away: nobody said it."""
        return self.superseded == self.seq


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A span of a page's stored text, in bytes of its UTF-8: where it is said."""

    page_id: PageId
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEvidence:
    """A span of a file, in bytes, that says so, and the line that it begins in. `path` is told from
    the root of the project, and `hash` names the bytes of the span: keyed with the memory's secret,
    so it confirms no guess.
    """

    path: str
    start: int
    end: int
    hash: str
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFacts:
    """What a claim says beside its words, where somebody said so: where it is true, whose it is,
    how long it lasts (days; None as its kind does, 0 for ever), and which files say it.
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
    """Words that stand in a page: evidence as a person or a program gives it.

    They are found as they are written, but for white space and the form of apostrophes and
    quotation marks. Without a `page_id` they are looked for in all that was said and handed in: the
    newest page that has them counts, and one that the user typed before any other.
    """

    words: str
    page_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """What a page that was made of others says about that.

    A representation stands for one page, at `level`; a summary for the pages of `provenance`,
    which are a run of turns. A claim is about a `subject`, and `supersedes` what was held before;
    the claims that it was derived from are in `provenance`, with the pages.
    """

    provenance: tuple[PageId, ...] = ()
    represents: PageId = PageId("")
    level: int = 0
    evidence: tuple[Evidence, ...] = ()
    supersedes: PageId = PageId("")
    claim_type: str = ""
    subject: str = ""
    value: str = ""
    source_tokens: int = 0  # of what a summary sums up
    made_by: str = ""  # the compressor that wrote it, if not our rules
    restates: PageId = PageId("")  # the claim that this one is, written once more
    merges: tuple[PageId, ...] = ()  # further claims whose place it takes
    card: CardFacts = NO_FACTS
    digest: str = ""  # of what a person was shown who agreed to it


@dataclass(frozen=True, slots=True)
class FileQuote:
    """Words that stand in a file: evidence as a person or a program gives it.

    `path` is told from `root`, the project's folder (where it is empty, the present one), and stays
    inside. The words are found as they stand, but for white space; none are kept, only where they
    stand and a keyed hash, by which a check finds them again.
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
    """What a record says that its page is about."""

    topic_tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    task_refs: tuple[str, ...] = ()


NOT_TOLD: Final = Told()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageDetails:
    """What it takes more than a page's record to tell; None where nobody asked, or nothing tells.

    An access is a fault that was served, a recall by the runtime, or a citation in an answer.
    """

    last_accessed: datetime | None = None  # None where it never was
    access_count: int | None = None
    dimensions: tuple[int, int] | None = None  # of a picture: width and height in pixels
    duration_seconds: float | None = None  # of a recording
    label: Origin | None = None  # the least trusted of all that went into it


NO_DETAILS: Final = PageDetails()


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
    blob: str = ""  # of an artifact: where its bytes are
    mime_type: str | None = None  # of these, else of the text
    size_bytes: int | None = None  # likewise
    derived: Derived | None = None  # what it was made of, if it was
    newer_than: tuple[PageId, ...] = ()  # where it is recalled: what tells of the same, said before
    older_than: tuple[PageId, ...] = ()  # and since
    lapse: str = ""  # of a claim: why it does not hold any more, where nothing took its place
    is_named: bool = False  # it stands in the window: here is only what it is newer than
    about: About = field(default=NOT_TOLD, compare=False, repr=False)  # follows from the rest
    details: PageDetails = field(default=NO_DETAILS, compare=False)  # where they were asked for

    @property
    def created_at(self) -> datetime:
        """When it was written down, in UTC; when it was said, `occurred_at` may tell."""
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
        """Whose word it is at most; its `row.origin` is the channel that it came through."""
        return self.details.label

    @property
    def page_id(self) -> PageId:
        return self.row.page_id

    @property
    def topic_tags(self) -> tuple[str, ...]:
        """A few words that tell what it is about, most telling first."""
        return self.about.topic_tags

    @property
    def entities(self) -> tuple[str, ...]:
        """Names, identifiers, paths and dates in it, as they are written."""
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
    turns: int  # turns begun, the parent's included
    pages: int  # pages it can see, the parent's included
    opened_at_ms: int
    last_used_ms: int
    last_seq: Seq
    epoch_seq: Seq  # the record that began its present epoch; 0 if none did
    lease_seq: Seq = Seq(0)  # the record that says who may write to it
    own_pages: int = 0  # pages that it holds itself, and now; derived ones too
    bytes: int = 0  # that its own records say, and now


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of the store that a reader may see: sessions, each up to some seq.

    A fork's scope is itself and its ancestors up to where each was forked, nearest first. A scope
    holds what was said and handed in, or, with `of_derived`, the pages that were made of those.

    One that `is_several` is of sessions that need not be of one descent, each part once. As of
    everything, its pages are the derived ones too, and their places are those in the whole store.
    """

    parts: tuple[tuple[SessionNo, Seq], ...]
    is_everything: bool = False  # derived pages too
    of_derived: bool = False
    is_several: bool = False

    @property
    def is_wide(self) -> bool:
        """Whether it is of more than one line of descent."""
        return self.is_everything or self.is_several

    @property
    def derived(self) -> Scope:
        """The derived pages of these sessions."""
        return replace(self, of_derived=True)

    def is_history(self, row: PageRow) -> bool:
        """Whether other words stand in a page's place, as far as this scope sees."""
        if not row.superseded or self.is_everything:
            return bool(row.superseded)
        return any(s == row.session and row.superseded <= upto for s, upto in self.parts)


EVERYTHING: Final = Scope((), is_everything=True)
"""All pages of all sessions. Only for who may see them all: never for what a model asks."""
