"""What the tests of the log share: a log that is the same each time, and its files."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pagefault.model.errors import StoreCorrupt
from pagefault.model.events import Event
from pagefault.model.ids import IdMinter, Seq
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.scan import scan
from pagefault.store.embedded.segments import SegmentLog
from pagefault.store.in_memory.log import MemoryLog
from pagefault.testing.builders import opened, said

SECRET = b"0123456789abcdef0123456789abcdef"


class StillClock:
    """A clock that moves only by one millisecond for each look."""

    def __init__(self) -> None:
        self._now = 1_764_000_000_000

    def now_ms(self) -> int:
        self._now += 1
        return self._now

    def monotonic_s(self) -> float:
        return self._now / 1000


def open_log(root: Path, *, kind: type[SegmentLog] = SegmentLog, **options: Any) -> SegmentLog:
    clock = StillClock()
    return kind(
        root / "log",
        root="root-1",
        project="project",
        secret=SECRET,
        clock=clock,
        minter=IdMinter(clock, random.Random(options.pop("seed", 1))),
        **options,
    )


def memory_log() -> MemoryLog:
    clock = StillClock()
    return MemoryLog(secret=SECRET, clock=clock, minter=IdMinter(clock, random.Random(1)))


def fill(
    log: SegmentLog, batches: list[int], text: Callable[[int], str] = "turn {}".format
) -> list[Event]:
    """A session and then batches of turns of these sizes. Every turn's text is its own."""
    events = log.append([opened()])
    for size in batches:
        start = log.head()
        events += log.append([said(text(start + n + 1), order=start + n) for n in range(size)])
    log.sync()
    return events


def files(root: Path) -> list[Path]:
    return sorted((root / "log").glob("*.jsonl"))


def ends(path: Path) -> list[int]:
    """Where each record of a file ends, the end of its header first."""
    result = scan(path.read_bytes())
    return [result.header_end, *(one.end for one in result.found)]


def readable(log: SegmentLog, upto: int) -> set[int]:
    """Which records can be read, each on its own."""
    good = set()
    for seq in range(1, upto + 1):
        try:
            good.add(log.get(Seq(seq)).seq)
        except (StoreCorrupt, IndexError):
            continue
    return {int(seq) for seq in good}


class Careless(Disk):
    """A disk that is never asked to hurry: the tests that cut no power need no syncs."""

    def sync(self, fd: int) -> None: ...

    def sync_directory(self, path: Path) -> None: ...
