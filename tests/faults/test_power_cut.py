"""The power goes while a memory is written to: what was acknowledged is on the disk.

The disk is an ext4 file system in a file. It is shut down without writing out its journal, under
the writer, and mounted again. What was acknowledged is known outside of it.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.faults.conftest import Tally, look
from tests.faults.media import Ext4, ext4
from tests.faults.nursery import Nursery
from tests.faults.script import Step, Violation, check, fold


def _cuts(
    nursery: Nursery,
    disk: Ext4,
    tally: Tally,
    chance: random.Random,
    rounds: int,
    weakness: str = "",
) -> None:
    history: list[Step] = []
    number = 0
    root = disk.folder
    for turn in range(rounds):
        if turn % 20 == 0:
            root = disk.folder / f"memory{turn}"
            history, number = [], 0
        ended = tally.born(
            nursery.bear(
                "live_on",
                root=root,
                seed=chance.randrange(10**6),
                first=number,
                kill_after_s=chance.uniform(0, 0.4),
                cut=disk.folder,
                weakness=weakness,
            )
        )
        assert ended.how in {"killed", "failed"}, ended.error
        disk.again()
        begun = [note["begun"] for note in ended.notes if "begun" in note]
        history += begun[: ended.acknowledged]
        rest = begun[ended.acknowledged :]
        found = look(nursery, root, write=False)
        check(found | {"wrote": True}, history, rest, 0)
        if fold(history) != found["texts"]:
            history += rest
        number += sum(len(step[2]) if step[0] == "batch" else 1 for step in begun)


def test_a_power_cut_loses_nothing_acknowledged(
    nursery: Nursery, tally: Tally, chance: random.Random, tmp_path: Path
) -> None:
    with ext4(tmp_path) as disk:
        _cuts(nursery, disk, tally, chance, 3)


@pytest.mark.torture
@pytest.mark.timeout(1_800)
def test_a_hundred_power_cuts_lose_nothing_acknowledged(
    nursery: Nursery, tally: Tally, chance: random.Random, tmp_path: Path
) -> None:
    with ext4(tmp_path) as disk:
        _cuts(nursery, disk, tally, chance, 100)


def test_control_a_log_that_never_syncs_is_caught(
    nursery: Nursery, chance: random.Random, tmp_path: Path
) -> None:
    with ext4(tmp_path) as disk, pytest.raises(Violation):
        _cuts(nursery, disk, Tally(), chance, 10, "never_syncs")
