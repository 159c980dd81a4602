"""What a store needs of an engine, and all of it: the contracts.

An engine brings an `EventLog`, a `PageIndex` and a `BlobStore`; a `VectorPlace`, if vectors are to
be kept; and, if several processes may open one memory, a `WriterLock` and a `Presence`. `store.py`
puts them together and names no engine. `pagefault.testing` proves an implementation
(`log_contract`, `index_contract`, `vectors_contract`); `pagefault.testing.distant` puts one far
away.

All calls block; `commit.py` gives writers a thread and a shared fsync. One thread writes at a
time; any number may read while it does. What fails raises `StoreError`: `StoreBusy` only where it
is safe to call again, and nothing was appended.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from pagefault.language.sought import Sought
from pagefault.model.errors import StoreBusy, StoreError
from pagefault.model.events import Draft, Event
from pagefault.model.ids import NOTHING, PageId, Seq, SessionNo
from pagefault.model.kinds import Kind, Role
from pagefault.model.page import PageRow, Scope, SessionRow
from pagefault.model.progress import Progress
from pagefault.model.wanted import SearchFilter
from pagefault.store.tokens import COUNT_MAX

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pagefault.store.leaf import Leaf


def never() -> bool:
    """No reason to give way."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReport:
    """How a log is, a sentence each; `advice` is what helps, the first thing to do first."""

    problems: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    segments: int = 0  # in how many pieces it is kept; 0 where in none
    missing: int = 0  # acknowledged records that are gone from its end
    recovery: str = ""  # what opening had to cut off, or would have to
    strays: tuple[str, ...] = ()  # what was found beside it and is none of it
    away: str = ""  # which records are in an archive that is not there
    exposed: str = ""  # who may write to it that nobody should let


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What helps against damage that a store finds beside its log, in the words of its engine."""

    index: str = "make the index again from the log; nothing is lost"
    blobs: str = "put the bytes back from a backup: nothing else has them"
    secret: str = "put the secret back from a backup"
    vectors: str = "drop the vectors; nothing is lost, `Memory.embed` makes them again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """A copy of a memory that was read back whole."""

    path: Path
    head: Seq  # its last record: there are as many
    link: str  # the chain's link after it
    segments: int
    blobs: int
    bytes: int
    blobs_missing: tuple[str, ...]  # named by a record, and not (or not whole) in the source either


class EventLog(Protocol):
    """The truth: an append-only sequence of records, numbered 1, 2, 3 … without gaps.

    Others may append to it meanwhile, in other processes: `refresh` takes in what they did.
    """

    def append(self, drafts: Sequence[Draft]) -> list[Event]:
        """Write all or none, in order. Durable only after `sync`; readable at once.

        A draft that opens a session has session 0 and gets its own seq as its session. Empty input
        changes nothing. After a failure of the medium, raises `StoreLatched` from then on.
        """
        ...

    def sync(self) -> None:
        """Everything appended before this call is on stable storage when it returns."""
        ...

    def out_of_reach(self, seqs: Collection[Seq]) -> dict[Seq, str]:
        """Those of these records that are in an archive which is not there, and its directory."""
        ...

    def archived(self, seqs: Collection[Seq]) -> frozenset[Seq]:
        """Those of these records that are read from an archive, whether it is there or not."""
        ...

    def get(self, seq: Seq) -> Event:
        """The record at `seq`.

        `IndexError` outside 1…head; `StoreCorrupt` if it does not read back.
        """
        ...

    def read(self, after: Seq = NOTHING, upto: Seq | None = None) -> Iterator[Event]:
        """Records with a larger seq, in order, up to `upto` or else to the last, as of the moment
        of the call. `StoreCorrupt` where one does not read back.
        """
        ...

    def head(self) -> Seq:
        """The seq of the last record, 0 if there is none."""
        ...

    def hash_key(self, session: SessionNo, key: str) -> str:
        """What `Event.key` is for this key of a session: a hash that only this root can make."""
        ...

    def erase(self, seqs: Collection[Seq]) -> int:
        """Destroy the bodies of these records and every byte of them; the chain still verifies.

        Returns how many were erased now. Erasing twice is harmless, so an interrupted call is
        simply repeated.
        """
        ...

    # --- scrubbing ----------------------------------------------------------------------------

    def payload(self, seq: Seq) -> bytes:
        """What the record at `seq` says, as JSON: also where it is none of its type. Errors as for
        `get`.
        """
        ...

    def stage(self, events: Sequence[Event], going: Sequence[str]) -> str:
        """Keep beside the records, durably, how these are to read, which blobs go then, and nothing
        that was staged before. Returns what vouches for it: see `ScrubBegun`.
        """
        ...

    def revise(self, vouched: str) -> list[str]:
        """Let records read as they are staged, with every byte of what they said gone; the chain
        still verifies. Returns the blobs that go. Harmless when repeated. `StoreCorrupt`, with
        nothing changed, if what is staged is not what was vouched for.
        """
        ...

    def unstage(self) -> None:
        """Let nothing be staged."""
        ...

    # --- other writers ------------------------------------------------------------------------

    def is_current(self) -> bool:
        """Whether `refresh` would find nothing new. Asked before every verb: it takes no time."""
        ...

    def refresh(self, acknowledged: Seq | None = None) -> None:
        """Take in what others appended and erased. Who is about to write says which records were
        `acknowledged`, and the end of the log is made sure of.
        """
        ...

    # --- what keeps it from being written or read -----------------------------------------------

    @property
    def refusal(self) -> StoreError | None:
        """Why nothing can be written; None if it can."""
        ...

    def check_writable(self) -> None:
        """Raise `refusal` if there is one."""
        ...

    def recover(self, acknowledged: Seq) -> bool:
        """Where nothing but room was missing for a write, read anew what the medium holds, as an
        opening does; `acknowledged` is what was certainly durable. Whether it can be written now.
        What was appended and not acknowledged may be there after that, or not.
        """
        ...

    def check_reach(self, seqs: Collection[Seq]) -> None:
        """Raise `ArchiveMissing` unless all of these records can be read and erased now."""
        ...

    def known(self) -> LogReport:
        """How the log is, as far as opening and reading have shown."""
        ...

    def audit(self, progress: Progress | None = None) -> LogReport:
        """The same after reading all of it. `progress(done, total)` is told bytes."""
        ...

    # --- reading at length ----------------------------------------------------------------------

    def read_rest(self, after: Seq = NOTHING) -> Iterator[Event]:
        """As `read`, but a record that does not read back comes as `Lost` instead of an error."""
        ...

    def read_to_fold(self, after: Seq = NOTHING) -> Iterator[Event | Leaf]:
        """As `read_rest`, for an index that `takes_leaves`: a page may come as one."""
        ...

    def of_type(self, type: str, after: Seq = NOTHING) -> Iterator[Event]:
        """The records of one type. `StoreCorrupt` where one does not read back."""
        ...

    def lines(self, seqs: Sequence[Seq]) -> Iterator[tuple[Seq, bytes]]:
        """The line that each of these records stands in, in the order of the log in which they are
        given, for who only reads on where a line has certain bytes: a tenth of the price of `get`.
        Nobody judged them. b"" where there is no line, or none that is found at once.
        """
        ...

    def beside(self, acknowledged: Seq) -> EventLog:
        """The same log, for who reads long and would be in the way here. To be closed, which ends
        nothing else. `acknowledged` is what is known to be in it.
        """
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """What an index answers to a set of terms. Ranking is the caller's (`recall`).

    A place is a page's order; over everything, a number in which neighbours differ by one, too.
    """

    pages: int  # in scope: those of which `frequencies` counts
    length_mean: float  # terms in a page of the scope, on average; of a wide one, in what was said
    frequencies: tuple[int, ...]  # how many pages in scope contain each term
    places: NDArray[np.int64]  # of pages that contain a term, ascending
    counts: NDArray[np.int64] | NDArray[np.float64]  # for each place (row) how often each term
    # (column) stands there, up to `COUNT_MAX`; a part of once, where its kin do (`recall/kin.py`)


@dataclass(frozen=True, slots=True, eq=False)
class Matching:
    """Pages that pass a filter: where they stand, ascending, and when each was said."""

    places: NDArray[np.int64]
    said_ms: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Traits:
    """What is known of pages without reading them, a row each, by place. `store/form.py` says what
    days, marks and likenesses are.
    """

    places: NDArray[np.int64]  # ascending
    lengths: NDArray[np.int64]  # terms, repeated as they repeat
    days: NDArray[np.int64]
    roles: NDArray[np.int64]  # as `role_number` tells them
    marks: NDArray[np.int64]
    likenesses: NDArray[np.int64]
    spoken: NDArray[np.float64]  # what who says it is worth, by the names that were asked for
    told_first: NDArray[np.int64]  # the days that it tells of, 0 for none
    told_last: NDArray[np.int64]


_ROLE_NUMBERS: Final = {role: number for number, role in enumerate(Role)}
USER: Final = _ROLE_NUMBERS[Role.USER]
PERSON: Final = len(_ROLE_NUMBERS)
ROLES_MAX: Final = PERSON + 1


def role_number(role: Role, *, is_named: bool) -> int:
    """Who says a page, to ranking: its role, or `PERSON` for whoever speaks under a name. People
    who talk to one another are of one kind, whichever of them a transcript calls the user.
    """
    return PERSON if is_named else _ROLE_NUMBERS[role]


NO_NAMES: Final[Mapping[str, float]] = MappingProxyType({})


def worth_of(name: Collection[str], names: Mapping[str, float]) -> float:
    """The most that a term of a name is worth; 0 if none is among `names`."""
    return max((names.get(term, 0.0) for term in name), default=0.0)


@dataclass(slots=True)
class PageFilter:
    """Which pages of a scope are wanted. Empty collections mean any."""

    kinds: Collection[Kind] = field(default_factory=tuple)
    after_order: int = -1
    before_order: int | None = None


class Written(NamedTuple):
    """What was written in a session within one minute of the clock."""

    session: SessionNo
    origin: str  # of pages; "" where none was made
    minute: int  # since the epoch
    pages: int
    bytes: int  # as `sizes.py` counts them


class GaveWay(StoreBusy):
    """A long look ended before its time, as it was asked to. Nothing was found out."""


class PageIndex(Protocol):
    """A fold of the log that answers questions quickly. Disposable: `rebuild` makes it again.

    It holds no text that could be read back.
    """

    takes_leaves: bool
    """Whether `apply` takes a page as a `Leaf`, too."""

    def apply(self, events: Sequence[Any], *, synced: bool = True) -> Collection[Seq]:
        """Fold these events in, in one transaction. They must follow `applied_seq` without a gap.

        Returns the seqs of those that no fold can take: see `set_aside`.

        Events already applied are skipped, so a repeated call is harmless. `synced` says that
        these, and all before them, are on stable storage.
        """
        ...

    def applied_seq(self) -> Seq: ...

    def promised_seq(self) -> Seq:
        """Of what was applied, the last record that certainly was on stable storage."""
        ...

    def sessions(self) -> list[SessionRow]:
        """Every session, the most recently used first."""
        ...

    def session(self, session: SessionNo) -> SessionRow | None: ...

    def find_session(self, name_or_id: str) -> SessionRow | None:
        """By id, or else the most recently used of that name."""
        ...

    def find_page(self, scope: Scope, page_id: PageId) -> PageRow | None: ...

    def find_pages(self, scope: Scope, page_ids: Collection[PageId]) -> Mapping[PageId, PageRow]:
        """As `find_page`, of many in one look; ids of no page are left out."""
        ...

    def page_at(self, seq: Seq) -> PageRow | None:
        """The page that the record at `seq` made, if it made one."""
        ...

    def pages(
        self, scope: Scope, wanted: PageFilter, *, limit: int, newest_first: bool = False
    ) -> list[PageRow]:
        """Pages in scope by their order."""
        ...

    def matching(self, scope: Scope, wanted: SearchFilter) -> Matching:
        """All pages in scope that are wanted."""
        ...

    def pages_at(self, scope: Scope, places: Collection[int]) -> list[PageRow]:
        """The pages in scope that stand at these places, by place; gaps are left out."""
        ...

    def standing(self, scope: Scope, places: Collection[int]) -> frozenset[int]:
        """Those of these places where a page of the scope stands."""
        ...

    def history(self, scope: Scope) -> frozenset[int]:
        """The places in scope of pages that are history: other words stand in their place."""
        ...

    def prefix_counts(self, scope: Scope) -> dict[str, int]:
        """For each prefix of page ids in scope, the largest number taken (`{"msg": 302}`).

        Numbers stay taken after a forget.
        """
        ...

    def moment(self) -> AbstractContextManager[object]:
        """Within this block whatever this thread asks is answered as of one moment. Not for what
        waits for anything else.
        """
        ...

    def candidates(
        self,
        scope: Scope,
        terms: Sequence[Sought],
        *,
        limit: int,
        near: NDArray[np.int64] | None = None,
        count_max: int = COUNT_MAX,
    ) -> Candidates:
        """Pages in scope that contain any of `terms` (already analysed), and how often each stands
        there, up to `count_max`: 1 tells where they stand, at a third of the cost. Several of which
        any will do are one term: a page contains it that has one of them, as often as the most
        frequent. A beginning (`language/sought.py`) counts once, however many stand there.

        Statistics are over the whole scope; pages are those of the `limit` stretches of four
        where most is told about the terms, and those beside them (`likely.py`); with `near`, of
        the stretches at these places (ascending), whatever is told elsewhere.
        """
        ...

    def telling_of(self, scope: Scope, first_day: int, last_day: int) -> NDArray[np.int64]:
        """Where pages in scope stand, ascending, that tell of days from one to the other, as
        `store/form.py` counts them, and of none before or behind.
        """
        ...

    def traits(
        self, scope: Scope, places: Collection[int], names: Mapping[str, float] = NO_NAMES
    ) -> Traits:
        """What is known of the pages at these places, each named once; gaps are left out.

        `names` are terms and what each is worth: `spoken` is the most of those in the name of who
        says it, and 0 of anybody else.
        """
        ...

    def speakers(self, scope: Scope) -> frozenset[str]:
        """The terms of the names of all who speak in a session of the scope."""
        ...

    def events(
        self,
        session: SessionNo,
        *,
        types: Collection[str] = (),
        turns: Collection[int] = (),
        after: Seq = NOTHING,
    ) -> list[Seq]:
        """The seqs of a session's own records, in order; of these types and of these turns, where
        any are given.
        """
        ...

    def written(self, after: Seq, since_ms: int) -> list[Written]:
        """What was written after a record, and not before a moment, and still stands, summed up."""
        ...

    def set_aside(self, session: SessionNo | None = None) -> dict[Seq, str]:
        """The records that no fold can take, those of one session if one is named, each with the
        reason. They are in nothing else that an index tells.
        """
        ...

    def find_key(self, session: SessionNo, key: str) -> Seq | None:
        """The record that carries this (hashed) idempotency key, if any."""
        ...

    def forget(self, seqs: Collection[Seq], sessions: Collection[SessionNo]) -> None:
        """Drop these records' rows, and these sessions whole, and every byte of them, durably."""
        ...

    def revise(self, events: Sequence[Event]) -> None:
        """Take in how records read now that were folded before, each in the place that it has, and
        leave no byte of how they read then, durably. Their keys go where they have none now; what
        is erased is dropped.
        """
        ...

    def tidy(self) -> bool:
        """Do a few milliseconds of the upkeep that is due, and say whether more is.

        Changes no answer. Meant for when nobody waits for an append.
        """
        ...

    def check(self, give_way: Callable[[], bool] = never) -> list[str]:
        """What is wrong with the index itself, one sentence each; empty if nothing is.

        Neither who reads nor who applies waits for it. `give_way` is asked now and then; once it
        says so this ends with `GaveWay`.
        """
        ...

    def close(self) -> None: ...


class BlobStore(Protocol):
    """Large bytes by name. Names are keyed hashes: content cannot be guessed from one."""

    def put(self, data: bytes) -> str:
        """Store durably and return the name. The same bytes have the same name."""
        ...

    def get(self, name: str) -> bytes:
        """The bytes. `KeyError` if there are none of that name, `StoreCorrupt` if they changed."""
        ...

    def holds(self, name: str) -> bool:
        """Whether there is a blob of that name. Does not read it."""
        ...

    def delete(self, name: str) -> bool:
        """Whether something was deleted."""
        ...

    def names(self) -> Iterator[str]: ...


# --- vectors --------------------------------------------------------------------------------------


class VectorsUnusable(StoreError):
    """The vectors are damaged or made otherwise."""

    hint = "nothing is lost: drop them, and `Memory.embed` makes the vectors again"


class Nearest(NamedTuple):
    """Places in a scope and how alike their pages are to what was asked (-1..1), best first.

    A place is told as ranking tells it: a page's order, or over everything its place in the index.
    """

    places: NDArray[np.int64]
    similarities: NDArray[np.float32]


class VectorStore(Protocol):
    """The vectors of pages: derived, and expensive to make again. The log knows nothing of them.

    Invariants, true between any two calls:
     (1) Of a session, under one embedder, the pages up to some order have vectors and the rest have
         none, but for pages that were forgotten.
     (2) `forgotten` is the last forgetting that was carried out here; no vector is of a page that
         this one or an earlier one took.

    Who puts vectors reads `forgotten` first, then lists pages in the index, then reads their texts.
    A forgetting takes pages from the index first and from here after that: so either the pages
    listed were not forgotten, or `forgotten` has moved on by then, and nothing is put. Any thread
    may put and any may ask.
    """

    def forgotten(self) -> Seq:
        """The last forgetting that was carried out here: the record that began it."""
        ...

    def last_order(self, embedder: str, session: SessionNo) -> int:
        """The order of the last page of a session that has a vector; -1 if none has."""
        ...

    def put(
        self,
        embedder: str,
        pages: Sequence[tuple[int, Seq]],
        vectors: NDArray[np.float32],
        *,
        forgotten: Seq,
    ) -> bool:
        """Keep the vectors of pages, told by place and record, that follow `last_order`; whether
        they were. Not if something was forgotten since `forgotten` was read.
        """
        ...

    def forget(self, begun: Seq, seqs: Collection[Seq], sessions: Collection[SessionNo]) -> None:
        """Drop what is of these records, and of these sessions whole, and every byte of it,
        durably. `begun` is the record that began this forgetting. Harmless when repeated.
        """
        ...

    def keep_only(self, embedder: str) -> None:
        """Drop the vectors of every other embedder."""
        ...

    def counts(self) -> dict[str, int]:
        """Every embedder, and how many vectors it has here."""
        ...

    def places(self) -> frozenset[int]:
        """Every place that has a vector."""
        ...

    def nearest(
        self,
        embedder: str,
        scope: Scope,
        query: NDArray[np.float32],
        *,
        limit: int,
        only: NDArray[np.int64] | None = None,
    ) -> Nearest:
        """The `limit` places in scope whose pages are most like `query`, of those with a vector.

        With `only`, places of the scope that ascend, besides these the `limit` most like of them.
        """
        ...

    def check(self) -> list[str]:
        """What is wrong with the vectors themselves, one sentence each; empty if nothing is."""
        ...

    def close(self) -> None: ...


class VectorPlace(Protocol):
    """Where the vectors of a memory are kept, and whose turn it is to make them."""

    def find(self, *, read_only: bool) -> VectorStore | None:
        """Those that there are, if there are any. `VectorsUnusable` if they cannot be used."""
        ...

    def make(self, forgotten: Seq) -> VectorStore:
        """Empty ones, where there are none. `forgotten` is the last forgetting that there was."""
        ...

    def drop(self) -> None:
        """Delete those that there are, in whatever state. They are closed."""
        ...

    def take_turn(self) -> bool:
        """Whether this opening may make vectors now: one does at a time, in whatever process, and
        the turn of one that dies ends. Harmless when repeated.
        """
        ...

    def end_turn(self) -> None:
        """Let others. Harmless when repeated."""
        ...


# --- other processes ------------------------------------------------------------------------------


class WriterLock(Protocol):
    """Holding it is being the one that writes to a memory, at this moment. That of a process that
    dies is free again. Two of them exclude one another in one process, too.
    """

    def acquire(self) -> None:
        """Take it, waiting if need be. `StoreBusy`, naming the holder, if it takes too long;
        `StoreMissing` if what it locks is gone.
        """
        ...

    def hurry(self, wait_s: float) -> None:
        """Wait no longer than that from now on, and once only for one who does not let go."""
        ...

    def release(self) -> None:
        """Let go. Harmless when repeated."""
        ...


class Opening(Protocol):
    """Another opening of a memory, that lives. As a string it tells a person which that is."""

    @property
    def beat_age_s(self) -> float:
        """How long ago it was well for certain; 0 where nothing tells."""
        ...


class Presence(Protocol):
    """This opening of a memory for writing, as others see it: as long as it lives, and is well."""

    @property
    def instance(self) -> str:
        """The name of this opening, which no other ever has."""
        ...

    def find(self, instance: str) -> Opening | None:
        """The opening of this name, if it lives and is another."""
        ...
