"""What the machine has found, as short lives: each once lost, or brought back, what it must not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from pagefault.model.events import Event, ForgetDone, Taken
from pagefault.store.embedded import root
from pagefault.store.embedded.connections import Connections
from pagefault.store.embedded.opening import Opener
from pagefault.store.fold import SessionTally
from pagefault.store.store import Store
from pagefault.testing.sim_disk import Death, SimulatedDisk, Syscall
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
    for seed in SEEDS[:3]:
        _kill_then_cut(lives(seed), after, saying)


def test_control_an_opening_that_does_not_sync_is_caught(
    lives: Callable[[int], StoreMachine], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, survey = SimulatedDisk.sync, Opener._survey

    def surveying(self: Opener) -> None:
        monkeypatch.setattr(SimulatedDisk, "sync", lambda self, fd: self.before(Syscall.SYNC))
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


def _roll_and_lose_power(machine: StoreMachine, after: int) -> None:
    """Batches that share a sync fill a segment, so that it is sealed before that sync."""
    machine.say(CALM, [PLAN])
    machine.say(Fate(death=Death.POWER, after=after), [OUTAGE, PLAN, HUGE, PLAN])
    machine.everything_is_there()


@pytest.mark.parametrize("after", range(1, 6))
def test_no_seal_survives_a_power_cut_that_what_it_seals_does_not(
    lives: Callable[[int], StoreMachine], after: int
) -> None:
    for seed in range(8):
        _roll_and_lose_power(lives(seed), after)


def _forget_and_lose_power(machine: StoreMachine) -> None:
    """Right after the receipt is durable, and before the index has taken it in."""
    machine.say(CALM, [PLAN, Saying(0, ["outage"], "")])
    whole, receipts = Store.settle, []

    def settle(self: Store, events: Sequence[Event], *, sync: bool) -> None:
        if isinstance(events[0].body, ForgetDone):
            receipts.append(events)
            self.log.sync()
            machine.life.disk.die(Death.POWER)
        whole(self, events, sync=sync)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Store, "settle", settle)
        machine.forget_a_page(Fate(death=Death.POWER, after=10**6), 0)
    assert receipts, "nothing was forgotten"
    machine.everything_is_there()


def test_no_power_cut_after_the_receipt_brings_back_what_the_index_knew(
    lives: Callable[[int], StoreMachine],
) -> None:
    """The frames of its write-ahead log had the words: that it was emptied has to be durable."""
    for seed in SEEDS:
        _forget_and_lose_power(lives(seed))


def test_control_a_write_ahead_log_whose_emptying_is_not_synced_is_caught(
    lives: Callable[[int], StoreMachine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connections, "_sync_emptied", lambda self: None)

    def cuts() -> None:
        for seed in SEEDS:
            _forget_and_lose_power(lives(seed))

    with pytest.raises(AssertionError, match=r"was forgotten, and is in memory/index\.db-wal"):
        cuts()


def _fork_and_forget_the_parent(machine: StoreMachine) -> None:
    machine.say(CALM, [PLAN, Saying(0, ["outage"], "")])
    parent = machine.model.sessions()[0]
    machine.fork(CALM, len([e for e in machine.model.events if e.session == parent]) - 1)
    machine.forget_a_session(CALM, 0)
    machine.everything_is_there()
    machine.rebuild()
    machine.everything_is_there()
    [row] = machine.store.index.sessions()
    assert (row.turns, row.pages) == (2, 2)


def test_a_fork_keeps_its_turns_when_its_parent_is_forgotten_and_the_index_is_made_again(
    lives: Callable[[int], StoreMachine],
) -> None:
    _fork_and_forget_the_parent(lives(1))


def test_control_a_receipt_that_tells_no_turns_is_caught(
    lives: Callable[[int], StoreMachine], monkeypatch: pytest.MonkeyPatch
) -> None:
    def recall(self: SessionTally, taken: Taken) -> None:
        self.pages = max(self.pages, taken.order + 1)

    monkeypatch.setattr(SessionTally, "recall", recall)
    with pytest.raises(AssertionError):
        _fork_and_forget_the_parent(lives(1))


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
