"""Connections to one SQLite file: one writer, and as many readers as there are concurrent reads.

In WAL mode readers and the writer do not block one another. An in-memory database exists once, so
one connection serves everybody in turn. A file that another process has replaced is not read:
cached knowledge of the old one would be wrong for the new.

Each page of the file, and of its write-ahead log, ends in a checksum, which SQLite's checksum VFS
(https://sqlite.org/cksumvfs.html) writes, and verifies on every read. It is part of apsw's wheels.
Without it, files are created without checksums, and damage shows only when SQLite stumbles over it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import apsw

from pagefault.model.errors import StoreBusy, StoreClosed, StoreError, StoreReadOnly
from pagefault.model.threads import start
from pagefault.store.api import GaveWay
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.files import check_plain, is_file
from pagefault.store.precedence import give_way

MEMORY: Final = ":memory:"

SUFFIXES: Final = ("-wal", "-shm", "-journal", "")
"""Suffixes of the files that make up a database, the database itself last."""

_BUSY_MS: Final = 5_000  # how long to wait for another process before raising `StoreBusy`
_STATEMENTS: Final = 128  # prepared statements cached per connection; we have about seventy
_WAL_PAGES: Final = 4_000  # 16 MB: a fold rewrites the same pages often, and copies them once
_REST_PAGES: Final = 64  # few enough to copy while the writer waits
_COPIES_MAX: Final = 8  # before the rest is copied, however much is written meanwhile
_COPYING_S: Final = 0.005  # between checks whether others are done with the file
_CACHE_KIB: Final = 6 * 1024  # the writer's
_LOOK_STEPS: Final = 200_000  # SQLite VM instructions between calls of `give_way`
_READER_CACHE_KIB: Final = 2 * 1024  # of each reader; above it the system's cache is as good

_FULL_HINT: Final = "free some space, then open this memory again; what was acknowledged is there"
_FAILED_HINT: Final = (
    "if the disk is full, make room; reading works meanwhile: with read_only=True, and with "
    "commands that only read"
)


_CHECKED: Final = "cksmvfs"  # the name that the extension `cksumvfs` registers
_CHECKSUM_BYTES: Final = 8  # at the end of each page; a file that reserves as many has checksums


class IndexUnusable(StoreError):
    """The index is missing, damaged or of another format: rebuild it from the log."""

    hint = "nothing is lost: `pagefault rebuild` makes the index again from the log"


class IndexDamaged(IndexUnusable):
    """Its bytes are not the ones that were written."""


class IndexReplaced(IndexUnusable):
    """Another process rebuilt the index while it was open, or being opened, for reading."""

    hint = "open this memory again"


_T = TypeVar("_T")


class _Moment(threading.local):
    """A thread's snapshot of the file, and what was looked up in it."""

    db: apsw.Connection | None = None
    known: dict[Hashable, Any] | None = None


class Connections:
    """Invariant: a connection is used by one thread at a time."""

    def __init__(
        self,
        path: Path | str,
        *,
        read_only: bool,
        may_be_unchecked: bool = False,
        disk: Disk | None = None,
    ) -> None:
        """Open the file, creating a database if it is empty. Raises `IndexUnusable` for one without
        checksums where they are available, unless it `may_be_unchecked`.
        """
        self._path = str(path)
        self._disk = disk or Disk()
        self._may_be_unchecked = may_be_unchecked
        self._vfs = None if self._path == MEMORY else checking_vfs()
        self._read_only = read_only
        self._is_one = self._path == MEMORY
        self._inode = 0  # of the file that the first connection opened
        self._lock = threading.RLock()  # the writer's; with one connection also every reader's
        self._moment = _Moment()
        self._opened: list[apsw.Connection] = []
        self._idle: list[apsw.Connection] = []  # readers, last used last: its cache is warm
        self._is_closed = False
        self._opened_lock = threading.Lock()
        self._wal_pages = 0
        self._checkpointing: threading.Thread | None = None
        self._writer = self._open()
        if not read_only and not self._is_one:
            self._writer.transaction_mode = "IMMEDIATE"  # or a write after a read could fail
            self._writer.set_wal_hook(self._grown)

    @contextmanager
    def write(self) -> Iterator[apsw.Connection]:
        """The writing connection, in a transaction that commits or fails as a whole."""
        if self._read_only:
            raise StoreReadOnly("this index was opened for reading")
        with self._lock, _translated(self._path), _transaction(self._writer):
            yield self._writer

    @contextmanager
    def bare(self) -> Iterator[apsw.Connection]:
        """The writing connection without a transaction, for statements that may not run in one."""
        with self._lock, _translated(self._path):
            yield self._writer

    @contextmanager
    def read(self) -> Iterator[apsw.Connection]:
        """A connection that sees one snapshot of the file until the block ends."""
        give_way()
        if self._moment.db is not None:
            with _translated(self._path):
                yield self._moment.db
            return
        with self._lock if self._is_one else _NO_LOCK, _translated(self._path):
            connection = self._writer if self._is_one else self._reader()
            try:
                with _transaction(connection, reads=True):
                    yield connection
            except BaseException:
                if not self._is_one:
                    self._discard(connection)
                raise
            if not self._is_one:
                self._idle.append(connection)

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Within this block this thread's reads all see one snapshot of the file."""
        if self._moment.db is not None:
            yield
            return
        with self.read() as db:
            self._moment.db, self._moment.known = db, {}
            try:
                yield
            finally:
                self._moment.db = self._moment.known = None

    def once(self, what: Hashable, find: Callable[[], _T]) -> _T:
        """The result of `find`, cached under the key `what` within a moment."""
        known = self._moment.known
        if known is None:
            return find()
        if what not in known:
            known[what] = find()
        found: _T = known[what]
        return found

    @contextmanager
    def apart(self, give_way: Callable[[], bool]) -> Iterator[apsw.Connection]:
        """A separate connection for a long read, which blocks nobody.

        Each statement sees one snapshot of the file. `give_way` is polled; once it returns true,
        the block ends with `GaveWay`. An in-memory database has only its one connection.
        """
        if self._is_one:
            with self.bare() as db:
                yield db
            return
        with _translated(self._path):
            connection = self._open(_READER_CACHE_KIB, read_only=True)
            connection.set_progress_handler(give_way, _LOOK_STEPS)
            try:
                yield connection
            except apsw.InterruptError as error:
                raise GaveWay(f"{self._path} was not looked through to the end") from error
            finally:
                with self._opened_lock, suppress(ValueError):
                    self._opened.remove(connection)
                connection.close(True)

    def checkpoint_if_due(self) -> bool:
        """If the write-ahead log has grown, copy it into the file in a separate thread. Returns
        whether that was started.

        It blocks only the writer, and only at the very end: SQLite restarts the log only once all
        of it is copied, so the last pages are copied while nothing is written here.
        """
        if self._checkpointing is not None and not self._checkpointing.is_alive():
            self._checkpointing = None
        if self._checkpointing is not None or self._wal_pages < _WAL_PAGES:
            return False
        thread = threading.Thread(target=self._copy, name="pagefault-checkpoint", daemon=True)
        try:
            start(thread)
        except RuntimeError:  # no thread available: copy here
            self._copy()
        else:
            self._checkpointing = thread
        return True

    def _copy(self) -> None:
        with suppress(StoreError), _translated(self._path):  # failures are retried later
            own = apsw.Connection(
                self._path,
                flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW,
                vfs=self._vfs,
            )
            try:
                own.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # opens that log
                for _ in range(_COPIES_MAX):
                    _, copied = own.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                    if self._wal_pages - copied <= _REST_PAGES:
                        break
                with self._lock:
                    own.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                    self._wal_pages = 0  # until the next transaction reports it
            finally:
                own.close()

    def empty_log(self) -> None:
        """Copy the whole write-ahead log into the file, and durably leave no byte of it.
        `StoreBusy` if somebody reads an earlier snapshot, or also checkpoints, for longer than
        SQLite waits for a lock.
        """
        if self._checkpointing is not None:
            self._checkpointing.join()
        deadline = time.monotonic() + _BUSY_MS / 1000
        with self._lock, _translated(self._path):
            while True:
                try:
                    self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                    break
                except apsw.BusyError:  # SQLite does not wait for another checkpoint
                    if time.monotonic() >= deadline:
                        raise
                time.sleep(_COPYING_S)
        self._sync_emptied()

    def _sync_emptied(self) -> None:
        """Make the truncation of the write-ahead log durable: its old frames hold forgotten data.
        SQLite has no lock on that file, so closing it releases none.
        """
        path = Path(f"{self._path}-wal")
        if self._is_one or not is_file(path):
            return
        try:
            fd = self._disk.append_to(path)
            try:
                self._disk.sync(fd)
            finally:
                os.close(fd)
        except OSError as failure:
            raise StoreError(f"{path} cannot be synced: {failure.strerror}") from failure

    def _grown(self, connection: apsw.Connection, name: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK

    def copied(self) -> Connections:
        """An in-memory copy of the current file."""
        copy = Connections(MEMORY, read_only=False)
        with self.read() as db, copy.bare() as own, own.backup("main", db, "main") as copying:
            copying.step()
        return copy

    def abandon(self) -> None:
        """The file is about to be replaced: a later close leaves the file of that name alone."""
        with self._lock, _translated(self._path):
            self._writer.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)

    def close(self) -> None:
        """Waits for threads inside a block, since a cancelled await leaves its thread there. No
        thread enters afterwards.
        """
        checkpointing = self._checkpointing
        if checkpointing is not None:
            checkpointing.join()
        self._is_closed = True
        deadline = time.monotonic() + _BUSY_MS / 1000
        while len(self._opened) > len(self._idle) + 1 and time.monotonic() < deadline:
            time.sleep(_COPYING_S)
        with self._opened_lock, _translated(self._path):
            self._idle.clear()
            while self._opened:
                self._opened.pop().close()  # the writer last: it removes SQLite's write-ahead log

    def _reader(self) -> apsw.Connection:
        """A connection that no other thread has. The caller puts it back when done."""
        if self._is_closed:
            raise StoreClosed
        try:
            connection = self._idle.pop()
        except IndexError:
            return self._open(_READER_CACHE_KIB)
        if self._read_only and self._inode_now() not in (0, self._inode):
            self._idle.append(connection)
            raise self._replaced()
        return connection

    def _discard(self, connection: apsw.Connection) -> None:
        """Discard a reader: the next block opens another.

        After an error its frames may hold an unfinished query, and with it a snapshot: the next
        user would see the past.
        """
        with self._opened_lock, suppress(ValueError):  # unless all were closed meanwhile
            self._opened.remove(connection)
        connection.close(True)

    def _open(
        self, cache_kib: int = _CACHE_KIB, *, read_only: bool | None = None
    ) -> apsw.Connection:
        read_only = self._read_only if read_only is None else read_only
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        if read_only:
            flags = apsw.SQLITE_OPEN_READONLY
        if not self._is_one:
            flags |= apsw.SQLITE_OPEN_NOFOLLOW
            check_files(self._path)
        with _translated(self._path, opened_to_read=read_only):
            before = self._inode or self._inode_now()
            connection = apsw.Connection(
                self._path, flags=flags, vfs=self._vfs, statementcachesize=_STATEMENTS
            )
            try:
                connection.set_busy_timeout(_BUSY_MS)
                if not read_only:
                    if self._vfs is not None:  # takes effect in an empty file only
                        connection.reserve_bytes(reserve=_CHECKSUM_BYTES)
                    connection.pragma("journal_mode", "wal")
                    connection.pragma("synchronous", "normal")  # the index can be rebuilt
                    connection.pragma("wal_autocheckpoint", 0)  # see `checkpoint_if_due`
                connection.pragma("cache_size", -cache_kib)
                connection.pragma("temp_store", "memory")
                if read_only:
                    self._check_same(connection, before)
                self._check_checked(connection, read_only=read_only)
            except BaseException:
                connection.close()
                raise
        with self._opened_lock:
            self._opened.append(connection)
        return connection

    def _check_same(self, connection: apsw.Connection, before: int) -> None:
        """Otherwise a connection could read one file with the other's write-ahead log."""
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # opens that log
        if self._inode_now() != before:
            raise self._replaced()
        self._inode = before

    def _check_checked(self, connection: apsw.Connection, *, read_only: bool) -> None:
        """Writing pages without checksums would spoil a file that has them; and a file that should
        have them, and does not, would be trusted unchecked.
        """
        if self._is_one:
            return
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # reads the first page
        reserved = connection.reserve_bytes()
        has_checksums = reserved == _CHECKSUM_BYTES
        if has_checksums and self._vfs is None and not read_only:
            raise IndexUnusable(f"{self._path} has checksums, which cannot be written here")
        if self._may_be_unchecked and reserved == 0:
            return
        if not has_checksums and self._vfs is not None:
            raise IndexUnusable(f"{self._path} has no checksums")

    def _replaced(self) -> IndexReplaced:
        return IndexReplaced(f"{self._path} was made anew meanwhile")

    def _inode_now(self) -> int:
        """The inode of the file of this name; 0 if there is none."""
        try:
            return os.lstat(self._path).st_ino
        except OSError:
            return 0


def add_checksums(path: Path) -> None:
    """Add page checksums to a file that was created without them, if the VFS is available. Nobody
    may have it open.

    The file's own header says whether it has them, and damage can make it say no: a file in which
    SQLite finds damage is left unchanged.
    """
    vfs = checking_vfs()
    if vfs is None:
        return
    check_files(str(path))
    with _translated(str(path)):
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
        with closing(apsw.Connection(str(path), flags=flags, vfs=vfs)) as connection:
            connection.set_busy_timeout(_BUSY_MS)
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # reads the header
            if connection.reserve_bytes() != 0:
                return
            if (found := connection.pragma("integrity_check")) != "ok":
                raise IndexDamaged(f"{path} is damaged: {found}")
            connection.reserve_bytes(reserve=_CHECKSUM_BYTES)
            connection.execute("VACUUM")


def checking_vfs() -> str | None:
    """The name of the VFS with page checksums. `None` if there is none, or if this process has
    chosen another default VFS, which the checking one would bypass.
    """
    with _LOADING:
        names = apsw.vfs_names()
        if names[0] != _USUAL:  # loaded now, ours would wrap that one, even after it is gone
            return None
        if _CHECKED not in names:
            try:
                from apsw import sqlite_extra

                if sqlite_extra.has("cksumvfs") != "extension":
                    return None
                with closing(apsw.Connection(MEMORY)) as db:
                    sqlite_extra.load(db, "cksumvfs")
            except (ImportError, apsw.Error):  # no extensions, or not allowed to load them
                return None
            finally:
                apsw.set_default_vfs(names[0])  # the process keeps its own default
    return _CHECKED


_LOADING: Final = threading.Lock()
_USUAL: Final = "unix"  # SQLite's default, which the checking VFS wraps

_NO_LOCK: Final = nullcontext()


def check_files(path: str) -> None:
    """Raise `IndexUnusable` unless the files that SQLite will open are ours. SQLite goes by their
    names, and would write through a hard link, or block forever on a pipe.
    """
    try:
        for suffix in SUFFIXES:
            check_plain(path + suffix)
    except OSError as failure:
        what = f"{failure.filename or path} cannot be used: {failure.strerror}"
        raise IndexUnusable(what) from failure


@contextmanager
def _transaction(connection: apsw.Connection, *, reads: bool = False) -> Iterator[None]:
    """A transaction that fails as a whole and raises the original error: some errors end it inside
    SQLite, which then complains that there is nothing to roll back. In one that only `reads`, such
    an error may already be handled; then there is nothing to end.
    """
    failure: BaseException | None = None
    try:
        with connection:
            try:
                yield
            except BaseException as error:
                failure = error
                raise
    except apsw.SQLError:
        if failure is not None:
            raise failure from None
        if not (reads and not connection.in_transaction):
            raise


@contextmanager
def _translated(path: str, *, opened_to_read: bool = False) -> Iterator[None]:
    """Translates SQLite's errors into ours.

    Even a reader needs a little space, for the -shm beside the file. With `opened_to_read`, a lack
    of it is `IndexUnusable`, and the caller builds an index in memory.
    """
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(f"{path} is in use by another process: {error}") from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise IndexDamaged(f"{path} cannot be read: {error}") from error
    except apsw.CantOpenError as error:
        raise IndexUnusable(f"{path} cannot be read: {error}") from error
    except apsw.ConnectionClosedError as error:
        raise StoreClosed from error
    except apsw.ReadOnlyError as error:
        raise StoreReadOnly(f"{path} cannot be written: {error}") from error
    except apsw.FullError as error:
        raise StoreError(f"{path} cannot be written: the disk is full", hint=_FULL_HINT) from error
    except apsw.IOError as error:
        if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA:
            raise IndexDamaged(f"{path}: a page does not fit its checksum") from error
        if opened_to_read:
            raise IndexUnusable(f"{path} cannot be read: {error}") from error
        raise StoreError(f"{path}: {error}", hint=_FAILED_HINT) from error
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}") from error
