"""A memory is verified while it is in use: nobody waits for that, and nothing is called wrong that
others only change meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from pagefault.model.clock import SystemClock
from pagefault.model.ids import IdMinter
from pagefault.service.bootstrap import open_memory
from pagefault.service.memory import Memory
from pagefault.service.session import Session
from pagefault.store.embedded import connections
from pagefault.store.embedded.archiver import archive
from pagefault.store.embedded.connections import _BUSY_MS, Connections
from pagefault.store.embedded.index import SqliteIndex
from pagefault.store.embedded.root import open_store
from pagefault.store.store import Store, Verification
from tests.store.logs import memory_log
from tests.store.roots import make_segments_tiny
from tests.workers import Refused, Worker

TINY = """
from pagefault.store.embedded.root import open_store
from pagefault.store.embedded.segments import SegmentLog
SegmentLog.__init__.__kwdefaults__["segment_bytes"] = 2_000
open_store.__kwdefaults__["segment_bytes"] = 2_000
"""
MESSAGES = 40


@pytest.fixture(autouse=True)
def _in_tiny_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    make_segments_tiny(monkeypatch)


async def _filled(memory: Memory, name: str) -> Session:
    session = await memory.session(name)
    for number in range(MESSAGES):
        await session.user(f"message {number} of many in this log")
    return session


# --- writers go on ----------------------------------------------------------------------------


async def check_writers_go_on(root: Path, lock_wait_s: float = 60.0) -> None:
    """At every segment that is read, this process and another write a message, and get through."""
    loop = asyncio.get_running_loop()
    written: list[str] = []
    async with open_memory(root) as memory:
        ours = await _filled(memory, "ours")
        with Worker(root, sync="group", lock_wait_s=lock_wait_s) as other:
            other.ask("exec", TINY)

            def meanwhile(done: int, total: int) -> None:
                number = len(written) + 1
                assert other.ask("user", "theirs", f"theirs {number}") == f"msg_{number}"
                verb = ours.user(f"ours {number}")
                asyncio.run_coroutine_threadsafe(verb, loop).result(timeout=300)
                written.append(f"theirs {number}")

            found = await memory.verify(meanwhile)
            assert found.problems == ()
            assert found.segments > 5
            assert len(written) == found.segments, "one for each segment that was read"
            assert other.ask("pages", "theirs") == len(written)
        assert (await memory.verify()).problems == ()


async def test_writers_here_and_elsewhere_go_on_while_a_log_is_verified(tmp_path: Path) -> None:
    await check_writers_go_on(tmp_path / "m")


async def test_control_verifying_under_the_lock_keeps_writers_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def verify(
        self: Memory, progress: Callable[[int, int], None] | None = None
    ) -> Verification:
        return await self._committer.run(lambda: self._store.verify(progress))

    monkeypatch.setattr(Memory, "verify", verify)
    with pytest.raises(Refused, match="StoreBusy"):
        await check_writers_go_on(tmp_path / "m", lock_wait_s=0.5)


def test_the_index_is_checked_while_others_write_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_LOOK_STEPS", 500)
    with Worker(tmp_path / "m") as other:
        other.ask("many", "theirs", "message", MESSAGES)
        store = _open(tmp_path / "m")
        written: list[str] = []

        def meanwhile() -> bool:
            if len(written) < 3:
                written.append(other.ask("user", "theirs", "and another"))
                with store.writing():  # and we do: it holds no lock of the index here
                    store.index.apply([], synced=True)
                    store.index.tidy()
            return False

        assert store.index.check(meanwhile) == []
        assert len(written) == 3
        store.close()


def test_the_index_is_checked_while_this_process_writes_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_own_writes_go_on(tmp_path / "m", monkeypatch)


def test_control_a_check_on_the_writers_connection_keeps_it_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def apart(self: Connections, give_way: Callable[[], bool]) -> Iterator[apsw.Connection]:
        with self.bare() as db:
            db.set_progress_handler(give_way, connections._LOOK_STEPS)
            try:
                yield db
            finally:
                db.set_progress_handler(None)

    monkeypatch.setattr(Connections, "apart", apart)
    with pytest.raises(AssertionError, match="the writer waited"):
        check_own_writes_go_on(tmp_path / "m", monkeypatch, within_s=2.0)


def check_own_writes_go_on(
    root: Path, monkeypatch: pytest.MonkeyPatch, within_s: float = 60.0
) -> None:
    """A thread writes to the index while it is being checked."""
    monkeypatch.setattr(connections, "_LOOK_STEPS", 500)
    with Worker(root) as other:
        other.ask("many", "theirs", "message", MESSAGES)
    store = _open(root)
    asked, written = threading.Event(), threading.Event()

    def write() -> None:
        assert asked.wait(300)
        with store.writing():
            store.index.tidy()
        written.set()

    writer = threading.Thread(target=write)
    writer.start()

    def meanwhile() -> bool:
        asked.set()
        assert written.wait(within_s), "the writer waited"
        return False

    try:
        assert store.index.check(meanwhile) == []
        assert written.is_set()
    finally:
        asked.set()
        writer.join()
        store.close()


# --- others change what is read ---------------------------------------------------------------


async def test_segments_that_are_rewritten_or_archived_meanwhile_are_sound(tmp_path: Path) -> None:
    root = tmp_path / "m"
    async with open_memory(root) as memory:
        await _filled(memory, "ours")
        with Worker(root) as other:
            other.ask("exec", TINY)
            other.ask("many", "theirs", "message", 5)
            steps = 0

            def meanwhile(done: int, total: int) -> None:
                nonlocal steps
                steps += 1
                if steps == 1:  # of segments still to be read, the last one among them
                    other.ask("forget", "theirs", "msg_1")
                    other.ask("forget", "theirs", "msg_5")
                if steps == 2:
                    archive(root, clock=SystemClock(), keep=0)
                if steps == 3:
                    other.ask("forget", "theirs")

            assert (await memory.verify(meanwhile)).problems == ()
            assert steps > 4
        assert (await memory.verify()).problems == ()


async def test_an_artifact_that_is_forgotten_meanwhile_is_not_missed(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    async with open_memory(tmp_path / "m") as memory:
        session = await _filled(memory, "ours")
        art = await session.artifact(b"a drawing" * 100, name="plan.png")
        steps = 0

        def meanwhile(done: int, total: int) -> None:
            nonlocal steps
            steps += 1
            if steps == 1:
                verb = memory.forget("ours", art)
                asyncio.run_coroutine_threadsafe(verb, loop).result(timeout=300)

        assert (await memory.verify(meanwhile)).problems == ()
        assert steps > 1


async def test_damage_is_told_of_while_others_write(tmp_path: Path) -> None:
    root = tmp_path / "m"
    async with open_memory(root) as memory:
        await _filled(memory, "ours")
        path = root / "log" / "00000002.g0.jsonl"
        path.write_bytes(path.read_bytes().replace(b"of many", b"of meny", 1))
        with Worker(root) as other:
            found = await memory.verify(lambda done, total: other.ask("user", "theirs", "hello"))
        assert found.problems
        assert all("00000002.g0.jsonl" in problem for problem in found.problems)


# --- a check gives way to a forgetting --------------------------------------------------------


def check_a_forgetting_goes_through(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process forgets while the index is looked through: who forgets must empty SQLite's
    log, which nobody may be reading then.
    """
    monkeypatch.setattr(connections, "_LOOK_STEPS", 500)
    with Worker(root, sync="group") as other:
        other.ask("many", "theirs", "message", MESSAGES)
        store = _open(root, read_only=True)
        look, looks = Store._last_of, 0

        def last_of(self: Store, receipts: str) -> Any:
            nonlocal looks
            looks += 1
            if looks == 2:  # the first question whether to give way
                other.tell("forget", "theirs", "msg_3")
                deadline = time.monotonic() + 300
                while not look(self, receipts) and time.monotonic() < deadline:
                    time.sleep(0.01)
            return look(self, receipts)

        monkeypatch.setattr(Store, "_last_of", last_of)
        assert store.verify().problems == ()
        assert other.answer() == ["msg_3"]
        store.close()


def test_whoever_forgets_does_not_wait_for_a_check_of_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_a_forgetting_goes_through(tmp_path / "m", monkeypatch)


def test_control_a_check_that_does_not_give_way_hinders_a_forgetting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = SqliteIndex.check

    def stay(self: SqliteIndex, give_way: Callable[[], bool]) -> list[str]:
        waited = False

        def wait_instead() -> bool:
            nonlocal waited
            if not waited and give_way():
                waited = True
                time.sleep(_BUSY_MS / 1000 + 2)
            return False

        return check(self, wait_instead)

    monkeypatch.setattr(SqliteIndex, "check", stay)
    with pytest.raises(Refused, match="StoreBusy"):
        check_a_forgetting_goes_through(tmp_path / "m", monkeypatch)


def _open(root: Path, **options: Any) -> Store:
    minter: IdMinter = memory_log()._minter
    return open_store(root, clock=SystemClock(), minter=minter, **options)
