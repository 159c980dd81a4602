"""A medium that cannot be written: a memory on it is read, and says why it is not written."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from tests.faults.conftest import Rooms, Tally, look, peek
from tests.faults.media import unwritable
from tests.faults.nursery import Nursery
from tests.faults.script import Step, Violation, check, fold, talk
from tests.faults.tracing import Fault

_SAID: list[Step] = [*talk("talk", 0, 6), ["request", "talk"]]
_MORE: list[Step] = talk("talk", 10, 6)


def _check_read(found: dict[str, object]) -> None:
    if found["texts"] != fold(_SAID):
        raise Violation(f"{found['texts']}")
    if found["wrote"]:
        raise Violation("a write was acknowledged")
    if not str(found["refused"]).startswith("StoreReadOnly") or not found["hint"]:
        raise Violation(f"{found['refused']}: {found['hint']}")


def test_a_memory_on_a_medium_that_cannot_be_written_is_read(
    nursery: Nursery, rooms: Rooms, tally: Tally, tmp_path: Path
) -> None:
    root = rooms.copy(rooms.make("read only", _SAID))
    with unwritable(root, tmp_path / "view") as view:
        tally.add(faults=1)
        _check_read(peek(nursery, view, write=True))
    check(look(nursery, root), _SAID, [], 0)


@pytest.mark.parametrize("spoilt", ["torn", "no index", "killed"])
def test_what_opening_would_mend_there_is_read_as_well(
    spoilt: str, nursery: Nursery, rooms: Rooms, tally: Tally, tmp_path: Path
) -> None:
    root = rooms.copy(rooms.make("read only", _SAID))
    if spoilt == "torn":
        with (root / "log" / "00000001.g0.jsonl").open("ab") as file:
            file.write(b'{"v":"2.0","seq":999')
    elif spoilt == "no index":
        (root / "index.db").unlink()
    else:
        nursery.bear("live_and_die", root=root, steps=[["recall", "talk", "filler"]])
    with unwritable(root, tmp_path / "view") as view:
        tally.add(faults=1)
        _check_read(peek(nursery, view, write=True))
    check(look(nursery, root), _SAID, [], 0)


@pytest.mark.usefixtures("lying")
@pytest.mark.parametrize("at", [1, 2, 7])
def test_a_medium_that_becomes_unwritable_loses_nothing_acknowledged(
    at: int, nursery: Nursery, rooms: Rooms, tally: Tally
) -> None:
    _become_unwritable(nursery, rooms, tally, at)


@pytest.mark.usefixtures("lying")
def test_control_ignoring_that_is_caught(nursery: Nursery, rooms: Rooms) -> None:
    with pytest.raises(Violation):
        _become_unwritable(nursery, rooms, Tally(), 3, "ignores_a_failed_disk")


def _become_unwritable(
    nursery: Nursery, rooms: Rooms, tally: Tally, at: int, weakness: str = ""
) -> None:
    """From one write of the log on, nothing that is asked of its files is done."""
    root = rooms.copy(rooms.make("read only", _SAID))
    fault = Fault(do="error", at=at, until=10**9, number=errno.EROFS, path="log/")
    ended = tally.born(
        nursery.bear(
            "live",
            trace=root.parent,
            fault=fault,
            root=root,
            steps=_MORE,
            go_on=True,
            weakness=weakness,
        )
    )
    assert ended.how == "returned", ended.error
    failed = [note for note in ended.notes if "failed" in note]
    if any(not note["hint"] for note in failed):
        raise Violation(f"nothing says what to do: {failed}")
    if not failed:
        raise Violation("nobody was told")
    check(look(nursery, root), _SAID, _MORE, ended.acknowledged)
