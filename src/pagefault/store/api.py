"""The contracts between the store and its engine.

An engine provides an `EventLog`, a `PageIndex` and a `BlobStore`; a `VectorPlace`, if vectors are
kept; and, if several processes may open one memory, a `WriterLock` and a `Presence`. `store.py`
combines them and names no engine. `pagefault.testing` has contract suites for implementations
(`log_contract`, `index_contract`, `vectors_contract`), and `pagefault.testing.distant` a simulated
remote engine.

All calls block; `commit.py` gives writers a thread and a shared fsync. One thread writes at a time;
any number may read meanwhile. Failures raise `StoreError`. `StoreBusy` is raised only where it is
safe to call again and nothing was appended.
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
    """The default for `give_way`: never."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReport:
    """The state of a log, one sentence per problem; `advice` lists remedies, most urgent first."""

    problems: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    segments: int = 0  # number of segments; 0 if the log has none
    missing: int = 0  # acknowledged records missing from its end
    recovery: str = ""  # what opening cut off, or would cut off
    strays: tuple[str, ...] = ()  # files beside the log that do not belong to it
    away: str = ""  # records in an archive that is not there
    exposed: str = ""  # who may write to it and should not


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The remedies for damage that a store finds beside its log, in the words of its engine."""

    index: str = "make the index again from the log; nothing is lost"
    blobs: str = "put the bytes back from a backup: nothing else has them"
    secret: str = "put the secret back from a backup"
    vectors: str = "drop the vectors; nothing is lost, `Memory.embed` makes them again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """A copy of a memory, verified by reading it back."""

    path: Path
    head: Seq  # its last record, and so the number of records
    link: str  # the chain's link after `head`
    segments: int
    blobs: int
    bytes: int
    blobs_missing: tuple[str, ...]  # named by a record, missing or incomplete in the source, too


class EventLog(Protocol):
    """The source of truth: an append-only sequence of records, numbered 1, 2, 3 … without gaps.

    Other processes may append to it; `refresh` picks up what they did.
    """

    def append(self, drafts: Sequence[Draft]) -> list[Event]:
        """Append all drafts or none, in order. Readable at once, durable only after `sync`.

        A draft that opens a session has session 0 and gets its own seq as its session. Empty input
        changes nothing. Once the medium has failed, every append raises `StoreLatched`.
        """
        ...

    def sync(self) -> None:
        """Make everything appended before this call durable before returning."""
        ...

    def out_of_reach(self, seqs: Collection[Seq]) -> dict[Seq, str]:
        """The records among these that are in a missing archive, and the archive's directory."""
        ...

    def archived(self, seqs: Collection[Seq]) -> frozenset[Seq]:
        """The records among these that are read from an archive, even if it is missing."""
        ...

    def get(self, seq: Seq) -> Event:
        """The record at `seq`.

        `IndexError` outside 1…head; `StoreCorrupt` if it cannot be read back.
        """
        ...

    def read(self, after: Seq = NOTHING, upto: Seq | None = None) -> Iterator[Event]:
        """Records after `after`, in order, up to `upto` or else to the last one at the time of the
        call. `StoreCorrupt` at one that cannot be read back.
        """
        ...

    def head(self) -> Seq:
        """The seq of the last record, 0 if there is none."""
        ...

    def hash_key(self, session: SessionNo, key: str) -> str:
        """The value of `Event.key` for a session's key: a hash that only this root can compute."""
        ...

    def erase(self, seqs: Collection[Seq]) -> int:
        """Destroy every byte of these records' bodies; the chain still verifies.

        Returns how many were erased by this call. Erasing is idempotent, so an interrupted call can
        be repeated.
        """
        ...

    # --- scrubbing ----------------------------------------------------------------------------

    def payload(self, seq: Seq) -> bytes:
        """The payload of the record at `seq`, as JSON, even if it is not valid for its type. Errors
        as for `get`.
        """
        ...

    def stage(self, events: Sequence[Event], going: Sequence[str]) -> str:
        """Stage durably how these records will read and which blobs will be deleted, replacing what
        was staged before. Returns a digest of it for `ScrubBegun`.
        """
        ...

    def revise(self, vouched: str) -> list[str]:
        """Apply the staged changes and destroy every byte of the old bodies; the chain still
        verifies. Returns the blobs to delete. Idempotent. `StoreCorrupt`, with nothing changed, if
        the staged data does not match `vouched`.
        """
        ...

    def unstage(self) -> None:
        """Discard what is staged."""
        ...

    # --- other writers ------------------------------------------------------------------------

    def is_current(self) -> bool:
        """Whether `refresh` would find nothing new. Cheap: asked before every verb."""
        ...

    def refresh(self, acknowledged: Seq | None = None) -> None:
        """Read what others appended and erased. A caller about to write passes the last
        `acknowledged` record, so that the end of the log is verified.
        """
        ...

    # --- what prevents reading or writing --------------------------------------------------------

    @property
    def refusal(self) -> StoreError | None:
        """Why the log cannot be written to; None if it can."""
        ...

    def check_writable(self) -> None:
        """Raise `refusal` if there is one."""
        ...

    def recover(self, acknowledged: Seq) -> bool:
        """After a write that failed only for lack of space, read the medium again, as on opening;
        everything up to `acknowledged` was durable. Returns whether the log can be written to now.
        Records appended but not acknowledged may be there afterwards, or not.
        """
        ...

    def check_reach(self, seqs: Collection[Seq]) -> None:
        """Raise `ArchiveMissing` unless all of these records can be read and erased."""
        ...

    def known(self) -> LogReport:
        """The state of the log, as far as opening and reading have shown it."""
        ...

    def audit(self, progress: Progress | None = None) -> LogReport:
        """The state of the log after reading all of it. `progress(done, total)` is in bytes."""
        ...

    # --- bulk reading -------------------------------------------------------------------------

    def read_rest(self, after: Seq = NOTHING) -> Iterator[Event]:
        """As `read`, but yields `Lost` for a record that cannot be read back."""
        ...

    def read_to_fold(self, after: Seq = NOTHING) -> Iterator[Event | Leaf]:
        """As `read_rest`, for an index that `takes_leaves`: a page may be yielded as a `Leaf`."""
        ...

    def of_type(self, type: str, after: Seq = NOTHING) -> Iterator[Event]:
        """The records of one type. `StoreCorrupt` at one that cannot be read back."""
        ...

    def lines(self, seqs: Sequence[Seq]) -> Iterator[tuple[Seq, bytes]]:
        """The raw line of each of these records, in log order (which `seqs` must have), unverified,
        at a tenth of the cost of `get`. For callers that decode a line only if it has certain
        bytes. b"" where there is no line, or none that is found at once.
        """
        ...

    def beside(self, acknowledged: Seq) -> EventLog:
        """A second handle of the same log, for long reads that would block this one. Close it after
        use; this one stays open. The log is known to reach `acknowledged`.
        """
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """An index's answer to a query of terms. Ranking is the caller's job (`recall`).

    A place is a page's order; in the whole memory, a number in which neighbours also differ by one.
    """

    pages: int  # in scope: the population that `frequencies` counts in
    length_mean: float  # terms per page of the scope, on average; of a wide one, per spoken page
    frequencies: tuple[int, ...]  # how many pages in scope contain each term
    places: NDArray[np.int64]  # of pages that contain a term, ascending
    counts: NDArray[np.int64] | NDArray[np.float64]  # occurrences of each term (column) at each
    # place (row), up to `COUNT_MAX`; a fraction of one for kin of the term (`recall/kin.py`)

    @classmethod
    def none(cls, pages: int, length_mean: float, frequencies: tuple[int, ...]) -> Candidates:
        """Statistics alone."""
        import numpy as np  # only who searches needs it

        nowhere = np.empty(0, dtype=np.int64)
        counts = np.empty((0, len(frequencies)), dtype=np.int64)
        return cls(pages, length_mean, frequencies, nowhere, counts)


@dataclass(frozen=True, slots=True, eq=False)
class Matching:
    """Pages that pass a filter: their places, ascending, and the time of each."""

    places: NDArray[np.int64]
    said_ms: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Traits:
    """What the index knows of pages without reading them, one row per page, by place. Days, marks
    and likenesses are defined in `store/form.py`.
    """

    places: NDArray[np.int64]  # ascending
    lengths: NDArray[np.int64]  # in terms, counting repetitions
    days: NDArray[np.int64]
    roles: NDArray[np.int64]  # from `role_number`
    marks: NDArray[np.int64]
    likenesses: NDArray[np.int64]
    spoken: NDArray[np.float64]  # what the speaker is worth, by the names in the query
    told_first: NDArray[np.int64]  # the first day that it mentions, 0 for none
    told_last: NDArray[np.int64]


_ROLE_NUMBERS: Final = {role: number for number, role in enumerate(Role)}
USER: Final = _ROLE_NUMBERS[Role.USER]
PERSON: Final = len(_ROLE_NUMBERS)
ROLES_MAX: Final = PERSON + 1


def role_number(role: Role, *, is_named: bool) -> int:
    """A page's speaker as a number for ranking: its role, or `PERSON` for a named speaker. People
    talking to one another are of one kind, whichever of them a transcript calls the user.
    """
    return PERSON if is_named else _ROLE_NUMBERS[role]


NO_NAMES: Final[Mapping[str, float]] = MappingProxyType({})


def worth_of(name: Collection[str], names: Mapping[str, float]) -> float:
    """The largest weight of a term of this name; 0 if none is among `names`."""
    return max((names.get(term, 0.0) for term in name), default=0.0)


@dataclass(slots=True)
class PageFilter:
    """A filter on the pages of a scope. Empty collections match anything."""

    kinds: Collection[Kind] = field(default_factory=tuple)
    after_order: int = -1
    before_order: int | None = None


class Written(NamedTuple):
    """What was written in a session within one clock minute."""

    session: SessionNo
    origin: str  # of pages; "" if none was written
    minute: int  # minutes since the epoch
    pages: int
    bytes: int  # as counted by `sizes.py`


class GaveWay(StoreBusy):
    """A long read was abandoned because it was asked to give way. It has no result."""


class PageIndex(Protocol):
    """A fold of the log that answers queries quickly. Disposable: `rebuild` recreates it.

    It holds no text that could be read back.
    """

    takes_leaves: bool
    """Whether `apply` also accepts a page as a `Leaf`."""

    def apply(self, events: Sequence[Any], *, synced: bool = True) -> Collection[Seq]:
        """Fold these events in, in one transaction. They must follow `applied_seq` without a gap.

        Returns the seqs of those that no fold can take: see `set_aside`.

        Events already applied are skipped, so a repeated call is harmless. `synced` means that
        these events, and all before them, are durable.
        """
        ...

    def applied_seq(self) -> Seq: ...

    def promised_seq(self) -> Seq:
        """The last applied record that is known to be durable."""
        ...

    def sessions(self) -> list[SessionRow]:
        """Every session, most recently used first."""
        ...

    def session_names(self, begins: str) -> list[str]:
        """The names of sessions that begin with a text, most recently used first."""
        ...

    def session(self, session: SessionNo) -> SessionRow | None: ...

    def find_session(self, name_or_id: str) -> SessionRow | None:
        """The session with this id, or else the most recently used one of this name."""
        ...

    def find_page(self, scope: Scope, page_id: PageId) -> PageRow | None: ...

    def find_pages(self, scope: Scope, page_ids: Collection[PageId]) -> Mapping[PageId, PageRow]:
        """As `find_page`, for many ids in one query; ids without a page are left out."""
        ...

    def page_at(self, seq: Seq) -> PageRow | None:
        """The page that the record at `seq` created, if it created one."""
        ...

    def pages(
        self, scope: Scope, wanted: PageFilter, *, limit: int, newest_first: bool = False
    ) -> list[PageRow]:
        """Pages in scope, by order."""
        ...

    def matching(self, scope: Scope, wanted: SearchFilter) -> Matching:
        """All pages in scope that pass the filter."""
        ...

    def pages_at(self, scope: Scope, places: Collection[int]) -> list[PageRow]:
        """The pages in scope at these places, by place; gaps are left out."""
        ...

    def standing(self, scope: Scope, places: Collection[int]) -> frozenset[int]:
        """The places among these that hold a page of the scope."""
        ...

    def history(self, scope: Scope) -> frozenset[int]:
        """The places in scope of historical pages: pages whose text was replaced by another."""
        ...

    def prefix_counts(self, scope: Scope) -> dict[str, int]:
        """The largest number used for each prefix of page ids in scope (`{"msg": 302}`).

        Numbers stay used after a forget.
        """
        ...

    def moment(self) -> AbstractContextManager[object]:
        """Within this block this thread's queries all see one snapshot. Do not block on anything
        else inside it.
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
        """Pages in scope that contain any of `terms` (already analysed), with the counts of each,
        up to `count_max`: with 1 only presence is known, at a third of the cost. Alternatives form
        one term: a page contains it if it has one of them, as often as the most frequent. A prefix
        (`language/sought.py`) counts once, however often it matches.

        Statistics cover the whole scope. The pages are those of the `limit` best stretches of four,
        and of the stretches beside them (`likely.py`). With `near`, only stretches at these places
        (ascending) or beside them compete.
        """
        ...

    def telling_of(self, scope: Scope, first_day: int, last_day: int) -> NDArray[np.int64]:
        """The places, ascending, of pages in scope that mention days from `first_day` to `last_day`
        (as counted in `store/form.py`) and none outside.
        """
        ...

    def traits(
        self, scope: Scope, places: Collection[int], names: Mapping[str, float] = NO_NAMES
    ) -> Traits:
        """The traits of the pages at these places (no duplicates); gaps are left out.

        `names` maps terms to weights: `spoken` is the largest weight of a term in the speaker's
        name, or 0.
        """
        ...

    def speakers(self, scope: Scope) -> frozenset[str]:
        """The terms of the names of all speakers in the sessions of the scope."""
        ...

    def events(
        self,
        session: SessionNo,
        *,
        types: Collection[str] = (),
        turns: Collection[int] = (),
        after: Seq = NOTHING,
    ) -> list[Seq]:
        """A session's own records, as ordered seqs; if given, only of these types and turns."""
        ...

    def written(self, after: Seq, since_ms: int) -> list[Written]:
        """Totals of what was written after a record and not before a time, and is still stored."""
        ...

    def set_aside(self, session: SessionNo | None = None) -> dict[Seq, str]:
        """The records that no fold can take, each with the reason; optionally only of one session.
        They appear in nothing else that an index returns.
        """
        ...

    def find_key(self, session: SessionNo, key: str) -> Seq | None:
        """The record with this (hashed) idempotency key, if any."""
        ...

    def forget(self, seqs: Collection[Seq], sessions: Collection[SessionNo]) -> None:
        """Durably drop every byte of these records' rows, and of these sessions as a whole."""
        ...

    def revise(self, events: Sequence[Event]) -> None:
        """Replace records folded before by their new versions, at the same places, and durably drop
        every byte of the old ones. Keys that the new versions lack are removed; erased records are
        dropped.
        """
        ...

    def tidy(self) -> bool:
        """Do a few milliseconds of pending upkeep; whether more is pending.

        Changes no answer. Meant to run while nobody waits for an append.
        """
        ...

    def check(self, give_way: Callable[[], bool] = never) -> list[str]:
        """Problems of the index itself, one sentence each; empty if it is sound.

        Blocks neither readers nor `apply`. Polls `give_way`, and raises `GaveWay` once it returns
        true.
        """
        ...

    def close(self) -> None: ...


class BlobStore(Protocol):
    """Large bytes by name. Names are keyed hashes, so content cannot be guessed from a name."""

    def put(self, data: bytes) -> str:
        """Store durably and return the name. Equal bytes have equal names."""
        ...

    def get(self, name: str) -> bytes:
        """The bytes. `KeyError` if there is no such blob, `StoreCorrupt` if the bytes changed."""
        ...

    def holds(self, name: str) -> bool:
        """Whether a blob of this name exists. Does not read it."""
        ...

    def delete(self, name: str) -> bool:
        """Whether something was deleted."""
        ...

    def names(self) -> Iterator[str]: ...


# --- vectors --------------------------------------------------------------------------------------


class VectorsUnusable(StoreError):
    """The vectors are damaged, or of another format."""

    hint = "nothing is lost: drop them, and `Memory.embed` makes the vectors again"


class Nearest(NamedTuple):
    """Places in a scope and their pages' similarity to the query (-1..1), best first.

    A place is as in ranking: a page's order, or in the whole memory its place in the index.
    """

    places: NDArray[np.int64]
    similarities: NDArray[np.float32]


class VectorStore(Protocol):
    """The vectors of pages: derived, and expensive to recompute. The log has no record of them.

    Invariants, true between any two calls:
     (1) In a session, under one embedder, the pages up to some order have vectors and later ones
         have none. Forgotten pages are an exception.
     (2) `forgotten` is the last forget that was carried out here; no vector is of a page that this
         or an earlier forget removed.

    A caller of `put` reads `forgotten` first, then lists pages in the index, then reads their
    texts. A forget removes pages from the index first and from here afterwards. So either the
    listed pages were not forgotten, or `forgotten` has changed and nothing is put. Any thread may
    put or query.
    """

    def forgotten(self) -> Seq:
        """The last forget that was carried out here, as the record that began it."""
        ...

    def last_order(self, embedder: str, session: SessionNo) -> int:
        """The order of a session's last page with a vector; -1 if none has one."""
        ...

    def put(
        self,
        embedder: str,
        pages: Sequence[tuple[int, Seq]],
        vectors: NDArray[np.float32],
        *,
        forgotten: Seq,
    ) -> bool:
        """Store vectors of the pages (place and record) that follow `last_order`; whether it did.
        It does not if something was forgotten since `forgotten` was read.
        """
        ...

    def forget(self, begun: Seq, seqs: Collection[Seq], sessions: Collection[SessionNo]) -> None:
        """Durably drop every byte of these records' vectors, and of these sessions as a whole.
        `begun` is the record that began the forget. Idempotent.
        """
        ...

    def keep_only(self, embedder: str) -> None:
        """Drop the vectors of all other embedders."""
        ...

    def counts(self) -> dict[str, int]:
        """The number of vectors of each embedder."""
        ...

    def places(self) -> frozenset[int]:
        """Every place with a vector."""
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
        """The `limit` places in scope whose pages are most similar to `query`. Needs their vectors.

        With `only` (ascending places of the scope), also the `limit` most similar ones of those.
        """
        ...

    def check(self) -> list[str]:
        """Problems of the vectors themselves, one sentence each; empty if they are sound."""
        ...

    def close(self) -> None: ...


class VectorPlace(Protocol):
    """The location of a memory's vectors, and the turn to compute them."""

    def find(self, *, read_only: bool) -> VectorStore | None:
        """The vectors, if there are any. `VectorsUnusable` if they cannot be used."""
        ...

    def make(self, forgotten: Seq) -> VectorStore:
        """Create an empty store where there is none. `forgotten` is the last forget so far."""
        ...

    def drop(self) -> None:
        """Delete the vectors, whatever their state. They must be closed."""
        ...

    def take_turn(self) -> bool:
        """Whether this opening may compute vectors now. One opening at a time may, across
        processes; the turn of a dead one ends. Idempotent.
        """
        ...

    def end_turn(self) -> None:
        """Release the turn. Idempotent."""
        ...


# --- other processes ------------------------------------------------------------------------------


class WriterLock(Protocol):
    """Held by the one writer of a memory. A dead process's lock is free again. Two of them exclude
    each other within one process, too.
    """

    def acquire(self) -> None:
        """Acquire, waiting if need be. `StoreBusy`, with the holder's name, on timeout;
        `StoreMissing` if the locked root is gone.
        """
        ...

    def hurry(self, wait_s: float) -> None:
        """Wait at most `wait_s` from now on, and only once for a holder that does not let go."""
        ...

    def release(self) -> None:
        """Release. Idempotent."""
        ...


class Opening(Protocol):
    """Another live opening of a memory. Its string form identifies it for people."""

    @property
    def beat_age_s(self) -> float:
        """Seconds since it last proved alive; 0 if unknown."""
        ...


class Presence(Protocol):
    """This opening of a memory for writing, as others see it: while it lives, and is responsive."""

    @property
    def instance(self) -> str:
        """The unique name of this opening, never reused."""
        ...

    def now_ms(self) -> int:
        """The time now, as records have it: milliseconds since 1970, UTC."""
        ...

    def find(self, instance: str) -> Opening | None:
        """The opening of this name, if it is alive and not this one."""
        ...
