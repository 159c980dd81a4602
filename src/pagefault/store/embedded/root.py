"""A memory root: the directory with log, index and blobs, and how it is opened.

    root.json    id, project and format of this root; secret    the key of its hashes
    log/         the source of truth               index.db  derived: may be deleted at any time
    blobs/       large bytes                       lock      held by the current writer
    instances/   who has it open for writing       turnstile the queue for the lock

Opening recovers: it cuts a torn tail, brings the index up to date, and completes an interrupted
forget. A root that cannot be written is opened for reading, and `Store.refusal` says why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pagefault.model import defaults
from pagefault.model.clock import Clock
from pagefault.model.errors import (
    ArchiveMissing,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreReadOnly,
)
from pagefault.model.events import ForgetDone, ScrubDone
from pagefault.model.ids import NOTHING, IdMinter, Seq
from pagefault.model.kinds import Sync
from pagefault.model.progress import Progress
from pagefault.store.embedded.adoption import Adoptions, not_adopted
from pagefault.store.embedded.advice import ADVICE
from pagefault.store.embedded.archive import Archive
from pagefault.store.embedded.blobs import DirectoryBlobs
from pagefault.store.embedded.connections import (
    MEMORY,
    SUFFIXES,
    IndexDamaged,
    IndexReplaced,
    IndexUnusable,
)
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.files import is_file, names
from pagefault.store.embedded.index import SqliteIndex
from pagefault.store.embedded.inventory import take_inventory
from pagefault.store.embedded.lock import RootLock
from pagefault.store.embedded.presence import Presence, all_living, check_alone
from pagefault.store.embedded.repair import RepairReport
from pagefault.store.embedded.root_file import (
    check_there,
    damaged_secret,
    explained,
    make_root,
    mend_root,
    read_root,
)
from pagefault.store.embedded.segments import SEGMENT_BYTES, SegmentLog
from pagefault.store.embedded.vectors import VectorFile
from pagefault.store.fold import DONE, RECEIPTS
from pagefault.store.latch import told
from pagefault.store.leases import Leases
from pagefault.store.store import STORE, Store


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
    segment_bytes: int = SEGMENT_BYTES,
    progress: Progress | None = None,
    lock_wait_s: float = defaults.LOCK_WAIT_S,
    lease_s: float = defaults.LEASE_S,
    anew: bool = False,
    adoptions: Adoptions | None = None,
) -> Store:
    """Open the root at `path`, creating it if there is none and it may be written.

    Raises `StoreBusy` if another process is writing for longer than `lock_wait_s`, or if the index
    must be rebuilt while others use it; `StoreMissing` if there is nothing to read;
    `StoreIncompatible` if a newer version made it. A session's lease may be taken over once its
    holder has not been seen for `lease_s`. `progress` follows a rebuild of the index. `anew` forces
    a rebuild, and raises if it is impossible.

    A root that is not in `adoptions` is only read, from its log alone, and nothing in its folder is
    changed. A created root is added to them. Without `adoptions` the caller vouches for the root.
    """
    disk = disk or Disk()
    path = Path(os.path.realpath(path))  # where the user keeps it; no link is followed after this
    is_adopted = _is_adopted(path, adoptions)
    if anew and not is_adopted:
        raise not_adopted(path)
    # If the medium is read-only, the root is only read, and writes say why.
    read_only = read_only or not is_adopted or _is_unwritable(path)
    with ExitStack() as stack:
        lock: RootLock | None = None
        if not read_only:
            with explained(path):
                disk.make_directory(path)
            lock = RootLock(path, clock=clock, wait_s=lock_wait_s)
            stack.callback(lock.close)
            lock.acquire()
            if anew:
                check_alone(path, clock, "rebuilding")  # or a writer would lose its index
            _clear_unfinished(path)
        if not os.path.lexists(path / "root.json"):
            if read_only:
                check_there(path, hint="`open` makes one; `root` or PAGEFAULT_HOME says where")
            make_root(
                path,
                disk=disk,
                minter=minter,
                clock=clock,
                project=project,
                entropy=entropy,
                adoptions=adoptions,
            )
        root = read_root(path, or_doubt=True)
        # The index of an unadopted root is not opened: its content is not trusted.
        found = _Found()
        if is_adopted:
            found = _open_index(path, root.id, read_only=read_only, disk=disk)
        stack.callback(found.close)
        log = SegmentLog(
            path / "log",
            root=root.id,
            project=root.project,
            secret=root.secret,
            clock=clock,
            minter=minter,
            entropy=entropy,
            acknowledged=found.promised,
            read_only=read_only,
            refusal=None if is_adopted else not_adopted(path),
            durable=sync is not Sync.OS,
            segment_bytes=segment_bytes,
            disk=disk,
        )
        stack.callback(log.close)
        if root.doubt:
            log.refuse_from_now(damaged_secret(root))
        if found.unwritable is not None:
            log.refuse_from_now(found.unwritable)
        if anew and log.refusal is not None and (log.missing or not log.damage()):
            raise log.refusal
        _check_index(found, log, anew=anew)
        store = Store(
            log,
            found.index or SqliteIndex.create(MEMORY, root_id=root.id),
            DirectoryBlobs(
                path / "blobs",
                secret=root.secret,
                read_only=read_only,
                disk=disk,
                doubt=root.doubt,
            ),
            VectorFile(path, root_id=root.id, disk=disk),
            root.secret,
            Leases("", None, lease_s),
            doubt=root.doubt,
            is_adopted=is_adopted,
            reads_only=read_only,
            acknowledges=sync is not Sync.OS,
            is_opening=True,
            lock=lock,
            advice=ADVICE,
        )
        stack.callback(store.close_index)
        if found.index is not None:
            _catch_up(store, path, found, log, clock, progress)
        store.rebuilt = found.why
        store.damaged = found.why if found.is_damaged else ""
        if found.index is None:
            _check_buildable(log, path, clock, found.why)
        if log.refusal is None and (presence := _present(log, path, clock, minter, lease_s)):
            stack.callback(presence.close)
            store.leases = Leases(presence.instance, presence, lease_s)
        home = _Home(path, root.id, disk)
        if found.index is None:
            _build(store, home, progress)
        assert isinstance(store.index, SqliteIndex)
        store.index.on_damage = partial(_make_anew, store, home, clock)
        if log.refusal is None:
            store.finish_if_possible()
        store.let_others_in()
        store.closing = stack.pop_all()
        return store


def _is_unwritable(path: Path) -> bool:
    return is_file(path / "root.json") and not os.access(path, os.W_OK)


def _present(
    log: SegmentLog, path: Path, clock: Clock, minter: IdMinter, lease_s: float
) -> Presence | None:
    """The sign that this process has the root open for writing. If it cannot be made, None, and the
    log refuses writes from now on.
    """
    try:
        return Presence(path, clock=clock, minter=minter, lease_s=lease_s)
    except OSError as failure:
        log.refuse_from_now(_read_only(path / "instances", failure))
        return None


def _is_adopted(path: Path, adoptions: Adoptions | None) -> bool:
    """Whether the root at `path` may be written, according to `adoptions`; a new one may be."""
    if adoptions is None or not os.path.lexists(path / "root.json"):
        return True
    try:
        root_id: str | None = read_root(path, or_doubt=True).id
    except StoreCorrupt:  # its id is unreadable: the notes on its folder decide
        root_id = None
    return adoptions.holds(path, root_id)


def check_adopted(path: Path, adoptions: Adoptions | None) -> None:
    """Raise `NotAdopted` unless the root at `path` is adopted."""
    if not _is_adopted(Path(os.path.realpath(path)), adoptions):
        raise not_adopted(path)


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The input of a rebuilt index. If the log is damaged, the old index was kept."""

    records: int
    unread: int  # among these, records that cannot be read
    aside: int = 0  # and readable ones that no fold can take


def rebuild(
    path: Path,
    *,
    clock: Clock,
    minter: IdMinter,
    adoptions: Adoptions | None = None,
    progress: Progress | None = None,
) -> Rebuilt:
    """Rebuild the index from the log; the old one stays until the new one is complete.

    `StoreBusy`, naming them, while others have the root open for writing; `StoreCorrupt` if the log
    lost its end, because only the old index shows that.
    """
    path = Path(os.path.realpath(path))
    check_there(path)
    if take_inventory(path / "log").archived:
        Archive(path / "log").require()
    store = open_store(
        path, clock=clock, minter=minter, progress=progress, anew=True, adoptions=adoptions
    )
    try:
        return Rebuilt(store.index.applied_seq(), store.unread, len(store.index.set_aside()))
    finally:
        store.close()


def repair(
    path: Path, *, clock: Clock, minter: IdMinter, adoptions: Adoptions | None = None
) -> RepairReport:
    """Set damaged records aside and make the rest writable again; then rebuild the index.

    `StoreBusy`, naming them, while others have the root open for writing.
    """
    path = Path(os.path.realpath(path))
    check_there(path)
    check_adopted(path, adoptions)
    with _alone(path, clock, "repairing"):
        mended = mend_root(path, Disk())
        root = read_root(path)
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
            report.rewritten += mended
        finally:
            log.close()
    rebuild(path, clock=clock, minter=minter, adoptions=adoptions)
    return report


@contextmanager
def _alone(path: Path, clock: Clock, what: str) -> Iterator[None]:
    """Within this block nobody else has the root open for writing."""
    with RootLock(path, clock=clock).held():
        check_alone(path, clock, what)
        yield


# --- choosing the index -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Home:
    """Where a new index goes."""

    path: Path  # of the root
    root_id: str
    disk: Disk


@dataclass(slots=True)
class _Found:
    """The index of a root as found, or the reason to rebuild it, if there ever was one."""

    index: SqliteIndex | None = None
    why: str = ""
    is_damaged: bool = False
    unwritable: StoreReadOnly | None = None  # why it is read-only, or cannot even be read
    promised: Seq = NOTHING  # the last record that it knows to have been durable
    applied: Seq = NOTHING  # the last record applied to it

    def close(self) -> None:
        if self.index is not None:
            self.index.close()

    def drop(self, why: str, *, is_damaged: bool = False) -> None:
        """Discard it: it must be rebuilt."""
        with suppress(StoreError):
            self.close()
        self.index, self.why, self.is_damaged = None, why, is_damaged


def _open_index(path: Path, root_id: str, *, read_only: bool, disk: Disk | None = None) -> _Found:
    """The index at `path`. If it can only be opened for reading, or not at all (a full disk may
    have no room for its -shm), nothing can be written.
    """
    file = path / "index.db"
    unwritable: StoreReadOnly | None = None
    while True:
        try:
            index = SqliteIndex.open(
                file,
                root_id=root_id,
                read_only=read_only or unwritable is not None,
                disk=disk,
            )
            try:
                promised, applied = index.promised_seq(), index.applied_seq()
            except BaseException:
                index.close()
                raise
            return _Found(index, unwritable=unwritable, promised=promised, applied=applied)
        except IndexReplaced:  # another process is rebuilding it
            continue
        except IndexUnusable as problem:
            is_new = not (path / "log").exists() and not file.exists()
            return _Found(
                why="" if is_new else problem.message,
                is_damaged=isinstance(problem, IndexDamaged) and not is_new,
                unwritable=unwritable,
            )
        except StoreBusy:
            raise
        except StoreError as failure:
            if read_only or unwritable is not None:
                raise
            unwritable = _read_only(file, failure)


def _check_index(found: _Found, log: SegmentLog, *, anew: bool) -> None:
    """Drop an index that catching up would not turn into that of this log.

    An index is the fold of records 1 to `applied`; catching up folds `applied + 1` to the log's
    head. The result is the fold of the whole log if and only if records 1 to `applied` have not
    changed. Apart from appending, the log can change in two ways. It may lose its end (a crash
    under `sync=os`, a restored backup): then `applied` is past the head, and the seqs in between
    will be other records. And it may forget: a forget after `applied` erased records that are
    already folded, and no later record says what they held. In doubt the index is dropped:
    rebuilding it costs time, keeping it may show what is gone.

    If segments are missing, the head is not the end, and is no evidence against the index. What
    this gets wrong: an old `log/` restored by hand that grew beyond `applied` under another index
    looks like this index's log. `verify` compares the two.
    """
    if found.index is None:
        return
    if anew:
        found.drop("as was asked")
    elif found.applied > log.head() and not log.missing:
        found.drop(f"it had seen record {found.applied} of a log that ends at {log.head()}")
    elif _missed_a_forgetting(log, found.applied):
        found.drop("it had not seen what was forgotten since")


def _catch_up(
    store: Store,
    path: Path,
    found: _Found,
    log: SegmentLog,
    clock: Clock,
    progress: Progress | None,
) -> None:
    """Fold into the store's index what the log has beyond it; drop the index if that fails."""
    index = found.index
    assert index is not None
    try:
        if log.refusal is None:
            store.catch_up(progress, synced=True)
            index.note_synced()
        elif store.reads_only and found.applied < log.head() and _nobody_writes(path, clock):
            # The writer was killed before it was indexed, or the index lost its end.
            store.behind = log.head() - found.applied
            store.index = index.copied()
            store.follows = True
            index.close()
            store.catch_up(progress)
        store.index.events(STORE, types=RECEIPTS)  # later code queries it for these
    except StoreBusy:
        raise
    except StoreError as failure:
        if not isinstance(failure, IndexUnusable):
            log.refuse_from_now(_read_only(path / "index.db", failure))
        with suppress(StoreError):
            store.index.close()
        found.drop(failure.message, is_damaged=isinstance(failure, IndexDamaged))


def _check_buildable(log: SegmentLog, path: Path, clock: Clock, why: str) -> None:
    """Raise `StoreBusy`, naming them, if others would lose their index. If part of the log is out
    of reach, refuse writes.
    """
    if away := log.away():
        log.refuse_from_now(
            StoreReadOnly(
                f"the index must be rebuilt, and parts of the log are missing: {away}",
                hint=ArchiveMissing.hint,
            )
        )
    if log.refusal is None:
        check_alone(path, clock, f"the index must be made anew ({why}), which")


def acknowledged_in(path: Path, root_id: str, adoptions: Adoptions | None = None) -> Seq:
    """A record of the root at `path` that was durable once, according to its index: if it cannot be
    read, it is damaged, not a torn write. 0 if there is no index; an unadopted one is not asked.
    """
    if not _is_adopted(path, adoptions):
        return NOTHING
    found = _open_index(path, root_id, read_only=True)
    found.close()
    return found.promised


def _build(store: Store, home: _Home, progress: Progress | None) -> None:
    """Fold the whole log into a new index beside the old one, and replace that; if the place cannot
    be written, build it in memory.
    """
    log = store.log
    assert isinstance(log, SegmentLog)
    store.index.close()
    if log.refusal is None:
        try:
            store.index = _index_anew(
                home, lambda index: store.fold(log, index, progress, synced=True)
            )
            return
        except StoreBusy:
            raise
        except (OSError, StoreError) as failure:
            log.refuse_from_now(_read_only(home.path / "index.db", failure))
            _clear_unfinished(home.path)
    store.index = SqliteIndex.create(MEMORY, root_id=home.root_id)
    store.follows = True
    store.catch_up(progress)


def _nobody_writes(path: Path, clock: Clock) -> bool:
    return next(all_living(path / "instances", clock), None) is None


def _index_anew(
    home: _Home,
    fold: Callable[[SqliteIndex], object],
    *,
    replaced: SqliteIndex | None = None,
) -> SqliteIndex:
    """An index filled by `fold`, in place of the old file, which stays until the new one is
    complete. `replaced` is the index that has the old one open.
    """
    new, file = home.path / "index.db.new", home.path / "index.db"
    with closing(SqliteIndex.create(new, root_id=home.root_id)) as index:
        fold(index)
    if replaced is not None:
        replaced.abandon()
    for suffix in SUFFIXES:
        home.disk.unlink(file.with_name(file.name + suffix))
    home.disk.rename(new, file)
    return SqliteIndex.open(file, root_id=home.root_id, disk=home.disk)


def _make_anew(store: Store, home: _Home, clock: Clock, damage: IndexUnusable) -> SqliteIndex:
    """Rebuild an index that turned out to be damaged while in use: in memory for a reader, else in
    its file. `StoreBusy`, naming them, if others would lose the file.
    """
    path, damaged = home.path, store.index
    assert isinstance(damaged, SqliteIndex)
    if store.reads_only or store.refusal is not None or store.follows:
        index = SqliteIndex.create(MEMORY, root_id=home.root_id)
        with store.log_beside(NOTHING) as log:
            store.fold(log, index)
        store.follows = True
    else:
        held = nullcontext() if store.is_writing_here else RootLock(path, clock=clock).held()
        with held:
            what = f"the index must be made anew ({damage}), which"
            ours = store.leases.presence
            check_alone(path, clock, what, but=ours.instance if ours is not None else "")
            _clear_unfinished(path)
            try:
                with store.log_beside(NOTHING) as log:
                    index = _index_anew(
                        home,
                        lambda index: store.fold(log, index),
                        replaced=damaged,
                    )
            except OSError as failure:
                raise _read_only(path / "index.db", failure) from failure
    store.rebuilt = store.damaged = damage.message
    store.mended += 1
    return index


def _clear_unfinished(path: Path) -> None:
    """Remove an index that a killed process did not finish. Call it under the root's lock."""
    with suppress(OSError):
        for name in names(path):
            if name.startswith("index.db.new"):
                Disk().unlink(path / name)


def _read_only(path: Path, failure: OSError | StoreError) -> StoreReadOnly:
    return StoreReadOnly(
        f"{path} cannot be written: {told(failure)}",
        hint="it can be read; make room or make it writable, then reopen it",
    )


def _missed_a_forgetting(log: SegmentLog, applied: Seq) -> bool:
    """Whether something was forgotten that an index up to `applied` still has: catching up folds in
    appended records only, and none shows what became of those.
    """
    if applied >= log.head():
        return False
    try:
        told = [event for type_ in DONE for event in log.of_type(type_, after=applied)]
    except StoreCorrupt:  # the damage is somewhere in these lines: look at each
        told = list(log.read_rest(applied))
    bodies = (event.body for event in told)
    return any(isinstance(b, ForgetDone | ScrubDone) and b.begun > applied for b in bodies)
