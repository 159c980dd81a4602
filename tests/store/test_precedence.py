"""A search waits for an append, and neither for long nor while an append needs what it holds."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import pagefault
from pagefault.model.ids import PageId
from pagefault.store import precedence
from pagefault.store.in_memory.index import MemoryIndex
from pagefault.store.precedence import appending, give_way, giving_way, start_giving_way
from pagefault.store.store import Store


class _Waits(threading.Condition):
    """Counts who waits for it. While it is impatient, each wait is in vain at once."""

    def __init__(self, *, is_impatient: bool = False) -> None:
        super().__init__()
        self.is_impatient = is_impatient
        self.count = 0
        self.begun = threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        self.count += 1
        self.begun.set()
        return super().wait(0 if self.is_impatient else 300)


def _waits(monkeypatch: pytest.MonkeyPatch, *, is_impatient: bool = False) -> _Waits:
    waits = _Waits(is_impatient=is_impatient)
    monkeypatch.setattr(precedence, "RUN_S", 0.0)
    monkeypatch.setattr(precedence._appends, "done", waits)
    return waits


def _in_thread(work: Callable[[], object], *, gives_way: bool = True) -> None:
    failed: list[BaseException] = []

    def run() -> None:
        if gives_way:
            start_giving_way()
        try:
            work()
        except BaseException as failure:
            failed.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(300)
    assert not thread.is_alive()
    assert not failed


def test_a_search_goes_on_once_the_append_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    waits, order = _waits(monkeypatch), list[str]()

    def search() -> None:
        start_giving_way()
        give_way()
        order.append("searched")

    thread = threading.Thread(target=search)
    with appending():
        thread.start()
        assert waits.begun.wait(300)
        order.append("appended")
    thread.join(300)
    assert order == ["appended", "searched"]


def test_without_an_append_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = _waits(monkeypatch)
    with appending():
        pass
    _in_thread(give_way)
    assert waits.count == 0


def test_an_append_that_takes_long_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    waits, counts = _waits(monkeypatch, is_impatient=True), list[int]()

    def search() -> None:
        for _ in range(3):
            give_way()
            counts.append(waits.count)
        with appending():  # another one
            give_way()
        counts.append(waits.count)

    with appending():
        _in_thread(search)
    assert counts == [1, 1, 1, 2]


def test_a_search_runs_before_it_waits_again(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = _waits(monkeypatch, is_impatient=True)
    monkeypatch.setattr(precedence, "RUN_S", 300.0)

    def search() -> None:
        for _ in range(3):
            with appending():
                give_way()

    _in_thread(search)
    assert waits.count == 1


def test_only_a_thread_that_searches_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = _waits(monkeypatch, is_impatient=True)
    with appending():
        _in_thread(give_way, gives_way=False)
    assert waits.count == 0


def test_who_holds_what_an_append_needs_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    waits, index = _waits(monkeypatch, is_impatient=True), MemoryIndex()

    def search() -> None:
        with giving_way(waits=False):
            give_way()
        with index.moment():  # holds the index's only lock
            give_way()
        assert waits.count == 0
        give_way()

    with appending():
        _in_thread(search)
    assert waits.count == 1


@pytest.mark.parametrize("is_stuck", [True, False])
async def test_recall_gives_way_and_does_not_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_stuck: bool
) -> None:
    """While an append is stuck, a recall looks for it between its steps and finds its pages."""
    settle, is_in, may_go_on = Store.settle, threading.Event(), threading.Event()

    def settled(self: Store, *args: object, **options: object) -> None:
        is_in.set()
        assert may_go_on.wait(300)
        settle(self, *args, **options)  # type: ignore[arg-type]

    async with pagefault.open(tmp_path / "memory") as memory:
        session = await memory.session("talk")
        await session.user("The spare key is under the blue pot.")
        waits = _waits(monkeypatch, is_impatient=True)
        appended: asyncio.Future[PageId] | None = None
        if is_stuck:
            monkeypatch.setattr(Store, "settle", settled)
            appended = asyncio.ensure_future(session.user("The ferry leaves at nine."))
            assert await asyncio.to_thread(is_in.wait, 300)
        found = await memory.recall("where is the spare key?")
        assert [hit.page.page_id for hit in found.hits] == ["msg_1"]
        assert (waits.count > 0) is is_stuck
        may_go_on.set()
        if appended is not None:
            await appended
        found = await memory.recall("when does the ferry leave?")
        assert [hit.page.page_id for hit in found.hits[:1]] == (["msg_2"] if is_stuck else [])
