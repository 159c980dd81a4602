"""What the tests of whole roots share."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pagefault.model.ids import IdMinter
from pagefault.store.root import Store, open_store
from pagefault.store.segments import SegmentLog
from pagefault.testing.builders import opened, said
from tests.store.logs import Careless, StillClock


def tools() -> dict[str, object]:
    clock = StillClock()
    return {"clock": clock, "minter": IdMinter(clock, random.Random(1))}


def open_root(path: Path, **options: object) -> Store:
    return open_store(path, **(tools() | {"disk": Careless()} | options))  # type: ignore[arg-type]


def write(store: Store, texts: list[str]) -> None:
    start = store.log.head()
    drafts = [said(text, order=start + n) for n, text in enumerate(texts)]
    store.settle(store.append(drafts), sync=True)


def make_segments_tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every few records another file."""
    defaults = SegmentLog.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "segment_bytes", 2_000)


def make_root(path: Path, turns: int = 30, text: str = "turn {}") -> Store:
    store = open_root(path)
    store.settle(store.append([opened()]), sync=True)
    for n in range(turns):
        write(store, [text.format(n)])
    return store


def snapshot(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.name.startswith("index.db")
    }
