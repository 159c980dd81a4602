"""A bit flips. In the log it is noticed, nothing is cut, and repair loses one record at most.
In the index it changes nothing that is served.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import Rooms, Tally, peek
from tests.faults.damage import damage_record, flip, segments
from tests.faults.nursery import Nursery
from tests.faults.script import Step, Violation, fold, talk

pytestmark = pytest.mark.slow

_SAID: list[Step] = [*talk("talk", 0, 12), ["request", "talk"], *talk("aside", 20, 8)]


def _template(rooms: Rooms) -> Path:
    return rooms.make("flips", _SAID, segment_bytes=3_000)


def _check(
    nursery: Nursery,
    rooms: Rooms,
    tally: Tally,
    place: tuple[int, int],
    *,
    repair: bool = True,
    weakness: str = "",
) -> None:
    """The bit `place[1]` of the segment `place[0]` is flipped."""
    tally.add(faults=1)
    root = rooms.copy(_template(rooms))
    flip(segments(root)[place[0]], place[1])
    try:
        _check_flipped(nursery, root, repair=repair, weakness=weakness)
    except Violation as violation:
        raise Violation(f"bit {place[1]} of segment {place[0] + 1}: {violation}") from None


def _check_flipped(nursery: Nursery, root: Path, *, repair: bool, weakness: str) -> None:
    before = {path.name: path.read_bytes() for path in segments(root)}
    found = peek(nursery, root, write=True, weakness=weakness)
    if found["verify"] != 1 or not found["problems"]:
        raise Violation("verify finds nothing wrong")
    after = {path.name: path.read_bytes() for path in segments(root)}
    if any(not after.get(name, b"").startswith(data) for name, data in before.items()):
        raise Violation("opening changed what was there")
    if found["unopened"]:
        raise Violation(f"for one flipped bit, {found['unopened']} cannot be opened")
    _compare(found, lost_max=2)  # a newline that is damaged joins two records
    if repair:
        mended = peek(nursery, root, repair=True, write=True, weakness=weakness)
        _compare(mended, lost_max=1)
        if mended["verify"] or not mended["wrote"] or mended["repaired"]["unrepaired"]:
            raise Violation(f"repair did not mend it: {mended}")


def _compare(found: dict[str, Any], *, lost_max: int) -> None:
    """The log has all texts but for so many, in order, and no session has any other."""
    everything = [one for said in fold(_SAID).values() for one in said]
    there = [one for one in found["log"] if one in everything]
    if there != [one for one in everything if one in there]:
        raise Violation(f"the log has {there}")
    if len(everything) - len(there) > lost_max:
        raise Violation(f"{len(everything) - len(there)} texts are lost for one flipped bit")
    for session, said in fold(_SAID).items():
        shown = found["texts"].get(session, said)
        if shown != [one for one in said if one in shown]:
            raise Violation(f"{shown} in {session!r}, where {said} was said")


def _places(rooms: Rooms, chance: random.Random, count: int) -> list[tuple[int, int]]:
    sizes = [8 * path.stat().st_size for path in segments(_template(rooms))]
    assert len(sizes) >= 3, "the log has no sealed segments to damage"
    chosen = chance.sample(range(sum(sizes)), count)
    places = []
    for bit in chosen:
        number = 0
        while bit >= sizes[number]:
            bit -= sizes[number]
            number += 1
        places.append((number, bit))
    return places


def test_a_flipped_bit_is_noticed_and_costs_one_record_at_most(
    nursery: Nursery, rooms: Rooms, tally: Tally, chance: random.Random
) -> None:
    for number, place in enumerate(_places(rooms, chance, 6)):
        _check(nursery, rooms, tally, place, repair=number % 3 == 0)


@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_of_many_flipped_bits_each_is_noticed_and_costs_one_record_at_most(
    nursery: Nursery, rooms: Rooms, tally: Tally, chance: random.Random
) -> None:
    for place in _places(rooms, chance, 200):
        _check(nursery, rooms, tally, place)


def test_a_session_with_a_damaged_record_can_be_read(nursery: Nursery, rooms: Rooms) -> None:
    root = rooms.copy(_template(rooms))
    damage_record(root, fold(_SAID)["aside"][2].split()[0])
    found = peek(nursery, root)
    assert found["unopened"] == []
    assert len(found["texts"]["aside"]) == len(fold(_SAID)["aside"]) - 1


def test_a_session_whose_first_record_was_lost_can_be_read_after_repair(
    nursery: Nursery, rooms: Rooms
) -> None:
    root = rooms.copy(_template(rooms))
    damage_record(root, '"name":"talk"')
    found = peek(nursery, root, repair=True)
    assert found["verify"] == 0
    assert fold(_SAID)["talk"] in found["texts"].values()


@pytest.mark.parametrize("weakness", ["skips_checksums", "cuts_at_the_first_bad_record"])
def test_control_a_weaker_reading_is_caught(weakness: str, nursery: Nursery, rooms: Rooms) -> None:
    last = segments(_template(rooms))[-1].read_bytes()
    place = (len(segments(_template(rooms))) - 1, 8 * last.index(b"filler filler"))
    with pytest.raises(Violation):
        _check(nursery, rooms, Tally(), place, weakness=weakness)


# --- the index --------------------------------------------------------------------------------

_QUESTIONS = ["filler", "end3 end24", "qx000007z", "which filler came first?"]
_INDEX = "index.db"
_WAL = "index.db-wal"


def _indexed(rooms: Rooms, file: str) -> Path:
    """A root with a small index; with its write-ahead log, as a killed process leaves it."""
    if file == _INDEX:
        return _template(rooms)
    left = rooms.folder / "templates" / "left open"
    if not left.exists():
        root, steps = rooms.copy(_template(rooms), "to be left open"), talk("talk", 40, 12)
        ended = rooms._nursery.bear("copied_while_open", root=root, to=left, steps=steps)
        assert ended.how == "returned", ended.error
    return left


def _check_index(
    nursery: Nursery, rooms: Rooms, tally: Tally, file: str, bits: list[int], *, weakness: str = ""
) -> None:
    """Each of these bits of the index's file is flipped: what is served is as it was, whoever asks,
    and `verify` finds the damage before it is mended, or there is none to find.
    """
    expected = _served(nursery, rooms.copy(_indexed(rooms, file)))
    for bit in bits:
        tally.add(faults=1)
        root = rooms.copy(_indexed(rooms, file))
        flip(root / file, bit)
        found = _served(nursery, root, weakness=weakness)
        what = f"bit {bit} of {file}"
        if found["verify"] not in (0, 1):
            raise Violation(f"{what}: verify exits {found['verify']}: {found['told']}")
        for how in ("reading", "writing"):
            if found[how] != expected["reading"]:
                raise Violation(f"{what}: {how} it serves something else ({found['told']})")
        if found["after"]:
            raise Violation(f"{what}: it was not mended")
        tally.add(found=bool(found["told"]), harmless=not found["told"])


def _served(nursery: Nursery, root: Path, *, weakness: str = "") -> dict[str, Any]:
    ended = nursery.bear("served", root=root, questions=_QUESTIONS, weakness=weakness)
    if ended.how != "returned":
        raise Violation(f"{ended.how}: {ended.error}")
    found: dict[str, Any] = ended.result
    return found


def _bits(rooms: Rooms, file: str, chance: random.Random, count: int) -> list[int]:
    return chance.sample(range(8 * (_indexed(rooms, file) / file).stat().st_size), count)


@pytest.mark.parametrize(("file", "count"), [(_INDEX, 2), (_WAL, 2)])
def test_a_flipped_bit_of_the_index_changes_nothing_that_is_served(
    nursery: Nursery, rooms: Rooms, tally: Tally, file: str, count: int
) -> None:
    bits = _bits(rooms, file, random.Random(11), count)
    _check_index(nursery, rooms, tally, file, bits)


@pytest.mark.parametrize("bits", [(0, 7), pytest.param(range(8), marks=pytest.mark.torture)])
def test_a_flipped_bit_of_the_first_page_of_the_index_changes_nothing_that_is_served(
    nursery: Nursery, rooms: Rooms, tally: Tally, bits: Sequence[int]
) -> None:
    _check_index(nursery, rooms, tally, _INDEX, [8 * 20 + bit for bit in bits])


@pytest.mark.torture
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(("file", "count"), [(_INDEX, 250), (_WAL, 50)])
def test_of_many_flipped_bits_of_the_index_none_changes_what_is_served(
    nursery: Nursery, rooms: Rooms, tally: Tally, chance: random.Random, file: str, count: int
) -> None:
    _check_index(nursery, rooms, tally, file, _bits(rooms, file, chance, count))


def test_control_an_index_whose_checksums_nobody_looks_at_serves_something_else(
    nursery: Nursery, rooms: Rooms
) -> None:
    data = (_indexed(rooms, _INDEX) / _INDEX).read_bytes()
    bit = 8 * (data.rindex(b"ses_") + 5)
    with pytest.raises(Violation):
        _check_index(nursery, rooms, Tally(), _INDEX, [bit], weakness="reads_pages_unchecked")
