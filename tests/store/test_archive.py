"""An archived log is the same log: it reads, verifies, forgets and is repaired like any other."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pagefault import Limits, Session, ToolCall
from pagefault.model.errors import (
    ArchiveMissing,
    BadInput,
    StoreCorrupt,
    StoreError,
)
from pagefault.model.events import Draft, Erased, Event, Lost, PageBody
from pagefault.model.ids import Seq
from pagefault.service.bootstrap import open_memory
from pagefault.store.api import EventLog
from pagefault.store.embedded import archiver, root_file, segments
from pagefault.store.embedded.archive import Archive
from pagefault.store.embedded.archive_format import BLOCK_BYTES, Stub, parse_stub
from pagefault.store.embedded.archiver import Archived, archive
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.inventory import Inventory, take_inventory
from pagefault.store.embedded.root import rebuild, repair
from pagefault.store.embedded.segment_format import file_name
from pagefault.store.embedded.segments import SegmentLog
from pagefault.store.store import Store
from pagefault.testing.builders import said
from pagefault.testing.log_contract import EventLogContract
from tests.store.logs import Careless, StillClock, fill, open_log
from tests.store.roots import (
    forget,
    make_root,
    make_segments_tiny,
    open_root,
    snapshot,
    tools,
    write,
)
from tests.store.test_backup import check, make
from tests.store.test_erase import (
    SECRET_TEXT,
    TARGETS,
    Crash,
    Crashing,
    check_erased,
    check_nowhere,
)


@pytest.fixture
def tiny_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    make_segments_tiny(monkeypatch)


def move(path: Path, **options: object) -> Archived:
    given = {"clock": StillClock(), "keep": 0, "disk": Careless()} | options
    return archive(path, **given)  # type: ignore[arg-type]


def move_all(log_directory: Path, disk: Disk | None = None) -> None:
    """Archive every segment of a bare log but the last, as `archive` does with a root's."""
    disk = disk or Careless()
    place = Archive(log_directory)
    archiver._establish(place, None, "root-1", disk)
    inventory = take_inventory(log_directory)
    for number in archiver._candidates(inventory, 0):
        path = log_directory / file_name(number, inventory.generations[number])
        place.put(number, inventory.generations[number], path.read_bytes(), disk)
        disk.unlink(path)


# --- the same contract ----------------------------------------------------------------------------


class ArchivingLog(SegmentLog):
    """Archives whatever is sealed after every append, under its own feet."""

    def append(self, drafts: Sequence[Draft]) -> list[Event]:
        events = super().append(drafts)
        move_all(self._directory)
        return events


class TestArchivedLog(EventLogContract):
    @pytest.fixture
    def log(self, tmp_path: Path) -> Iterator[EventLog]:
        log = open_log(
            tmp_path, kind=ArchivingLog, segment_bytes=2000, files_max=3, disk=Careless()
        )
        yield log
        assert log.verify() == []
        log.close()


# --- the same bytes -------------------------------------------------------------------------------


def test_the_archived_file_is_what_gunzip_makes_the_segment_of(
    tmp_path: Path, tiny_segments: None
) -> None:
    make_root(tmp_path / "m").close()
    before = {path.name: path.read_bytes() for path in (tmp_path / "m" / "log").iterdir()}
    moved = move(tmp_path / "m")
    assert moved.segments == tuple(range(1, len(before)))
    for path in (tmp_path / "m" / "archive").glob("*.gz"):
        assert gzip.decompress(path.read_bytes()) == before.pop(path.name.removesuffix(".gz"))
        assert path.stat().st_mode & 0o777 == 0o600
    assert len(before) == 1, "the segment that is written to stays"
    again = move(tmp_path / "m")
    assert again.segments == ()
    assert again.archived == len(moved.segments)


def test_everything_is_as_before(tmp_path: Path, tiny_segments: None) -> None:
    store = make_root(tmp_path / "m")
    events = list(store.log.read())
    store.close()
    move(tmp_path / "m", keep=2)
    store = open_root(tmp_path / "m")
    assert store.rebuilt == ""
    assert [store.log.get(event.seq) for event in events] == events
    assert list(store.log.read()) == events
    assert store.verify().problems == ()
    write(store, ["and on"])
    store.close()
    rebuild(tmp_path / "m", **tools())  # type: ignore[arg-type]
    assert open_root(tmp_path / "m").verify().problems == ()


def test_one_fault_inflates_one_member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_log(tmp_path, segment_bytes=600_000, disk=Careless())
    fill(log, [1000], lambda seq: f"turn {seq} " * 60)
    log.append([said("roll")])
    move_all(tmp_path / "log")
    inflated: list[int] = []
    from pagefault.store.embedded import archive_format

    whole = archive_format.inflate

    def counting(member: bytes, length: int) -> bytes:
        inflated.append(length)
        return whole(member, length)

    monkeypatch.setattr(archive_format, "inflate", counting)
    for seq in (1, 2, 500, 1001):
        log.get(Seq(seq))
        assert len(inflated) == 1
        assert inflated.pop() < 2 * BLOCK_BYTES


def test_a_dry_run_changes_nothing_and_tells_what_would_come(
    tmp_path: Path, tiny_segments: None
) -> None:
    make_root(tmp_path / "m").close()
    before = snapshot(tmp_path / "m")
    plan = move(tmp_path / "m", dry_run=True)
    assert snapshot(tmp_path / "m") == before
    moved = move(tmp_path / "m")
    assert (plan.segments, plan.bytes_before) == (moved.segments, moved.bytes_before)
    assert plan.bytes_after == moved.bytes_after
    assert not plan.done


# --- another disk ---------------------------------------------------------------------------------


def test_an_archive_elsewhere_is_found_again(tmp_path: Path, tiny_segments: None) -> None:
    make_root(tmp_path / "m").close()
    move(tmp_path / "m", to=tmp_path / "cold", keep=3)
    assert list((tmp_path / "cold").glob("*.gz"))
    store = open_root(tmp_path / "m")
    assert store.verify().problems == ()
    for n in range(20):
        write(store, [f"more {n}"])
    store.close()
    assert move(tmp_path / "m").segments, "without --to it is remembered"
    assert move(tmp_path / "m", to=tmp_path / "cold").segments == ()
    with pytest.raises(BadInput, match="archive is at"):
        move(tmp_path / "m", to=tmp_path / "other")


def test_a_place_that_is_not_for_this_archive_is_refused(
    tmp_path: Path, tiny_segments: None
) -> None:
    for name in ("m", "n"):
        make_root(tmp_path / name).close()
        facts = {"format": root_file.FORMAT, "id": name, "project": "", "made_ms": 1}
        (tmp_path / name / "root.json").write_text(json.dumps(facts))
    move(tmp_path / "n", to=tmp_path / "cold")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "something").touch()
    before = snapshot(tmp_path / "m")
    for place in ("cold", "full", "m/log", "m/elsewhere"):
        with pytest.raises(BadInput):
            move(tmp_path / "m", to=tmp_path / place)
    assert snapshot(tmp_path / "m") == before


@pytest.fixture
def away(tmp_path: Path, tiny_segments: None) -> Iterator[Store]:
    """A memory whose archive is on a disk that is not mounted: an empty directory is there.

    Whoever has the session open leased it just before.
    """
    make_root(tmp_path / "m").close()
    move(tmp_path / "m", to=tmp_path / "cold", keep=1)
    store = open_root(tmp_path / "m")
    write(store, ["one more"])
    (tmp_path / "cold").rename(tmp_path / "unmounted")
    (tmp_path / "cold").mkdir()
    assert isinstance(store.log, SegmentLog)
    store.log._handles.close()  # a disk with open files cannot be taken away
    yield store
    store.close()


def _mount(tmp_path: Path) -> None:
    (tmp_path / "cold").rmdir()
    (tmp_path / "unmounted").rename(tmp_path / "cold")


def test_without_its_archive_the_rest_is_served_and_nothing_is_called_damage(
    tmp_path: Path, away: Store
) -> None:
    assert away.refusal is None
    [notice] = away.notices
    assert str(tmp_path / "cold") in notice
    assert isinstance(away.log, SegmentLog)
    assert away.log.damage() == []
    write(away, ["and on"])
    assert away.log.get(Seq(31)).seq == 31
    for read in (lambda: away.log.get(Seq(1)), lambda: list(away.log.read())):
        with pytest.raises(ArchiveMissing, match=str(tmp_path / "cold")) as caught:
            read()
        assert "mount it" in caught.value.hint
    problems = away.verify().problems
    assert problems
    assert all("not checked" in problem for problem in problems)
    away.close()
    before = snapshot(tmp_path / "m")
    for act in (
        lambda: rebuild(tmp_path / "m", **tools()),  # type: ignore[arg-type]
        lambda: repair(tmp_path / "m", **tools()),  # type: ignore[arg-type]
        lambda: move(tmp_path / "m"),
    ):
        with pytest.raises(ArchiveMissing):
            act()
    after = snapshot(tmp_path / "m")
    assert after == before
    _mount(tmp_path)
    assert open_root(tmp_path / "m").verify().problems == ()


def test_what_cannot_be_reached_is_not_forgotten_by_half(tmp_path: Path, away: Store) -> None:
    head = away.log.head()
    with pytest.raises(ArchiveMissing):
        forget(away, [Seq(3), head])
    assert away.log.head() == head, "nothing was begun"
    forget(away, [head])
    assert isinstance(away.log.get(head).body, Erased)
    _mount(tmp_path)
    forget(away, [Seq(3)])
    assert isinstance(away.log.get(Seq(3)).body, Erased)


# --- forgetting -----------------------------------------------------------------------------------


def _text(seq: int) -> str:
    return f"{SECRET_TEXT} {seq}" if seq in TARGETS else f"turn {seq}"


def check_nowhere_inflated(root: Path, text: str) -> None:
    """As `check_nowhere`, and in nothing that any gzip under the root can be inflated to."""
    check_nowhere(root, text)
    for path in list(root.rglob("*")):
        if path.is_file() and b"\x1f\x8b" in path.read_bytes():
            plain = path.with_name("inflated")
            plain.write_bytes(gzip.decompress(path.read_bytes()))
            try:
                check_nowhere(path.parent, text)
            finally:
                plain.unlink()


def test_what_was_forgotten_is_not_in_the_archive_either(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=1_500, disk=Careless())
    events = fill(log, [2, 1, 1, 1, 5, 1], _text)
    move_all(tmp_path / "log")
    check_nowhere(tmp_path / "archive", SECRET_TEXT)
    with pytest.raises(AssertionError, match="is in"):  # the control: it was there
        check_nowhere_inflated(tmp_path, SECRET_TEXT)
    assert log.erase(TARGETS) == 3
    check_nowhere_inflated(tmp_path, SECRET_TEXT)
    assert log.verify() == []
    log.close()
    check_erased(tmp_path, events)


def test_control_an_old_generation_that_stays_in_the_archive_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_log(tmp_path, segment_bytes=1_500, disk=Careless())
    fill(log, [2, 1, 1, 1, 5, 1], _text)
    move_all(tmp_path / "log")
    monkeypatch.setattr(Archive, "remove", lambda self, number, generation, disk: None)
    log.erase(TARGETS)
    with pytest.raises(AssertionError, match="is in"):
        check_nowhere_inflated(tmp_path, SECRET_TEXT)


# --- crashes --------------------------------------------------------------------------------------


def test_an_archiving_that_crashed_anywhere_loses_nothing_and_leaves_no_copy_to_a_forget(
    tmp_path: Path, tiny_segments: None
) -> None:
    make_root(tmp_path / "model", 8, "turn {} of many").close()
    events = list(open_root(tmp_path / "model").log.read())
    disk = Crashing(10**9)
    for steps in range(200):
        path = tmp_path / str(steps)
        shutil.copytree(tmp_path / "model", path)
        disk.left = steps
        try:
            move(path, disk=disk)
        except Crash:
            reader = open_root(path, read_only=True)
            assert list(reader.log.read()) == events
            assert reader.verify().problems == ()
            reader.close()
            store = open_root(path)
            store.log.erase([Seq(3)])
            check_nowhere_inflated(path, "turn 1 of many")
            assert [event.seq for event in store.log.read()] == [event.seq for event in events]
            store.close()
            assert move(path).archived > 0, "it can be done again"
            store = open_root(path)
            assert store.verify().problems == ()
            store.close()
            assert not list(path.rglob("*.new"))
        else:
            assert steps > 10
            return
    raise AssertionError("it never ends")


def test_control_a_file_of_the_archive_that_no_stub_names_would_outlive_a_forget(
    tmp_path: Path, tiny_segments: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Archiving that begins with the file and not with its stub."""

    def careless(
        self: Archive, number: int, generation: int, stub: Stub, packed: bytes, disk: Disk
    ) -> Path:
        path = self.path(number, generation)
        disk.place(path, path.with_name(path.name + ".new"), packed)
        disk.place(self.stub_path(number, generation), self.log / "x.new", stub.encode())
        return path

    make_root(tmp_path / "model", 8, "turn {} of many").close()
    monkeypatch.setattr(Archive, "place", careless)
    found = 0
    for steps in range(1, 20):
        path = tmp_path / str(steps)
        shutil.copytree(tmp_path / "model", path)
        try:
            move(path, disk=Crashing(steps))
        except Crash:
            store = open_root(path)
            store.log.erase([Seq(3)])
            store.close()
            try:
                check_nowhere_inflated(path, "turn 1 of many")
            except (AssertionError, EOFError):
                found += 1
    assert found


def test_an_erasure_that_crashed_anywhere_is_finished_by_repeating_it(tmp_path: Path) -> None:
    disk = Crashing(10**9)
    for steps in range(200):
        path = tmp_path / str(steps)
        log = open_log(path, segment_bytes=1_500, disk=Careless())
        events = fill(log, [2, 1, 1, 1, 5, 1], _text)
        move_all(path / "log")
        log.close()
        log = open_log(path, segment_bytes=1_500, disk=disk)
        disk.left = steps
        try:
            log.erase(TARGETS)
        except Crash:
            log.close()
            again = open_log(path, segment_bytes=1_500, disk=Careless())
            assert again.refusal is None
            assert again.verify() == []
            again.erase(TARGETS)
            again.close()
            check_nowhere_inflated(path, SECRET_TEXT)
            check_erased(path, events)
        else:
            assert steps > 10
            return
        finally:
            disk.left = 10**9
    raise AssertionError("it never ends")


def test_a_full_disk_leaves_every_segment_where_it_was(tmp_path: Path, tiny_segments: None) -> None:
    class Full(Careless):
        def write(self, fd: int, data: bytes | memoryview) -> int:
            if data[:2] == b"\x1f\x8b":
                raise OSError(28, "No space left on device")
            return super().write(fd, data)

    make_root(tmp_path / "m").close()
    before = {path: path.read_bytes() for path in (tmp_path / "m" / "log").iterdir()}
    with pytest.raises(StoreError, match="No space"):
        move(tmp_path / "m", disk=Full())
    store = open_root(tmp_path / "m")
    assert store.verify().problems == ()
    assert {path: path.read_bytes() for path in (tmp_path / "m" / "log").iterdir()} == before


# --- damage ---------------------------------------------------------------------------------------


def _sizes_of_a_member(path: Path) -> list[int]:
    stub = parse_stub(path.read_bytes())
    assert stub is not None
    return list(stub.packed)


def _archived(tmp_path: Path) -> tuple[list[Event], Path, Path]:
    log = open_log(tmp_path, segment_bytes=150_000, disk=Careless())
    chance = random.Random(5)
    events = fill(log, [1] * 600, lambda seq: f"turn {seq} {chance.randbytes(100).hex()}")
    move_all(tmp_path / "log")
    log.close()
    (stub, *_) = sorted((tmp_path / "log").glob("*.archived"))
    (packed, *_) = sorted((tmp_path / "archive").glob("*.gz"))
    return events, stub, packed


def test_each_flipped_bit_of_the_archive_is_noticed_and_costs_one_member_at_most(
    tmp_path: Path,
) -> None:
    events, stub, packed = _archived(tmp_path)
    bounds = _sizes_of_a_member(stub)
    assert len(bounds) > 2
    whole, chance = packed.read_bytes(), random.Random(3)
    spots = [0, 1, 4, 9, bounds[1] - 8, bounds[1] - 1, bounds[1], len(whole) - 1]
    spots += [chance.randrange(len(whole)) for _ in range(12)]
    for spot in spots:
        damaged = bytearray(whole)
        damaged[spot] ^= 1 << spot % 8
        packed.write_bytes(damaged)
        log = open_log(tmp_path, read_only=True)
        assert log.verify(), f"the bit at {spot} went unnoticed"
        now = list(log.read_rest())
        bad = [event.seq for event in now if isinstance(event.body, Lost)]
        assert [event for event in now if event.seq not in bad] == [
            event for event in events if event.seq not in bad
        ]
        assert not bad or bad[-1] - bad[0] < 200, "more than one member was lost"
        log.close()


def test_control_without_its_checksum_some_bits_of_the_archive_go_unnoticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pagefault.store.embedded.archived_segment import ArchivedSegment

    _, _, packed = _archived(tmp_path)
    damaged = bytearray(packed.read_bytes())
    damaged[4] ^= 1  # the time of a member, which nothing reads
    packed.write_bytes(damaged)
    monkeypatch.setattr(ArchivedSegment, "wrapping", lambda self: [])
    assert open_log(tmp_path, read_only=True).verify() == []


# --- what stayed ----------------------------------------------------------------------------------


@pytest.fixture
def stayed(tmp_path: Path, tiny_segments: None) -> Path:
    """What stayed of the first segment of an archived memory at `m`: its second record."""
    make_root(tmp_path / "m").close()
    move(tmp_path / "m", needed=lambda: [Seq(2)])
    return Archive(tmp_path / "m" / "log").kept_path(1, 0)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-3],
        lambda data: data[:12] + bytes([data[12] ^ 1]) + data[13:],
        lambda data: gzip.compress(gzip.decompress(data)[:-2] + b" \n"),
        lambda data: data + data,
    ],
    ids=["emptied", "cut", "flipped", "another line", "twice"],
)
def test_damage_in_what_stayed_is_told_and_archiving_again_mends_it(
    tmp_path: Path, stayed: Path, damage: Callable[[bytes], bytes]
) -> None:
    before = stayed.read_bytes()
    stayed.write_bytes(damage(before))
    told = open_root(tmp_path / "m", read_only=True).verify()
    assert len(told.problems) == 1
    assert stayed.name in told.problems[0]
    assert told.advice == ("`pagefault archive` makes it again of the archive",)
    move(tmp_path / "m", needed=lambda: [Seq(2)])
    assert stayed.read_bytes() == before
    assert open_root(tmp_path / "m", read_only=True).verify().problems == ()


def test_what_stayed_is_in_a_backup(tmp_path: Path, stayed: Path) -> None:
    make(tmp_path / "m", tmp_path / "copy")
    (tmp_path / "copy" / "archive").rename(tmp_path / "unmounted")
    with_it = Archive(tmp_path / "copy" / "log")
    assert list(with_it.kept(1, 0)) == [Seq(2)]


@pytest.mark.parametrize("damage", ["member", "stub", "both", "file", "trailer"])
def test_a_damaged_archive_is_repaired_and_what_can_be_read_is_kept(
    tmp_path: Path, damage: str
) -> None:
    events, stub, packed = _archived(tmp_path)
    data = bytearray(packed.read_bytes())
    if damage in ("member", "both"):
        data[_sizes_of_a_member(stub)[1] + 500] ^= 16
        packed.write_bytes(data)
    if damage == "trailer":
        data[-1] ^= 1
        packed.write_bytes(data)
    if damage in ("stub", "both"):
        stub.write_bytes(stub.read_bytes()[:-40] + b"x" * 40)
    if damage == "file":
        packed.unlink()
    log = open_log(tmp_path, disk=Careless())
    assert log.verify()
    report = log.repair()
    assert log.verify() == []
    assert log.refusal is None
    lost = {seq for first, last in report.lost for seq in range(first, last + 1)}
    for event in events:
        now = log.get(event.seq)
        assert isinstance(now.body, Lost) if event.seq in lost else now == event
    if damage in ("stub", "trailer"):
        assert not lost
    elif damage == "member":
        assert 0 < len(lost) < 200
    if damage != "file":
        assert report.quarantined
    assert not log.repair().rewritten, "a second repair finds nothing"
    assert isinstance(log.get(log.append([said("on")])[0].seq).body, PageBody)
    log.close()


def test_a_damaged_segment_is_not_archived(tmp_path: Path, tiny_segments: None) -> None:
    make_root(tmp_path / "m").close()
    path = sorted((tmp_path / "m" / "log").iterdir())[1]
    path.write_bytes(path.read_bytes().replace(b"turn", b"tuRn", 1))
    with pytest.raises(StoreCorrupt, match="not archived"):
        move(tmp_path / "m")
    assert path.exists()


# --- backup ---------------------------------------------------------------------------------------


def test_a_backup_of_an_archived_memory_holds_its_archive(
    tmp_path: Path, tiny_segments: None
) -> None:
    store = make_root(tmp_path / "m")
    events = list(store.log.read())
    store.close()
    moved = move(tmp_path / "m", to=tmp_path / "cold")
    make(tmp_path / "m", tmp_path / "b")
    shutil.rmtree(tmp_path / "cold")
    copy = check(tmp_path / "b", 31)
    assert list(copy.log.read()) == events
    assert len(list((tmp_path / "b" / "archive").glob("*.gz"))) == len(moved.segments)
    copy.close()
    with pytest.raises(ArchiveMissing):
        make(tmp_path / "m", tmp_path / "c")
    assert not list(tmp_path.glob("c.*"))


# --- in a conversation ----------------------------------------------------------------------------


def test_a_fault_on_a_page_that_cannot_be_reached_is_refused_and_served_later(
    tmp_path: Path, tiny_segments: None
) -> None:
    limits = Limits(recall_tokens_max=0)

    async def talk() -> None:
        async with open_memory(tmp_path / "m", window=2_000, limits=limits) as memory:
            session = await memory.session("talk")
            await session.user("The red wheel has thirty-six spokes.")
            for n in range(30):
                await session.user(f"Filler number {n}, about the weather in the valley. " * 3)
                await session.assistant("I see. " * 10)
            await session.request()

    async def ask(session: Session) -> dict[str, Any]:
        await session.user("How many spokes?")
        await session.request()
        call = ToolCall("c", "page_fault", '{"page_id": "msg_1", "target_level": 0}')
        told: dict[str, Any] = json.loads(await session.call(call))
        await session.assistant("Done.")
        return told

    async def go_on() -> None:
        async with open_memory(tmp_path / "m", window=2_000, limits=limits) as memory:
            session = await memory.session("talk")  # opened while the archive is there,
            await session.user("Wait a moment.")  # and leased: whose it was stands there
            (tmp_path / "cold").rename(tmp_path / "unmounted")
            assert isinstance(memory._store.log, SegmentLog)
            memory._store.log._handles.close()  # a disk with open files cannot be taken away
            assert (await ask(session))["error"]["code"] == "archive_missing"
            (tmp_path / "unmounted").rename(tmp_path / "cold")
            assert "thirty-six" in json.dumps(await ask(session))

    asyncio.run(talk())
    assert move(tmp_path / "m", to=tmp_path / "cold").segments
    asyncio.run(go_on())


# --- beside other processes -----------------------------------------------------------------------


def test_a_process_whose_segments_another_archived_reads_writes_and_forgets_on(
    tmp_path: Path, tiny_segments: None
) -> None:
    make_root(tmp_path / "m", text="The words of turn {} end here, and no others.").close()
    store, reader = open_root(tmp_path / "m"), open_root(tmp_path / "m", read_only=True)
    texts = {event.seq: event.body for event in store.log.read()}
    assert texts == {event.seq: event.body for event in reader.log.read()}, "its files are open"
    assert move(tmp_path / "m", keep=0).segments
    for one in (store, reader):
        assert {event.seq: event.body for event in one.log.read()} == texts
        assert one.log.get(Seq(3)).body == texts[Seq(3)]
    for _ in range(20):
        write(store, ["and on"])
    assert move(tmp_path / "m", keep=0).segments, "what that process rolled"
    forget(store, [Seq(3)])
    check_nowhere_inflated(tmp_path / "m", "The words of turn 1 end here")
    reader.look()
    assert reader.log.head() == store.log.head()
    for one in (store, reader):
        assert isinstance(one.log.get(Seq(3)).body, Erased)
        assert one.verify().problems == ()
        one.close()


def test_control_whoever_compares_generations_alone_does_not_find_the_stub(
    tmp_path: Path, tiny_segments: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_root(tmp_path / "m").close()
    store = open_root(tmp_path / "m")
    store.log.get(Seq(3))
    move(tmp_path / "m", keep=0)
    whole, looks = take_inventory, iter(range(100))

    def without_the_archive(directory: Path) -> Inventory:
        next(looks)  # ends it: it looks again and again
        return replace(whole(directory), archived=frozenset())

    monkeypatch.setattr(segments, "take_inventory", without_the_archive)
    with pytest.raises((StoreError, RuntimeError, StopIteration)):
        store.log.get(Seq(3))
    store.close()
