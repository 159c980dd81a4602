"""kill -9 at random moments, again and again, of a memory that is asked and made to forget."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.faults.conftest import Rooms, Tally
from tests.faults.nursery import Nursery
from tests.faults.rounds import live_on
from tests.faults.script import Step, Violation, fold, text

ROUNDS_IN_ONE_ROOT = 40


def _rounds(
    nursery: Nursery,
    rooms: Rooms,
    tally: Tally,
    chance: random.Random,
    rounds: int,
    *,
    delay_s: float = 0.15,
    **options: Any,
) -> None:
    live_on(
        nursery,
        tally,
        chance,
        rounds,
        new_root=lambda turn: rooms.copy(rooms.folder / "nothing", f"memory{turn}"),
        rounds_in_one=ROUNDS_IN_ONE_ROOT,
        delay_s=delay_s,
        **options,
    )


def test_a_memory_that_is_killed_again_and_again_loses_nothing(
    nursery: Nursery, rooms: Rooms, tally: Tally, chance: random.Random
) -> None:
    delay_s = 0.15
    while tally.counts.get("acknowledged", 0) <= 6:  # on a busy machine a life needs more time
        _rounds(nursery, rooms, tally, chance, 6, delay_s=delay_s)
        delay_s *= 2


@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_a_memory_that_is_killed_hundreds_of_times_loses_nothing(
    nursery: Nursery, rooms: Rooms, tally: Tally, chance: random.Random
) -> None:
    _rounds(nursery, rooms, tally, chance, 250)


def test_control_acknowledging_before_writing_is_caught(
    nursery: Nursery, rooms: Rooms, chance: random.Random
) -> None:
    with pytest.raises(Violation):
        _rounds(nursery, rooms, Tally(), chance, 60, delay_s=0.05, acks="first", forgets=False)


def test_what_is_expected_is_what_was_said_and_not_forgotten() -> None:
    steps: list[Step] = [
        ["say", "a", text(1)],
        ["batch", "a", [text(2), text(3)]],
        ["forget_page", "a", text(2)],
        ["say", "b", text(4)],
        ["forget_session", "b"],
    ]
    assert fold(steps) == {"a": [text(1), text(3)]}
