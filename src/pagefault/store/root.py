"""A memory root: the directory that holds log, index and blobs, opened as one.

    root.json    id, project and format of this root; secret    what its hashes are keyed with
    log/         the truth                            index.db  derived: delete it at any moment
    blobs/       large bytes                          lock      held by the one process that writes

Opening recovers: a torn tail is cut, the index is caught up or built anew, an interrupted forget
is finished. What could not be written is opened for reading, and `refusal` says why.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pagefault.model.clock import Clock
from pagefault.model.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreIncompatible,
    StoreLatched,
    StoreMissing,
)
from pagefault.model.events import Content, Draft, Event, ForgetBegun, ForgetDone, Taken
from pagefault.model.ids import NOTHING, IdMinter, Seq, SessionNo, TurnNo
from pagefault.model.kinds import RUNTIME, Actor, Sync
from pagefault.store.api import BlobStore, EventLog, PageIndex
from pagefault.store.archive import Archive
from pagefault.store.blobs import DirectoryBlobs
from pagefault.store.connections import IndexUnusable
from pagefault.store.disk import Disk
from pagefault.store.index import SqliteIndex
from pagefault.store.inventory import take_inventory
from pagefault.store.latch import Latch
from pagefault.store.lock import RootLock
from pagefault.store.memory import MemoryBlobs, MemoryLog
from pagefault.store.references import references
from pagefault.store.repair import RepairReport
from pagefault.store.segments import SegmentLog

FORMAT: Final = 2
"""The newest that is read. A root is made with 1, and is 2 once it has an archive."""
STORE: Final = SessionNo(0)
"""The session of records that are about the store itself."""

_BATCH: Final = 2_000  # events folded in one transaction
_NO_TURN: Final = TurnNo(0)

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What `verify` found. Sound if `problems` is empty."""

    records: int
    segments: int
    problems: tuple[str, ...]


@dataclass(slots=True)
class Store:
    """A log, its index and its blobs. Only one thread may call what writes."""

    log: EventLog
    index: PageIndex
    blobs: BlobStore
    hash_key: Callable[[SessionNo, str], str]
    secret: bytes  # of this root; keys every hash of content
    path: Path | None = None
    root_id: str = ""
    rebuilt: str = ""  # why the index was built anew at opening, if it was
    unfinished: str = ""  # why an earlier forget could not be finished at opening, if so
    _latch: Latch = field(default_factory=Latch)
    _closing: ExitStack = field(default_factory=ExitStack)

    # --- writing ------------------------------------------------------------------------------

    def append(self, drafts: Sequence[Draft]) -> list[Event]:
        """Write all or none; not yet durable and not yet in the index: `settle` makes it so."""
        self._latch.check()
        return self.log.append(drafts)

    def settle(self, events: Sequence[Event], *, sync: bool) -> None:
        """Make it so. Raises `StoreLatched` if the index fails: what is in the log and not in the
        index must not be followed by more, and a caller who tried again would write it twice.
        """
        if not events:
            return
        if sync:
            self.log.sync()
        try:
            self.index.apply(events)
        except StoreError as failure:
            refusal = StoreLatched(f"the index could not be written: {failure}")
            self._latch.refuse_from_now(refusal, failure)
            raise refusal from failure

    def forget(
        self,
        targets: Collection[Seq],
        sessions: Collection[SessionNo],
        taken: Collection[Taken],
    ) -> Event:
        """Erase records for good, and return the receipt. Redone at opening if interrupted.

        Raises `ArchiveMissing`, with nothing written, if some of them cannot be reached.
        """
        if isinstance(self.log, SegmentLog):
            self.log.check_reach(targets)
        blobs = self._blobs_of(targets)
        begun = ForgetBegun(
            targets=tuple(_ranges(targets)), sessions=tuple(sessions), taken=tuple(taken)
        )
        return self._carry_out(self._note(begun), blobs)

    def finish_forgetting(self) -> int:
        """Carry out what an earlier process began and did not finish. Returns how many."""
        receipts = [
            self.log.get(seq)
            for seq in self.index.events(STORE, types=("forget_begun", "forget_done"))
        ]
        done = {event.body.begun for event in receipts if isinstance(event.body, ForgetDone)}
        begun = [
            event
            for event in receipts
            if isinstance(event.body, ForgetBegun) and event.seq not in done
        ]
        for event in begun:
            self._carry_out(event, self._blobs_of(_targets(event)))
        return len(begun)

    def _carry_out(self, begun: Event, blobs: Sequence[str]) -> Event:
        assert isinstance(begun.body, ForgetBegun)
        seqs = _targets(begun)
        for name in blobs:
            self.blobs.delete(name)  # first: once their records are erased, nothing names them
        self.log.erase(seqs)
        try:
            self.index.forget(seqs, begun.body.sessions)
        except StoreBusy as busy:
            raise StoreBusy(
                f"it is erased from the log, but a reader keeps its words in the index: {busy}",
                hint="close what else has this memory open; opening it again then finishes this",
            ) from busy
        return self._note(ForgetDone(begun=begun.seq, records=len(seqs)))

    def _blobs_of(self, seqs: Collection[Seq]) -> list[str]:
        """The blobs that these records name, and no other does."""
        bodies = [self.log.get(seq).body for seq in seqs]
        named = {body.blob for body in bodies if isinstance(body, Content) and body.blob}
        if not named:
            return []
        needed, going = references(self.log), set(seqs)
        return sorted(name for name in named if needed.get(name, set()) <= going)

    def _note(self, body: ForgetBegun | ForgetDone) -> Event:
        draft = Draft(session=STORE, turn=_NO_TURN, actor=Actor.USER, origin=RUNTIME, body=body)
        events = self.append([draft])
        self.settle(events, sync=True)
        return events[0]

    # --- upkeep -------------------------------------------------------------------------------

    def catch_up(self, progress: Progress | None = None) -> int:
        """Fold into the index what it has not seen. Returns how many records that were."""
        after, head = self.index.applied_seq(), self.log.head()
        batch: list[Event] = []
        for event in _rest(self.log, after):
            batch.append(event)
            if len(batch) == _BATCH or event.seq == head:
                self.index.apply(batch)
                batch = []
                if progress is not None:
                    progress(event.seq - after, head - after)
        return max(0, head - after)

    def verify(self, progress: Progress | None = None) -> Verification:
        """Read everything and say what is wrong, one sentence each."""
        problems: list[str] = []
        segments = 0
        if isinstance(self.log, SegmentLog):
            problems += [str(problem) for problem in self.log.verify(progress)]
            segments = self.log.segments
        problems += self.index.check()
        problems += self._bad_blobs(problems)
        applied, head = self.index.applied_seq(), self.log.head()
        if applied > head:
            problems.append(f"the index has seen record {applied}, the log ends at {head}")
        return Verification(records=head, segments=segments, problems=tuple(problems))

    def _bad_blobs(self, known: Sequence[str]) -> Iterator[str]:
        """What is wrong with the blobs that records name; where the log is sound enough to tell."""
        try:
            needed = references(self.log)
        except StoreError as problem:
            if not known:
                yield str(problem)
            return
        for name, seqs in needed.items():
            try:
                self.blobs.get(name)
            except KeyError:
                yield f"record {min(seqs)}: blob {name} is missing"
            except StoreError as problem:
                yield f"record {min(seqs)}: {problem}"

    def close(self) -> None:
        """Close everything and let go of the root. Harmless when repeated."""
        self.index.close()
        self.log.close()
        self._closing.close()

    @property
    def refusal(self) -> StoreError | None:
        """Why nothing can be written; nothing if it can."""
        refusal = self.log.refusal if isinstance(self.log, SegmentLog) else None
        return refusal or self._latch.refusal

    @property
    def notices(self) -> list[str]:
        """What opening had to do, for a person to read."""
        notices = []
        if isinstance(self.log, SegmentLog) and self.log.recovery is not None:
            notices.append(str(self.log.recovery))
        if self.rebuilt:
            notices.append(f"the index was built anew: {self.rebuilt}")
        if self.unfinished:
            notices.append(
                f"still to be forgotten ({self.unfinished}): the next opening tries again"
            )
        return notices


def memory_store(clock: Clock, minter: IdMinter, entropy: Callable[[int], bytes]) -> Store:
    """A store that leaves nothing on disk. The same code runs on it."""
    secret = entropy(32)
    log = MemoryLog(clock=clock, minter=minter, secret=secret)
    index = SqliteIndex.create(":memory:", root_id="memory")
    return Store(log, index, MemoryBlobs(secret), log.hash_key, secret)


def open_store(
    path: Path,
    *,
    clock: Clock,
    minter: IdMinter,
    sync: Sync = Sync.GROUP,
    read_only: bool = False,
    project: str = "",
    entropy: Callable[[int], bytes] = os.urandom,
    disk: Disk | None = None,
    progress: Progress | None = None,
) -> Store:
    """Open the root at `path`, making it if there is none and it may be written.

    Raises `StoreBusy` if another process writes there, `StoreMissing` if there is nothing to read,
    `StoreIncompatible` if a newer version made it. `progress` is told of a rebuilt index.
    """
    disk = disk or Disk()
    with ExitStack() as stack:
        if not read_only and (path / "root.json").exists() and not os.access(path, os.W_OK):
            read_only = True  # the medium allows no more; a write says why
        if not read_only:
            with _explained(path):
                disk.make_directory(path)
            lock = RootLock(path, clock=clock)
            lock.acquire()
            stack.callback(lock.release)
        root = _root_file(path, disk, minter, clock, project, entropy, read_only=read_only)
        index, why = _open_index(path, root.id, read_only=read_only)
        acknowledged = index.applied_seq() if index is not None and sync is not Sync.OS else NOTHING
        log = SegmentLog(
            path / "log",
            root=root.id,
            project=root.project,
            secret=root.secret,
            clock=clock,
            minter=minter,
            entropy=entropy,
            acknowledged=acknowledged,
            read_only=read_only,
            durable=sync is not Sync.OS,
            disk=disk,
        )
        stack.callback(log.close)
        if index is not None and index.applied_seq() > log.head() and log.refusal is None:
            why = f"it had seen record {index.applied_seq()} of a log that ends at {log.head()}"
            index.close()
            index = None
        store = Store(
            log,
            index if index is not None else _empty_index(path, root.id, log),
            DirectoryBlobs(path / "blobs", secret=root.secret, read_only=read_only, disk=disk),
            log.hash_key,
            root.secret,
            path=path,
            root_id=root.id,
            rebuilt=why,
        )
        if index is None:
            _build(store, path, root.id, progress)
        elif not read_only and log.refusal is None:
            store.catch_up(progress)
        if log.refusal is None:
            try:
                store.finish_forgetting()
            except StoreError as problem:  # a full disk, a reader: opening works all the same
                store.unfinished = str(problem)
        store._closing = stack.pop_all()
        return store


def rebuild(path: Path, *, clock: Clock, minter: IdMinter, progress: Progress | None = None) -> int:
    """Build the index anew from the log. Returns the number of records folded."""
    if not (path / "root.json").exists():
        raise StoreMissing(
            f"there is no memory at {path}", hint="--root or PAGEFAULT_HOME says where"
        )
    if take_inventory(path / "log").archived:
        Archive(path / "log").require()
    with RootLock(path, clock=clock).held():  # or the index would go from under a writer
        for leftover in path.glob("index.db*"):
            leftover.unlink()
    store = open_store(path, clock=clock, minter=minter, progress=progress)
    try:
        return store.index.applied_seq()
    finally:
        store.close()


def repair(path: Path, *, clock: Clock, minter: IdMinter) -> RepairReport:
    """Set damaged records aside and make the rest writable again; then build the index anew."""
    with RootLock(path, clock=clock).held():
        root = _root_file(path, Disk(), minter, clock, "", os.urandom, read_only=True)
        log = SegmentLog(
            path / "log",
            root=root.id,
            project=root.project,
            secret=root.secret,
            clock=clock,
            minter=minter,
            acknowledged=acknowledged_in(path, root.id),
        )
        try:
            report = log.repair()
        finally:
            log.close()
    rebuild(path, clock=clock, minter=minter)
    return report


@dataclass(frozen=True, slots=True)
class RootFacts:
    """Who a root is: its id, its project, and what its hashes are keyed with."""

    id: str
    project: str
    secret: bytes


def _root_file(
    path: Path,
    disk: Disk,
    minter: IdMinter,
    clock: Clock,
    project: str,
    entropy: Callable[[int], bytes],
    *,
    read_only: bool,
) -> RootFacts:
    file, key = path / "root.json", path / "secret"
    if not file.exists():
        if read_only:
            raise StoreMissing(
                f"there is no memory at {path}",
                hint="`pagefault replay FILE` makes one; --root or PAGEFAULT_HOME says where",
            )
        if (path / "log").exists() and any((path / "log").iterdir()):
            raise StoreCorrupt(
                f"{path} has a log but no root.json",
                hint="put root.json and secret back from a backup: hashes are keyed with them",
            )
        facts = {
            "format": 1,
            "id": minter.mint(),
            "project": project,
            "made_ms": clock.now_ms(),
        }
        with _explained(path):
            disk.place(key, key.with_name("secret.tmp"), entropy(32).hex().encode())
            disk.place(file, file.with_name("root.json.tmp"), json.dumps(facts).encode())
    return read_root(path)


def read_root(path: Path) -> RootFacts:
    """What `root.json` and `secret` say. `StoreCorrupt` if they do not."""
    try:
        facts = json.loads((path / "root.json").read_text())
        if facts["format"] > FORMAT:
            raise StoreIncompatible(
                f"{path} is of format {facts['format']}; this version reads {FORMAT}"
            )
        return RootFacts(
            facts["id"], facts["project"], bytes.fromhex((path / "secret").read_text())
        )
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise StoreCorrupt(
            f"{path} cannot be read as a memory root: {problem}",
            hint="put root.json and secret back from a backup",
        ) from problem


def _open_index(path: Path, root_id: str, *, read_only: bool) -> tuple[SqliteIndex | None, str]:
    try:
        index = SqliteIndex.open(
            path / "index.db",
            root_id=root_id,
            read_only=read_only,
            frozen=read_only,  # or it would name records that the log, opened next, lacks
        )
        return index, ""
    except IndexUnusable as problem:
        new = not (path / "log").exists() and not (path / "index.db").exists()
        return None, "" if new else str(problem)


def acknowledged_in(path: Path, root_id: str) -> Seq:
    """A record of the root at `path` that was certainly durable once, as its index has seen it: if
    it cannot be read, it was damaged, and no writer died over it. 0 if no index tells.
    """
    index, _ = _open_index(path, root_id, read_only=True)
    if index is None:
        return NOTHING
    try:
        return index.applied_seq()
    finally:
        index.close()


def _empty_index(path: Path, root_id: str, log: SegmentLog) -> SqliteIndex:
    """Beside the old one where that can be written, else in memory."""
    if log.refusal is not None:
        return SqliteIndex.create(":memory:", root_id=root_id)
    for leftover in path.glob("index.db.new*"):
        leftover.unlink()
    return SqliteIndex.create(path / "index.db.new", root_id=root_id)


def _build(store: Store, path: Path, root_id: str, progress: Progress | None) -> None:
    """Fold the whole log, then put the new index in the old one's place."""
    store.catch_up(progress)
    if not (path / "index.db.new").exists() or store.refusal is not None:
        return
    store.index.close()
    for suffix in ("-wal", "-shm", ""):
        (path / f"index.db{suffix}").unlink(missing_ok=True)
    os.replace(path / "index.db.new", path / "index.db")
    store.index = SqliteIndex.open(path / "index.db", root_id=root_id)


def _rest(log: EventLog, after: Seq) -> Iterator[Event]:
    """Records after `after`; from a damaged log, what can be read and stand-ins for what cannot."""
    return log.read_rest(after) if isinstance(log, SegmentLog) else log.read(after)


def _targets(begun: Event) -> list[Seq]:
    assert isinstance(begun.body, ForgetBegun)
    return [Seq(seq) for first, last in begun.body.targets for seq in range(first, last + 1)]


def _ranges(seqs: Collection[Seq]) -> Iterator[tuple[Seq, Seq]]:
    first = last = NOTHING
    for seq in sorted(set(seqs)):
        if last and seq == last + 1:
            last = seq
            continue
        if last:
            yield first, last
        first = last = seq
    if last:
        yield first, last


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise StoreError(
            f"cannot make a memory at {path}: {problem.strerror}",
            hint="choose another place with --root or PAGEFAULT_HOME, or make room and permissions",
        ) from problem
