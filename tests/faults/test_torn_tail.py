"""The log's end is torn at every byte, and the index is behind it, ahead of it, or gone."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tests.conftest import Some
from tests.faults.conftest import Rooms, Tally, look, peek
from tests.faults.damage import segments
from tests.faults.nursery import Nursery
from tests.faults.script import Step, Violation, check, fold, talk, text

_BEFORE: list[Step] = [*talk("talk", 0, 3), ["request", "talk"]]
_LAST: list[Step] = [["batch", "talk", [text(7), text(8), text(9)]]]
INDEXES = ("behind", "missing", "ahead")


class Tearing:
    def __init__(self, nursery: Nursery, rooms: Rooms, tally: Tally) -> None:
        self._nursery, self._rooms, self._tally = nursery, rooms, tally
        self._behind = rooms.make("behind", _BEFORE)
        self._whole = rooms.copy(self._behind, "whole")
        ended = nursery.bear("live", root=self._whole, steps=_LAST)
        assert ended.how == "returned", ended.error
        self.begins = segments(self._behind)[0].stat().st_size
        self.ends = segments(self._whole)[0].stat().st_size

    def torn(self, at: int, index: str) -> Path:
        """A root whose log ends at that byte, with such an index."""
        root = self._rooms.copy(self._whole, "torn")
        if index != "ahead":
            (root / "index.db").unlink()
        if index == "behind":
            shutil.copy(self._behind / "index.db", root)
        with segments(root)[0].open("r+b") as file:
            file.truncate(at)
        return root

    def check(self, at: int, index: str, weakness: str = "") -> None:
        self._tally.add(faults=1)
        root = self.torn(at, index)
        try:
            if index == "ahead" and at < self.ends:
                self._check_damage(root, weakness)
            else:
                found = look(self._nursery, root, weakness=weakness)
                check(found, _BEFORE, _LAST, 1 if at == self.ends else 0)
                if at < self.ends and fold(_BEFORE) != found["texts"]:
                    raise Violation("a part of a batch counts as the whole")
                whole = at in {self.begins, self.ends}
                if not whole and not found["notices"]:
                    raise Violation("what is gone was not told of")
        except Violation as violation:
            raise Violation(f"torn at {at} of {self.ends}, index {index}: {violation}") from None

    def _check_damage(self, root: Path, weakness: str) -> None:
        """The index has seen what is torn off, so it was acknowledged: not a byte more may go."""
        bytes_before = segments(root)[0].read_bytes()
        found = peek(self._nursery, root, write=True, weakness=weakness)
        if segments(root)[0].read_bytes() != bytes_before:
            raise Violation("acknowledged records were cut")
        if not found["refused"].startswith("StoreCorrupt") or found["wrote"]:
            raise Violation(f"it was not called damage: {found['refused']}")
        if found["verify"] != 1 or not found["problems"]:
            raise Violation("verify finds nothing")
        found = peek(self._nursery, root, repair=True, write=True, weakness=weakness)
        said = fold(_BEFORE)["talk"]
        if found["texts"]["talk"][: len(said)] != said or found["verify"] or not found["wrote"]:
            raise Violation(f"repair left {found}")


@pytest.mark.parametrize("index", INDEXES)
def test_a_torn_tail_costs_the_torn_batch_at_most(
    index: str, nursery: Nursery, rooms: Rooms, tally: Tally, chance: random.Random
) -> None:
    tearing = Tearing(nursery, rooms, tally)
    places = range(tearing.begins, tearing.ends)
    for at in [tearing.begins, *chance.sample(places, 1), tearing.ends - 1, tearing.ends]:
        tearing.check(at, index)


@pytest.mark.torture
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("index", INDEXES)
def test_a_tail_that_is_torn_at_any_byte_costs_the_torn_batch_at_most(
    index: str, nursery: Nursery, rooms: Rooms, tally: Tally, some: Some
) -> None:
    tearing = Tearing(nursery, rooms, tally)
    for at in some(range(tearing.begins, tearing.ends + 1)):
        tearing.check(at, index)


@pytest.mark.parametrize(
    ("index", "weakness"),
    [
        ("behind", "keeps_half_batches"),
        ("missing", "keeps_half_batches"),
        ("ahead", "cuts_at_the_first_bad_record"),
    ],
)
def test_control_a_weaker_opening_is_caught(
    index: str, weakness: str, nursery: Nursery, rooms: Rooms
) -> None:
    tearing = Tearing(nursery, rooms, Tally())
    middle = (
        segments(tearing.torn(tearing.ends, "ahead"))[0]
        .read_bytes()
        .index(text(9).split()[0].encode())
    )
    with pytest.raises(Violation):
        tearing.check(middle, index, weakness)
