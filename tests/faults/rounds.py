"""Lives on one root after another, each cut off at a moment that nobody chose."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.faults.conftest import Tally, look
from tests.faults.nursery import Nursery
from tests.faults.script import Step, check, fold


def live_on(
    nursery: Nursery,
    tally: Tally,
    chance: random.Random,
    rounds: int,
    *,
    new_root: Callable[[int], Path],
    rounds_in_one: int,
    delay_s: float,
    ends: frozenset[str] = frozenset({"killed"}),
    then: Callable[[], None] = lambda: None,
    **options: Any,
) -> None:
    """Live on in a root, be cut off within `delay_s`, and look at what is left, so many times.

    `new_root(round)` makes one for the next `rounds_in_one`. `ends` is how a life may end, and
    `then` is done before what is left is looked at. `Violation` if anything acknowledged is lost.
    """
    history: list[Step] = []
    number, root = 0, Path()
    for turn in range(rounds):
        if turn % rounds_in_one == 0:
            root, history, number = new_root(turn), [], 0
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
        assert ended.how in ends, ended.error
        then()
        begun = [note["begun"] for note in ended.notes if "begun" in note]
        history += begun[: ended.acknowledged]
        rest = begun[ended.acknowledged :]
        found = look(nursery, root, write=False)
        check(found | {"wrote": True}, history, rest, 0)
        if fold(history) != found["texts"]:
            history += rest
        number += sum(len(step[2]) if step[0] == "batch" else 1 for step in begun)
