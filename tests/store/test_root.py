"""Opening a root, and what becomes of it when its index, its disk or its process fails."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from pagefault.model.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreLatched,
    StoreReadOnly,
)
from pagefault.model.events import Draft, Event
from pagefault.model.ids import NOTHING, Seq, SessionNo
from pagefault.model.page import Scope
from pagefault.store.api import PageFilter
from pagefault.store.embedded.connections import IndexUnusable
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.index import SqliteIndex
from pagefault.store.embedded.root import open_store
from pagefault.store.embedded.segment import Segment
from pagefault.store.embedded.segments import SegmentLog
from pagefault.store.store import STORE, Store
from pagefault.testing.builders import opened, said
from tests.store.logs import StillClock, memory_log


def _open(root: Path, **options: Any) -> Store:
    return open_store(root, clock=StillClock(), minter=memory_log()._minter, **options)


def _write(store: Store, *drafts: Draft) -> list[Event]:
    with store.writing():
        events = store.append(drafts)
        store.settle(events, sync=True)
    return events


def _fill(root: Path, texts: int = 60) -> None:
    store = _open(root)
    _write(store, opened())
    for order in range(texts):
        _write(store, said(f"text {order} of many", order=order))
    store.close()


def _pages(store: Store) -> int:
    scope = Scope.whole(SessionNo(1))
    return len(store.index.pages(scope, PageFilter(), limit=10**6))


def _descriptors() -> set[str]:
    """The files of a root that this process has open."""
    told = set()
    for fd in os.listdir("/proc/self/fd"):
        try:
            told.add(os.readlink(f"/proc/self/fd/{fd}"))
        except OSError:
            continue
    return told


# --- an index that fails ----------------------------------------------------------------------


def _corrupt(root: Path) -> None:
    """Damage every page of the index but the first two: it opens, and its tables cannot be read."""
    path = root / "index.db"
    data = bytearray(path.read_bytes())
    data[2 * 4096 :] = b"\xff" * (len(data) - 2 * 4096)
    path.write_bytes(data)


@pytest.mark.parametrize("read_only", [False, True])
def test_an_index_that_proves_corrupt_while_it_is_opened_is_made_again(
    tmp_path: Path, read_only: bool
) -> None:
    _fill(tmp_path)
    _corrupt(tmp_path)
    store = _open(tmp_path, read_only=read_only)
    assert store.rebuilt
    assert _pages(store) == 60
    problems = store.verify().problems
    if read_only:  # the file is as it was
        [problem] = problems
        assert problem.startswith("the index is damaged")
    else:
        assert problems == ()
    store.close()


def test_an_index_that_proves_corrupt_while_it_catches_up_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(tmp_path)
    whole, failing = SqliteIndex.apply, [IndexUnusable("it is malformed")]

    def apply(self: SqliteIndex, events: Any, **how: Any) -> None:
        if failing:
            raise failing.pop()
        whole(self, events)

    store = _open(tmp_path)
    with store.writing():
        store.log.append([said("not in the index", order=60)])  # as where a process was killed
    store.close()
    monkeypatch.setattr(SqliteIndex, "apply", apply)
    store = _open(tmp_path)
    assert store.rebuilt == "it is malformed"
    assert _pages(store) == 61
    store.close()


@pytest.mark.parametrize("read_only", [False, True])
def test_an_index_that_proves_corrupt_at_a_query_is_made_again_and_answers(
    tmp_path: Path, read_only: bool
) -> None:
    _fill(tmp_path)
    store = _open(tmp_path, read_only=read_only)
    _corrupt(tmp_path)
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(_pages(store)))
    thread.start()  # in a thread of its own, which has read nothing yet
    thread.join()
    assert seen == [60]
    assert "the index was built anew" in "; ".join(store.notices)
    assert bool(store.verify().problems) is read_only, "the file is as it was for who only reads"
    if not read_only:
        with store.writing():
            store.settle(store.log.append([said("after it", order=60)]), sync=True)
        assert _pages(store) == 61
    store.close()
    store = _open(tmp_path)
    assert bool(store.rebuilt) is read_only
    assert _pages(store) == (60 if read_only else 61)
    assert store.verify().problems == ()
    store.close()


def test_an_index_that_others_write_to_is_not_replaced_under_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pagefault.store.embedded.connections._BUSY_MS", 50)
    _fill(tmp_path)
    store, other = _open(tmp_path), _open(tmp_path)
    other.index.sessions()
    store.index._connections._idle.clear()  # type: ignore[attr-defined]
    _corrupt(tmp_path)
    with pytest.raises(StoreBusy, match="in use") as told:
        _pages(store)
    assert "made anew" in told.value.hint
    other.close()
    assert _pages(store) == 60
    store.close()


def test_verifying_lists_an_index_that_cannot_be_read_as_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(tmp_path, 3)
    store = _open(tmp_path)

    def check(self: SqliteIndex, give_way: Callable[[], bool]) -> list[str]:
        raise IndexUnusable("it is malformed")

    monkeypatch.setattr(SqliteIndex, "check", check)
    assert store.verify().problems == ("the index cannot be checked: it is malformed",)
    store.close()


def test_a_failure_of_the_index_says_what_to_do_about_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = _open(tmp_path)

    def apply(self: SqliteIndex, events: Any, **how: Any) -> None:
        raise StoreError("the disk is full", hint="free some space")

    monkeypatch.setattr(SqliteIndex, "apply", apply)
    with pytest.raises(StoreLatched) as told:
        _write(store, opened())
    assert told.value.hint == "free some space"
    store.close()


def test_an_index_that_has_no_memory_is_the_last_it_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a key that it does not know would be written a second time."""
    store = _open(tmp_path)

    def apply(self: SqliteIndex, events: Any, **how: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(SqliteIndex, "apply", apply)
        with pytest.raises(StoreLatched):
            _write(store, opened())
    with pytest.raises(StoreLatched):
        _write(store, opened())
    store.close()


def test_what_a_killed_rebuild_left_is_cleared_away(tmp_path: Path) -> None:
    _fill(tmp_path, 3)
    for suffix in ("", "-wal", "-shm"):
        (tmp_path / f"index.db.new{suffix}").write_bytes(b"unfinished")
    _open(tmp_path, read_only=True).close()
    assert (tmp_path / "index.db.new").exists(), "who only reads changes nothing"
    _open(tmp_path).close()
    assert list(tmp_path.glob("index.db.new*")) == []


# --- forgetting that fails --------------------------------------------------------------------


def test_a_forgetting_that_the_index_fails_is_the_last_and_is_finished_when_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(tmp_path, 3)
    store = _open(tmp_path)

    def forget(self: SqliteIndex, seqs: Collection[Seq], sessions: Any) -> None:
        raise StoreError("the disk is full", hint="free some space")

    with monkeypatch.context() as patched:
        patched.setattr(SqliteIndex, "forget", forget)
        with pytest.raises(StoreLatched) as told, store.writing():
            store.forget([Seq(2)], (), ())
    assert "opening this memory again finishes it" in told.value.hint
    assert "free some space" in told.value.hint
    with pytest.raises(StoreLatched):
        _write(store, said("more", order=3))
    store.close()
    store = _open(tmp_path)
    assert store.index.events(STORE, types=("forget_done",)) != []
    assert _pages(store) == 2
    _write(store, opened("other", session_id="s-2"))
    store.close()


# --- a medium that fails ----------------------------------------------------------------------


class _Refusing:
    """SQLite's files cannot be made or written, as on a full disk."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, failure: Exception) -> None:
        create, whole = SqliteIndex.create, SqliteIndex.open

        def made(path: Path | str, *, root_id: str) -> SqliteIndex:
            if str(path) != ":memory:":
                raise failure
            return create(path, root_id=root_id)

        def found(
            path: Path | str, *, root_id: str, read_only: bool = False, disk: Disk | None = None
        ) -> SqliteIndex:
            if not read_only:
                raise StoreError("there is no room for it")
            return whole(path, root_id=root_id, read_only=True)

        monkeypatch.setattr(SqliteIndex, "create", staticmethod(made))
        monkeypatch.setattr(SqliteIndex, "open", staticmethod(found))


_FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("failure", [_FULL, StoreError("the disk is full")])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_root_whose_index_cannot_be_written_is_opened_for_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception, is_there: bool
) -> None:
    _fill(tmp_path, 5)
    if not is_there:
        (tmp_path / "index.db").unlink()
    with monkeypatch.context() as patched:
        _Refusing(patched, failure)
        if not is_there:
            patched.setattr(
                SqliteIndex,
                "open",
                staticmethod(lambda *_, **__: (_ for _ in ()).throw(IndexUnusable("none"))),
            )
        store = _open(tmp_path)
        assert _pages(store) == 5
        with pytest.raises(StoreReadOnly) as told:
            _write(store, opened("other", session_id="s-2"))
        assert "make room" in told.value.hint
        store.close()
    store = _open(tmp_path)
    assert store.refusal is None
    assert _pages(store) == 5
    store.close()


def test_too_many_open_files_are_not_called_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(tmp_path, 1)

    def read(path: Path, *_: Any) -> bytes:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(path))

    with monkeypatch.context() as patched:
        patched.setattr("pagefault.store.embedded.root_file.read", read)
        with pytest.raises(StoreError, match="Too many open files") as told:
            _open(tmp_path)
    assert not isinstance(told.value, StoreCorrupt)
    assert "ulimit" in told.value.hint
    (tmp_path / "secret").unlink()
    with pytest.raises(StoreCorrupt, match="cannot be read as a memory root"):
        _open(tmp_path)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_an_opening_that_fails_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(tmp_path, 1)

    def survey(self: SegmentLog, *_: Any, **__: Any) -> None:
        raise MemoryError

    for owner, name in ((SegmentLog, "_survey"), (Store, "finish_if_possible")):
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, survey)
            with pytest.raises(MemoryError):
                _open(tmp_path)
        assert not [name for name in _descriptors() if name.startswith(str(tmp_path))]


def test_a_thread_that_cannot_be_started_leaves_nobody_in_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(tmp_path, 1)

    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        with pytest.raises(StoreError, match="can't start new thread") as told:
            _open(tmp_path)
    assert told.value.hint
    assert list((tmp_path / "instances").iterdir()) == []
    _open(tmp_path, lock_wait_s=0.01).close()


# --- an append that fails once it is written --------------------------------------------------


def test_an_append_that_fails_after_its_write_is_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = _open(tmp_path)
    _write(store, opened())
    _write(store, said("first", order=0))

    def grow(self: Segment, lengths: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(Segment, "grow", grow)
        with pytest.raises(StoreLatched):
            _write(store, said("once", order=1))
    with pytest.raises(StoreLatched):
        _write(store, said("twice", order=1))
    store.close()
    store = _open(tmp_path)
    assert [event.seq for event in store.log.read()] == [1, 2, 3]
    assert store.verify().problems == ()
    store.close()


# --- readers with an index of their own -------------------------------------------------------


def test_a_reader_with_an_index_of_its_own_follows_what_others_write_and_forget(
    tmp_path: Path,
) -> None:
    _fill(tmp_path, 3)
    (tmp_path / "index.db").rename(tmp_path / "elsewhere.db")
    reader = _open(tmp_path, read_only=True)
    assert reader.rebuilt
    (tmp_path / "elsewhere.db").rename(tmp_path / "index.db")
    writer = _open(tmp_path)
    _write(writer, opened("other", session_id="s-2"))
    with writer.writing():
        writer.lease(SessionNo(1))
    _write(writer, said("more", order=3))
    with writer.writing():
        writer.forget([Seq(2)], (), ())
    assert _pages(reader) == 3
    reader.look()
    assert _pages(reader) == _pages(writer) == 3
    assert reader.index.sessions() == writer.index.sessions()
    assert reader.index.page_at(Seq(2)) is None
    assert reader.forgets == 1
    reader.close()
    writer.close()


def test_the_emptied_write_ahead_log_of_the_index_is_synced_before_the_receipt(
    tmp_path: Path,
) -> None:
    _fill(tmp_path, 3)
    synced: list[str] = []

    class Telling(Disk):
        def sync(self, fd: int) -> None:
            synced.append(Path(os.readlink(f"/proc/self/fd/{fd}")).name)
            super().sync(fd)

    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc")
    store = _open(tmp_path, disk=Telling())
    with store.writing():
        receipt = store.forget([Seq(2)], (), ())
    assert receipt.seq > NOTHING
    assert synced[-2:] == ["index.db-wal", "00000001.g1.jsonl"]
    store.close()


def test_a_closed_memory_says_that_it_is_closed(tmp_path: Path) -> None:
    store = _open(tmp_path)
    store.close()
    with pytest.raises(StoreError, match="this memory is closed") as told:
        store.index.sessions()
    assert told.value.hint == "open it again"
