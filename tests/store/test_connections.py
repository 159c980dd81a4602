"""Connections to the index's file: what an error leaves behind, and its write-ahead log."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import apsw
import pytest

from pagefault.model.errors import StoreBusy, StoreClosed, StoreError
from pagefault.store.embedded import connections as connections_module
from pagefault.store.embedded.connections import Connections


def _count_after_a_failed_reading(path: Path) -> int:
    """Rows that a thread sees: two when its reading fails half-way, then a third is added."""
    connections = Connections(path, read_only=False)
    with connections.write() as db:
        db.execute("CREATE TABLE said (text); INSERT INTO said VALUES ('one'), ('two')")
    kept: list[object] = []  # as the frames of a traceback keep it
    with pytest.raises(MemoryError):
        _fail_half_way(connections, kept)
    with connections.write() as db:
        db.execute("INSERT INTO said VALUES ('three')")
    with connections.read() as db:
        ((count,),) = db.execute("SELECT count(*) FROM said")
    connections.close()
    return int(count)


def _fail_half_way(connections: Connections, kept: list[object]) -> None:
    with connections.read() as db:
        rows = db.execute("SELECT text FROM said")
        kept += [rows, next(rows)]
        raise MemoryError


def test_after_a_reading_that_failed_the_same_thread_sees_the_present(tmp_path: Path) -> None:
    assert _count_after_a_failed_reading(tmp_path / "index.db") == 3


def test_control_a_reader_that_is_kept_sees_the_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connections, "_discard", lambda self, kept: self._idle.append(kept))
    assert _count_after_a_failed_reading(tmp_path / "index.db") == 2


@pytest.mark.parametrize("is_waited_for", [True, False], ids=["waits", "control"])
def test_closing_waits_for_a_thread_that_still_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_waited_for: bool
) -> None:
    if not is_waited_for:
        monkeypatch.setattr(connections_module, "_BUSY_MS", 0)
    connections = Connections(tmp_path / "index.db", read_only=False)
    reads, may_end, told = threading.Event(), threading.Event(), list[object]()

    def look() -> None:
        def step() -> bool:
            reads.set()
            may_end.wait(300)
            return False

        with connections.read() as db:
            db.set_progress_handler(step, 1)  # called in the middle of the statement
            told.extend(db.execute("SELECT 1"))
            db.set_progress_handler(None)

    reader = threading.Thread(target=look)
    reader.start()
    assert reads.wait(300)
    threading.Timer(0.05, may_end.set).start()
    if is_waited_for:
        connections.close()
        assert told == [(1,)]
        with pytest.raises(StoreClosed), connections.read():
            pass
    else:
        with pytest.raises(StoreError, match="busy in another thread"):
            connections.close()
    reader.join()


# --- the write-ahead log ----------------------------------------------------------------------

_COPY: Final = """
import fcntl, sys, time
with open(sys.argv[1], "r+b") as shm:
    fcntl.lockf(shm, fcntl.LOCK_EX, 1, 121)  # SQLite's lock of who copies, WAL_CKPT_LOCK
    print("copying", flush=True)
    sys.stdin.read()
"""


@contextmanager
def _another_process_copies(path: Path) -> Iterator[subprocess.Popen[str]]:
    """As SQLite sees it, from here until this block ends or its standard input is closed."""
    shm = path.with_name(f"{path.name}-shm")
    command = [sys.executable, "-c", _COPY, str(shm)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "copying\n"
        yield process


def _said(path: Path) -> Connections:
    connections = Connections(path, read_only=False)
    with connections.write() as db:
        db.execute("CREATE TABLE said (text)")
    return connections


def test_the_log_is_emptied_once_another_process_has_copied_it(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    connections = _said(path)
    with _another_process_copies(path) as process:
        assert process.stdin is not None
        timer = threading.Timer(0.1, process.stdin.close)
        timer.start()
        connections.empty_log()
        timer.join()
    assert path.with_name("index.db-wal").stat().st_size == 0
    connections.close()


def test_control_who_does_not_wait_is_told_that_it_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections_module, "_BUSY_MS", 0)
    connections = _said(tmp_path / "index.db")
    with _another_process_copies(tmp_path / "index.db"), pytest.raises(StoreBusy):
        connections.empty_log()
    connections.close()


def test_where_no_thread_is_to_be_had_the_log_is_copied_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    path = tmp_path / "index.db"
    monkeypatch.setattr(connections_module, "_WAL_PAGES", 1)
    monkeypatch.setattr(threading.Thread, "start", refused)
    connections = _said(path)
    before = path.stat().st_size
    connections.checkpoint_if_due()
    assert path.stat().st_size > before
    connections.close()


def test_a_grown_log_is_copied_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "index.db"
    monkeypatch.setattr(connections_module, "_WAL_PAGES", 1)
    connections = _said(path)
    before = path.stat().st_size
    assert connections.checkpoint_if_due(), "begun, and not waited for"
    for copying in threading.enumerate():  # or it has ended already
        if copying.name == "pagefault-checkpoint":
            copying.join(300)
    assert path.stat().st_size > before
    connections.close()


# --- readers ----------------------------------------------------------------------------------


def test_there_are_as_many_readers_as_ever_read_at_one_time(tmp_path: Path) -> None:
    connections = Connections(tmp_path / "index.db", read_only=False)
    with connections.read() as first, connections.read() as second:
        assert first is not second
    used = []
    for _ in range(3):  # threads that read one after the other share one
        thread = threading.Thread(target=lambda: used.append(_reader_of(connections)))
        thread.start()
        thread.join()
    assert len(set(used)) == 1
    assert used[0] in (first, second)
    connections.close()


def _reader_of(connections: Connections) -> apsw.Connection:
    with connections.read() as db:
        db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        return db


BESIDE: Final = """
import apsw, pathlib, sys
from pagefault.store.embedded.connections import Connections, checking_vfs
their_own = apsw.VFS("theirs", "unix")
usual = apsw.vfs_names()[0]
apsw.set_default_vfs("theirs")
assert checking_vfs() is None
Connections(pathlib.Path(sys.argv[1]), read_only=False).close()
apsw.set_default_vfs(usual)
their_own.unregister()
del their_own
checks = checking_vfs() is not None
Connections(pathlib.Path(sys.argv[2]), read_only=False).close()
print(checks)
"""


def test_another_default_vfs_that_is_gone_takes_no_file_with_it(tmp_path: Path) -> None:
    told = [sys.executable, "-c", BESIDE, str(tmp_path / "a.db"), str(tmp_path / "b.db")]
    ended = subprocess.run(told, capture_output=True, text=True, timeout=300, check=False)
    assert (ended.returncode, ended.stdout) == (0, "True\n"), ended.stderr
