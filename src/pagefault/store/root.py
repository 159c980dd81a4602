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
import hmac
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from pagefault.model import defaults
from pagefault.model.clock import Clock
from pagefault.model.errors import (
    ArchiveMissing,
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
from pagefault.store import codec, sealed
from pagefault.store.adoption import Adoptions, not_adopted
from pagefault.store.archive import MARK, Archive
from pagefault.store.blobs import DirectoryBlobs
from pagefault.store.connections import (
    MEMORY,
    SUFFIXES,
    IndexDamaged,
    IndexReplaced,
    IndexUnusable,
)
from pagefault.store.disk import Disk
from pagefault.store.facts import FACTS_BYTES_MAX
from pagefault.store.files import NotPlain, is_file, names, open_file, read
from pagefault.store.fold import RECEIPTS
from pagefault.store.index import SqliteIndex
from pagefault.store.inventory import take_inventory
from pagefault.store.latch import told
from pagefault.store.leases import Leases
from pagefault.store.lock import RootLock
from pagefault.store.memory import MemoryBlobs, MemoryLog
from pagefault.store.presence import Presence, all_living, check_alone
from pagefault.store.repair import RepairReport
from pagefault.store.segment_format import Header, file_name, parse_header
from pagefault.store.segments import SEGMENT_BYTES, SegmentLog
from pagefault.store.store import STORE, Store

_RECEIPT: Final = b'"type":"forget_done"'  # in a header, as quotes within a text are escaped

FORMAT: Final = 3
"""The newest that is read. A root is made with 1, and is 3 once it has an archive: what a version
of before erased there would stand on in what is kept of it. 2 had an archive, and kept nothing.
"""


def memory_store(clock: Clock, minter: IdMinter, entropy: Callable[[int], bytes]) -> Store:
    """A store that leaves nothing on disk. The same code runs on it."""
    secret = entropy(32)
    log = MemoryLog(clock=clock, minter=minter, secret=secret)
    index = SqliteIndex.create(MEMORY, root_id="memory")
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
    adoptions: Adoptions | None = None,
) -> Store:
    """Open the root at `path`, making it if there is none and it may be written.

    Raises `StoreBusy` if another process is writing for longer than `lock_wait_s`, or if the index
    must be made anew while others use it; `StoreMissing` if there is nothing to read;
    `StoreIncompatible` if a newer version made it. A session's lease may be taken over once its
    holder has not been seen for `lease_s`. `progress` is told of a rebuilt index; with `anew` it is
    rebuilt in any case, or else the reason why it cannot be is raised.

    A root that is none of `adoptions` is only read, its log alone, and nothing in its folder is
    made or changed; a root that is made becomes one of them. Without any, the caller vouches.
    """
    disk = disk or Disk()
    path = Path(os.path.realpath(path))  # where its user keeps it; from here on no link counts
    is_adopted = _is_adopted(path, adoptions)
    with ExitStack() as stack:
        if anew and not is_adopted:
            raise not_adopted(path)
        if not is_adopted:
            read_only = True
        if not read_only and is_file(path / "root.json") and not os.access(path, os.W_OK):
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
        root = _root_file(
            path, disk, minter, clock, project, entropy, adoptions, read_only=read_only
        )
        if not read_only and not root.doubt:
            _seal_root(path, root, disk)
        index: SqliteIndex | None = None
        unusable: StoreError | None = None
        unwritable: StoreReadOnly | None = None
        if is_adopted:  # else its index is not looked at: nobody knows what it was made of
            index, unusable, unwritable = _open_index(path, root.id, read_only=read_only)
        why = unusable.message if unusable is not None else ""
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
            refusal=None if is_adopted else not_adopted(path),
            durable=sync is not Sync.OS,
            segment_bytes=segment_bytes,
            disk=disk,
        )
        stack.callback(log.close)
        if root.doubt:
            log.refuse_from_now(_damaged_secret(root))
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
            index if index is not None else SqliteIndex.create(MEMORY, root_id=root.id),
            DirectoryBlobs(
                path / "blobs",
                secret=root.secret,
                read_only=read_only,
                disk=disk,
                doubt=root.doubt,
            ),
            log.hash_key,
            root.secret,
            Leases("", None, lease_s),
            path=path,
            root_id=root.id,
            doubt=root.doubt,
            is_adopted=is_adopted,
            adoptions=adoptions,
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
                elif lock is None and applied < log.head() and _nobody_writes(path, clock):
                    # Whoever wrote was killed before the index had it, or the index lost its end.
                    store.behind = log.head() - applied
                    store.index = index.copied()
                    store.follows = True
                    index.close()
                    store.catch_up(progress)
                index.events(STORE, types=RECEIPTS)  # what follows asks it for these
            except StoreBusy:
                raise
            except StoreError as failure:
                if not isinstance(failure, IndexUnusable):
                    log.refuse_from_now(_read_only(path / "index.db", failure))
                unusable, why, index = failure, failure.message, None
                with suppress(StoreError):
                    store.index.close()
        store.rebuilt = why
        store.damaged = why if isinstance(unusable, IndexDamaged) else ""
        if index is None and log.away():
            log.refuse_from_now(
                StoreReadOnly(
                    f"the index must be made anew, and not all of the log is there: {log.away()}",
                    hint=ArchiveMissing.hint,
                )
            )
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
        assert isinstance(store.index, SqliteIndex)
        store.index.on_damage = partial(_make_anew, store, clock)
        if log.refusal is None:
            store.finish_if_possible()
        store.let_others_in()
        store.closing = stack.pop_all()
        return store


def _is_adopted(path: Path, adoptions: Adoptions | None) -> bool:
    """Whether the root at `path` may be written, by who vouches for it; one that is to be made may
    be.
    """
    if adoptions is None or not os.path.lexists(path / "root.json"):
        return True
    try:
        root_id: str | None = read_root(path, or_doubt=True).id
    except StoreCorrupt:  # which root it is cannot be told: what is noted of its folder counts
        root_id = None
    return adoptions.holds(path, root_id)


def check_adopted(path: Path, adoptions: Adoptions | None) -> None:
    """Raise `NotAdopted` unless somebody vouches for the root at `path`."""
    if not _is_adopted(Path(os.path.realpath(path)), adoptions):
        raise not_adopted(path)


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What an index was made of. Where the log is damaged, the old one was left as it is."""

    records: int
    unread: int  # of these, records that cannot be read
    aside: int = 0  # and those that can, and that no fold can take


def rebuild(
    path: Path,
    *,
    clock: Clock,
    minter: IdMinter,
    adoptions: Adoptions | None = None,
    progress: Progress | None = None,
) -> Rebuilt:
    """Build the index anew from the log; until it is whole, the old one stands.

    `StoreBusy`, naming them, while others have the root open for writing; `StoreCorrupt` if the
    log lost its end, as only the old index tells of that.
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
    """Set damaged records aside and make the rest writable again; then build the index anew.

    `StoreBusy`, naming them, while others have the root open for writing.
    """
    path = Path(os.path.realpath(path))
    check_there(path)
    check_adopted(path, adoptions)
    with _alone(path, clock, "repairing"):
        mended = _mend_facts(path, Disk())
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


@dataclass(frozen=True, slots=True)
class RootFacts:
    """Who a root is: its id, its project, and what its hashes are keyed with."""

    id: str
    project: str
    secret: bytes
    doubt: str = ""  # why it cannot be the secret that this root was made with


def _root_file(
    path: Path,
    disk: Disk,
    minter: IdMinter,
    clock: Clock,
    project: str,
    entropy: Callable[[int], bytes],
    adoptions: Adoptions | None,
    *,
    read_only: bool,
) -> RootFacts:
    file, key = path / "root.json", path / "secret"
    if not os.path.lexists(file):
        if read_only or _has_log(path):
            check_there(path, hint="`open` makes one; `root` or PAGEFAULT_HOME says where")
        root_id = minter.mint()
        facts = {
            "format": 1,
            "id": root_id,
            "project": project,
            "made_ms": clock.now_ms(),
        }
        if adoptions is not None:  # first: who is killed in between has made no root
            adoptions.add(path, root_id)
        with _explained(path):
            secret = entropy(32)
            disk.place(key, key.with_name("secret.tmp"), secret.hex().encode())
            _place_root(path, {**facts, "check": _check(secret)}, disk)
    return read_root(path, or_doubt=True)


def check_there(path: Path, hint: str = "`root` or PAGEFAULT_HOME says where") -> None:
    """Raise `StoreMissing`, with this hint, if there is no memory at `path`; `StoreCorrupt` if
    there is one that nobody can open.
    """
    if os.path.lexists(path / "root.json"):
        return
    if _has_log(path):
        raise StoreCorrupt(
            f"{path} has a log but no root.json",
            hint="put root.json and secret back from a backup: hashes are keyed with them",
        )
    raise StoreMissing(f"there is no memory at {path}", hint=hint)


def _has_log(path: Path) -> bool:
    try:
        return bool(names(path / "log"))
    except FileNotFoundError:
        return False
    except OSError:  # something has its name
        return True


def read_root(path: Path, *, or_doubt: bool = False) -> RootFacts:
    """What `root.json` and `secret` say. `StoreCorrupt` if they do not; with `or_doubt`, not for a
    secret that is another than it was: without it nothing can be written safely, but all read.
    """
    try:
        facts = _facts_in(path)
        if facts["format"] > FORMAT:
            raise StoreIncompatible(
                f"{path} is of format {facts['format']}; this version reads {FORMAT}"
            )
        if not (isinstance(facts["id"], str) and isinstance(facts["project"], str)):
            raise ValueError("its id and its project are texts")
        text = read(path / "secret", FACTS_BYTES_MAX)
        doubt = "" if _is_secret(text, facts) else f"{path / 'secret'} is damaged"
        secret = b"" if doubt else bytes.fromhex(text.decode())
        root = RootFacts(facts["id"], facts["project"], secret, doubt)
    except (FileNotFoundError, NotPlain, ValueError, KeyError, TypeError) as problem:
        raise StoreCorrupt(
            f"{path} cannot be read as a memory root: {problem}",
            hint="`pagefault repair` mends a flipped bit; else put root.json and secret back from "
            "a backup",
        ) from problem
    except OSError as failure:  # it says nothing of what stands in these files
        raise StoreError(
            f"{failure.filename or path} cannot be opened: {failure.strerror}",
            hint="close other files or allow more of them (`ulimit -n`)"
            if failure.errno in (errno.EMFILE, errno.ENFILE)
            else "see that it can be read, then open this memory again",
        ) from failure
    if root.doubt and not or_doubt:
        raise _damaged_secret(root)
    return root


def _facts_in(path: Path) -> dict[str, Any]:
    """What `root.json` says. `ValueError` if it is damaged."""
    return sealed.decode(read(path / "root.json", FACTS_BYTES_MAX), unsealed=_UNSEALED)


_UNSEALED: Final = ("format", "id", "project", "made_ms")
"""What `root.json` said before it was sealed and told how to check the secret."""

_SECRET_DIGITS: Final = b"0123456789abcdef"
_SECRET_LENGTH: Final = 64


def _check(secret: bytes) -> str:
    """What `root.json` keeps of the secret: enough to know it again, and nothing of it."""
    return codec.short(
        hmac.digest(secret, b"pagefault secret", "sha256")[: codec.CUT_BYTES]
    ).decode()


def _is_secret(text: bytes, facts: dict[str, Any]) -> bool:
    """Whether this is the secret as it was written, as far as a root can tell."""
    if len(text) != _SECRET_LENGTH or not set(text) <= set(_SECRET_DIGITS):
        return False
    return "check" not in facts or _check(bytes.fromhex(text.decode())) == facts["check"]


def _damaged_secret(root: RootFacts) -> StoreCorrupt:
    return StoreCorrupt(
        f"{root.doubt}: keys that were used, and artifacts, cannot be recognised",
        hint="everything but artifacts can be read; `pagefault repair` mends one wrong digit, else "
        "put the file back from a backup",
    )


def _place_root(path: Path, facts: dict[str, Any], disk: Disk) -> None:
    file = path / "root.json"
    disk.place(file, file.with_name("root.json.tmp"), sealed.encode(facts))


def _seal_root(path: Path, root: RootFacts, disk: Disk) -> None:
    """Seal a `root.json` of before, and let it tell how to check the secret. Under the lock."""
    facts = _facts_in(path)
    if "check" not in facts:
        with suppress(OSError):  # another time, then
            _place_root(path, {**facts, "check": _check(root.secret)}, disk)


def mark_format(path: Path, disk: Disk) -> None:
    """Keep out versions that know of no archive: to them the segments would be missing."""
    facts = _facts_in(path)
    if facts["format"] < FORMAT:
        _place_root(path, {**facts, "format": FORMAT}, disk)


# --- mending it ---------------------------------------------------------------------------------


def _mend_facts(path: Path, disk: Disk) -> list[Path]:
    """Mend `root.json`, `secret` and the archive's mark where they are damaged, and tell which."""
    mended: list[Path] = []
    file, key = path / "root.json", path / "secret"
    try:
        facts = _facts_in(path)
    except (OSError, ValueError):
        facts = _facts_again(path, disk)
        _place_root(path, facts, disk)
        mended.append(file)
    try:
        text = read(key, FACTS_BYTES_MAX)
    except OSError:
        text = b""
    if not _is_secret(text, facts):
        whole = _secret_again(text, facts)
        if whole is None:
            raise _damaged_secret(
                RootFacts(facts["id"], facts["project"], b"", f"{key} is damaged")
            )
        disk.place(key, key.with_name("secret.tmp"), whole)
        mended.append(key)
    archive = Archive(path / "log")
    if archive.is_there and not archive.is_marked(facts["id"]):
        archive.mark(facts["id"], disk)
        mended.append(archive.directory / MARK)
    return mended


def _facts_again(path: Path, disk: Disk) -> dict[str, Any]:
    """What `root.json` said before it was damaged: as it was, if one bit flipped, else what the
    segments say; it is set aside then.
    """
    file = path / "root.json"
    damaged = read(file, FACTS_BYTES_MAX)
    line = sealed.unflipped(damaged)
    if line is not None:
        return sealed.decode(line, unsealed=())
    inventory = take_inventory(path / "log")
    roots = {
        (header.root, header.project)
        for number, generation in inventory.generations.items()
        if number not in inventory.archived
        and (header := _header(path / "log" / file_name(number, generation))) is not None
    }
    if len(roots) != 1:
        raise StoreCorrupt(
            f"{file} is damaged, and the log does not tell what it said",
            hint="put it back from a backup",
        )
    [(root, project)] = roots
    aside = path / "quarantine"
    disk.make_directory(aside)
    disk.place(aside / "root.json", aside / "root.json.tmp", damaged)
    facts = {
        "format": FORMAT if inventory.archived else 1,
        "id": root,
        "project": project,
        "made_ms": 0,  # nobody knows any more, and nothing rests on it
    }
    secret = read(path / "secret", FACTS_BYTES_MAX)
    return (
        {**facts, "check": _check(bytes.fromhex(secret.decode()))}
        if _is_secret(secret, {})
        else facts
    )


def _header(path: Path) -> Header | None:
    with open(open_file(path), "rb") as file:
        return parse_header(file.readline(65_536))


def _secret_again(text: bytes, facts: dict[str, Any]) -> bytes | None:
    """The secret of which this text differs in one digit, if there is one."""
    if "check" not in facts or len(text) != _SECRET_LENGTH:
        return None
    for at in range(len(text)):
        for digit in _SECRET_DIGITS:
            whole = text[:at] + bytes([digit]) + text[at + 1 :]
            if _is_secret(whole, facts):
                return whole
    return None


def _open_index(
    path: Path, root_id: str, *, read_only: bool
) -> tuple[SqliteIndex | None, IndexUnusable | None, StoreReadOnly | None]:
    """The index, or why there must be another, if there ever was one; and why nothing can be
    written, where it could only be opened for reading, or not even that: on a full disk there may
    be no room for its -shm.
    """
    file = path / "index.db"
    unwritable: StoreReadOnly | None = None
    while True:
        try:
            index = SqliteIndex.open(
                file, root_id=root_id, read_only=read_only or unwritable is not None
            )
            try:
                index.promised_seq()  # so that it can tell that much
            except BaseException:
                index.close()
                raise
            return index, None, unwritable
        except IndexReplaced:  # another process makes it anew just now
            continue
        except IndexUnusable as problem:
            new = not (path / "log").exists() and not file.exists()
            return None, None if new else problem, unwritable
        except StoreBusy:
            raise
        except StoreError as failure:
            if read_only or unwritable is not None:
                raise
            unwritable = _read_only(file, failure)


def acknowledged_in(path: Path, root_id: str, adoptions: Adoptions | None = None) -> Seq:
    """A record of the root at `path` that was certainly durable once, as its index has seen it: if
    it cannot be read, it was damaged, and no writer died over it. 0 if no index tells; one that
    nobody vouches for is not asked.
    """
    if not _is_adopted(path, adoptions):
        return NOTHING
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
    log = store.log
    assert isinstance(log, SegmentLog)
    store.index.close()
    if log.refusal is None:
        try:
            store.index = _index_anew(
                path, root_id, lambda index: store.fold(log, index, progress, synced=True)
            )
            return
        except StoreBusy:
            raise
        except (OSError, StoreError) as failure:
            log.refuse_from_now(_read_only(path / "index.db", failure))
            _clear_unfinished(path)
    store.index = SqliteIndex.create(MEMORY, root_id=root_id)
    store.follows = True
    store.catch_up(progress)


def _nobody_writes(path: Path, clock: Clock) -> bool:
    return next(all_living(path / "instances", clock), None) is None


def _index_anew(
    path: Path,
    root_id: str,
    fold: Callable[[SqliteIndex], object],
    *,
    replaced: SqliteIndex | None = None,
) -> SqliteIndex:
    """An index that `fold` has filled, in place of the file that there was: that stands until it
    is whole. `replaced` is who has that open.
    """
    new, file = path / "index.db.new", path / "index.db"
    with closing(SqliteIndex.create(new, root_id=root_id)) as index:
        fold(index)
    if replaced is not None:
        replaced.abandon()
    for suffix in SUFFIXES:
        Disk().unlink(file.with_name(file.name + suffix))
    Disk().rename(new, file)
    return SqliteIndex.open(file, root_id=root_id)


def _make_anew(store: Store, clock: Clock, damage: IndexUnusable) -> SqliteIndex:
    """The whole log folded into an index in place of one that proved damaged while it was in use:
    in memory for who only reads, else in its file. `StoreBusy`, naming them, if others would lose
    the file from under them.
    """
    path, damaged = store.path, store.index
    assert path is not None
    assert isinstance(damaged, SqliteIndex)
    if store.lock is None or store.refusal is not None or store.follows:
        index = SqliteIndex.create(MEMORY, root_id=store.root_id)
        with store.log_beside(NOTHING) as log:
            store.fold(log, index)
        store.follows = True
    else:
        held = nullcontext() if store.is_writing_here else RootLock(path, clock=clock).held()
        with held:
            what = f"the index must be made anew ({damage}), which"
            check_alone(path, clock, what, but=store.leases.instance)
            _clear_unfinished(path)
            try:
                with store.log_beside(NOTHING) as log:
                    index = _index_anew(
                        path,
                        store.root_id,
                        lambda index: store.fold(log, index),
                        replaced=damaged,
                    )
            except OSError as failure:
                raise _read_only(path / "index.db", failure) from failure
    store.rebuilt = store.damaged = damage.message
    store.mended += 1
    return index


def _clear_unfinished(path: Path) -> None:
    """Remove an index that a killed process did not finish. Under the root's lock."""
    with suppress(OSError):
        for name in names(path):
            if name.startswith("index.db.new"):
                Disk().unlink(path / name)


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
            hint="choose another place with `root` or PAGEFAULT_HOME, or make room and permissions",
        ) from problem
