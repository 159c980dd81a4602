"""Both logs keep the same contract; and what only the log on disk promises."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pagefault.model.errors import StoreLatched, StoreReadOnly
from pagefault.model.events import Event
from pagefault.model.ids import Seq
from pagefault.store.api import EventLog
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.segments import SegmentLog
from pagefault.store.latch import Latch
from pagefault.testing.builders import opened, said
from pagefault.testing.log_contract import EventLogContract
from tests.examples import few
from tests.store.logs import ends, files, fill, memory_log, open_log


class TestMemoryLog(EventLogContract):
    @pytest.fixture
    def log(self) -> EventLog:
        return memory_log()


class TestSegmentLog(EventLogContract):
    @pytest.fixture
    def log(self, tmp_path: Path) -> Iterator[EventLog]:
        log = open_log(tmp_path)
        yield log
        assert log.verify() == []
        log.close()


class TestSegmentLogOfTinySegments(EventLogContract):
    """Every few records another file, and fewer files open than there are."""

    @pytest.fixture
    def log(self, tmp_path: Path) -> Iterator[EventLog]:
        log = open_log(tmp_path, segment_bytes=4000, files_max=3, durable=False)
        yield log
        assert log.verify() == []
        log.close()


def test_a_reopened_log_holds_the_same_events_and_goes_on(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=2000)
    events = fill(log, [1, 2, 3, 20, 1])
    log.close()
    log = open_log(tmp_path, segment_bytes=3000, seed=2)
    assert list(log.read()) == events
    assert log.recovery is None
    events += log.append([said("more")])
    log.close()
    log = open_log(tmp_path, segment_bytes=3000)
    assert list(log.read()) == events
    assert len(files(tmp_path)) > 2
    assert log.verify() == []


def test_a_segment_is_never_rolled_within_a_batch(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=1000)
    fill(log, [50, 50])
    assert [len(ends(path)) - 1 for path in files(tmp_path)] == [51, 50]


def test_opening_reads_nothing_of_the_sealed_segments_but_the_last_seal(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=500)
    events = fill(log, [1] * 60)
    log.close()
    log = open_log(tmp_path)
    assert sum(segment._loaded for segment in log._segments) <= 2
    assert log.get(Seq(30)) == events[29]
    assert sum(segment._loaded for segment in log._segments) <= 3


def test_the_same_inputs_make_the_same_bytes(tmp_path: Path) -> None:
    written = []
    for name in ("a", "b"):
        log = open_log(tmp_path / name, entropy=bytes)
        fill(log, [3, 4])
        written.append(files(tmp_path / name)[0].read_bytes())
    assert written[0] == written[1]


def test_a_log_opened_for_reading_writes_nothing(tmp_path: Path) -> None:
    writer = open_log(tmp_path)
    events = fill(writer, [3])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    reader = open_log(tmp_path, read_only=True)
    assert list(reader.read()) == events
    for attempt in (lambda: reader.append([said("x")]), lambda: reader.erase([Seq(2)])):
        with pytest.raises(StoreReadOnly):
            attempt()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_log_that_is_not_there_can_be_opened_for_reading(tmp_path: Path) -> None:
    assert open_log(tmp_path / "none", read_only=True).head() == 0
    assert not (tmp_path / "none").exists()


class Failing(Disk):
    """Fails one kind of call from its n-th on, until it is `healed`."""

    def __init__(self, call: str, after: int, number: int) -> None:
        self.failures = 0
        self._call, self._left, self._number = call, after, number

    def _count(self, call: str) -> None:
        if call == self._call:
            self._left -= 1
            if self._left < 0:
                self.failures += 1
                raise OSError(self._number, "injected")

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self._count("write")
        return super().write(fd, data)

    def sync(self, fd: int) -> None:
        self._count("sync")
        super().sync(fd)

    def truncate(self, fd: int, length: int) -> None:
        self._count("truncate")
        super().truncate(fd, length)

    def append_to(self, path: Path) -> int:
        self._count("append_to")
        return super().append_to(path)

    def make_directory(self, path: Path) -> None:
        self._count("make_directory")
        super().make_directory(path)


@pytest.mark.parametrize("call", ["write", "sync"])
def test_after_a_failure_nothing_is_written_until_it_is_opened_again(
    tmp_path: Path, call: str
) -> None:
    disk = Failing(call, 3, errno.EIO)
    log = open_log(tmp_path, disk=disk)
    acknowledged: list[Seq] = []

    def write() -> None:
        for n in range(10):
            log.append([said(f"turn {n}")])
            log.sync()
            acknowledged.append(log.head())

    with pytest.raises(StoreLatched) as caught:
        write()
    assert isinstance(caught.value.__cause__, OSError)
    assert "open it again" in caught.value.hint
    for attempt in (lambda: log.append([said("x")]), log.sync, lambda: log.erase([Seq(1)])):
        with pytest.raises(StoreLatched):
            attempt()
    assert disk.failures == 1, "a failed write or sync must never be retried"
    assert log.get(acknowledged[-1]).seq == acknowledged[-1]
    log.close()
    again = open_log(tmp_path)
    assert again.head() >= acknowledged[-1]
    assert again.verify() == []


def test_a_full_disk_is_named_as_such(tmp_path: Path) -> None:
    log = open_log(tmp_path, disk=Failing("write", 1, errno.ENOSPC))
    with pytest.raises(StoreLatched, match="the disk is full") as caught:
        log.append([said("x")])
    assert "free some space" in caught.value.hint


class Filling(Disk):
    """Takes a part of one write, and then nothing more, until there is room again."""

    is_full = False

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if not self.is_full:
            return super().write(fd, data)
        super().write(fd, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _filled(tmp_path: Path) -> tuple[Filling, SegmentLog, list[Event]]:
    disk = Filling()
    log = open_log(tmp_path, disk=disk)
    events = fill(log, [3, 2])
    disk.is_full = True
    with pytest.raises(StoreLatched):
        log.append([said("lost"), said("too")])
    return disk, log, events


def test_a_log_that_ran_out_of_room_goes_on_from_what_was_whole(tmp_path: Path) -> None:
    disk, log, events = _filled(tmp_path)
    assert log.recover(log.head()), "it does not know whether there is room"
    with pytest.raises(StoreLatched, match="the disk is full"):
        log.append([said("lost again")])
    disk.is_full = False
    assert log.recover(log.head())
    events += log.append([said("kept")])
    log.sync()
    assert list(log.read()) == events
    assert log.verify() == []
    assert list(open_log(tmp_path, read_only=True).read()) == events


def test_control_going_on_behind_what_was_torn_is_damage(tmp_path: Path) -> None:
    disk, log, _ = _filled(tmp_path)
    disk.is_full, log._latch = False, Latch()
    log.append([said("kept")])
    assert open_log(tmp_path, read_only=True).verify() != []


@pytest.mark.parametrize(("call", "number"), [("sync", errno.ENOSPC), ("write", errno.EIO)])
def test_after_a_failed_sync_or_a_broken_medium_no_log_goes_on(
    tmp_path: Path, call: str, number: int
) -> None:
    log = open_log(tmp_path, disk=Failing(call, 2, number))

    def write() -> None:
        for n in range(5):
            log.append([said(f"turn {n}")])
            log.sync()

    with pytest.raises(StoreLatched):
        write()
    assert not log.recover(log.head())
    assert isinstance(log.refusal, StoreLatched)


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EACCES])
@pytest.mark.parametrize("call", ["truncate", "append_to", "make_directory"])
def test_a_medium_that_cannot_be_written_still_opens_for_reading(
    tmp_path: Path, call: str, number: int
) -> None:
    log = open_log(tmp_path)
    events = fill(log, [3, 2])
    log.close()
    path = files(tmp_path)[0]
    path.write_bytes(path.read_bytes() + b'{"v":"2.0","se')  # a torn tail, which it cannot cut
    log = open_log(tmp_path, disk=Failing(call, 0, number))
    assert list(log.read()) == events
    assert isinstance(log.refusal, StoreReadOnly)
    assert log.recovery is not None
    assert not log.recovery.performed
    with pytest.raises(StoreReadOnly, match="injected"):
        log.append([said("x")])


def test_short_writes_are_continued(tmp_path: Path) -> None:
    class Stingy(Disk):
        def write(self, fd: int, data: bytes | memoryview) -> int:
            return super().write(fd, data[:7])

    log = open_log(tmp_path, disk=Stingy())
    events = fill(log, [3])
    assert list(open_log(tmp_path, read_only=True).read()) == events


def test_without_durability_sync_leaves_it_to_the_kernel(tmp_path: Path) -> None:
    class Counting(Disk):
        syncs = 0

        def sync(self, fd: int) -> None:
            self.syncs += 1
            super().sync(fd)

    for durable, expected in ((False, 0), (True, 5)):
        disk = Counting()
        log = open_log(tmp_path / str(durable), disk=disk, durable=durable)
        log.append([opened()])
        before = disk.syncs
        for n in range(5):
            log.append([said(f"{n}")])
            log.sync()
            log.sync()  # nothing new: nothing to do
        assert disk.syncs - before == expected


class LogMachine(RuleBasedStateMachine):
    """The log on disk against the log in memory, through reopening and erasing."""

    @initialize()
    def begin(self) -> None:
        import tempfile

        self.directory = tempfile.TemporaryDirectory()
        self.root = Path(self.directory.name)
        self.model = memory_log()
        self.real = self._open()

    def _open(self) -> SegmentLog:
        return open_log(self.root, segment_bytes=2500, files_max=2, durable=False)

    @rule(texts=st.lists(st.text(st.characters(codec="utf-8"), max_size=40), max_size=5))
    def append(self, texts: list[str]) -> None:
        drafts = [said(text, order=n) for n, text in enumerate(texts)]
        real, model = self.real.append(drafts), self.model.append(drafts)
        assert [(e.seq, e.body) for e in real] == [(e.seq, e.body) for e in model]

    @rule(data=st.data())
    def erase(self, data: st.DataObject) -> None:
        if head := self.model.head():
            seqs = data.draw(st.lists(st.integers(1, head).map(Seq), max_size=4))
            assert self.real.erase(seqs) == self.model.erase(seqs)

    @rule()
    def reopen(self) -> None:
        self.real.close()
        self.real = self._open()
        assert self.real.recovery is None

    @rule(data=st.data())
    def get(self, data: st.DataObject) -> None:
        if head := self.model.head():
            seq = Seq(data.draw(st.integers(1, head)))
            assert self.real.get(seq).body == self.model.get(seq).body

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "real"):
            return
        assert [e.body for e in self.real.read()] == [e.body for e in self.model.read()]
        assert self.real.verify() == []

    def teardown(self) -> None:
        if hasattr(self, "real"):
            self.real.close()
            self.directory.cleanup()


TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = few(6, torture=100, stateful_step_count=20)
