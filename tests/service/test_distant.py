"""A memory over an engine that is far away: a verb works or says why not, and no word is lost."""

from __future__ import annotations

import gc
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

import pagefault
from pagefault.model import defaults
from pagefault.model.clock import SystemClock
from pagefault.model.errors import (
    CallerError,
    PagefaultError,
    RecordGone,
    StoreError,
    StoreLatched,
)
from pagefault.model.ids import IdMinter
from pagefault.service import bootstrap
from pagefault.store.in_memory.index import MemoryIndex
from pagefault.store.in_memory.log import MemoryBlobs, MemoryLog
from pagefault.store.in_memory.vectors import MemoryVectorPlace
from pagefault.store.leases import Leases
from pagefault.store.store import Store
from pagefault.testing.distant import Link, put_away
from tests.service.memories import fault

SECRET = bytes(32)


class Server:
    """A log and blobs that stay there, whoever is connected to them."""

    def __init__(self) -> None:
        clock = SystemClock()
        minter = IdMinter(clock, random.Random(1))
        self.log = MemoryLog(clock=clock, minter=minter, secret=SECRET)
        self.blobs = MemoryBlobs(SECRET)

    @asynccontextmanager
    async def opened(
        self, link: Link, monkeypatch: pytest.MonkeyPatch
    ) -> AsyncIterator[pagefault.Memory]:
        """A memory over this server, whose index is folded anew, as that of another process is."""
        index = MemoryIndex()
        index.apply(list(self.log.read()))

        def store(*given: Any) -> Store:
            leases = Leases("memory", None, defaults.LEASE_S)
            place = MemoryVectorPlace()
            engine = self.log, index, self.blobs, place, SECRET, leases
            return put_away(Store(*engine), link)

        monkeypatch.setattr(bootstrap, "memory_store", store)
        try:
            async with pagefault.open(":memory:", window=1_500, limits=LIMITS) as memory:
                yield memory
        finally:
            # asyncio tells of writes that failed with nobody waiting when they are collected. It
            # does so here: amid another test's `ast.parse`, CPython 3.11 fails at formatting it.
            gc.collect()


LIMITS = pagefault.Limits(artifact_bytes_max=10_000)
HEALTHY = Link(random.Random(0))


class Talk:
    """Somebody who says things, goes on after an error, and remembers what was acknowledged."""

    def __init__(self, memory: pagefault.Memory, session: pagefault.Session, seed: int) -> None:
        self.memory = memory
        self.session = session
        self.chance = random.Random(seed)
        self.said: dict[str, str] = {}  # text by page id
        self.tried: set[str] = set()
        self.forgotten: set[str] = set()
        self.errors: list[PagefaultError] = []
        self.count = 0

    async def go_on(self, steps: int) -> None:
        for _ in range(steps):
            self.count += 1
            try:
                await self.step(self.count)
            except (CallerError, RecordGone):
                pass  # it asked for what was forgotten
            except PagefaultError as error:
                self.errors.append(error)
                if isinstance(error, StoreLatched):
                    return  # to be opened again: nothing more is taken

    async def step(self, number: int) -> None:
        session, text = self.session, f"Note {number} of boat {number % 7}: " + "sail " * 30
        match self.chance.randrange(9):
            case 0 | 1 | 2:
                self.tried.add(text)
                self.said[await session.user(text, key=f"k{number}")] = text
            case 3:
                self.tried.add(text)
                self.said[await session.assistant(text, key=f"k{number}")] = text
            case 4:
                await session.request()
            case 5:
                await session.recall(f"boat {number % 7}")
            case 6:
                await session.call(fault("msg_1", call_id=f"c{number}"))
            case 7:
                await session.artifact(b"x" * 100, name=f"{number}.bin", key=f"k{number}")
            case 8 if self.said:
                page_id = self.chance.choice(sorted(self.said))
                self.forgotten.add(page_id)
                await self.memory.forget(session, page_id)


async def check(server: Server, talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process sees that opens the same memory now."""
    async with server.opened(HEALTHY, monkeypatch) as memory:
        assert (await memory.verify()).problems == ()
        session = await memory.session("s", create=False)
        for page_id, text in talk.said.items():
            if page_id not in talk.forgotten:
                assert (await session.page(page_id)).text == text, "it was acknowledged"
        rows = await memory.pages(session, limit=10_000)
        texts = [(await memory.read(row)).text for row in rows if row.page_id[:3] == "msg"]
        assert set(texts) <= talk.tried
        assert len(texts) == len(set(texts)), "said once, it is there once"
        assert (await session.request()).tokens <= 1_500


@pytest.mark.parametrize("seed", range(12))
async def test_whatever_fails_a_verb_says_so_and_nothing_acknowledged_is_lost(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server()
    link = Link(random.Random(seed))
    async with server.opened(link, monkeypatch) as memory:
        talk = Talk(memory, await memory.session("s"), seed)
        await talk.go_on(10)
        assert not talk.errors
        link.slow, link.refused, link.cut = 0.05, 0.03, 0.01 * (seed % 3)
        await talk.go_on(60)
        link.heal()
        talk.tried.add("And now it answers again.")
        with suppress(StoreLatched):  # since then, or since a record that nobody waits for
            await talk.session.user("And now it answers again.")
            assert (await talk.session.recall("answers again")).hits
            assert not any(isinstance(one, StoreLatched) for one in talk.errors)
    assert link.faults
    assert not [one for one in talk.errors if "folded" in str(one)], "no number is given twice"
    await check(server, talk, monkeypatch)


async def test_a_server_that_is_away_keeps_nobody_waiting_and_is_there_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Server()
    link = Link(random.Random(0))
    async with server.opened(link, monkeypatch) as memory:
        session = await memory.session("s")
        await session.user("Before.")
        link.refused = 1.0
        for verb in (session.user("During."), session.request(), session.recall("before")):
            with pytest.raises(PagefaultError, match="answers nobody"):
                await verb
        link.heal()
        assert await session.user("After.") == "msg_2", "no number was used up"
        assert [hit.page.page_id for hit in (await session.recall("before")).hits] == ["msg_1"]


async def test_control_what_an_engine_loses_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    async with server.opened(HEALTHY, monkeypatch) as memory:
        talk = Talk(memory, await memory.session("s"), 0)
        await talk.go_on(30)
    lost = server.log._events.pop()
    while lost.body.__class__.__name__ not in ("Said", "Returned"):
        lost = server.log._events.pop()
    with pytest.raises((AssertionError, PagefaultError)):
        await check(server, talk, monkeypatch)


async def test_after_words_of_which_nobody_knows_whether_they_are_kept_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Server()
    async with server.opened(HEALTHY, monkeypatch) as memory:
        session = await memory.session("s")
        await session.user("Before.")
        synced = server.log.sync

        def cut_off() -> None:
            synced()
            raise StoreError("the connection broke")

        monkeypatch.setattr(server.log, "sync", cut_off)
        with pytest.raises(StoreLatched):
            await session.user("During.")
        monkeypatch.setattr(server.log, "sync", synced)
        with pytest.raises(StoreLatched):
            await session.user("After.")
    async with server.opened(HEALTHY, monkeypatch) as memory:
        session = await memory.session("s", create=False)
        assert [(await session.page(f"msg_{n}")).text for n in (1, 2)] == ["Before.", "During."]
        assert await session.user("After.") == "msg_3"
