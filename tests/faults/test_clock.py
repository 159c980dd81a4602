"""The clock jumps: what was said stands in the order in which it was said."""

from __future__ import annotations

import random

import pytest

from tests.faults.conftest import Rooms, Tally, look
from tests.faults.nursery import Nursery
from tests.faults.script import Step, Violation, check, text

DAY_MS = 86_400_000
NOW_MS = 1_764_000_000_000

CLOCKS: dict[str, list[int]] = {
    "stands still": [NOW_MS],
    "goes back ten days": [NOW_MS, NOW_MS + 5, NOW_MS - 10 * DAY_MS],
    "jumps to the end of 32 bits": [NOW_MS, 2**31 * 1_000 - 1, 2**31 * 1_000, NOW_MS + 9],
    "jumps far ahead and returns": [NOW_MS, NOW_MS + 36_500 * DAY_MS, NOW_MS + 1],
    "begins at the epoch": [0, 1, 0, 2],
    "repeats itself": [NOW_MS, NOW_MS, NOW_MS + 1, NOW_MS, NOW_MS + 1],
    "repeats the leap second": [NOW_MS + 999, NOW_MS, NOW_MS + 999],
}
_STEPS: list[Step] = [
    *(["say", f"talk{number % 3}", text(number)] for number in range(12)),
    ["batch", "talk0", [text(20), text(21)]],
    ["request", "talk0"],
    ["forget_page", "talk1", text(4)],
    *(["say", f"talk{number % 3}", text(number)] for number in range(30, 36)),
]


def _check(
    nursery: Nursery, rooms: Rooms, tally: Tally, times_ms: list[int], order: str = "seq"
) -> None:
    root = rooms.copy(rooms.folder / "nothing")
    ended = tally.born(
        nursery.bear(
            "live_by_a_clock",
            root=root,
            steps=_STEPS,
            times_ms=times_ms,
            order=order,
        )
    )
    assert ended.how == "returned", ended.error
    check(look(nursery, root), [], _STEPS, len(_STEPS))
    facts = nursery.bear("facts", root=root).result
    if len(set(facts["ids"])) != len(facts["ids"]):
        raise Violation("two records have one id")
    if facts["seqs"] != list(range(1, len(facts["seqs"]) + 1)):
        raise Violation(f"records are numbered {facts['seqs']}")
    said = [one[2].split()[0] for one in _STEPS if one[0] == "say" and one[2] != text(4)]
    if [marker for marker in facts["order"] if marker in said] != said:
        raise Violation(f"said in the order {said}, kept as {facts['order']}")
    if sorted(ended.result) != ["talk0", "talk1", "talk2"]:
        raise Violation(f"sessions: {ended.result}")


@pytest.mark.parametrize("name", CLOCKS)
def test_records_keep_their_order_when_the_clock(
    name: str, nursery: Nursery, rooms: Rooms, tally: Tally
) -> None:
    _check(nursery, rooms, tally, CLOCKS[name])


def test_records_keep_their_order_whatever_the_clock_says(
    nursery: Nursery, rooms: Rooms, tally: Tally, chance: random.Random
) -> None:
    _check(nursery, rooms, tally, [chance.randrange(2**42) for _ in range(50)])


def test_control_an_order_by_time_is_caught(nursery: Nursery, rooms: Rooms) -> None:
    with pytest.raises(Violation):
        _check(nursery, rooms, Tally(), CLOCKS["goes back ten days"], order="time")
