"""Unreferenced files are found; referenced or recent ones are never deleted."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from pagefault.model.errors import PlanOutdated, StoreBusy, StoreCorrupt
from pagefault.model.events import Draft, Said, Stored
from pagefault.model.ids import Seq
from pagefault.store.embedded import gc
from pagefault.store.embedded.backup import backup
from pagefault.store.embedded.blobs import DirectoryBlobs
from pagefault.store.embedded.gc import Garbage, collect
from pagefault.store.embedded.lock import RootLock
from pagefault.store.embedded.scan import Problem
from pagefault.store.embedded.segments import SegmentLog
from pagefault.store.store import Store
from pagefault.testing.builders import said
from tests.store.logs import Careless, StillClock
from tests.store.roots import (
    append,
    forget,
    make_root,
    make_segments_tiny,
    open_root,
    snapshot,
    write,
)
from tests.store.test_archive import move
from tests.store.test_erase import Crash

OLD_S = StillClock().now_ms() / 1000 - 2 * gc.SAFE_S


def about(blob: str, order: int) -> Draft:
    draft = said("a picture", order=order)
    assert isinstance(draft.body, Said)
    body = draft.body
    stored = Stored(
        page_id=body.page_id,
        order=order,
        text=body.text,
        tokens=body.tokens,
        role=body.role,
        blob=blob,
    )
    return replace(draft, body=stored)


def keep(store: Store, data: bytes) -> str:
    name = store.blobs.put(data)
    append(store, [about(name, store.log.head())])
    return name


def age(root: Path, seconds: float = OLD_S) -> None:
    for path in root.rglob("*"):
        os.utime(path, (seconds, seconds))


def run(root: Path, **options: object) -> Garbage:
    given = {"clock": StillClock(), "disk": Careless()} | options
    return collect(root, **given)  # type: ignore[arg-type]


@pytest.fixture
def littered(tmp_path: Path) -> Path:
    """A memory with one blob in use, one that nothing names, and half-made files, all old."""
    root = tmp_path / "m"
    store = make_root(root, 3)
    keep(store, b"in use")
    store.blobs.put(b"left by a killed process")
    store.close()
    (root / "log" / "00000002.g0.jsonl.new").write_bytes(b"half")
    (root / "index.db.new").write_bytes(b"half")
    (_place(root, b"x") / "ff.1.0.new").write_bytes(b"half a blob")
    age(root)
    return root


def _place(root: Path, data: bytes) -> Path:
    folder = root / "blobs" / "ff" / "ff"
    folder.mkdir(parents=True)
    return folder


def test_a_dry_run_finds_it_all_and_changes_nothing(littered: Path) -> None:
    before = snapshot(littered)
    found = run(littered)
    assert snapshot(littered) == before
    assert len(found.blobs) == 1
    assert found.blob_bytes == len(b"left by a killed process")
    assert {path.name for path in found.leftovers} == {
        "00000002.g0.jsonl.new",
        "index.db.new",
        "ff.1.0.new",
    }
    assert (found.leftover_bytes, found.young, found.done) == (19, 0, False)


def test_what_was_found_is_deleted_and_nothing_else(littered: Path) -> None:
    found = run(littered, delete=True)
    assert (len(found.blobs), len(found.leftovers), found.done) == (1, 3, True)
    again = run(littered, delete=True)
    assert (again.blobs, again.leftovers) == ((), ())
    store = open_root(littered)
    assert store.verify().problems == ()
    assert [store.blobs.get(name) for name in store.blobs.names()] == [b"in use"]
    store.close()


def test_a_blob_that_any_record_names_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any segment, archived or not, whatever the index says."""
    make_segments_tiny(monkeypatch)
    root = tmp_path / "m"
    store = make_root(root, 2)
    names = set()
    for n in range(12):
        names.add(keep(store, b"%d" % n))
        write(store, [f"between {n}"])
    store.close()
    move(root, keep=2)
    for path in root.glob("index.db*"):
        path.unlink()
    age(root)
    assert run(root, delete=True).blobs == ()
    store = open_root(root)
    assert set(store.blobs.names()) == names
    store.close()


def test_nothing_is_deleted_where_the_log_is_damaged(littered: Path) -> None:
    """A record that cannot be read may name any blob."""
    [log] = (littered / "log").glob("*.jsonl")
    log.write_bytes(log.read_bytes().replace(b'"type":"artifact"', b'"type":"artIfact"'))
    age(littered)
    before = snapshot(littered)
    for delete in (False, True):
        with pytest.raises(StoreCorrupt, match="damaged"):
            run(littered, delete=delete)
    after = snapshot(littered)
    assert after == before


def test_control_without_that_check_a_blob_in_use_would_go(
    littered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [log] = (littered / "log").glob("*.jsonl")
    log.write_bytes(log.read_bytes().replace(b'"type":"artifact"', b'"type":"artIfact"'))
    age(littered)
    monkeypatch.setattr(gc._Needs, "_check", lambda self, wrong: None)
    assert len(run(littered, delete=True).blobs) == 2


def test_what_repair_set_aside_still_names_its_blob(littered: Path) -> None:
    store = open_root(littered)
    lost = store.blobs.put(b"of a record that was lost")
    store.close()
    (littered / "quarantine").mkdir()
    (littered / "quarantine" / "x.damaged").write_bytes(b"...%s..." % lost.encode())
    age(littered)
    assert lost not in run(littered, delete=True).blobs


def test_it_works_beside_whoever_has_the_memory_open_and_waits_only_to_delete(
    littered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patience = RootLock.__init__.__kwdefaults__
    assert patience is not None
    monkeypatch.setitem(patience, "wait_s", 0)
    store = open_root(littered)
    with store.writing():
        assert len(run(littered).blobs) == 1
        with pytest.raises(StoreBusy):
            run(littered, delete=True)
    assert len(run(littered, delete=True).blobs) == 1
    write(store, ["and on"])
    store.close()


def _name_while_it_reads(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process appends a record that names an old blob, behind what was read already."""
    store = open_root(root)
    [name] = [n for n in store.blobs.names() if b"left by" in store.blobs.get(n)]
    whole = SegmentLog.verify

    def meanwhile(self: SegmentLog, progress: object = None) -> list[Problem]:
        found = whole(self)
        append(store, [about(name, store.log.head())])
        return found

    monkeypatch.setattr(SegmentLog, "verify", meanwhile)
    run(root, delete=True)
    assert store.blobs.holds(name)
    store.close()


def test_what_is_named_while_it_reads_stays(
    littered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _name_while_it_reads(littered, monkeypatch)


def test_control_without_another_look_under_the_lock_it_would_go(
    littered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SegmentLog, "refresh", lambda self, acknowledged=None: None)
    with pytest.raises(AssertionError):
        _name_while_it_reads(littered, monkeypatch)


def test_a_record_is_not_written_whose_blob_was_deleted_since(littered: Path) -> None:
    store = open_root(littered)
    name = store.blobs.put(b"deleted at once")
    store.blobs.delete(name)
    head = store.log.head()
    with pytest.raises(PlanOutdated):
        append(store, [about(name, head)])
    assert all(event.type != "artifact" for event in store.log.read(head))
    store.close()


def test_bytes_that_a_forgetting_has_deleted_already_are_not_called_missing(
    littered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_root(littered)
    keep(store, b"going")
    seq = store.log.head()
    whole = SegmentLog.erase
    seen: list[tuple[str, ...]] = []

    def watched(self: SegmentLog, seqs: Collection[Seq]) -> int:
        beside = open_root(littered, read_only=True)
        seen.append(beside.verify().problems)
        monkeypatch.setattr(Store, "is_going", lambda self, seqs: False)
        seen.append(beside.verify().problems)
        beside.close()
        return whole(self, seqs)

    monkeypatch.setattr(SegmentLog, "erase", watched)
    forget(store, [seq])
    store.close()
    calm, alarmed = seen
    assert calm == ()
    assert any("is missing" in problem for problem in alarmed), "the control"


# --- what may be about to be named ----------------------------------------------------------------


def _put_then_collect_then_append(root: Path, older_than_s: float) -> None:
    """Another process has put a blob, and not yet appended the record that names it."""
    other = open_root(root)
    secret = other.secret
    other.close()
    clock = StillClock()
    blobs = DirectoryBlobs(root / "blobs", secret=secret, disk=Careless())
    name = blobs.put(b"just put")
    now_s = clock.now_ms() / 1000
    os.utime(root / "blobs" / name[:2] / name[2:4] / name, (now_s, now_s))
    found = run(root, delete=True, older_than_s=older_than_s)
    assert name not in found.blobs
    assert found.young >= 1
    store = open_root(root)
    append(store, [about(name, store.log.head())])
    assert store.blobs.get(name) == b"just put"
    store.close()


def test_a_young_blob_is_never_deleted(littered: Path) -> None:
    _put_then_collect_then_append(littered, gc.SAFE_S)


def test_control_without_the_age_a_blob_is_taken_from_under_its_writer(littered: Path) -> None:
    with pytest.raises(AssertionError):
        _put_then_collect_then_append(littered, -1)


def _put_again_before_it_goes(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was garbage when it was looked at, and is put again before it is deleted."""
    store = open_root(root)
    secret = store.secret
    store.close()
    age(root)
    blobs = DirectoryBlobs(root / "blobs", secret=secret, disk=Careless())
    whole = DirectoryBlobs.put_at
    future_s = StillClock().now_ms() / 1000 + 10

    def put_again(self: DirectoryBlobs, name: str) -> tuple[float, int] | None:
        found = whole(self, name)
        again = blobs.put(b"left by a killed process")
        path = root / "blobs" / again[:2] / again[2:4] / again
        os.utime(path, (future_s, future_s))  # what `put` does, by this test's clock
        return found

    monkeypatch.setattr(DirectoryBlobs, "put_at", put_again)
    run(root, delete=True)
    assert b"left by a killed process" in [blobs.get(name) for name in blobs.names()]


def test_a_blob_that_is_put_again_at_this_moment_stays(
    littered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put_again_before_it_goes(littered, monkeypatch)


def test_control_a_blob_that_is_simply_deleted_goes_from_under_who_put_it_again(
    littered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DirectoryBlobs, "expire", lambda self, name, before_s: self.delete(name))
    with pytest.raises(AssertionError):
        _put_again_before_it_goes(littered, monkeypatch)


def test_putting_what_is_there_makes_it_young(tmp_path: Path) -> None:
    blobs = DirectoryBlobs(tmp_path, secret=b"s")
    name = blobs.put(b"x")
    age(tmp_path)
    blobs.put(b"x")
    found = blobs.put_at(name)
    assert found is not None
    assert found[0] > OLD_S
    assert blobs.expire(name, OLD_S + 1) is False
    assert blobs.get(name) == b"x"


def test_putting_and_expiring_at_once_never_loses_a_blob(tmp_path: Path) -> None:
    blobs = DirectoryBlobs(tmp_path, secret=b"s", disk=Careless())
    name = blobs.put(b"x")
    for _ in range(200):
        age(tmp_path)
        thread = threading.Thread(target=blobs.expire, args=(name, OLD_S + 1))
        thread.start()
        blobs.put(b"x")
        thread.join()
        assert blobs.get(name) == b"x"


def test_a_blob_that_expires_while_it_is_put_again_is_put_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = DirectoryBlobs(tmp_path, secret=b"s")
    name = blobs.put(b"x")
    age(tmp_path)
    mark = os.utime

    def too_late(fd: int) -> None:
        assert blobs.expire(name, OLD_S + 1)
        mark(fd)

    monkeypatch.setattr(os, "utime", too_late)
    blobs.put(b"x")
    assert blobs.get(name) == b"x"


# --- with the rest --------------------------------------------------------------------------------


def test_a_killed_backup_beside_the_memory_is_told_of(littered: Path) -> None:
    class Dying(Careless):
        def rename(self, old: Path, new: Path) -> None:
            if new.name == "b":
                raise Crash
            super().rename(old, new)

    with pytest.raises(Crash):
        backup(littered, littered.parent / "b", clock=StillClock(), disk=Dying())
    found = run(littered, delete=True)
    assert [path.name for path in found.beside] == ["b.partial"]
    assert (littered.parent / "b.partial").exists(), "it lies outside the memory"


def test_a_file_of_the_archive_that_no_stub_names_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_segments_tiny(monkeypatch)
    root = tmp_path / "m"
    make_root(root).close()
    move(root)
    [first, *_] = sorted((root / "archive").glob("*.gz"))
    shutil.copy(first, root / "archive" / "00000099.g0.jsonl.gz")
    age(root)
    found = run(root, delete=True)
    assert [path.name for path in found.leftovers] == ["00000099.g0.jsonl.gz"]
    assert open_root(root).verify().problems == ()


def test_a_backup_holds_the_bytes_that_records_name_and_no_others(littered: Path) -> None:
    made = backup(littered, littered.parent / "b", clock=StillClock(), disk=Careless())
    assert (made.blobs, made.blobs_missing) == (1, ())
    store = open_root(littered.parent / "b", read_only=True)
    assert [store.blobs.get(name) for name in store.blobs.names()] == [b"in use"]
    assert store.verify().problems == ()
    store.close()


def test_a_backup_says_which_bytes_the_memory_lacks(littered: Path) -> None:
    store = open_root(littered)
    [name, _] = sorted(store.blobs.names(), key=store.blobs.get)
    store.blobs.delete(name)
    store.close()
    made = backup(littered, littered.parent / "b", clock=StillClock(), disk=Careless())
    assert made.blobs_missing == (name,)


def test_a_forget_during_a_backup_leaves_neither_its_text_nor_its_bytes(
    littered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record was copied; then it was forgotten, with its blob, before the blob was copied."""
    store = open_root(littered)
    keep(store, b"soon forgotten")
    seq = store.log.head()
    from pagefault.store.embedded import backup as module

    whole = module._Copier._copy_blobs
    rounds: list[int] = []

    def forgetting(self: module._Copier, *given: object) -> list[str]:
        if not rounds:
            forget(store, [seq])
        rounds.append(1)
        return whole(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(module._Copier, "_copy_blobs", forgetting)
    made = backup(littered, littered.parent / "b", clock=StillClock(), disk=Careless())
    store.close()
    assert len(rounds) == 2
    assert (made.blobs, made.blobs_missing) == (1, ())
    copy = open_root(littered.parent / "b", read_only=True)
    assert copy.verify().problems == ()
    assert "forget_done" in {event.type for event in copy.log.read()}
    copy.close()
