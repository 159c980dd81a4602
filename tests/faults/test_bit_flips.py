"""A bit of the log flips: it is noticed, nothing is cut, and repair loses one record at most."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import Rooms, Tally, peek
from tests.faults.damage import damage_record, flip, segments
from tests.faults.nursery import Nursery
from tests.faults.script import Step, Violation, fold, talk

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
    for number, place in enumerate(_places(rooms, chance, 30)):
        _check(nursery, rooms, tally, place, repair=number % 10 == 0)


@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_of_a_thousand_flipped_bits_each_is_noticed_and_costs_one_record_at_most(
    nursery: Nursery, rooms: Rooms, tally: Tally, chance: random.Random
) -> None:
    for place in _places(rooms, chance, 1_000):
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
