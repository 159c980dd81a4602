"""The writing thread: what it does beside writing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from pagefault.model.events import Draft, Event, Pinned
from pagefault.model.ids import PageId, SessionNo, TurnNo
from pagefault.model.kinds import RUNTIME, Actor, Sync
from pagefault.store import commit
from pagefault.store.commit import TIDY_DRAFTS, Committer


class _Counting:
    """Keeps nothing. Says so often that more upkeep is due."""

    def __init__(self, due: int) -> None:
        self.due = due
        self.slices = 0

    @contextmanager
    def writing(self) -> Iterator[None]:
        yield

    def append(self, drafts: Sequence[Draft], *, planned: int | None = None) -> list[Event]:
        return []

    def settle(self, events: Sequence[Event], *, sync: bool) -> None: ...

    def tidy(self) -> bool:
        self.slices += 1
        return self.slices <= self.due


@pytest.mark.parametrize(("due", "slices"), [(0, 1), (2, 3), (99, 10)])
async def test_after_many_drafts_upkeep_ends_when_none_is_due(
    monkeypatch: pytest.MonkeyPatch, due: int, slices: int
) -> None:
    monkeypatch.setattr(commit, "IDLE_S", 60.0)  # what is done when nobody waits stays away
    draft = Draft(
        session=SessionNo(1),
        turn=TurnNo(0),
        actor=Actor.USER,
        origin=RUNTIME,
        body=Pinned(page_id=PageId("msg_1")),
    )
    store = _Counting(due)
    committer = Committer(store, Sync.GROUP)
    await committer.append([draft] * TIDY_DRAFTS * 10)
    committer.close()
    assert store.slices == slices
