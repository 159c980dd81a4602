"""Torn tails are cut, damage never is: at every byte, each with a control that must fail.

A *control* runs the same check against a log that was deliberately weakened. If it passed there,
the check would prove nothing.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from pagefault.model.errors import StoreCorrupt
from pagefault.model.events import Event, Lost
from pagefault.model.ids import Seq
from pagefault.store import codec
from pagefault.store.embedded import inventory, opening, recovery
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.recovery import Recovery, Tear, Verdict
from pagefault.store.embedded.repair import RepairReport
from pagefault.store.embedded.segment_format import parse_footer, parse_header
from pagefault.testing.builders import said
from tests.store.logs import Careless, ends, files, fill, open_log, readable

BATCHES = [1, 3, 1]


def _made(root: Path, *, segment_bytes: int, batches: list[int] = BATCHES) -> list[Event]:
    log = open_log(root, segment_bytes=segment_bytes, disk=Careless())
    events = fill(log, batches)
    log.close()
    return events


def _again(template: Path, root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(template, root)


# --- torn tails -------------------------------------------------------------------------------


def _batch_boundaries(events: list[Event], first: int, batches: list[int]) -> list[int]:
    """How many records of a file that begins with `first` are whole batches, ascending."""
    sums, total = [1], 1
    for size in batches:
        total += size
        sums.append(total)
    return [0, *(total - first + 1 for total in sums if total >= first)]


def check_torn_at(
    template: Path, root: Path, length: int, events: list[Event], disk: Disk, segment_bytes: int
) -> None:
    """A log whose last file was written only up to `length` opens with every whole batch."""
    _again(template, root)
    path = files(root)[-1]
    whole = path.read_bytes()
    header = parse_header(whole[: whole.index(b"\n") + 1])
    assert header is not None
    spots = ends(path)
    path.write_bytes(whole[:length])
    there = sum(1 for end in spots[1:] if end <= length)
    kept = max(n for n in _batch_boundaries(events, header.first, BATCHES) if n <= there)
    head = header.first - 1 + kept
    sealed = length == len(whole) > spots[-1]
    clean = length in {spots[kept]} or sealed

    log = open_log(root, disk=disk, segment_bytes=segment_bytes, acknowledged=Seq(head))
    assert log.refusal is None
    assert log.head() == head
    assert list(log.read()) == events[:head]
    assert (log.recovery is None) == clean
    if log.recovery is not None:
        assert log.recovery.performed
        assert log.recovery.bytes_cut == length - (spots[kept] if length > spots[0] else 0)
        assert log.recovery.records_cut == there - kept
    if length % 4 and not clean:  # going on from there is tried at every fourth byte
        log.close()
        return
    more = log.append([said("after")])
    assert log.verify() == []
    log.close()
    log = open_log(root, disk=disk)
    assert log.recovery is None
    assert list(log.read()) == [*events[:head], *more]
    log.close()


@pytest.mark.parametrize(
    ("segment_bytes", "every"),
    [(100_000, 7), (1_500, 1), pytest.param(100_000, 1, marks=pytest.mark.torture)],
)
def test_a_tail_torn_at_any_byte_is_cut_to_the_last_whole_batch(
    tmp_path: Path, segment_bytes: int, every: int
) -> None:
    events = _made(tmp_path / "made", segment_bytes=segment_bytes)
    length = files(tmp_path / "made")[-1].stat().st_size
    for at in range(0, length + 1, every):
        check_torn_at(tmp_path / "made", tmp_path / "torn", at, events, Careless(), segment_bytes)


def test_a_seal_torn_at_any_byte_is_written_again(tmp_path: Path) -> None:
    events = _made(tmp_path / "made", segment_bytes=1_500)
    files(tmp_path / "made")[-1].unlink()
    sealed = files(tmp_path / "made")[-1]
    spots = ends(sealed)
    held = sum(len(ends(path)) - 1 for path in files(tmp_path / "made"))
    for at in range(spots[-1], sealed.stat().st_size + 1):
        check_torn_at(tmp_path / "made", tmp_path / "torn", at, events[:held], Careless(), 1_500)


def test_control_a_log_that_keeps_part_of_a_batch_fails_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_batches(data, result, around, acknowledged):  # type: ignore[no-untyped-def]
        verdict = recovery.judge_tail(data, result, around, acknowledged)
        if verdict.torn and verdict.torn.tear is Tear.BATCH:
            kept = result.records_end
            return Verdict(torn=_recovery(around.path, kept, result.size - kept))
        return verdict

    _expect_torn_check_to_fail(
        tmp_path, lambda: monkeypatch.setattr(opening, "judge_tail", without_batches)
    )


def test_control_a_log_that_does_not_cut_fails_the_check(tmp_path: Path) -> None:
    class Keeping(Careless):
        def truncate(self, fd: int, length: int) -> None: ...

    _expect_torn_check_to_fail(tmp_path, lambda: None, Keeping())


def _recovery(path: Path, kept: int, cut: int) -> Recovery:
    return Recovery(path=path, tear=Tear.LINE, kept=kept, bytes_cut=cut, records_cut=0)


def _expect_torn_check_to_fail(
    root: Path, weaken: Callable[[], None], disk: Disk | None = None
) -> None:
    events = _made(root / "made", segment_bytes=100_000)
    spots = ends(files(root / "made")[-1])
    weaken()
    for at in (spots[4], spots[4] + 20):  # after two of a batch of three, and within the third
        if disk is not None and at == spots[4]:
            continue
        with pytest.raises((AssertionError, StoreCorrupt)):
            check_torn_at(root / "made", root / "torn", at, events, disk or Careless(), 100_000)


def test_a_segment_whose_first_line_was_torn_is_begun_again(tmp_path: Path) -> None:
    events = _made(tmp_path, segment_bytes=1_500)
    last = files(tmp_path)[-1]
    held = len(events) - (len(ends(last)) - 1)
    for text in (b"", b'{"pagefault":"segm', bytes(500)):
        last.write_bytes(text)
        log = open_log(tmp_path)
        assert log.recovery is not None
        assert log.recovery.tear is Tear.HEADER
        assert list(log.read()) == events[:held]
        log.append([said("after")])
        assert log.verify() == []
        log.close()
        last = files(tmp_path)[-1]


# --- damage -----------------------------------------------------------------------------------


def check_damaged(
    root: Path,
    path: Path,
    damage: Callable[[], object],
    events: list[Event],
    lost_max: int,
    *,
    thorough: bool = True,
) -> None:
    """After `damage` to one file of a log whose every record was acknowledged: nothing is cut,
    nothing reads wrong, everything else reads, it is noticed, and repair goes on with the rest.
    """
    damage()
    before = path.read_bytes() if path.exists() else None
    head = Seq(len(events))
    log = open_log(root, acknowledged=head, disk=Careless())
    assert (path.read_bytes() if path.exists() else None) == before, "something was cut"
    good = readable(log, head)
    assert len(good) >= len(events) - lost_max
    for seq in good:
        assert log.get(Seq(seq)) == events[seq - 1], "something else reads back"
    rest = list(log.read_rest())
    assert [event.seq for event in rest] == [event.seq for event in events]
    assert all(isinstance(e.body, Lost) for e in rest if e.seq not in good)
    assert log.verify(), "it was not noticed"
    if path == files(root)[-1] or not path.exists():
        assert isinstance(log.refusal, StoreCorrupt)
        assert log.damage()
        with pytest.raises(StoreCorrupt) as caught:
            log.append([said("x")])
        assert "repair" in caught.value.hint
    if not thorough:
        log.close()
        return
    log.repair()
    assert log.refusal is None
    assert log.verify() == []
    assert log.head() == head
    mended = list(log.read())
    for seq in good:
        assert mended[seq - 1] == events[seq - 1], "repair lost what could be read"
    again = log.repair()
    assert again == RepairReport()
    more = log.append([said("after")])
    log.close()
    log = open_log(root, acknowledged=head, disk=Careless())
    assert list(log.read()) == [*mended, *more]
    assert log.verify() == []
    log.close()


def _flip(path: Path, at: int, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(data)


def _flip_anywhere(
    template: Path, root: Path, events: list[Event], spots: list[tuple[int, int, int]]
) -> None:
    for count, (number, at, bit) in enumerate(spots):
        _again(template, root)
        path = files(root)[number]
        damage = partial(_flip, path, at, bit)
        thorough = count % 3 == 0  # mending is tried at every third
        check_damaged(root, path, damage, events, 1, thorough=thorough)


def _spots(template: Path, seed: int) -> list[tuple[int, int, int]]:
    chance = random.Random(seed)
    return [
        (number, at, chance.randrange(8))
        for number, path in enumerate(files(template))
        for at in range(path.stat().st_size)
    ]


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.torture)])
def test_a_flipped_bit_in_any_byte_is_noticed_and_costs_one_record_at_most(
    tmp_path: Path, every: int
) -> None:
    seed = 20
    print(f"seed {seed}")
    events = _made(tmp_path / "made", segment_bytes=700, batches=[1, 1])
    assert len(files(tmp_path / "made")) == 2
    spots = _spots(tmp_path / "made", seed)[::every]
    _flip_anywhere(tmp_path / "made", tmp_path / "flip", events, spots)


@pytest.mark.parametrize("count", [40, pytest.param(400, marks=pytest.mark.torture)])
def test_a_flipped_bit_anywhere_in_a_larger_log_is_noticed(
    tmp_path: Path, seed: int, count: int
) -> None:
    events = _made(tmp_path / "made", segment_bytes=20_000, batches=[1, 5] * 20)
    spots = random.Random(seed).sample(_spots(tmp_path / "made", seed), count)
    _flip_anywhere(tmp_path / "made", tmp_path / "flip", events, spots)


def test_control_without_checksums_flipped_bits_go_unnoticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = _made(tmp_path / "made", segment_bytes=100_000)
    path = files(tmp_path / "made")[0]
    at = path.read_bytes().index(b"turn 3")
    _again(tmp_path / "made", tmp_path / "flip")
    monkeypatch.setattr(codec, "is_sealed", lambda line: line.endswith(b'"}\n'))
    monkeypatch.setattr(codec, "confirms", lambda record: True)
    with pytest.raises(AssertionError):
        _flip_anywhere(tmp_path / "made", tmp_path / "flip", events, [(0, at, 0)])


def test_control_a_log_that_cuts_at_the_first_bad_record_loses_acknowledged_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mistake of many logs: taking every checksum error for a torn tail (PAR, FAST 2018)."""

    def naive(data, result, around, acknowledged):  # type: ignore[no-untyped-def]
        offset = result.stretches[0].offset
        result.found = [one for one in result.found if one.end <= offset]
        return Verdict(torn=_recovery(around.path, offset, result.size - offset))

    events = _made(tmp_path / "made", segment_bytes=100_000)
    at = files(tmp_path / "made")[0].read_bytes().index(b"turn 3")
    monkeypatch.setattr(opening, "judge_tail", naive)
    with pytest.raises(AssertionError, match="something was cut"):
        _flip_anywhere(tmp_path / "made", tmp_path / "flip", events, [(0, at, 0)])


def test_the_last_record_is_a_torn_tail_only_if_nobody_was_told_of_it(tmp_path: Path) -> None:
    events = _made(tmp_path, segment_bytes=100_000, batches=[1, 1])
    path = files(tmp_path)[0]
    _flip(path, ends(path)[-1] - 30, 1)
    damaged = path.read_bytes()
    log = open_log(tmp_path, acknowledged=Seq(3))
    assert isinstance(log.refusal, StoreCorrupt)
    assert path.read_bytes() == damaged
    assert log.head() == 3
    with pytest.raises(StoreCorrupt):
        log.get(Seq(3))
    log = open_log(tmp_path, acknowledged=Seq(2))
    assert log.refusal is None
    assert log.recovery is not None
    assert list(log.read()) == events[:2]


def test_joined_lines_are_no_torn_tail_and_both_records_are_saved(tmp_path: Path) -> None:
    events = _made(tmp_path, segment_bytes=100_000, batches=[1, 1])
    path = files(tmp_path)[0]
    _flip(path, ends(path)[-2] - 1, 4)  # the newline between the last two
    log = open_log(tmp_path)  # no evidence but the file's own
    assert isinstance(log.refusal, StoreCorrupt)
    report = log.repair()
    assert report.lost == []
    assert list(log.read()) == events


@pytest.mark.parametrize("which", range(3))
def test_a_missing_segment_is_damage_and_its_seqs_stay_taken(tmp_path: Path, which: int) -> None:
    events = _made(tmp_path, segment_bytes=700, batches=[1] * 8)
    assert len(files(tmp_path)) >= 4
    path = files(tmp_path)[which]
    check_damaged(tmp_path, path, path.unlink, events, len(ends(path)) - 1)


def test_several_missing_segments_are_replaced_together(tmp_path: Path) -> None:
    events = _made(tmp_path, segment_bytes=700, batches=[1] * 8)
    one, two = files(tmp_path)[1:3]
    one.unlink()
    check_damaged(tmp_path, two, two.unlink, events, 4)


def test_control_a_log_that_overlooks_a_missing_segment_fails_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = _made(tmp_path, segment_bytes=700, batches=[1] * 8)
    path = files(tmp_path)[1]
    monkeypatch.setattr(inventory.Inventory, "missing", property(lambda self: []))
    with pytest.raises(AssertionError):
        check_damaged(tmp_path, path, path.unlink, events, len(ends(path)) - 1)


def test_a_destroyed_segment_costs_its_own_records_only(tmp_path: Path) -> None:
    for number in range(4):
        root = tmp_path / str(number)
        events = _made(root, segment_bytes=700, batches=[1] * 8)
        path = files(root)[number]
        size, held = path.stat().st_size, len(ends(path)) - 1
        noise = random.Random(number).randbytes(size)
        check_damaged(root, path, lambda p=path, n=noise: p.write_bytes(n), events, held)  # type: ignore[misc]


def test_a_line_taken_out_whole_is_noticed(tmp_path: Path) -> None:
    events = _made(tmp_path, segment_bytes=100_000)
    path = files(tmp_path)[0]
    spots = ends(path)
    data = path.read_bytes()
    check_damaged(
        tmp_path, path, lambda: path.write_bytes(data[: spots[2]] + data[spots[3] :]), events, 1
    )


def test_a_record_swapped_for_another_whole_one_breaks_the_chain(tmp_path: Path) -> None:
    """Somebody who can compute checksums still cannot change the past unnoticed."""
    _made(tmp_path, segment_bytes=100_000)
    path = files(tmp_path)[0]
    spots, data = ends(path), path.read_bytes()
    line = data[spots[2] : spots[3]]
    event = codec.decode(line)
    forged, _ = codec.encode(event, more=2, salt=bytes(16), previous=bytes(16))
    path.write_bytes(data[: spots[2]] + forged + data[spots[3] :])
    problems = open_log(tmp_path, read_only=True).verify()
    assert any("chained" in str(problem) for problem in problems)


def test_repair_sets_the_damaged_bytes_aside(tmp_path: Path) -> None:
    _made(tmp_path, segment_bytes=100_000)
    path = files(tmp_path)[0]
    spots = ends(path)
    _flip(path, spots[3] + 100, 0)
    damaged = path.read_bytes()[spots[3] : spots[4]]
    log = open_log(tmp_path)
    report = log.repair()
    assert report.lost == [(4, 4)]
    assert [one.read_bytes() for one in report.quarantined] == [damaged]
    assert report.quarantined[0].parent == tmp_path / "quarantine"
    assert isinstance(log.get(Seq(4)).body, Lost)


def test_a_record_found_damaged_later_is_listed_and_the_rest_is_served(tmp_path: Path) -> None:
    events = _made(tmp_path, segment_bytes=100_000, batches=[1] * 40)
    log = open_log(tmp_path)
    path = files(tmp_path)[0]
    _flip(path, ends(path)[20] + 100, 0)
    with pytest.raises(StoreCorrupt):
        log.get(Seq(21))
    assert [problem.first for problem in log.damage()] == [21]
    assert readable(log, 41) == set(range(1, 42)) - {21}
    reader = log.read(Seq(15))
    assert [next(reader).seq for _ in range(5)] == [16, 17, 18, 19, 20]
    with pytest.raises(StoreCorrupt):
        next(reader)
    assert list(log.read(Seq(21))) == events[21:]


def test_progress_of_verifying_is_told_in_bytes(tmp_path: Path) -> None:
    _made(tmp_path, segment_bytes=700, batches=[1] * 8)
    told: list[tuple[int, int]] = []
    open_log(tmp_path).verify(lambda done, total: told.append((done, total)))
    total = sum(path.stat().st_size for path in files(tmp_path))
    assert told[-1] == (total, total)
    assert [done for done, _ in told] == sorted({done for done, _ in told})


def test_the_seal_says_where_records_begin(tmp_path: Path) -> None:
    _made(tmp_path, segment_bytes=15_000, batches=[1] * 50)
    path = files(tmp_path)[0]
    data = path.read_bytes()
    footer = parse_footer(data[data.rindex(b"\n", 0, -1) + 1 :])
    assert footer is not None
    assert list(footer.offsets) == ends(path)[:-1][::16]
