"""Connections to one SQLite file: one that writes, and one for each thread that reads.

In WAL mode readers and the writer do not block one another. A database in memory exists once, so
there one connection serves all, in turn. So does one that is frozen: it sees the file as it was at
opening, until it is closed, so that whatever it names is in a log that was opened later.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import apsw

from pagefault.model.errors import StoreBusy, StoreError, StoreReadOnly

MEMORY: Final = ":memory:"

_BUSY_MS: Final = 5_000  # how long to wait for another process before `StoreBusy`
_STATEMENTS: Final = 128  # prepared statements kept for each connection; we have about seventy
_WAL_PAGES: Final = 4_000  # 16 MB: a fold rewrites the same pages often, and copies them once
_WAL_PAGES_MAX: Final = (
    8 * _WAL_PAGES
)  # readers may keep it growing so far, then they are waited for
_CACHE_KIB: Final = 16 * 1024


class IndexUnusable(StoreError):
    """The index is missing, damaged or made otherwise: make it again from the log."""

    hint = "nothing is lost: the index is made again from the log"


class Connections:
    """Invariant: a connection is used by one thread at a time."""

    def __init__(self, path: Path | str, *, read_only: bool, frozen: bool = False) -> None:
        assert read_only or not frozen
        self._path = str(path)
        self._read_only = read_only
        self._is_one = frozen or self._path == MEMORY
        self._lock = threading.RLock()  # the writer's; with one connection also every reader's
        self._mine = threading.local()
        self._opened: list[apsw.Connection] = []
        self._opened_lock = threading.Lock()
        self._wal_pages = 0
        self._checkpointing: threading.Thread | None = None
        self._writer = self._open()
        if not read_only and not self._is_one:
            self._writer.set_wal_hook(self._grown)
        if frozen:
            self._freeze()

    @contextmanager
    def write(self) -> Iterator[apsw.Connection]:
        """The writing connection, within a transaction that fails as a whole."""
        if self._read_only:
            raise StoreReadOnly("this index was opened for reading")
        with self._lock, _translated(self._path), self._writer:
            yield self._writer

    @contextmanager
    def bare(self) -> Iterator[apsw.Connection]:
        """The writing connection without a transaction, for what may not stand in one."""
        with self._lock, _translated(self._path):
            yield self._writer

    @contextmanager
    def read(self) -> Iterator[apsw.Connection]:
        """A connection that sees one state of the file until the block ends."""
        with self._lock if self._is_one else _NO_LOCK, _translated(self._path):
            connection = self._writer if self._is_one else self._reader()
            with connection:
                yield connection

    def checkpoint_if_due(self) -> None:
        """Where the write-ahead log has grown, copy it into the file, in a thread of its own.

        Neither who writes nor who reads waits for that.
        """
        if self._wal_pages < _WAL_PAGES or self._checkpointing is not None:
            return
        modes = (apsw.SQLITE_CHECKPOINT_PASSIVE, apsw.SQLITE_CHECKPOINT_RESTART)
        mode = modes[self._wal_pages >= _WAL_PAGES_MAX]
        thread = threading.Thread(
            target=self._checkpoint, args=(mode,), name="pagefault-checkpoint", daemon=True
        )
        self._checkpointing = thread
        thread.start()

    def _checkpoint(self, mode: int) -> None:
        try:
            with suppress(StoreError), _translated(self._path):  # what fails is tried again
                connection = apsw.Connection(self._path, flags=apsw.SQLITE_OPEN_READWRITE)
                try:
                    connection.set_busy_timeout(_BUSY_MS)
                    connection.pragma("synchronous", "normal")
                    connection.wal_checkpoint(mode=mode)
                finally:
                    connection.close()
        finally:
            self._wal_pages = 0
            self._checkpointing = None

    def _grown(self, connection: apsw.Connection, name: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK

    def close(self) -> None:
        """No thread may be inside a block any more."""
        checkpointing = self._checkpointing
        if checkpointing is not None:
            checkpointing.join()
        with self._opened_lock, _translated(self._path):
            while self._opened:
                self._opened.pop().close()

    def _freeze(self) -> None:
        """Begin to read, and never end: another process may go on writing meanwhile."""
        try:
            with _translated(self._path):
                self._writer.execute("BEGIN; SELECT count(*) FROM sqlite_schema").fetchall()
        except BaseException:
            self.close()
            raise

    def _reader(self) -> apsw.Connection:
        connection: apsw.Connection | None = getattr(self._mine, "connection", None)
        if connection is None:
            connection = self._mine.connection = self._open()
        return connection

    def _open(self) -> apsw.Connection:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        if self._read_only:
            flags = apsw.SQLITE_OPEN_READONLY
        with _translated(self._path):
            connection = apsw.Connection(self._path, flags=flags, statementcachesize=_STATEMENTS)
            try:
                connection.set_busy_timeout(_BUSY_MS)
                if not self._read_only:
                    connection.pragma("journal_mode", "wal")
                    connection.pragma("synchronous", "normal")  # rebuilt when the machine dies
                    connection.pragma("wal_autocheckpoint", 0)  # see `checkpoint_if_due`
                connection.pragma("cache_size", -_CACHE_KIB)
                connection.pragma("temp_store", "memory")
            except BaseException:
                connection.close()
                raise
        with self._opened_lock:
            self._opened.append(connection)
        return connection


class _NoLock:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


_NO_LOCK: Final = _NoLock()


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """SQLite's errors as ours."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(f"{path} is in use by another process: {error}") from error
    except (apsw.CorruptError, apsw.NotADBError, apsw.CantOpenError) as error:
        raise IndexUnusable(f"{path} cannot be read: {error}") from error
    except apsw.ReadOnlyError as error:
        raise StoreReadOnly(f"{path} cannot be written: {error}") from error
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}") from error
