"""The power goes while a memory is written to: what was acknowledged is on the disk.

The disk is an ext4 file system in a file. It is shut down without writing out its journal, under
the writer, and mounted again. What was acknowledged is known outside of it.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.faults.conftest import Tally
from tests.faults.media import Ext4, ext4
from tests.faults.nursery import Nursery
from tests.faults.rounds import live_on
from tests.faults.script import Violation


def _cuts(
    nursery: Nursery,
    disk: Ext4,
    tally: Tally,
    chance: random.Random,
    rounds: int,
    weakness: str = "",
) -> None:
    live_on(
        nursery,
        tally,
        chance,
        rounds,
        new_root=lambda turn: disk.folder / f"memory{turn}",
        rounds_in_one=20,
        delay_s=0.4,
        ends=frozenset({"killed", "failed"}),
        then=disk.again,
        cut=disk.folder,
        weakness=weakness,
    )


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
