"""What the tests of whole roots share."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pagefault.model.events import Draft, Event
from pagefault.model.ids import IdMinter, Seq
from pagefault.store.embedded.root import open_store
from pagefault.store.embedded.segments import SegmentLog
from pagefault.store.store import Store
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
    append(store, drafts)


def append(store: Store, drafts: list[Draft]) -> list[Event]:
    """Write these, as a process does that has their sessions to itself."""
    with store.writing():
        for session in {draft.session for draft in drafts if draft.session}:
            store.lease(session)
        events = store.append(drafts)
        store.settle(events, sync=True)
        return events


def forget(store: Store, seqs: list[Seq]) -> None:
    """Erase these records, as a process does that has their sessions to itself."""
    with store.writing():
        for session in {store.log.get(seq).session for seq in seqs}:
            store.lease(session)
        store.forget(seqs, [], [])


def make_segments_tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every few records another file."""
    for made in (SegmentLog.__init__, open_store):
        defaults = made.__kwdefaults__
        assert defaults is not None
        assert "segment_bytes" in defaults
        monkeypatch.setitem(defaults, "segment_bytes", 2_000)


def make_root(path: Path, turns: int = 30, text: str = "turn {}") -> Store:
    store = open_root(path)
    append(store, [opened()])
    for n in range(turns):
        write(store, [text.format(n)])
    return store


def snapshot(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")  # what changes a memory, not who has it open
        if path.is_file()
        and not path.name.startswith("index.db")
        and path.name not in {"lock", "turnstile"}
        and path.parent.name != "instances"
    }
