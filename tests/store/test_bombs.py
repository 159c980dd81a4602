"""A file that is made to cost much costs little: what a log's folder may hold that is no log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pagefault.store.embedded import scan
from pagefault.store.embedded.inventory import take_inventory
from pagefault.store.embedded.scan import salvage
from pagefault.store.embedded.segment import Segment
from tests.store.roots import make_root, open_root

BEGUN, ENDED = b'{"v":"2.0"}\n', b',"crc":"00000000"}\n'


@pytest.mark.parametrize(
    "bomb",
    [
        BEGUN * 5_000,
        BEGUN * 5_000 + ENDED,
        (BEGUN * 7 + b"x" * 100 + ENDED) * 500,
        BEGUN + ENDED * 5_000,
        (BEGUN + ENDED) * 3_000,
    ],
    ids=["beginnings", "one end", "both", "ends", "in turn"],
)
def test_what_may_be_a_record_is_tried_a_bounded_number_of_times(
    bomb: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = 0
    of_line = scan._record

    def record(line: bytes) -> Any:
        nonlocal tried
        tried += len(line)
        return of_line(line)

    monkeypatch.setattr(scan, "_record", record)
    assert list(salvage(bomb)) == []
    assert tried < 200 * len(bomb)


def test_a_large_file_without_a_record_is_passed_over(tmp_path: Path) -> None:
    make_root(tmp_path / "m", 3).close()
    log = tmp_path / "m" / "log"
    for number in range(2, 9):
        with (log / f"{number:08d}.g0.jsonl").open("wb") as file:
            file.truncate(60 << 20)
    inventory = take_inventory(log)
    assert list(inventory.generations) == [1]
    assert len(inventory.strays) == 7
    store = open_root(tmp_path / "m", read_only=True)
    assert store.index.applied_seq() == 4
    store.close()


def test_files_that_begin_like_nothing_are_read_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_root(tmp_path / "m", 3).close()
    for number in range(2, 9):
        path = tmp_path / "m" / "log" / f"{number:08d}.g0.jsonl"
        path.write_bytes(b"x" * 2_000 + b'\n{"v":"2.0"' + b"x" * 80)
    loading: list[bool] = []  # of each segment that is being loaded: whether its bytes are at hand
    of_file, from_file = Segment.load, Segment.content

    def load(self: Segment) -> None:
        loading.append(False)
        try:
            of_file(self)
        finally:
            loading.pop()

    def content(self: Segment, end: int | None = None) -> bytes:
        assert not any(loading), "two are read at once"
        loading[-1:] = [True] if loading else []
        return from_file(self, end)

    monkeypatch.setattr(Segment, "load", load)
    monkeypatch.setattr(Segment, "content", content)
    open_root(tmp_path / "m", read_only=True).close()
