"""The disk fills up, and there is space again: what was acknowledged is there, all along."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.adopted import copied
from tests.conftest import Some
from tests.faults.conftest import Rooms, Tally, look, peek
from tests.faults.media import tmpfs
from tests.faults.nursery import Nursery
from tests.faults.script import Step, Violation, check, check_one_of, fold, talk

LARGE_KIB = 20_000

_STEPS: list[Step] = [
    step for number in range(400) for step in (*talk("talk", number, 1), ["request", "talk"])
]


def _fill(nursery: Nursery, tally: Tally, folder: Path, kib: int, *, weakness: str = "") -> None:
    """Live on a disk of that size until it is full, look at it there, and where there is space:
    then perhaps with a build of some `weakness`.
    """
    with tmpfs(folder, kib) as disk:
        root = disk.folder / "memory"
        ended = tally.born(nursery.bear("live", root=root, steps=_STEPS, go_on=True, fails_max=5))
        assert ended.how == "returned", ended.error
        done = [note["done"] for note in ended.notes if "done" in note]
        failed = [note for note in ended.notes if "failed" in note]
        assert failed, "the disk did not fill up"
        safe = [_STEPS[number] for number in done]
        histories = [safe, *([*safe, _STEPS[note["failed"]]] for note in failed)]
        if done and done[-1] > failed[0]["failed"]:
            raise Violation("it went on after the disk was full")
        if "full" not in failed[0]["text"] or not failed[0]["hint"]:
            raise Violation(f"nobody was told that the disk is full: {failed}")
        if done:
            disk.fill()
            _read_there(nursery, root, histories)
            (disk.folder / "filling").unlink()
        disk.resize(LARGE_KIB)
        check_one_of(look(nursery, root, weakness=weakness), histories)


def _read_there(nursery: Nursery, root: Path, histories: list[list[Step]]) -> None:
    """Where not a byte can be written it can be read; who would write is told what to do."""
    found = peek(nursery, root, read_only=True)
    _compare(found, histories)
    ended = nursery.bear("peek", root=root, write=True)
    if ended.how == "returned":
        _compare(ended.result, histories)
        if not ended.result["wrote"] and not ended.result["hint"]:
            raise Violation(f"nothing says what to do: {ended.result['refused']}")
    elif not any(told in ended.error for told in ("make room", "free some space", "No space")):
        raise Violation(f"nobody was told to make room: {ended.error}")


def _compare(found: dict[str, Any], histories: list[list[Step]]) -> None:
    texts = {session: said for session, said in found["texts"].items() if said}
    texts.pop("afterwards", None)
    if texts not in [fold(history) for history in histories]:
        raise Violation(f"{texts} stand on a full disk")


def test_a_disk_that_fills_up_loses_nothing_acknowledged(
    nursery: Nursery, tally: Tally, chance: random.Random, tmp_path: Path
) -> None:
    for kib in (chance.randrange(450, 900), chance.randrange(900, 1_500)):
        _fill(nursery, tally, tmp_path / f"disk{kib}", kib)


@pytest.mark.torture
@pytest.mark.timeout(1_800)
def test_disks_of_many_sizes_fill_up_and_lose_nothing_acknowledged(
    nursery: Nursery, tally: Tally, tmp_path: Path, some: Some
) -> None:
    for kib in some(range(440, 1_500)):
        _fill(nursery, tally, tmp_path / f"disk{kib}", kib)


def test_control_not_catching_up_once_there_is_space_is_caught(
    nursery: Nursery, tmp_path: Path
) -> None:
    with pytest.raises(Violation, match=r"the index is not|record \d+ is missing"):
        _fill(nursery, Tally(), tmp_path / "disk", 700, weakness="never_catches_up")


@pytest.mark.parametrize("spoilt", ["index.db deleted", "index.db of another version"])
def test_a_full_disk_can_be_read_though_the_index_must_be_made_again(
    spoilt: str, nursery: Nursery, rooms: Rooms, tmp_path: Path
) -> None:
    said = _STEPS[:20]
    options = {"index_schema": 0} if "version" in spoilt else {}
    template = rooms.make("full", said, **options)
    with tmpfs(tmp_path / "disk", 600) as disk:
        root = disk.folder / "memory"
        copied(template, root)
        if "deleted" in spoilt:
            (root / "index.db").unlink()
        disk.fill()
        _read_there(nursery, root, [said])
        (disk.folder / "filling").unlink()
        disk.resize(LARGE_KIB)
        check(look(nursery, root), said, [], 0)


def test_a_full_disk_can_be_opened_for_writing(
    nursery: Nursery, rooms: Rooms, tmp_path: Path
) -> None:
    template = rooms.make("full", _STEPS[:20])
    with tmpfs(tmp_path / "disk", 600) as disk:
        root = disk.folder / "memory"
        copied(template, root)
        disk.fill()
        _compare(peek(nursery, root, write=True), [_STEPS[:20]])
