"""The process may not have what it wants: files, long files, memory."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Some
from tests.faults.conftest import Rooms, Tally, look
from tests.faults.damage import segments
from tests.faults.nursery import Ended, Nursery
from tests.faults.script import Step, Violation, check_one_of, talk, text

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux here")

_LONG = 250  # words of a message
_BEFORE: list[Step] = [["say", "talk", text(number, _LONG)] for number in range(40)]
_STEPS: list[Step] = [
    ["open"],
    ["say", "talk", text(100, _LONG)],
    ["request", "talk"],
    ["batch", "talk", [text(number, _LONG) for number in range(110, 115)]],
    *talk("new", 120, 4),
    ["forget_page", "talk", text(1, _LONG)],
    *talk("talk", 130, 4),
]


class Bounds:
    def __init__(self, nursery: Nursery, rooms: Rooms, tally: Tally, weakness: str = "") -> None:
        self._nursery, self._rooms, self._tally = nursery, rooms, tally
        self._weakness = weakness
        self.template = rooms.make("bounds", _BEFORE)

    def live(self, life: str = "live", **options: Any) -> tuple[Ended, Path]:
        root = self._rooms.copy(self.template)
        if life == "live":
            options["go_on"] = True
        ended = self._nursery.bear(
            life, root=root, steps=_STEPS, weakness=self._weakness, **options
        )
        return ended, root

    def check(self, life: str = "live", **options: Any) -> Ended:
        """Live within bounds, and look without."""
        ended, root = self.live(life, **options)
        self._tally.born(ended)
        try:
            if ended.how == "late":
                raise Violation("it hangs")
            done = [note["done"] for note in ended.notes if "done" in note]
            perhaps = [number for number in range(len(_STEPS)) if number not in done]
            kept = [set(done), *({*done, number} for number in perhaps)]
            found = look(self._nursery, root)
            check_one_of(
                found,
                [[*_BEFORE, *(_STEPS[number] for number in sorted(one))] for one in kept],
            )
        except Violation as violation:
            notes = [note for note in ended.notes if "failed" in note][:1]
            raise Violation(f"{options}, {ended.how}, {notes}: {violation}") from None
        return ended


@pytest.fixture
def bounds(nursery: Nursery, rooms: Rooms, tally: Tally) -> Bounds:
    return Bounds(nursery, rooms, tally)


def test_a_process_that_may_open_few_files_loses_nothing(
    bounds: Bounds, chance: random.Random
) -> None:
    for count in chance.sample(range(9, 34), 2):
        bounds.check(limits={"NOFILE": count})


@pytest.mark.torture
@pytest.mark.timeout(600)
def test_a_process_that_may_open_any_number_of_files_loses_nothing(bounds: Bounds) -> None:
    for count in range(6, 40):
        bounds.check(limits={"NOFILE": count})


def _size(bounds: Bounds) -> int:
    return segments(bounds.template)[-1].stat().st_size


def test_a_process_whose_files_may_not_grow_loses_nothing(
    bounds: Bounds, chance: random.Random
) -> None:
    for more in (0, chance.randrange(1, 20_000)):
        bounds.check(limits={"FSIZE": _size(bounds) + more})


@pytest.mark.torture
@pytest.mark.timeout(1_200)
def test_a_process_whose_files_may_not_grow_beyond_any_size_loses_nothing(
    bounds: Bounds, some: Some
) -> None:
    for limit in [*some(range(20_000)), *some(range(_size(bounds), _size(bounds) + 20_000))]:
        bounds.check(limits={"FSIZE": limit})


def test_a_process_that_may_take_little_memory_loses_nothing(
    bounds: Bounds, chance: random.Random
) -> None:
    for mib in chance.sample(range(1, 120), 2):
        bounds.check(limits={"AS": mib << 20})


def test_a_process_that_runs_out_of_memory_as_threads_start_does_not_hang(bounds: Bounds) -> None:
    for kib in range(17_000, 17_500, 200):  # where a thread gets its stack and nothing more
        bounds.check(limits={"AS": kib << 10})


@pytest.mark.torture
@pytest.mark.timeout(1_200)
def test_a_process_that_may_take_any_amount_of_memory_loses_nothing(
    bounds: Bounds, some: Some
) -> None:
    for kib in [*some(range(512, 120_000)), *some(range(15_000, 28_000))]:
        bounds.check(limits={"AS": kib << 10})


def test_a_memory_error_at_some_line_of_the_store_loses_nothing(
    bounds: Bounds, chance: random.Random
) -> None:
    _memory_errors(bounds, chance, 2)


def test_an_append_that_has_no_memory_once_it_is_written_is_the_last(
    nursery: Nursery, rooms: Rooms
) -> None:
    Bounds(nursery, rooms, Tally(), "has_no_memory_after_a_write").check()


@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_a_memory_error_at_a_hundred_lines_of_the_store_loses_nothing(
    bounds: Bounds, chance: random.Random
) -> None:
    _memory_errors(bounds, chance, 100)


def _memory_errors(bounds: Bounds, chance: random.Random, count: int) -> None:
    counted, _ = bounds.live("live_short_of_memory", at=0)
    assert counted.how == "returned", counted.error
    for at in chance.sample(range(1, counted.result), count):
        bounds.check("live_short_of_memory", at=at)


# --- controls ---------------------------------------------------------------------------------


def test_control_ignoring_a_file_that_may_not_grow_is_caught(
    nursery: Nursery, rooms: Rooms
) -> None:
    bounds = Bounds(nursery, rooms, Tally(), "ignores_a_failed_disk")
    with pytest.raises(Violation):
        bounds.check(limits={"FSIZE": _size(bounds) + 1_000})
