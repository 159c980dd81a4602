"""A call to the disk fails, once or from then on: what was not done is not acknowledged.

EIO and ENOSPC are told at every call that changes a file, short writes happen, and then the memory
is opened again on a disk that is well. A failed write or sync of the log is the last of that
opening: what the kernel then holds is unknown, and nobody may build on it.
"""

from __future__ import annotations

import errno
import random
from typing import Any

import pytest

from tests.conftest import Some
from tests.faults.conftest import Rooms, Tally, look
from tests.faults.nursery import Ended, Nursery
from tests.faults.script import Step, Violation, check_one_of, talk, text
from tests.faults.test_kill_at_every_call import sample
from tests.faults.tracing import Fault

pytestmark = pytest.mark.usefixtures("lying")

FOREVER = 10**9

_BEFORE: list[Step] = [*talk("talk", 0, 4), ["request", "talk"]]
_STEPS: list[Step] = [
    ["open"],
    *talk("talk", 10, 3),
    ["request", "talk"],
    ["batch", "talk", [text(20), text(21), text(22)]],
    ["say", "new", text(30)],
    *talk("talk", 40, 3),
    ["forget_page", "talk", text(1)],
    *talk("talk", 50, 2),
]
_SMALL: dict[str, Any] = {"segment_bytes": 4_000}


class Device:
    def __init__(self, nursery: Nursery, rooms: Rooms, tally: Tally, weakness: str = "") -> None:
        self._nursery, self._rooms, self._tally = nursery, rooms, tally
        self._weakness = weakness
        self._template = rooms.make("device", _BEFORE, **_SMALL)

    def live(self, fault: Fault | None) -> Ended:
        self.root = self._rooms.copy(self._template)
        return self._nursery.bear(
            "live",
            trace=self.root.parent,
            fault=fault,
            root=self.root,
            steps=_STEPS,
            weakness=self._weakness,
            go_on=True,
            **_SMALL,
        )

    def strike(self, fault: Fault) -> Ended:
        """Live on a disk that fails, and look on one that is well."""
        ended = self._tally.born(self.live(fault))
        try:
            if ended.how != "returned":
                raise Violation(f"{ended.how}: {ended.error}")
            self._check(ended, fault)
        except Violation as violation:
            raise Violation(
                f"{fault.do} {fault.number} at {ended.struck[:1]}: {violation}"
            ) from None
        return ended

    def _check(self, ended: Ended, fault: Fault) -> None:
        done = [note["done"] for note in ended.notes if "done" in note]
        failed = [note for note in ended.notes if "failed" in note]
        found = look(self._nursery, self.root)
        # One that failed may be there, whole; those after it were refused, or not begun.
        perhaps = [number for number in range(len(_STEPS)) if number not in done]
        kept = [set(done), *({*done, number} for number in perhaps)]
        check_one_of(
            found, [[*_BEFORE, *(_STEPS[number] for number in sorted(one))] for one in kept]
        )
        for note in failed:
            opened = done and note["failed"] > done[0]
            if opened and not note["hint"]:
                raise Violation(f"nothing says what to do about {note}")
        of_log = [call for call in ended.struck if _appends(call)]
        if not of_log or fault.do == "short":
            return
        if not failed:
            raise Violation("the log could not be written, and nobody was told")
        after = [number for number in done if number > failed[0]["failed"]]
        if after and _STEPS[failed[0]["failed"]] != ["open"]:
            raise Violation(f"{_STEPS[after[0]]} was acknowledged by a log that had failed")
        kinds = {note["kind"] for note in failed[1:]}
        if _STEPS[failed[0]["failed"]] == ["open"]:
            return  # it syncs what it shows, and was not opened: then nothing could latch
        # Where the medium failed while it was opened, it was opened for reading.
        if kinds - {"StoreLatched", "StoreReadOnly"}:
            raise Violation(f"a log that had failed said {kinds}")


def _appends(call: str) -> bool:
    name, path = call.split(" ", 1)
    return name in {"write", "fdatasync", "fsync"} and path.endswith(".jsonl")


@pytest.fixture
def device(nursery: Nursery, rooms: Rooms, tally: Tally) -> Device:
    return Device(nursery, rooms, tally)


def _calls(device: Device) -> list[str]:
    ended = device.live(None)
    assert ended.how == "returned", ended.error
    return ended.calls


CASES = [(errno.EIO, 0), (errno.EIO, FOREVER), (errno.ENOSPC, FOREVER)]


@pytest.mark.parametrize(("number", "until"), CASES)
def test_a_call_that_fails_loses_nothing_acknowledged(
    number: int, until: int, device: Device, chance: random.Random
) -> None:
    for at in sample(_calls(device), chance, 2):
        device.strike(Fault(do="error", at=at, until=until, number=number))


@pytest.mark.torture
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(("number", "until"), CASES)
def test_any_call_that_fails_loses_nothing_acknowledged(
    number: int, until: int, device: Device, some: Some
) -> None:
    for at in some(range(1, len(_calls(device)) + 1)):
        device.strike(Fault(do="error", at=at, until=until, number=number))


@pytest.mark.parametrize("call", ["write", "fdatasync"])
def test_the_log_latches_when_it_cannot_be_written_or_synced(call: str, device: Device) -> None:
    fault = Fault(do="error", at=2, number=errno.EIO, calls=(call,), path=".jsonl")
    ended = device.strike(fault)
    assert [one.split()[0] for one in ended.struck] == [call]
    failed = [note for note in ended.notes if "failed" in note]
    assert {note["kind"] for note in failed} == {"StoreLatched"}
    assert "open it again" in failed[0]["hint"]
    assert len(failed) + ended.acknowledged == len(_STEPS)


def test_a_short_write_is_gone_on_with(device: Device, chance: random.Random) -> None:
    for at in range(1, 4):
        size = chance.choice([1, 100, 699])
        ended = device.strike(
            Fault(do="short", at=at, number=size, calls=("write",), path=".jsonl")
        )
        assert ended.acknowledged == len(_STEPS)


# --- controls ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weakness", "fault"),
    [
        ("ignores_failed_writes", Fault(do="error", at=2, number=errno.EIO, calls=("write",))),
        ("ignores_failed_syncs", Fault(do="error", at=2, number=errno.EIO, calls=("fdatasync",))),
        ("never_latches", Fault(do="error", at=2, number=errno.EIO, calls=("fdatasync",))),
        ("ignores_short_writes", Fault(do="short", at=2, number=99, calls=("write",))),
    ],
)
def test_control_a_weaker_log_is_caught(
    weakness: str, fault: Fault, nursery: Nursery, rooms: Rooms
) -> None:
    fault = Fault.from_json(fault.to_json() | {"path": ".jsonl"})
    with pytest.raises(Violation):
        Device(nursery, rooms, Tally(), weakness).strike(fault)
