"""What the machine has found, as short lives: each once lost, or brought back, what it must not."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from pagefault.store import root
from pagefault.store.opening import Opener
from pagefault.testing.sim_disk import Call, Death, SimulatedDisk
from pagefault.testing.store_machine import CALM, Fate, Saying, StoreMachine

SEEDS = range(6)
PLAN, OUTAGE, HUGE = Saying(0, ["plan"], ""), Saying(0, ["outage"], "k1"), Saying(0, ["huge"], "")


@pytest.fixture
def lives() -> Iterator[Callable[[int], StoreMachine]]:
    """A life for each seed, one at a time."""
    living: list[StoreMachine] = []

    def life(seed: int) -> StoreMachine:
        while living:
            living.pop().teardown()
        machine = StoreMachine()
        living.append(machine)
        machine.begin(seed=seed)
        return machine

    yield life
    while living:
        living.pop().teardown()


def _kill_then_cut(machine: StoreMachine, after: int, saying: Saying) -> None:
    machine.say(CALM, [PLAN])
    machine.say(Fate(death=Death.KILL, after=after), [saying])
    machine.everything_is_there()
    machine.die(Death.POWER, CALM)
    machine.everything_is_there()


@pytest.mark.parametrize("after", range(5))
@pytest.mark.parametrize("saying", [OUTAGE, HUGE], ids=["outage", "huge"])
def test_what_a_killed_process_wrote_and_the_next_one_showed_survives_a_power_cut(
    lives: Callable[[int], StoreMachine], after: int, saying: Saying
) -> None:
    """It was not synced, it is shown and its key is known: so opening has to sync it."""
    for seed in SEEDS:
        _kill_then_cut(lives(seed), after, saying)


def test_control_an_opening_that_does_not_sync_is_caught(
    lives: Callable[[int], StoreMachine], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, survey = SimulatedDisk.sync, Opener._survey

    def surveying(self: Opener) -> None:
        monkeypatch.setattr(SimulatedDisk, "sync", lambda self, fd: self.before(Call.SYNC))
        try:
            survey(self)
        finally:
            monkeypatch.setattr(SimulatedDisk, "sync", whole)

    monkeypatch.setattr(Opener, "_survey", surveying)

    def cuts() -> None:
        for seed in SEEDS:
            _kill_then_cut(lives(seed), 1, OUTAGE)

    with pytest.raises(AssertionError, match=r"an acknowledged record|it cannot be written"):
        cuts()


def _put_back_what_knew(machine: StoreMachine) -> None:
    machine.say(CALM, [PLAN, OUTAGE])
    machine.keep_a_copy_of_the_index()
    machine.forget_a_page(CALM, 0)
    machine.put_an_older_index_back(CALM)
    machine.everything_is_there()


def test_an_older_index_does_not_bring_back_what_was_forgotten(
    lives: Callable[[int], StoreMachine],
) -> None:
    machine = lives(1)
    _put_back_what_knew(machine)
    assert machine.store.rebuilt


def test_control_an_older_index_that_is_only_caught_up_is_caught(
    lives: Callable[[int], StoreMachine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(root, "_missed_a_forgetting", lambda log, applied: False)
    with pytest.raises(AssertionError):
        _put_back_what_knew(lives(1))
