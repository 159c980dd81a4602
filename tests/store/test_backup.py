"""A backup is whole or it is not there; it is made beside a writer, and proved by restoring it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from pagefault import adopt
from pagefault.engine.scripted import ScriptedEngine
from pagefault.model.errors import (
    BadInput,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreMissing,
)
from pagefault.model.events import Erased
from pagefault.model.ids import Seq
from pagefault.service.bootstrap import open_memory
from pagefault.store.api import Copied
from pagefault.store.embedded import backup as module
from pagefault.store.embedded import inventory
from pagefault.store.embedded.backup import ENDS, PARTIAL, backup, restore
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.lock import RootLock
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
from tests.store.test_erase import Crash, Crashing
from tests.warm import python


@pytest.fixture
def tiny_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    make_segments_tiny(monkeypatch)


def make(source: Path, target: Path, **options: object) -> Copied:
    given = {"clock": StillClock(), "disk": Careless()} | options
    return backup(source, target, **given)  # type: ignore[arg-type]


def check(target: Path, upto: int) -> Store:
    """What is at `target` is sound, and holds every record up to one."""
    store = open_root(target, read_only=True)
    assert store.verify().problems == ()
    assert store.log.head() >= upto, "a record is missing in the backup"
    return store


# --- whole, beside a writer -----------------------------------------------------------------------


def test_a_backup_holds_every_file_of_the_log_and_none_of_the_index(
    tmp_path: Path, tiny_segments: None
) -> None:
    store = make_root(tmp_path / "m")
    made = make(tmp_path / "m", tmp_path / "b")
    before, after = snapshot(tmp_path / "m"), snapshot(tmp_path / "b")
    ends = json.loads(after.pop(ENDS))
    assert (ends["head"], ends["link"]) == (31, made.link)
    assert after == before
    assert (made.head, made.segments) == (31, len(list((tmp_path / "m" / "log").iterdir())))
    assert made.segments > 3
    assert made.bytes == sum(map(len, after.values()))
    store.close()
    check(tmp_path / "b", 31).close()


def test_a_backup_is_for_its_owner_alone(tmp_path: Path) -> None:
    make_root(tmp_path / "m", 2).close()
    make(tmp_path / "m", tmp_path / "b")
    for path in [tmp_path / "b", *(tmp_path / "b").rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_everything_acknowledged_before_the_call_is_in_it_while_a_writer_goes_on(
    tmp_path: Path, tiny_segments: None
) -> None:
    """Segments roll and records are forgotten meanwhile: every backup is whole all the same."""
    store = make_root(tmp_path / "m")
    done = threading.Event()

    def go_on() -> None:
        n = 0
        while not done.is_set():
            write(store, [f"more {n}"] * (n % 3 + 1))
            if n % 10 == 0:
                forget(store, [Seq(store.log.head() - 2)])
            n += 1

    writer = threading.Thread(target=go_on)
    writer.start()
    try:
        for n in range(6):
            head = store.log.head()
            made = make(tmp_path / "m", tmp_path / f"b{n}")
            assert made.head >= head
    finally:
        done.set()
        writer.join()
    for n in range(6):
        copy = check(tmp_path / f"b{n}", 31)
        erased = {event.seq for event in copy.log.read() if isinstance(event.body, Erased)}
        told = {
            seq
            for event in copy.log.read()
            if event.type == "forget_begun"
            for first, last in event.body.targets  # type: ignore[union-attr]
            for seq in range(first, last + 1)
        }
        assert erased <= told, "something is erased, and no record of the copy says so"
        copy.close()
    store.close()


@pytest.mark.parametrize(("looks", "is_made"), [(1, True), (99, False)], ids=["once", "always"])
def test_a_segment_that_one_listing_left_out_is_not_missing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tiny_segments: None,
    looks: int,
    is_made: bool,
) -> None:
    store = make_root(tmp_path / "m")
    for n in range(9):
        write(store, [f"more {n}"] * 3)
    head = store.log.head()
    store.close()
    whole, left = inventory.take_inventory, iter(range(looks))

    def take_inventory(directory: Path) -> inventory.Inventory:
        found = whole(directory)
        if directory == tmp_path / "m" / "log" and next(left, None) is not None:
            rest = {n: one for n, one in found.generations.items() if n != 2}
            return replace(found, generations=rest)
        return found

    monkeypatch.setattr(module, "take_inventory", take_inventory)
    if is_made:
        make(tmp_path / "m", tmp_path / "b")
        check(tmp_path / "b", head).close()
    else:
        with pytest.raises(StoreCorrupt, match="is missing"):
            make(tmp_path / "m", tmp_path / "b")


def test_control_a_copy_that_takes_the_last_segment_first_is_caught(
    tmp_path: Path, tiny_segments: None
) -> None:
    """What `shutil.copytree` may do beside a writer: the end as it was, the middle as it is now."""
    store = make_root(tmp_path / "m")
    last = max((tmp_path / "m" / "log").iterdir())
    (tmp_path / "naive" / "log").mkdir(parents=True)
    shutil.copy(last, tmp_path / "naive" / "log")
    write(store, [f"more {n}" for n in range(30)])
    write(store, ["roll"])
    forget(store, [Seq(3)])
    for path in (tmp_path / "m" / "log").iterdir():
        if path.name < last.name:
            shutil.copy(path, tmp_path / "naive" / "log")
    for name in ("root.json", "secret"):
        shutil.copy(tmp_path / "m" / name, tmp_path / "naive")
    store.close()
    with pytest.raises(AssertionError, match="a record is missing"):
        check(tmp_path / "naive", 60)
    copy = open_root(tmp_path / "naive", read_only=True)
    assert isinstance(copy.log.get(Seq(3)).body, Erased)
    assert "forget_begun" not in {event.type for event in copy.log.read()}
    copy.close()


def test_a_writer_in_the_middle_of_a_batch_is_left_out(tmp_path: Path) -> None:
    store = make_root(tmp_path / "m", 3)
    store.append([said("a"), said("b"), said("c")])  # not yet settled: no index has seen it
    store.close()
    (path,) = (tmp_path / "m" / "log").iterdir()
    data = path.read_bytes()
    for cut in (1, 100, len(data.splitlines(keepends=True)[-1]) + 5):
        path.write_bytes(data[:-cut])
        made = make(tmp_path / "m", tmp_path / f"b{cut}")
        assert made.head == 4
        check(tmp_path / f"b{cut}", 4).close()


# --- refused --------------------------------------------------------------------------------------


def test_a_bad_place_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    make_root(tmp_path / "m", 2).close()
    (tmp_path / "there").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "inside").symlink_to(tmp_path / "m")
    before = snapshot(tmp_path)
    for name in ("there", "dangling", "m", "m/copy", "m/log/../copy", "inside/copy"):
        with pytest.raises(BadInput):
            make(tmp_path / "m", tmp_path / name)
    with pytest.raises(StoreMissing):
        make(tmp_path / "there", tmp_path / "b")
    assert snapshot(tmp_path) == before
    assert not (tmp_path / "b").exists()


def test_a_damaged_memory_is_not_backed_up(tmp_path: Path, tiny_segments: None) -> None:
    make_root(tmp_path / "m").close()
    first, second, *_, last = sorted((tmp_path / "m" / "log").iterdir())
    for path in (first, last):
        whole = path.read_bytes()
        path.write_bytes(whole.replace(b"turn", b"tuRn", 1))
        with pytest.raises(StoreCorrupt, match="cannot be backed up"):
            make(tmp_path / "m", tmp_path / "b")
        path.write_bytes(whole)
    second.rename(tmp_path / "aside")
    with pytest.raises(StoreCorrupt, match="missing"):
        make(tmp_path / "m", tmp_path / "b")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("b")] == []


def test_a_damaged_end_is_no_torn_tail_where_the_index_has_seen_it(tmp_path: Path) -> None:
    make_root(tmp_path / "m", 3).close()
    (path,) = (tmp_path / "m" / "log").iterdir()
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(StoreCorrupt, match="cannot be backed up"):
        make(tmp_path / "m", tmp_path / "b")
    for index in (tmp_path / "m").glob("index.db*"):
        index.unlink()
    made = make(tmp_path / "m", tmp_path / "b")
    assert made.head == 3, "the control: where nobody saw it, it was never acknowledged"


def test_a_copy_that_went_wrong_is_found_by_reading_it_back(tmp_path: Path) -> None:
    class Lying(Careless):
        """Says that it wrote, and changed a bit on the way."""

        def write(self, fd: int, data: bytes | memoryview) -> int:
            bad = bytearray(data)
            bad[len(bad) // 2] ^= 1
            return super().write(fd, bytes(bad))

    make_root(tmp_path / "m").close()
    with pytest.raises(StoreError):
        make(tmp_path / "m", tmp_path / "b", disk=Lying())
    assert not list(tmp_path.glob("b*"))


def test_control_without_reading_it_back_a_bad_copy_would_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lying(Careless):
        def write(self, fd: int, data: bytes | memoryview) -> int:
            return super().write(fd, bytes(data).replace(b"turn", b"tuRn"))

    make_root(tmp_path / "m").close()
    monkeypatch.setattr(SegmentLog, "verify", lambda self: [])
    monkeypatch.setattr(SegmentLog, "tip", lambda self: self._tip)
    trust = module._Copier._read_back

    def read_back(self: object, facts: object, tail: module._Tail) -> SegmentLog:
        monkeypatch.setattr(SegmentLog, "_tip", (tail.head, tail.link), raising=False)
        return trust(self, facts, tail)  # type: ignore[arg-type]

    monkeypatch.setattr(module._Copier, "_read_back", read_back)
    make(tmp_path / "m", tmp_path / "b", disk=Lying())
    monkeypatch.undo()
    with pytest.raises(AssertionError):
        check(tmp_path / "b", 31)


def test_a_full_disk_leaves_no_backup_and_the_source_as_it_was(tmp_path: Path) -> None:
    class Full(Careless):
        def write(self, fd: int, data: bytes | memoryview) -> int:
            raise OSError(28, "No space left on device")

    make_root(tmp_path / "m").close()
    before = snapshot(tmp_path)
    with pytest.raises(StoreError, match="No space") as caught:
        make(tmp_path / "m", tmp_path / "b", disk=Full())
    assert "make room" in caught.value.hint
    assert snapshot(tmp_path) == before


# --- cut short ------------------------------------------------------------------------------------


def test_a_backup_that_crashed_anywhere_does_not_look_like_one(
    tmp_path: Path, tiny_segments: None
) -> None:
    source = tmp_path / "m"
    store = make_root(source, 12)
    append(store, [said("bytes")])
    store.close()
    before = snapshot(source)
    disk = Crashing(10**9)
    for steps in range(1000):
        disk.left = steps
        target = tmp_path / f"b{steps}"
        try:
            make(source, target, disk=disk)
        except Crash:
            assert snapshot(source) == before
            if target.exists():  # it died after the rename
                check(target, 14).close()
                continue
            with pytest.raises(StoreMissing):
                open_root(target, read_only=True)
            with suppress(StoreError):  # what opens all the same was verified before
                check(tmp_path / (target.name + PARTIAL), 14).close()
            make(source, target)  # what was left is replaced
            check(target, 14).close()
            assert not (tmp_path / (target.name + PARTIAL)).exists()
        else:
            assert steps > 15
            return
    raise AssertionError("it never ends")


def test_control_a_copy_made_in_place_looks_like_a_backup_when_it_is_none(
    tmp_path: Path, tiny_segments: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_root(tmp_path / "m", 12).close()
    monkeypatch.setattr(module, "PARTIAL", "")
    wrong = 0
    for steps in range(4, 40):
        target = tmp_path / f"b{steps}"
        try:
            make(tmp_path / "m", target, disk=Crashing(steps))
        except Crash:
            wrong += target.exists()
    assert wrong, "the check above would find it"


def test_two_backups_into_one_place_do_not_mix(tmp_path: Path) -> None:
    make_root(tmp_path / "m", 2).close()
    partial = tmp_path / f"b{PARTIAL}"
    partial.mkdir()
    with RootLock(partial, clock=StillClock()).held(), pytest.raises(StoreBusy):
        make(tmp_path / "m", tmp_path / "b")
    assert partial.exists(), "it belongs to the other one"
    make(tmp_path / "m", tmp_path / "b")


def test_a_directory_of_somebody_else_is_not_cleared_away(tmp_path: Path) -> None:
    make_root(tmp_path / "m", 2).close()
    for name in ("log", "thesis.txt"):
        partial = tmp_path / f"{name}{PARTIAL}"
        partial.mkdir()
        (partial / name).touch()
        with pytest.raises(BadInput, match="in the way"):
            make(tmp_path / "m", tmp_path / name)
        assert (partial / name).exists()


_BACKUP = """
import os, sys
from pathlib import Path
from pagefault.model.clock import SystemClock
from pagefault.store.embedded.backup import backup
from pagefault.store.embedded.disk import Disk

class Slow(Disk):
    def sync(self, fd):
        super().sync(fd)
        print(flush=True)

print(os.getpid(), flush=True)
print("begun", flush=True)
backup(Path(sys.argv[1]), Path(sys.argv[2]), clock=SystemClock(), disk=Slow())
"""


def test_a_backup_that_is_killed_does_not_look_like_one(
    tmp_path: Path, tiny_segments: None
) -> None:
    source, target = tmp_path / "m", tmp_path / "b"
    make_root(source, 60).close()
    before = snapshot(source)
    chance = random.Random(7)
    killed = 0
    for _ in range(8):
        process = subprocess.Popen(
            [*python(), "-c", _BACKUP, str(source), str(target)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        for _ in range(chance.randrange(1, 14)):
            process.stdout.readline()
        with suppress(ProcessLookupError):  # it has ended
            os.kill(pid, signal.SIGKILL)
        process.communicate(timeout=300)
        assert snapshot(source) == before
        if target.exists():
            check(target, 61).close()
            shutil.rmtree(target)
        else:
            killed += (tmp_path / f"b{PARTIAL}").exists()
    assert killed, "no kill came in the middle"
    make(source, target)
    check(target, 61).close()


# --- restored -------------------------------------------------------------------------------------


def test_a_restored_memory_packs_every_request_to_the_same_bytes(tmp_path: Path) -> None:
    source, target = tmp_path / "m", tmp_path / "restored"

    async def talk() -> list[object]:
        async with open_memory(source, window=2_000, seed=3) as memory:
            session = await memory.session("talk")
            await session.user("The red wheel has thirty-six spokes.")
            for n in range(20):
                await session.user(f"Filler number {n}, about the weather in the valley. " * 3)
                await session.request()
                await session.assistant("I see. " * 10)
            fork = await session.fork("aside")
            await fork.user("How many spokes has the red wheel?")
            await fork.run(ScriptedEngine())
            await session.user("And the wheel, what colour was it?")
            made = await memory.backup(tmp_path / "b")
            assert made.path == tmp_path / "b"
        async with open_memory(source) as memory:  # its cache is cold, as the copy's
            return await requests(memory)

    async def requests(memory: object) -> list[object]:
        told: list[object] = []
        for name in ("talk", "aside"):
            session = await memory.session(name, create=False)  # type: ignore[attr-defined]
            told.append((await session.request(format="openai"), session.resident()))
            told.append([hit.page for hit in (await session.recall("red wheel spokes")).hits])
        return told

    expected = asyncio.run(talk())
    restore(tmp_path / "b", target, clock=StillClock())
    adopt(target)

    async def again() -> list[object]:
        async with open_memory(target) as memory:
            assert memory.notices == []
            assert (await memory.verify()).problems == ()
            return await requests(memory)

    assert asyncio.run(again()) == expected


def test_a_restore_overwrites_nothing(tmp_path: Path) -> None:
    make_root(tmp_path / "m", 2).close()
    make(tmp_path / "m", tmp_path / "b")
    before = snapshot(tmp_path)
    with pytest.raises(BadInput, match="not empty"):
        restore(tmp_path / "b", tmp_path / "m", clock=StillClock())
    with pytest.raises(StoreMissing):
        restore(tmp_path / "none", tmp_path / "new", clock=StillClock())
    assert snapshot(tmp_path) == before
    (tmp_path / "empty").mkdir()
    restore(tmp_path / "b", tmp_path / "empty", clock=StillClock(), disk=Careless())
    check(tmp_path / "empty", 3).close()


def test_a_damaged_backup_is_not_restored(tmp_path: Path) -> None:
    make_root(tmp_path / "m", 2).close()
    make(tmp_path / "m", tmp_path / "b")
    (path,) = (tmp_path / "b" / "log").iterdir()
    path.write_bytes(path.read_bytes().replace(b"turn", b"tuRn", 1))
    with pytest.raises(StoreCorrupt, match="cannot be restored") as told:
        restore(tmp_path / "b", tmp_path / "new", clock=StillClock())
    assert f"--root {tmp_path / 'b'}" in told.value.hint
    assert not list(tmp_path.glob("new*"))


def check_a_cut_backup_is_refused(folder: Path) -> None:
    """Its last file is cut at each line and within one, or is gone: it was copied in part, say."""
    store = make_root(folder / "m")
    store.close()
    made = make(folder / "m", folder / "b")
    *_, last = sorted((folder / "b" / "log").iterdir())
    whole = last.read_bytes()
    ends = [at + 1 for at in range(len(whole) - 1) if whole[at : at + 1] == b"\n"]
    for kept in (*ends, len(whole) - 1, len(whole) // 2, 0, None):
        last.unlink() if kept is None else last.write_bytes(whole[:kept])
        with pytest.raises(StoreCorrupt, match="cut short") as refused:
            restore(folder / "b", folder / "r", clock=StillClock(), disk=Careless())
        assert "copy it again" in refused.value.hint
        assert not (folder / "r").exists()
    last.write_bytes(whole)
    restored = restore(folder / "b", folder / "r", clock=StillClock(), disk=Careless())
    assert (restored.head, restored.link) == (made.head, made.link)
    assert not (folder / "r" / ENDS).exists()


def test_a_backup_that_lost_its_end_is_not_restored(tmp_path: Path, tiny_segments: None) -> None:
    check_a_cut_backup_is_refused(tmp_path)


def test_control_a_log_alone_does_not_tell_that_its_end_is_gone(
    tmp_path: Path, tiny_segments: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module._Copier, "_check_end", lambda *args: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_a_cut_backup_is_refused(tmp_path)


def test_a_backup_that_was_written_to_since_is_restored_with_that(tmp_path: Path) -> None:
    make_root(tmp_path / "m").close()
    made = make(tmp_path / "m", tmp_path / "b")
    store = open_root(tmp_path / "b")
    write(store, ["and on"])
    head = store.log.head()
    store.close()
    assert head > made.head
    again = restore(tmp_path / "b", tmp_path / "r", clock=StillClock(), disk=Careless())
    assert again.head == head


def test_what_is_no_backup_is_told_from_one_that_was_cut_short(tmp_path: Path) -> None:
    make_root(tmp_path / "m").close()
    make(tmp_path / "m", tmp_path / "b")
    (tmp_path / "b" / "root.json").unlink()
    (tmp_path / "empty").mkdir()
    for name, said_of_it in (("b", "cut short"), ("empty", "no backup"), ("none", "no backup")):
        with pytest.raises(StoreMissing, match=said_of_it) as refused:
            restore(tmp_path / name, tmp_path / "r", clock=StillClock())
        assert refused.value.hint
    assert not (tmp_path / "r").exists()


def test_a_forget_that_was_under_way_is_finished_in_the_restored_memory(tmp_path: Path) -> None:
    class Dying(Disk):
        dies = False

        def create(self, path: Path) -> int:
            if self.dies and ".g1." in path.name:
                raise Crash
            return super().create(path)

    disk = Dying()
    store = make_root(tmp_path / "m", 3)
    store.close()
    store = open_root(tmp_path / "m", disk=disk)
    disk.dies = True
    with pytest.raises(Crash):
        forget(store, [Seq(3)])
    store.index.close()
    made = make(tmp_path / "m", tmp_path / "b")
    assert made.head == 6, "a lease and what was begun"
    store.close()
    restored = open_root(tmp_path / "b")
    assert isinstance(restored.log.get(Seq(3)).body, Erased)
    restored.close()
    assert b"turn 1" not in b"".join(snapshot(tmp_path / "b").values())


def test_interrupting_a_backup_leaves_nothing(tmp_path: Path) -> None:
    make_root(tmp_path / "m", 2).close()

    def interrupt(done: int, total: int) -> None:
        assert 0 < done <= total
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "m", tmp_path / "b", progress=interrupt)
    assert not list(tmp_path.glob("b*"))


def test_progress_ends_at_the_total(tmp_path: Path, tiny_segments: None) -> None:
    make_root(tmp_path / "m").close()
    told: list[tuple[int, int]] = []
    make(tmp_path / "m", tmp_path / "b", progress=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1]
    assert len(told) > 4
