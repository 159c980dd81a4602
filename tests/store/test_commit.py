"""The writing thread: what it does beside writing."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from pagefault.model.errors import StoreClosed, StoreError, StoreLatched
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


_DRAFT = Draft(
    session=SessionNo(1),
    turn=TurnNo(0),
    actor=Actor.USER,
    origin=RUNTIME,
    body=Pinned(page_id=PageId("msg_1")),
)

_LATE = replace(_DRAFT, turn=TurnNo(1))


@pytest.mark.parametrize(("due", "slices"), [(0, 1), (2, 3), (99, 10)])
async def test_after_many_drafts_upkeep_ends_when_none_is_due(
    monkeypatch: pytest.MonkeyPatch, due: int, slices: int
) -> None:
    monkeypatch.setattr(commit, "IDLE_S", 60.0)  # what is done when nobody waits stays away
    store = _Counting(due)
    committer = Committer(store, Sync.GROUP)
    await committer.append([_DRAFT] * TIDY_DRAFTS * 10)
    committer.close()
    assert store.slices == slices


class _Stuck(_Counting):
    """Writes nothing until it is let go on, and counts what it then wrote."""

    def __init__(self) -> None:
        super().__init__(due=0)
        self.may_go_on = threading.Event()
        self.is_stuck = threading.Event()
        self.written = 0

    def append(self, drafts: Sequence[Draft], *, planned: int | None = None) -> list[Event]:
        self.is_stuck.set()
        assert self.may_go_on.wait(300)
        self.written += 1
        return []


class _Late(queue.SimpleQueue[object]):
    """Lets in the last of those that came while it was open only once it was looked through at the
    end.
    """

    looked_through = threading.Event()

    def put(self, item: object, block: bool = True, timeout: float | None = None) -> None:
        if item is not None and getattr(item, "drafts", None) == [_LATE]:
            assert self.looked_through.wait(300)
        super().put(item)


async def check_close_leaves_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch, *, patience_s: float
) -> None:
    """It comes while one append is being written, one is queued, and many wait for room; and one
    is on its way in, past the question whether it is open.
    """
    monkeypatch.setattr(commit, "QUEUE_MAX", 3)
    monkeypatch.setattr("pagefault.store.commit.queue.SimpleQueue", _Late)
    _Late.looked_through.clear()
    refuse = Committer._refuse_the_rest

    def refuse_the_rest(self: Committer) -> None:
        refuse(self)
        _Late.looked_through.set()

    monkeypatch.setattr(Committer, "_refuse_the_rest", refuse_the_rest)
    store = _Stuck()
    committer = Committer(store, Sync.ALWAYS)
    first = asyncio.ensure_future(committer.append([_DRAFT]))
    assert await asyncio.to_thread(store.is_stuck.wait, 20)
    second = asyncio.ensure_future(committer.append([_DRAFT]))
    await asyncio.sleep(0)
    late = asyncio.ensure_future(committer.append([_LATE]))
    waiting = [asyncio.ensure_future(committer.append([_DRAFT])) for _ in range(7)]
    closing = threading.Timer(0.05, committer.close)
    closing.start()
    threading.Timer(0.1, store.may_go_on.set).start()
    await asyncio.sleep(0)  # in which the late one comes in, and this loop stands still
    await asyncio.to_thread(closing.join)
    everybody = asyncio.gather(first, second, late, *waiting, return_exceptions=True)
    try:
        told = await asyncio.wait_for(everybody, patience_s)
    except TimeoutError:
        raise AssertionError("somebody waits for ever") from None
    assert told[:2] == [[], []], "what was queued is written"
    assert [type(outcome) for outcome in told[2:]] == [StoreClosed] * 8
    assert store.written == 2
    with pytest.raises(StoreClosed, match="closed"):
        await committer.append([_DRAFT])


async def test_whoever_comes_in_while_it_is_closed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    await check_close_leaves_nobody_waiting(monkeypatch, patience_s=300)


async def test_control_who_does_not_look_for_the_end_after_coming_in_waits_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def answered(self: Committer, item: Any) -> Any:
        async with self._room:
            self.check_open()
            self._queue.put(item)
            return await item.future

    monkeypatch.setattr(Committer, "_answered", answered)
    with pytest.raises(AssertionError, match="waits for ever"):
        await check_close_leaves_nobody_waiting(monkeypatch, patience_s=3)


async def test_who_is_faster_than_the_disk_waits_and_is_written_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(commit, "QUEUE_MAX", 2)
    store = _Stuck()
    committer = Committer(store, Sync.ALWAYS)
    done: list[int] = []

    async def append(number: int) -> None:
        await committer.append([_DRAFT])
        done.append(number)

    appending = [asyncio.ensure_future(append(number)) for number in range(9)]
    assert await asyncio.to_thread(store.is_stuck.wait, 20)
    assert committer._queue.qsize() == 1, "one is being written, one is queued, seven wait"
    store.may_go_on.set()
    await asyncio.gather(*appending)
    assert done == list(range(9))
    committer.close()


def short_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on a writing thread has no memory between two of its steps."""
    gather = Committer._gather

    def gathers_no_more(self: Committer, hand: list[Any]) -> None:
        gather(self, hand)
        raise MemoryError("no memory")

    monkeypatch.setattr(Committer, "_gather", gathers_no_more)


def test_a_thread_that_ends_before_it_serves_makes_no_committer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Committer, "_work", lambda self: None)
    with pytest.raises(StoreError, match="cannot be started") as refused:
        Committer(_Counting(due=0), Sync.OS)
    assert refused.value.hint


async def check_an_error_leaves_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch, *, patience_s: float
) -> None:
    short_of_memory(monkeypatch)
    committer = Committer(_Counting(due=0), Sync.OS)
    appending = asyncio.ensure_future(committer.append([_DRAFT]))
    try:
        with pytest.raises(StoreLatched):
            await asyncio.wait_for(appending, patience_s)
    finally:
        committer.close()


async def test_an_error_of_the_thread_s_own_leaves_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await check_an_error_leaves_nobody_waiting(monkeypatch, patience_s=300)


async def test_control_a_thread_that_just_ends_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Committer, "_break", lambda *_: None)
    with pytest.raises(TimeoutError):
        await check_an_error_leaves_nobody_waiting(monkeypatch, patience_s=0.2)
