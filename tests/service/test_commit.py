"""The way to the disk: many at once, impatient callers, disks that fail."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

import pagefault
from pagefault import Incoming
from pagefault.model.errors import StoreError, StoreLatched
from pagefault.model.events import Draft, Event
from pagefault.model.kinds import USER_TYPED, Role
from pagefault.service.ownership import Owned
from pagefault.store import commit
from pagefault.store.commit import Committer
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.index import SqliteIndex
from pagefault.store.embedded.segments import SegmentLog
from pagefault.store.store import Store
from tests.service.memories import text_of
from tests.store.test_commit import short_of_memory


async def _texts(memory: pagefault.Memory, name: str) -> list[str]:
    session = await memory.session(name, create=False)
    rows = await memory.pages(session, limit=10_000)
    return [(await session.page(row.page_id)).text for row in rows]


@pytest.mark.parametrize("sync", ["always", "group", "os"])
async def test_many_tasks_on_many_sessions(tmp_path: Path, sync: str) -> None:
    async with pagefault.open(tmp_path / "m", sync=sync) as memory:
        sessions = [await memory.session(f"s{number}") for number in range(4)]

        async def talk(task: int) -> None:
            session = sessions[task % 4]
            for number in range(8):
                await session.user(f"task {task} says {number}")
                await session.request()

        await asyncio.gather(*[talk(task) for task in range(12)])
        for session in sessions:
            session.check()
            assert (await session.status()).pages == 24
    async with pagefault.open(tmp_path / "m") as memory:
        for number in range(4):
            texts = await _texts(memory, f"s{number}")
            for task in range(number, 12, 4):
                mine = [text for text in texts if text.startswith(f"task {task} ")]
                assert mine == [f"task {task} says {n}" for n in range(8)], "each in its order"


async def test_verbs_queued_together_are_done_in_their_order(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        made = await asyncio.gather(*[session.user(f"{number}") for number in range(200)])
        assert made == [f"msg_{number + 1}" for number in range(200)]
        assert await _texts(memory, "s") == [str(number) for number in range(200)]


async def test_a_slow_disk_holds_producers_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "QUEUE_MAX", 4)
    settle = Store.settle
    waiting: list[int] = []

    async with pagefault.open(tmp_path / "m") as memory:
        sessions = [await memory.session(f"s{number}") for number in range(40)]

        def slow(self: Store, events: object, *, sync: bool) -> None:
            waiting.append(memory._committer._queue.qsize())
            time.sleep(0.01)
            settle(self, events, sync=sync)  # type: ignore[arg-type]

        monkeypatch.setattr(Store, "settle", slow)
        beats = 0

        async def beat() -> None:
            nonlocal beats
            while True:
                await asyncio.sleep(0.001)
                beats += 1

        heart = asyncio.create_task(beat())
        await asyncio.gather(*[session.user("Hello") for session in sessions])
        heart.cancel()
        assert max(waiting) <= 4
        assert len(waiting) >= 5, "they could not all share one"
        assert beats >= 10, "the loop stood still while they waited"
        assert all(row.pages == 1 for row in await memory.sessions())


async def test_who_stops_waiting_loses_and_doubles_nothing(tmp_path: Path, seed: int) -> None:
    """Cancelled at random moments, each is retried by its key."""
    chance = random.Random(seed)
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("s")
        cancelled = 0
        for number in range(60):
            task = asyncio.create_task(session.user(f"{number}", key=f"k{number}"))
            for _ in range(chance.randrange(6)):
                await asyncio.sleep(0)
            if chance.random() < 0.3:
                await asyncio.sleep(0.001)
            task.cancel()
            [outcome] = await asyncio.gather(task, return_exceptions=True)
            cancelled += isinstance(outcome, asyncio.CancelledError)
            if chance.random() < 0.3:
                running = asyncio.create_task(session.request())
                await asyncio.sleep(0)
                running.cancel()
            assert await session.user(f"{number}", key=f"k{number}") == f"msg_{number + 1}"
        assert cancelled > 10
        session.check()
        request = await session.request()
        assert await _texts(memory, "s") == [str(number) for number in range(60)]
    async with pagefault.open(tmp_path / "m") as memory:
        assert await _texts(memory, "s") == [str(number) for number in range(60)]
        session = await memory.session("s")
        assert (await session.request()).messages == request.messages


async def test_leaving_waits_for_what_was_begun(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("s")
        tasks = [asyncio.create_task(session.user(f"{number}")) for number in range(50)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    async with pagefault.open(tmp_path / "m") as memory:
        assert await _texts(memory, "s") == [str(number) for number in range(50)]


async def test_whoever_comes_behind_the_end_is_told(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
    late = [asyncio.create_task(session.user(f"{number}")) for number in range(5)]
    outcomes = await asyncio.wait_for(asyncio.gather(*late, return_exceptions=True), 300)
    assert all(isinstance(outcome, StoreError) for outcome in outcomes)


# --- disks that fail --------------------------------------------------------------------------


class Failing(Disk):
    """Works until `broken` says what is wrong with it."""

    broken: dict[str, OSError]

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self._check("write")
        return super().write(fd, data)

    def sync(self, fd: int) -> None:
        self._check("sync")
        super().sync(fd)

    @classmethod
    def _check(cls, what: str) -> None:
        if what in cls.broken:
            raise cls.broken[what]


@pytest.mark.parametrize("call", ["write", "sync"])
@pytest.mark.parametrize(("number", "said"), [(28, "the disk is full"), (5, "Input/output")])
async def test_a_failing_disk_latches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int, said: str
) -> None:
    monkeypatch.setattr("pagefault.store.embedded.root.Disk", Failing)
    Failing.broken = {}
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("s")
        await session.user("Acknowledged.")
        request = await session.request()
        Failing.broken = {call: OSError(number, "No space left" if number == 28 else said)}
        with pytest.raises(StoreLatched, match=said) as refused:
            await session.user("Lost?", key="k")
        assert "again" in refused.value.hint
        if number == 28:
            assert "free some space" in refused.value.hint
        Failing.broken = {}  # the disk recovered: what it holds is unknown all the same
        for again in (session.user("x"), session.request(), session.fork(), memory.session("y")):
            with pytest.raises(StoreLatched, match=said):
                await again
        with pytest.raises(StoreLatched):
            await memory.forget("s", "msg_1")
        assert (await session.page("msg_1")).text == "Acknowledged."
        assert len((await session.recall("acknowledged")).hits) == 1
    monkeypatch.undo()
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("s")
        assert (await session.request()).messages[: len(request.messages)] == request.messages
        assert await session.user("Lost?", key="k") == "msg_2"
        assert await _texts(memory, "s") == ["Acknowledged.", "Lost?"]
        assert (await memory.verify()).problems == ()


async def test_an_index_that_fails_latches_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in the log and was not acknowledged must not be written again by a retry."""

    async def conversation() -> None:
        async with pagefault.open(tmp_path / "m") as memory:
            session = await memory.session("s")
            await session.user("Acknowledged.")
            with monkeypatch.context() as full:

                def apply(self: SqliteIndex, events: object, **how: object) -> None:
                    raise StoreError("index.db: database or disk is full")

                full.setattr(SqliteIndex, "apply", apply)
                with pytest.raises(StoreError, match="full"):
                    await session.user("Once", key="k")
            for _ in range(2):
                with pytest.raises(StoreLatched, match="full"):
                    await session.user("Once", key="k")
        async with pagefault.open(tmp_path / "m") as memory:
            session = await memory.session("s")
            assert await session.user("Once", key="k") == "msg_2"
            assert await _texts(memory, "s") == ["Acknowledged.", "Once"]
            assert "Once" in text_of(await session.request())
            assert (await memory.verify()).problems == ()

    await conversation()


async def test_control_an_index_that_fails_quietly_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pagefault.store.latch.Latch.refuse_from_now", lambda *args: None)
    with pytest.raises(BaseException):  # noqa: B017, PT011 - whichever of the promises breaks first
        await test_an_index_that_fails_latches_too(tmp_path, monkeypatch)


async def test_a_batch_is_all_or_nothing(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s", window=2_000)
        said = [Incoming(text=f"{number}", role=Role.USER) for number in range(20)]
        large = Incoming(text="large " * 3_000, role=Role.USER)
        with pytest.raises(pagefault.MessageTooLarge):
            await session.say([*said, large], origin=USER_TYPED)
        assert (await session.status()).pages == 0
        assert len(await session.say(said, origin=USER_TYPED)) == 20


async def test_a_writing_thread_that_ends_for_an_error_leaves_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "QUEUE_MAX", 4)
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        sessions = [await memory.session(f"s{number}") for number in range(40)]
        await sessions[0].user("before")
        with monkeypatch.context() as patched:
            short_of_memory(patched)
            saying = [session.user("Hello") for session in sessions]
            told = await asyncio.gather(*saying, return_exceptions=True)
            with pytest.raises(StoreLatched, match="no memory"):
                await sessions[1].user("later")
        assert {type(one) for one in told} == {StoreLatched}
    async with pagefault.open(tmp_path / "m") as memory:
        assert await _texts(memory, "s0") == ["before"]
        await (await memory.session("s0")).user("after")


async def _said_in_the_end(root: Path, fails: Callable[[pytest.MonkeyPatch], None]) -> list[str]:
    """What is there at the next opening, once a caller said `once` where memory ran out, and then
    `again`.
    """
    async with pagefault.open(root) as memory:
        session = await memory.session("s")
        await session.user("before")
        with pytest.MonkeyPatch.context() as patched, suppress(StoreLatched, MemoryError):
            fails(patched)
            await session.user("once")
        with suppress(StoreError):
            await session.user("again")
    async with pagefault.open(root) as memory:
        return await _texts(memory, "s")


def _before_it_is_synced(patched: pytest.MonkeyPatch) -> None:
    def short_of_memory(self: SegmentLog) -> None:
        raise MemoryError("no memory")

    patched.setattr(SegmentLog, "sync", short_of_memory)


def _before_the_session_hears_of_it(patched: pytest.MonkeyPatch) -> None:
    append = Committer.append

    async def short_of_memory(
        self: Committer, drafts: Sequence[Draft], *, planned: int | None = None
    ) -> list[Event]:
        await append(self, drafts, planned=planned)
        raise MemoryError("no memory")

    patched.setattr(Committer, "append", short_of_memory)


def _go_on_regardless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the store nor the session asks what became of an append that failed."""

    async def nothing(self: Owned) -> None: ...

    async def unchanged(self: Owned) -> bool:
        return False

    monkeypatch.setattr(Store, "_the_last_if_half_done", nullcontext)
    monkeypatch.setattr(Owned, "_see", nothing)
    monkeypatch.setattr(Owned, "lease", unchanged)


async def test_after_a_sync_without_memory_nothing_more_is_written(tmp_path: Path) -> None:
    said = await _said_in_the_end(tmp_path / "m", _before_it_is_synced)
    assert said == ["before", "once"]


async def test_a_session_that_did_not_hear_of_its_append_goes_on_behind_it(tmp_path: Path) -> None:
    said = await _said_in_the_end(tmp_path / "m", _before_the_session_hears_of_it)
    assert said == ["before", "once", "again"]


@pytest.mark.parametrize("fails", [_before_it_is_synced, _before_the_session_hears_of_it])
async def test_control_who_goes_on_regardless_gives_a_place_twice(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fails: Callable[[pytest.MonkeyPatch], None],
) -> None:
    _go_on_regardless(monkeypatch)
    assert "again" not in await _said_in_the_end(tmp_path / "m", fails)
    async with pagefault.open(tmp_path / "m") as memory:
        [aside] = (await memory.verify()).set_aside
        assert "its place among the pages was another's" in aside
