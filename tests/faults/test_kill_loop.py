"""kill -9 at random moments, again and again, of a memory that is asked and made to forget."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.faults.conftest import Rooms, Tally, look
from tests.faults.nursery import Nursery
from tests.faults.script import Step, Violation, check, fold, text

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
    history: list[Step] = []
    number = 0
    root = rooms.folder
    for turn in range(rounds):
        if turn % ROUNDS_IN_ONE_ROOT == 0:
            root = rooms.copy(rooms.folder / "nothing", f"memory{turn}")
            history, number = [], 0
        ended = tally.born(
            nursery.bear(
                "live_on",
                root=root,
                seed=chance.randrange(10**6),
                first=number,
                kill_after_s=chance.uniform(0, delay_s),
                **options,
            )
        )
        assert ended.how == "killed", ended.error
        begun = [note["begun"] for note in ended.notes if "begun" in note]
        history += begun[: ended.acknowledged]
        rest = begun[ended.acknowledged :]
        found = look(nursery, root, write=False)
        check(found | {"wrote": True}, history, rest, 0)
        if fold(history) != found["texts"]:
            history += rest
        number += sum(len(step[2]) if step[0] == "batch" else 1 for step in begun)


def test_a_memory_that_is_killed_again_and_again_loses_nothing(
    nursery: Nursery, rooms: Rooms, tally: Tally, chance: random.Random
) -> None:
    delay_s = 0.15
    while tally.counts.get("acknowledged", 0) <= 12:  # on a busy machine a life needs more time
        _rounds(nursery, rooms, tally, chance, 12, delay_s=delay_s)
        delay_s *= 2


@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_a_memory_that_is_killed_a_thousand_times_loses_nothing(
    nursery: Nursery, rooms: Rooms, tally: Tally, chance: random.Random
) -> None:
    _rounds(nursery, rooms, tally, chance, 1_000)


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
