"""What the fault tests share: a nursery, a count, and roots to break."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adopted import copied
from tests.faults.nursery import Ended, Nursery
from tests.faults.script import Step, Violation
from tests.faults.tracing import cannot_trace


@pytest.fixture(scope="session")
def tracing() -> None:
    """Skips where system calls cannot be traced."""
    if why := cannot_trace():
        pytest.skip(why)


@pytest.fixture(scope="session")
def lying() -> None:
    """Skips where system calls cannot be made to fail."""
    if why := cannot_trace(lies=True):
        pytest.skip(why)


class Tally:
    """Counts what a test tried. The end of the run prints the sums."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def add(self, **counts: int) -> None:
        for what, count in counts.items():
            self.counts[what] = self.counts.get(what, 0) + count

    def born(self, ended: Ended) -> Ended:
        """A child that was put under a fault."""
        self.add(faults=1, acknowledged=ended.acknowledged)
        return ended


@pytest.fixture
def tally(record_property: Callable[[str, object], None]) -> Iterator[Tally]:
    tally = Tally()
    yield tally
    record_property("faults", tally.counts)


class Rooms:
    """Roots, made once and copied for each fault."""

    def __init__(self, folder: Path, nursery: Nursery) -> None:
        self.folder = folder
        self._nursery = nursery
        self._made: dict[str, Path] = {}
        self.calls: dict[tuple[str, str], list[str]] = {}
        """Of each life and weakness, undisturbed: to trace one takes as long as to kill it."""

    def make(self, name: str, steps: list[Step], **options: Any) -> Path:
        """The template of that name, in which these steps were done."""
        path = self.folder / "templates" / name
        if name not in self._made:
            path.parent.mkdir(exist_ok=True)
            if steps:
                ended = self._nursery.bear("live", root=path, steps=steps, **options)
                assert ended.how == "returned", ended.error
            self._made[name] = path
        return path

    def copy(self, template: Path, name: str = "memory") -> Path:
        root = self.folder / "room" / name
        for old in (root, *root.parent.glob("copy*")):
            shutil.rmtree(old, ignore_errors=True)
        root.parent.mkdir(exist_ok=True)
        if template.exists():
            copied(template, root)
        return root


@pytest.fixture(scope="session")
def rooms(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Rooms:
    return Rooms(tmp_path_factory.mktemp("rooms"), nursery)


def peek(nursery: Nursery, root: Path, **options: Any) -> dict[str, Any]:
    """As `look`, of a memory that may be damaged."""
    ended = nursery.bear("peek", root=root, **options)
    if ended.how != "returned":
        raise Violation(f"peeking {ended.how}: {ended.error}")
    found: dict[str, Any] = ended.result
    return found


def look(nursery: Nursery, root: Path, **options: Any) -> dict[str, Any]:
    """What a fresh process finds. That it cannot even look is a violation."""
    ended = nursery.bear("look", root=root, **options)
    if ended.how != "returned":
        raise Violation(f"looking {ended.how}: {ended.error}")
    found: dict[str, Any] = ended.result
    return found
