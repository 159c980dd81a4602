"""kill -9 at every system call that changes a file of the root: nothing acknowledged is lost.

A first run counts the calls of a life, then the life is lived anew for each of them and killed
there. An ordinary run tries some of the calls; `make torture` tries more,
and `make torture ARGS=--faults-max=0` all.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.adopted import adopted
from tests.conftest import Some
from tests.faults.conftest import Rooms, Tally, look
from tests.faults.damage import damage_record
from tests.faults.lives import copy_of
from tests.faults.nursery import Nursery
from tests.faults.script import Step, Violation, check, described, talk, text
from tests.faults.tracing import Fault

pytestmark = pytest.mark.usefixtures("tracing")

_COPYING = {"backup", "restore"}
SAMPLE = 1  # calls of each life that an ordinary run tries

_TALKS: list[Step] = [*talk("talk", 0, 4), ["request", "talk"], *talk("aside", 10, 3)]
_MANY: list[Step] = [*talk("talk", 0, 8), *talk("aside", 10, 3)]


@dataclass(frozen=True, slots=True)
class Life:
    """`before` is done in peace, `steps` under fire. `damaged` names a text whose record is bad."""

    before: list[Step]
    steps: list[Step]
    damaged: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    template: dict[str, Any] = field(default_factory=dict)


LIVES = {
    "an empty root": Life([], [["open"], ["say", "talk", text(0)]]),
    "a message": Life(_TALKS, [["open"], ["say", "talk", text(20)], ["say", "new", text(21)]]),
    "a batch": Life(_TALKS, [["batch", "talk", [text(n) for n in range(20, 25)]]]),
    "requests": Life(_TALKS, [["request", "talk"], ["say", "talk", text(20)], ["request", "talk"]]),
    "a segment that is full": Life(_TALKS, talk("talk", 20, 6), options={"segment_bytes": 1_500}),
    "forgetting a page": Life(_TALKS, [["forget_page", "talk", text(1)]]),
    "forgetting a page of many segments": Life(
        _TALKS,
        [["forget_page", "talk", text(1)], ["say", "talk", text(20)]],
        options={"segment_bytes": 1_500},
        template={"segment_bytes": 1_500},
    ),
    "forgetting a session": Life(_TALKS, [["forget_session", "talk"]]),
    "scrubbing": Life([*_TALKS, ["artifact", "talk", text(1)]], [["scrub", text(1)]]),
    "scrubbing many segments": Life(
        [*_TALKS, ["say", "aside", text(1)]],
        [["scrub", text(1)], ["say", "talk", text(20)]],
        options={"segment_bytes": 1_500},
        template={"segment_bytes": 1_500},
    ),
    "scrubbing the archive": Life(
        [*_MANY, ["command", "archive", "--keep", "0"]],
        [["scrub", text(1)]],
        template={"segment_bytes": 4_000},
    ),
    "rebuild": Life(_TALKS, [["command", "rebuild"]]),
    "repair": Life(_TALKS, [["command", "repair"]], damaged=text(2)),
    "an index of another version": Life(
        _TALKS, [["open"], ["say", "talk", text(20)]], template={"index_schema": 0}
    ),
    "an artifact": Life(_TALKS, [["artifact", "talk", text(20)], ["say", "talk", text(21)]]),
    "forgetting an artifact": Life(
        [*_TALKS, ["artifact", "talk", text(20)], ["artifact", "aside", text(21)]],
        [["forget_page", "talk", described(text(20))]],
    ),
    "a backup": Life([*_TALKS, ["artifact", "talk", text(20)]], [["backup"]]),
    "a restore": Life([*_TALKS, ["artifact", "talk", text(20)]], [["restore"]]),
    "archiving": Life(
        _MANY, [["command", "archive", "--keep", "0"]], template={"segment_bytes": 4_000}
    ),
    "forgetting from the archive": Life(
        [*_MANY, ["command", "archive", "--keep", "0"]],
        [["forget_page", "talk", text(1)]],
        template={"segment_bytes": 4_000},
    ),
    "gc": Life([*_TALKS, ["artifact", "talk", text(20)], ["litter"]], [["command", "gc", "--yes"]]),
}


@dataclass(slots=True)
class Range:
    """Where a life is lived and killed."""

    nursery: Nursery
    rooms: Rooms
    tally: Tally
    weakness: str = ""

    def template(self, name: str) -> Path:
        life = LIVES[name]
        path = self.rooms.make(name, life.before, **life.template)
        if life.damaged and not (path / "damaged").exists():
            damage_record(path, life.damaged.split()[0])
            (path / "damaged").touch()
        return path

    def calls(self, name: str) -> list[str]:
        """The calls of a life that nobody disturbs."""
        if (name, self.weakness) not in self.rooms.calls:
            self.rooms.calls[name, self.weakness] = self._undisturbed(name)
        return self.rooms.calls[name, self.weakness]

    def _undisturbed(self, name: str) -> list[str]:
        life, root = LIVES[name], self.rooms.copy(self.template(name))
        ended = self.nursery.bear(
            "live",
            trace=root.parent,
            root=root,
            steps=life.steps,
            weakness=self.weakness,
            **life.options,
        )
        assert ended.how == "returned", ended.error
        self.check(name, root, len(life.steps))
        return ended.calls

    def strike(self, name: str, fault: Fault, **more: Any) -> None:
        """Live, be killed, and look at what is left."""
        life, root = LIVES[name], self.rooms.copy(self.template(name))
        ended = self.tally.born(
            self.nursery.bear(
                "live",
                trace=root.parent,
                fault=fault,
                root=root,
                steps=life.steps,
                weakness=self.weakness,
                **life.options,
                **more,
            )
        )
        assert ended.how in {"killed", "returned"}, f"{fault}: {ended.how} {ended.error}"
        try:
            self.check(name, root, ended.acknowledged)
        except Violation as violation:
            where = ended.calls[-1] if ended.calls else "the start"
            raise Violation(f"{name}, killed at call {fault.at}, {where}: {violation}") from None

    def check(self, name: str, root: Path, done: int) -> None:
        life = LIVES[name]
        before = life.before
        if life.damaged:
            before = [*before, ["damage", "talk", life.damaged]]
        found = look(
            self.nursery,
            root,
            repair=bool(life.damaged),
            weakness=self.weakness,
        )
        check(found, before, life.steps, done)
        self.check_copy(name, copy_of(root), done)

    def check_copy(self, name: str, copy: Path, done: int) -> None:
        """What a backup or a restore made is whole, or there is nothing of its name."""
        life = LIVES[name]
        makes = [number for number, step in enumerate(life.steps) if step[0] in _COPYING]
        if copy.exists():
            adopted(copy)
            check(look(self.nursery, copy, weakness=self.weakness), life.before, [], 0)
        elif makes and done > makes[0]:
            raise Violation("acknowledged, and no copy is there")


def sample(calls: list[str], chance: random.Random, count: int) -> list[int]:
    """Some calls, by number: rather those that differ from the one before."""
    numbers = range(1, len(calls) + 1)
    edges = [n for n in numbers if n == 1 or calls[n - 1] != calls[n - 2]]
    chosen = set(chance.sample(edges, min(len(edges), count - 1)))
    return sorted(chosen | {chance.choice([*edges, *numbers])})


@pytest.mark.parametrize("name", LIVES)
def test_a_kill_at_some_call_loses_nothing(
    name: str, nursery: Nursery, rooms: Rooms, tally: Tally, chance: random.Random
) -> None:
    ground = Range(nursery, rooms, tally)
    for at in sample(ground.calls(name), chance, SAMPLE):
        ground.strike(name, Fault(do="kill", at=at))


@pytest.mark.torture
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("name", LIVES)
def test_a_kill_at_any_call_loses_nothing(
    name: str, nursery: Nursery, rooms: Rooms, tally: Tally, some: Some
) -> None:
    ground = Range(nursery, rooms, tally)
    for at in some(range(1, len(ground.calls(name)) + 1)):
        ground.strike(name, Fault(do="kill", at=at))


@pytest.mark.usefixtures("lying")
@pytest.mark.parametrize(
    ("name", "every"),
    [
        ("a batch", 1),
        ("a segment that is full", 3),
        pytest.param("a segment that is full", 1, marks=pytest.mark.torture),
    ],
)
def test_a_kill_within_a_write_loses_nothing(
    name: str, every: int, nursery: Nursery, rooms: Rooms, tally: Tally, chance: random.Random
) -> None:
    ground = Range(nursery, rooms, tally)
    writes = [call for call in ground.calls(name) if call.startswith("write memory/log/")]
    for at in range(1, len(writes) + 1, every):
        size = chance.choice([0, 1, 200, 700, chance.randrange(3_000)])
        ground.strike(
            name, Fault(do="torn", at=at, number=size, calls=("write",), path="memory/log/")
        )


# --- controls ---------------------------------------------------------------------------------


def _strike_all(
    ground: Range,
    name: str,
    *,
    calls: tuple[str, ...] = (),
    path: str = "",
    last_first: bool = False,
    **more: Any,
) -> None:
    """At every call of these: numbered among themselves, as threads may take turns otherwise."""
    among = [call.split(" ", 1) for call in ground.calls(name)]
    count = sum(1 for call, file in among if (not calls or call in calls) and path in file)
    assert count, f"no call of {calls or 'any name'}, so nothing would be tried"
    numbers = range(1, count + 1)
    for at in reversed(numbers) if last_first else numbers:
        ground.strike(name, Fault(do="kill", at=at, calls=calls, path=path), **more)


def test_control_acknowledging_before_writing_is_caught(
    nursery: Nursery, rooms: Rooms, tally: Tally
) -> None:
    with pytest.raises(Violation, match="acknowledged and lost"):
        _strike_all(
            Range(nursery, rooms, Tally()),
            "a message",
            calls=("write",),
            path="/log/",
            acks="first",
        )


@pytest.mark.parametrize("name", ["forgetting a page", "repair"])
def test_control_removing_before_replacing_is_caught(
    name: str, nursery: Nursery, rooms: Rooms
) -> None:
    with pytest.raises(Violation):
        _strike_all(
            Range(nursery, rooms, Tally(), "removes_before_it_replaces"),
            name,
            calls=("rename", "renameat"),
        )


def test_control_an_unfinished_forget_that_stays_so_is_caught(
    nursery: Nursery, rooms: Rooms
) -> None:
    ground = Range(nursery, rooms, Tally(), "never_finishes_forgetting")
    with pytest.raises(Violation):
        _strike_all(ground, "forgetting a page", path="/log/", last_first=True)


def test_control_an_unfinished_scrub_that_stays_so_is_caught(
    nursery: Nursery, rooms: Rooms
) -> None:
    ground = Range(nursery, rooms, Tally(), "never_finishes_forgetting")
    with pytest.raises(Violation):
        _strike_all(ground, "scrubbing many segments", path="/log/", last_first=True)


def test_control_an_index_left_behind_is_caught(nursery: Nursery, rooms: Rooms) -> None:
    ground = Range(nursery, rooms, Tally(), "never_catches_up")
    with pytest.raises(Violation):
        _strike_all(ground, "a message", path="index.db-wal")


@pytest.mark.usefixtures("lying")
def test_control_half_a_batch_that_is_kept_is_caught(nursery: Nursery, rooms: Rooms) -> None:
    ground = Range(nursery, rooms, Tally(), "keeps_half_batches")
    # The first write says who leases the session; the second is the batch.
    fault = Fault(do="torn", at=2, number=1_200, calls=("write",), path="memory/log/")
    with pytest.raises(Violation):
        ground.strike("a batch", fault)
