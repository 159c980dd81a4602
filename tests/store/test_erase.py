"""What was forgotten is nowhere under the root, whatever happened on the way; the chain holds."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pagefault.model.errors import StoreCorrupt, StoreLatched
from pagefault.model.events import Erased, Event, erased
from pagefault.model.ids import Seq
from pagefault.store import codec
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.segments import SegmentLog
from pagefault.testing.builders import said
from tests.store.logs import Careless, ends, files, fill, open_log

SECRET_TEXT = 'my "PIN" is 8731 \u00e9\u2028 and\tnobody may know'
TARGETS = [Seq(3), Seq(4), Seq(9)]


def _text(seq: int) -> str:
    return f"{SECRET_TEXT} {seq}" if seq in TARGETS else f"turn {seq}"


def check_nowhere(root: Path, text: str) -> None:
    """No file under the root holds the text: as it is, escaped, or in base64 at any alignment."""
    raw = text.encode()
    needles = {raw, *(json.dumps(text, ensure_ascii=only).encode()[1:-1] for only in (False, True))}
    for shift in range(3):
        whole = base64.b64encode(bytes(shift) + raw)
        core = whole[4 : len(whole) // 4 * 4 - 8]
        needles |= {core, core.translate(bytes.maketrans(b"+/", b"-_"))}
    for path in root.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            for needle in needles:
                assert needle not in data, f"{needle!r} is in {path}"


def check_erased(root: Path, events: list[Event]) -> None:
    for seq in TARGETS:
        check_nowhere(root, _text(seq)[: len(SECRET_TEXT)])
    log = open_log(root, disk=Careless())
    assert log.recovery is None
    assert log.verify() == [], "the chain must still verify"
    for event in events:
        assert log.get(event.seq) == (erased(event) if event.seq in TARGETS else event)
    more = log.append([said("and on")])
    log.close()
    log = open_log(root, disk=Careless())
    assert log.get(more[0].seq) == more[0]
    assert log.verify() == []
    log.close()


@pytest.mark.parametrize("segment_bytes", [100_000, 1_500, 500])
def test_what_was_erased_is_nowhere_under_the_root(tmp_path: Path, segment_bytes: int) -> None:
    log = open_log(tmp_path, segment_bytes=segment_bytes)
    events = fill(log, [2, 1, 1, 1, 5, 1], _text)
    with pytest.raises(AssertionError):
        check_nowhere(tmp_path, SECRET_TEXT)  # the control: it was there
    untouched = {path: path.read_bytes() for path in files(tmp_path)[2:]}
    assert log.erase(TARGETS) == 3
    assert log.erase(TARGETS) == 0
    for path in untouched.keys() & set(files(tmp_path)):
        assert path.read_bytes() == untouched[path]
    log.close()
    check_erased(tmp_path, events)


def test_control_an_old_generation_left_behind_fails_the_check(tmp_path: Path) -> None:
    class Keeping(Disk):
        def unlink(self, path: Path) -> None: ...

    log = open_log(tmp_path, disk=Keeping())
    fill(log, [10], _text)
    log.erase(TARGETS)
    with pytest.raises(AssertionError, match="is in"):
        check_nowhere(tmp_path, SECRET_TEXT)


def test_other_lines_are_copied_byte_for_byte(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=2_000)
    fill(log, [1] * 10, _text)
    before = {line for path in files(tmp_path) for line in path.read_bytes().splitlines()}
    log.erase(TARGETS)
    after = {line for path in files(tmp_path) for line in path.read_bytes().splitlines()}
    records = {line for line in before - after if line.startswith(b'{"v":')}
    assert {codec.parse(line + b"\n").seq for line in records} == set(TARGETS)


def test_a_guess_at_what_was_erased_cannot_be_confirmed(tmp_path: Path) -> None:
    """Before, whoever reads the log can check a guess against the commitment; after, nobody can."""
    log = open_log(tmp_path)
    events = fill(log, [3], _text)
    path = files(tmp_path)[0]
    spots = ends(path)
    before = codec.parse(path.read_bytes()[spots[2] : spots[3]])
    guess = codec.encode_body(events[2].body)
    assert before.salt is not None
    salt = codec.long(before.salt)
    assert codec.short(hmac.digest(salt, guess, "sha256")[:16]).decode() == before.commit
    log.erase([Seq(3)])
    path = files(tmp_path)[0]
    spots = ends(path)
    after = codec.parse(path.read_bytes()[spots[2] : spots[3]])
    assert after.commit == before.commit, "the chain needs it"
    assert after.salt is None
    assert not codec.confirms(after)
    for encoded in (salt, before.salt.encode(), salt.hex().encode(), base64.b64encode(salt)[:21]):
        for file in tmp_path.rglob("*"):
            assert file.is_dir() or encoded not in file.read_bytes()


def test_erasing_empties_the_quarantine(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, [10], _text)
    path = files(tmp_path)[0]
    data = bytearray(path.read_bytes())
    data[ends(path)[2] + 50] ^= 1
    path.write_bytes(data)
    log.close()
    log = open_log(tmp_path)
    log.repair()
    with pytest.raises(AssertionError, match="quarantine"):
        check_nowhere(tmp_path, SECRET_TEXT + " 3")
    log.erase([Seq(3)])
    check_nowhere(tmp_path, SECRET_TEXT + " 3")
    assert log.get(Seq(3)).body == Erased(type="lost")
    assert log.verify() == []


def test_nothing_is_erased_from_a_damaged_log(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=2_000)
    fill(log, [1] * 10, _text)
    path = files(tmp_path)[0]
    data = path.read_bytes()
    path.write_bytes(data.replace(b"turn 2", b"turn 9"))
    log.close()
    log = open_log(tmp_path)
    assert log.erase([Seq(3)]) == 1, "damage elsewhere in a sealed segment is copied as it is"
    assert [problem.first for problem in log.verify()] == [2]
    path = files(tmp_path)[0]
    data = path.read_bytes()
    path.write_bytes(data.replace(b"turn 5", b"turn 9\n"))
    log.close()
    with pytest.raises(StoreCorrupt):
        open_log(tmp_path).erase([Seq(4)])


def test_a_reader_elsewhere_finds_the_new_generation(tmp_path: Path) -> None:
    writer = open_log(tmp_path, segment_bytes=2_000)
    events = fill(writer, [1] * 12, _text)
    reader = open_log(tmp_path, read_only=True)
    assert list(reader.read()) == events  # and so holds the old files open
    halfway = reader.read(Seq(1))
    next(halfway)
    writer.erase([*TARGETS, Seq(13)])
    for seq in (*TARGETS, Seq(13)):
        assert isinstance(reader.get(seq).body, Erased)
    assert len(list(reader.read())) == len(events)
    assert reader.damage() == []
    assert len(list(halfway)) == len(events) - 2


# --- crashes ----------------------------------------------------------------------------------


class Crash(BaseException):
    """The process dies here."""


class Crashing(Careless):
    """Dies at its n-th change; a write gets half way."""

    def __init__(self, after: int) -> None:
        self.left = after

    def _step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Crash

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if self.left == 0:
            super().write(fd, data[: len(data) // 2])
        self._step()
        return super().write(fd, data)

    def sync(self, fd: int) -> None:
        self._step()

    def sync_directory(self, path: Path) -> None:
        self._step()

    def create(self, path: Path) -> int:
        self._step()
        return super().create(path)

    def append_to(self, path: Path) -> int:
        self._step()
        return super().append_to(path)

    def rename(self, old: Path, new: Path) -> None:
        self._step()
        super().rename(old, new)

    def unlink(self, path: Path) -> None:
        self._step()
        super().unlink(path)


def _crash_everywhere(
    root: Path,
    segment_bytes: int,
    act: Callable[[SegmentLog], object],
    check: Callable[[Path], None],
) -> int:
    """Do something to a log, dying at each step in turn; return how many steps there were."""
    for steps in range(200):
        own = root / str(steps)
        log = open_log(own, segment_bytes=segment_bytes, disk=Careless())
        fill(log, [2, 1, 1, 1, 5, 1], _text)
        log.close()
        disk = Crashing(10**9)
        log = open_log(own, segment_bytes=segment_bytes, disk=disk)
        disk.left = steps
        try:
            act(log)
        except Crash:
            log.close()
            check(own)
        else:
            log.close()
            return steps
    raise AssertionError("it never ends")


@pytest.mark.parametrize("segment_bytes", [100_000, 1_500])
def test_an_erasure_that_crashed_anywhere_is_finished_by_repeating_it(
    tmp_path: Path, segment_bytes: int
) -> None:
    model = open_log(tmp_path / "model", segment_bytes=segment_bytes)
    events = fill(model, [2, 1, 1, 1, 5, 1], _text)

    def check(root: Path) -> None:
        log = open_log(root, segment_bytes=segment_bytes, disk=Careless(), acknowledged=Seq(12))
        assert log.refusal is None
        assert log.recovery is None
        assert log.verify() == []
        log.erase(TARGETS)
        log.close()
        check_erased(root, events)
        assert not list(root.rglob("*.new"))

    steps = _crash_everywhere(tmp_path, segment_bytes, lambda log: log.erase(TARGETS), check)
    assert steps >= 6


def test_an_append_that_crashed_anywhere_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    """Through two rolls of the segment, with a batch of three in each."""

    def act(log: SegmentLog) -> None:
        for _ in range(3):
            log.append([said("new")] * 3)
            log.sync()

    def check(root: Path) -> None:
        log = open_log(root, segment_bytes=900, disk=Careless(), acknowledged=Seq(12))
        assert log.refusal is None
        assert (log.head() - 12) % 3 == 0
        assert log.verify() == []
        log.append([said("after")])
        assert log.verify() == []
        log.close()

    assert _crash_everywhere(tmp_path, 900, act, check) >= 15


def test_a_repair_that_crashed_anywhere_is_finished_by_repeating_it(tmp_path: Path) -> None:
    def act(log: SegmentLog) -> None:
        first, second = files(log._directory.parent)[:2]
        data = bytearray(first.read_bytes())
        data[ends(first)[1] + 60] ^= 1
        first.write_bytes(data)
        second.unlink()
        log.repair()

    def check(root: Path) -> None:
        log = open_log(root, segment_bytes=900, disk=Careless(), acknowledged=Seq(12))
        log.repair()
        assert log.verify() == []
        assert log.head() == 12
        assert not log.repair().rewritten
        log.append([said("after")])
        log.close()

    assert _crash_everywhere(tmp_path, 900, act, check) >= 8


def test_a_failed_erasure_latches(tmp_path: Path) -> None:
    class Full(Disk):
        full = False

        def create(self, path: Path) -> int:
            if self.full:
                raise OSError(28, "No space left on device")
            return super().create(path)

    disk = Full()
    log = open_log(tmp_path, disk=disk)
    events = fill(log, [3], _text)
    disk.full = True
    with pytest.raises(StoreLatched, match="full"):
        log.erase([Seq(3)])
    assert list(log.read()) == events
    with pytest.raises(StoreLatched):
        log.append([said("x")])
