"""A memory root: the directory that holds log, index and blobs, and how it is opened.

    root.json    id, project and format of this root; secret    what its hashes are keyed with
    log/         the truth                            index.db  derived: delete it at any moment
    blobs/       large bytes                          lock      held by whoever writes right now
    instances/   who has it open for writing          turnstile where they queue for the lock

Opening recovers: a torn tail is cut, the index is caught up or built anew, an interrupted forget
is finished. What could not be written is opened for reading, and `Store.refusal` says why.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pagefault.model import defaults
from pagefault.model.clock import Clock
from pagefault.model.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreIncompatible,
    StoreMissing,
    StoreReadOnly,
)
from pagefault.model.events import ForgetDone
from pagefault.model.ids import NOTHING, IdMinter, Seq
from pagefault.model.kinds import Sync
from pagefault.model.progress import Progress
from pagefault.store.archive import Archive
from pagefault.store.blobs import DirectoryBlobs
from pagefault.store.connections import IndexReplaced, IndexUnusable
from pagefault.store.disk import Disk
from pagefault.store.fold import RECEIPTS
from pagefault.store.index import SqliteIndex
from pagefault.store.inventory import take_inventory
from pagefault.store.latch import told
from pagefault.store.leases import Leases
from pagefault.store.lock import RootLock
from pagefault.store.memory import MemoryBlobs, MemoryLog
from pagefault.store.presence import Presence, check_alone
from pagefault.store.repair import RepairReport
from pagefault.store.segments import SEGMENT_BYTES, SegmentLog
from pagefault.store.store import STORE, Store

_RECEIPT: Final = b'"type":"forget_done"'  # in a header, as quotes within a text are escaped

FORMAT: Final = 2
"""The newest that is read. A root is made with 1, and is 2 once it has an archive."""


def memory_store(clock: Clock, minter: IdMinter, entropy: Callable[[int], bytes]) -> Store:
    """A store that leaves nothing on disk. The same code runs on it."""
    secret = entropy(32)
    log = MemoryLog(clock=clock, minter=minter, secret=secret)
    index = SqliteIndex.create(":memory:", root_id="memory")
    leases = Leases("memory", None, defaults.LEASE_S)
    return Store(log, index, MemoryBlobs(secret), log.hash_key, secret, leases)


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
) -> Store:
    """Open the root at `path`, making it if there is none and it may be written.

    Raises `StoreBusy` if another process is writing for longer than `lock_wait_s`, or if the index
    must be made anew while others use it; `StoreMissing` if there is nothing to read;
    `StoreIncompatible` if a newer version made it. A session's lease may be taken over once its
    holder has not been seen for `lease_s`. `progress` is told of a rebuilt index; with `anew` it is
    rebuilt in any case, or else the reason why it cannot be is raised.
    """
    disk = disk or Disk()
    with ExitStack() as stack:
        if not read_only and (path / "root.json").exists() and not os.access(path, os.W_OK):
            read_only = True  # the medium allows no more; a write says why
        lock: RootLock | None = None
        if not read_only:
            with _explained(path):
                disk.make_directory(path)
            lock = RootLock(path, clock=clock, wait_s=lock_wait_s)
            stack.callback(lock.close)
            lock.acquire()
            if anew:
                check_alone(path, clock, "rebuilding")  # or it would go from under a writer
            _clear_unfinished(path)
        root = _root_file(path, disk, minter, clock, project, entropy, read_only=read_only)
        index, why, unwritable = _open_index(path, root.id, read_only=read_only)
        if index is not None:
            stack.callback(index.close)
        promised = index.promised_seq() if index is not None else NOTHING
        applied = index.applied_seq() if index is not None else NOTHING
        log = SegmentLog(
            path / "log",
            root=root.id,
            project=root.project,
            secret=root.secret,
            clock=clock,
            minter=minter,
            entropy=entropy,
            acknowledged=promised,
            read_only=read_only,
            durable=sync is not Sync.OS,
            segment_bytes=segment_bytes,
            disk=disk,
        )
        stack.callback(log.close)
        if unwritable is not None:
            log.refuse_from_now(unwritable)
        if anew and log.refusal is not None and (log.missing or not log.damage()):
            raise log.refusal
        if index is not None and anew:
            why = "as was asked"
            index.close()
            index = None
        if index is not None and applied > log.head() and not log.missing:
            why = f"it had seen record {applied} of a log that ends at {log.head()}"
            index.close()
            index = None
        if index is not None and _missed_a_forgetting(log, applied):
            why = "it had not seen what was forgotten since"
            index.close()
            index = None
        store = Store(
            log,
            index if index is not None else SqliteIndex.create(":memory:", root_id=root.id),
            DirectoryBlobs(path / "blobs", secret=root.secret, read_only=read_only, disk=disk),
            log.hash_key,
            root.secret,
            Leases("", None, lease_s),
            path=path,
            root_id=root.id,
            acknowledges=sync is not Sync.OS,
            is_opening=True,
            lock=lock,
            disk=disk,
        )
        stack.callback(store.close_index)
        if index is not None:
            try:
                if log.refusal is None:
                    store.catch_up(progress, synced=True)
                    index.note_synced()
                index.events(STORE, types=RECEIPTS)  # what follows asks it for these
            except StoreBusy:
                raise
            except StoreError as failure:
                if not isinstance(failure, IndexUnusable):
                    log.refuse_from_now(_read_only(path / "index.db", failure))
                why, index = str(failure), None
                with suppress(StoreError):
                    store.index.close()
        store.rebuilt = why
        if index is None and log.refusal is None:
            check_alone(path, clock, f"the index must be made anew ({why}), which")
        presence = None
        if log.refusal is None:
            try:
                presence = Presence(path, clock=clock, minter=minter, lease_s=lease_s)
                stack.callback(presence.close)
            except OSError as failure:
                log.refuse_from_now(_read_only(path / "instances", failure))
        if presence is not None:
            store.leases = Leases(presence.instance, presence, lease_s)
        if index is None:
            _build(store, path, root.id, progress)
        if log.refusal is None:
            store.finish_if_possible()
        store.let_others_in()
        store.closing = stack.pop_all()
        return store


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What an index was made of. Where the log is damaged, the old one was left as it is."""

    records: int
    unread: int  # of these, records that cannot be read


def rebuild(
    path: Path, *, clock: Clock, minter: IdMinter, progress: Progress | None = None
) -> Rebuilt:
    """Build the index anew from the log; until it is whole, the old one stands.

    `StoreBusy`, naming them, while others have the root open for writing; `StoreCorrupt` if the
    log lost its end, as only the old index tells of that.
    """
    check_there(path)
    if take_inventory(path / "log").archived:
        Archive(path / "log").require()
    store = open_store(path, clock=clock, minter=minter, progress=progress, anew=True)
    try:
        return Rebuilt(store.index.applied_seq(), store.unread)
    finally:
        store.close()


def repair(path: Path, *, clock: Clock, minter: IdMinter) -> RepairReport:
    """Set damaged records aside and make the rest writable again; then build the index anew.

    `StoreBusy`, naming them, while others have the root open for writing.
    """
    check_there(path)
    with _alone(path, clock, "repairing"):
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


@contextmanager
def _alone(path: Path, clock: Clock, what: str) -> Iterator[None]:
    """Within this block nobody else has the root open for writing."""
    with RootLock(path, clock=clock).held():
        check_alone(path, clock, what)
        yield


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
        if read_only or _has_log(path):
            check_there(
                path, hint="`pagefault replay FILE` makes one; --root or PAGEFAULT_HOME says where"
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


def check_there(path: Path, hint: str = "--root or PAGEFAULT_HOME says where") -> None:
    """Raise `StoreMissing`, with this hint, if there is no memory at `path`; `StoreCorrupt` if
    there is one that nobody can open.
    """
    if (path / "root.json").exists():
        return
    if _has_log(path):
        raise StoreCorrupt(
            f"{path} has a log but no root.json",
            hint="put root.json and secret back from a backup: hashes are keyed with them",
        )
    raise StoreMissing(f"there is no memory at {path}", hint=hint)


def _has_log(path: Path) -> bool:
    return (path / "log").is_dir() and any((path / "log").iterdir())


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
    except (FileNotFoundError, ValueError, KeyError, TypeError) as problem:
        raise StoreCorrupt(
            f"{path} cannot be read as a memory root: {problem}",
            hint="put root.json and secret back from a backup",
        ) from problem
    except OSError as failure:  # it says nothing of what stands in these files
        raise StoreError(
            f"{failure.filename or path} cannot be opened: {failure.strerror}",
            hint="close other files or allow more of them (`ulimit -n`)"
            if failure.errno in (errno.EMFILE, errno.ENFILE)
            else "see that it can be read, then open this memory again",
        ) from failure


def _open_index(
    path: Path, root_id: str, *, read_only: bool
) -> tuple[SqliteIndex | None, str, StoreReadOnly | None]:
    """The index, or why there must be another; and why nothing can be written, where it could only
    be opened for reading, or not even that: on a full disk there may be no room for its -shm.
    """
    file = path / "index.db"
    unwritable: StoreReadOnly | None = None
    while True:
        try:
            index = SqliteIndex.open(
                file, root_id=root_id, read_only=read_only or unwritable is not None
            )
            return index, "", unwritable
        except IndexReplaced:  # another process makes it anew just now
            continue
        except IndexUnusable as problem:
            new = not (path / "log").exists() and not file.exists()
            return None, "" if new else str(problem), unwritable
        except StoreBusy:
            raise
        except StoreError as failure:
            if read_only or unwritable is not None:
                raise
            unwritable = _read_only(file, failure)


def acknowledged_in(path: Path, root_id: str) -> Seq:
    """A record of the root at `path` that was certainly durable once, as its index has seen it: if
    it cannot be read, it was damaged, and no writer died over it. 0 if no index tells.
    """
    index, _, _ = _open_index(path, root_id, read_only=True)
    if index is None:
        return NOTHING
    try:
        return index.promised_seq()
    finally:
        index.close()


def _build(store: Store, path: Path, root_id: str, progress: Progress | None) -> None:
    """Fold the whole log into a new index, beside the old one, and put it in its place; where that
    cannot be written, into one in memory.
    """
    new, file, log = path / "index.db.new", path / "index.db", store.log
    assert isinstance(log, SegmentLog)
    store.index.close()
    if log.refusal is None:
        try:
            store.index = SqliteIndex.create(new, root_id=root_id)
            store.catch_up(progress, synced=True)
            store.index.close()
            for suffix in ("-wal", "-shm", ""):
                file.with_name(file.name + suffix).unlink(missing_ok=True)
            os.replace(new, file)
            store.index = SqliteIndex.open(file, root_id=root_id)
            return
        except StoreBusy:
            raise
        except (OSError, StoreError) as failure:
            log.refuse_from_now(_read_only(file, failure))
            with suppress(StoreError):
                store.index.close()
            _clear_unfinished(path)
    store.index = SqliteIndex.create(":memory:", root_id=root_id)
    store.follows = True
    store.catch_up(progress)


def _clear_unfinished(path: Path) -> None:
    """Remove an index that a killed process did not finish. Under the root's lock."""
    with suppress(OSError):
        for leftover in path.glob("index.db.new*"):
            leftover.unlink()


def _read_only(path: Path, failure: OSError | StoreError) -> StoreReadOnly:
    return StoreReadOnly(
        f"{path} cannot be written: {told(failure)}",
        hint="reading works; make room or make it writable, then open it again",
    )


def _missed_a_forgetting(log: SegmentLog, applied: Seq) -> bool:
    """Whether something was forgotten that an index up to `applied` still knows: catching up
    folds in what was appended, and nothing that was there tells what became of it.
    """
    if applied >= log.head():
        return False
    try:
        told = list(log.holding(_RECEIPT, after=applied))
    except StoreCorrupt:  # the damage is somewhere in these lines: look at each
        told = list(log.read_rest(applied))
    return any(isinstance(e.body, ForgetDone) and e.body.begun > applied for e in told)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise StoreError(
            f"cannot make a memory at {path}: {problem.strerror}",
            hint="choose another place with --root or PAGEFAULT_HOME, or make room and permissions",
        ) from problem
