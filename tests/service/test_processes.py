"""Several processes on one memory: who may write, what the others see, and who dies on the way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault.model.clock import SystemClock
from pagefault.model.defaults import LEASE_IDLE_S
from pagefault.model.errors import (
    NoSuchPage,
    RecordGone,
    SessionBusy,
    SessionNotFound,
    StoreBusy,
)
from pagefault.model.events import Draft, Event, SessionOpened
from pagefault.model.kinds import Mode
from pagefault.service.bootstrap import open_memory
from pagefault.service.idle_leases import give_up_idle
from pagefault.service.journal import Journal
from pagefault.service.session import Session
from pagefault.service.turn.auto_recall import TurnRecall
from pagefault.store.embedded.lock import RootLock
from pagefault.store.embedded.presence import Presence
from pagefault.store.embedded.root import rebuild, repair
from pagefault.store.embedded.segments import SegmentLog
from pagefault.store.leases import Leases
from pagefault.store.store import Store
from tests.service.memories import files_with, text_of
from tests.store.logs import memory_log
from tests.workers import Refused, Worker

STOP = "armed(Store, {!r}, lambda *a, **k: (os.kill(os.getpid(), signal.SIGSTOP), time.sleep(1)))"
NO_UPKEEP = "Store.tidy = lambda self: False"  # it takes the lock when nobody asks for anything
KILL = "armed({}, {!r}, lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL))"


async def _said(root: Path, name: str) -> list[str]:
    """What stands in a session, in its order."""
    async with pagefault.open(root, read_only=True) as memory:
        session = await memory.session(name, create=False)
        rows = await memory.pages(session, limit=10_000)
        return [(await session.page(row.page_id)).text for row in rows]


async def check_sound(root: Path) -> None:
    """The log holds together, and the index is what a new one would be."""

    async def seen() -> list[Any]:
        async with pagefault.open(root, read_only=True) as memory:
            assert (await memory.verify()).problems == ()
            rows = await memory.sessions()
            sessions = [await memory.session(row.session_id, create=False) for row in rows]
            return [
                rows,
                *[await memory.pages(session, limit=10_000) for session in sessions],
                *[(await session.recall("message")).hits for session in sessions],
            ]

    before = await seen()
    clock = SystemClock()
    await asyncio.to_thread(rebuild, root, clock=clock, minter=memory_log()._minter)
    assert await seen() == before, "the index is not what a new one is"


# --- many at once -----------------------------------------------------------------------------


async def check_many_writers(root: Path, weakened: str = "") -> None:
    count, messages = 3, 30
    workers = [Worker(root, sync="group") for _ in range(count)]
    try:
        for worker in workers:
            worker.answer()
            if weakened:
                worker.ask("exec", weakened)
        for number, worker in enumerate(workers):
            worker.tell("many", f"s{number}", f"message of {number}", messages)
        for worker in workers:
            assert worker.answer() == [f"msg_{n + 1}" for n in range(messages)]
    finally:
        for worker in workers:
            worker.close()
    for number in range(count):
        expected = [f"message of {number} {n}" for n in range(messages)]
        assert await _said(root, f"s{number}") == expected, "not what was acknowledged"
    await check_sound(root)


async def test_many_processes_write_and_nothing_is_lost_or_out_of_order(tmp_path: Path) -> None:
    await check_many_writers(tmp_path / "m")


@pytest.mark.parametrize(
    "weakened",
    [
        "from pagefault.store.embedded.segments import SegmentLog; "
        "SegmentLog.refresh = lambda *a, **k: None",
        """
from pagefault.store.embedded.lock import RootLock
from pagefault.store.embedded.presence import Presence
from pagefault.store.embedded.segments import SegmentLog
RootLock.acquire = lambda self: None
encode = SegmentLog._encode
def slowly(self, drafts):
    made = encode(self, drafts)
    time.sleep(0.005)
    return made
SegmentLog._encode = slowly
""",
    ],
    ids=["no refresh", "no lock"],
)
async def test_control_writers_that_do_not_look_or_lock_are_caught(
    tmp_path: Path, weakened: str
) -> None:
    with pytest.raises((AssertionError, Refused, pagefault.PagefaultError)):
        await check_many_writers(tmp_path / "m", weakened)


async def test_a_session_that_two_open_at_once_is_one_session(tmp_path: Path) -> None:
    with Worker(tmp_path / "m") as first, Worker(tmp_path / "m") as second:
        for name in ("a", "b", "c"):
            first.tell("pages", name)
            second.tell("pages", name)
            assert first.answer() == second.answer() == 0
        assert sorted(first.ask("sessions")) == ["a", "b", "c"]


# --- one session ------------------------------------------------------------------------------


async def test_a_second_writer_of_a_session_is_told_who_the_first_is(tmp_path: Path) -> None:
    with Worker(tmp_path / "m") as first, Worker(tmp_path / "m") as second:
        first.ask("user", "s", "Mine.")
        assert second.ask("page", "s", "msg_1") == "Mine."
        for verb in (["user", "s", "No, mine."], ["request", "s"], ["forget", "s", "msg_1"]):
            with pytest.raises(Refused, match=f"process {first.pid} on .* \\(-c") as refused:
                second.ask(*verb)
            assert refused.value.name == "SessionBusy"
        assert second.ask("fork", "s", "f") == "f", "writing a fork needs no lease of its parent"
        assert second.ask("user", "f", "Mine at last.") == "msg_2"
        assert first.ask("user", "s", "Still mine.") == "msg_2"
        first.close()
        assert second.ask("user", "s", "Now it is free.") == "msg_3"
    assert await _said(tmp_path / "m", "s") == ["Mine.", "Still mine.", "Now it is free."]
    await check_sound(tmp_path / "m")


async def test_whoever_comes_later_goes_on_from_what_the_other_said(tmp_path: Path) -> None:
    """Its own view of the session is old: it is folded anew before it writes."""
    root = tmp_path / "m"
    async with pagefault.open(root, sync="os") as memory:
        session = await memory.session("s")
        await session.user("First.")
    async with pagefault.open(root, sync="os") as memory:
        session = await memory.session("s")
        with Worker(root) as other:
            other.ask("user", "s", "Second.", "k")
            other.ask("request", "s")
            assert (await session.status()).pages == 2
            other.ask("user", "s", "Third.")
        assert await session.user("Second.", key="k") == "msg_2", "a retry, whoever was first"
        assert await session.user("Fourth.") == "msg_4"
        assert "Third." in text_of(await session.request())
        session.check()
    assert await _said(root, "s") == ["First.", "Second.", "Third.", "Fourth."]


async def check_a_suspended_writer_writes_nothing(root: Path, weakened: str = "") -> None:
    with Worker(root, lease_s=0.5) as first, Worker(root, lease_s=0.5) as second:
        first.ask("exec", NO_UPKEEP)  # or it may be stopped with the lock
        first.ask("user", "s", "Before.")
        if weakened:
            first.ask("exec", weakened)
        first.stop()
        first.tell("user", "s", "Too late.")
        for _ in range(200):
            second.tell("user", "s", "Taken over.")
            outcome, told = second.outcome()
            if outcome == "ok":
                break
            assert outcome == "SessionBusy"
            assert f"process {first.pid} on " in told
            await asyncio.sleep(0.05)
        assert told == "msg_2", "the lease of a suspended process was never taken over"
        first.go_on()
        outcome, told = first.outcome()
        assert files_with(root / "log", b"Too late.") == [], "it wrote all the same"
        assert await _said(root, "s") == ["Before.", "Taken over."]
        assert outcome == "SessionBusy"
        assert "taken over while this process was suspended" in told
        assert f"process {second.pid} on " in told
        second.close()
        assert first.ask("user", "s", "My turn again.") == "msg_3"
    assert await _said(root, "s") == ["Before.", "Taken over.", "My turn again."]
    await check_sound(root)


async def test_a_suspended_writer_that_wakes_after_its_lease_was_taken_writes_nothing(
    tmp_path: Path,
) -> None:
    await check_a_suspended_writer_writes_nothing(tmp_path / "m")


async def test_control_without_the_fence_it_writes(tmp_path: Path) -> None:
    weakened = "Store._check_fence = lambda self, session: None"
    with pytest.raises(AssertionError, match="wrote all the same"):
        await check_a_suspended_writer_writes_nothing(tmp_path / "m", weakened)


async def test_a_session_that_is_idle_is_given_up_and_taken_up_again_with_what_others_wrote(
    tmp_path: Path,
) -> None:
    later_ms = 0

    class Clock(SystemClock):
        def now_ms(self) -> int:
            return super().now_ms() + later_ms

    async with (
        open_memory(tmp_path, sync="os", clock=Clock()) as first,
        open_memory(tmp_path, sync="os", clock=Clock()) as second,
    ):
        here = await first.session("talk")
        await here.user("It was said here.")
        there = await second.session("talk")
        await give_up_idle(first)
        with pytest.raises(SessionBusy):
            await there.user("It was said too early.")
        later_ms = int(LEASE_IDLE_S * 1_000)
        await give_up_idle(first)
        await there.user("It was said there.")
        later_ms *= 2
        await give_up_idle(second)
        await here.user("It was said here again.")
    said = ["It was said here.", "It was said there.", "It was said here again."]
    assert await _said(tmp_path, "talk") == said
    await check_sound(tmp_path)


async def test_a_lost_lease_concerns_no_other_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drafts of one group: those of the lost session are refused, the others are written."""
    root = tmp_path / "m"
    monkeypatch.setattr(Presence, "_beat_on", lambda self, every_s: None)
    async with (
        open_memory(root, sync="os", lease_s=0.0) as first,
        open_memory(root, sync="os", lease_s=0.0) as second,
    ):
        lost, kept = await first.session("lost"), await first.session("kept")
        await lost.user("One.")
        await kept.user("One.")
        taken = await second.session("lost")
        await asyncio.sleep(0.01)  # any beat is older than a lease of no length
        await taken.user("Two.")
        outcomes = await asyncio.gather(
            lost.user("Refused."), kept.user("Two."), return_exceptions=True
        )
        assert isinstance(outcomes[0], SessionBusy)
        assert outcomes[1] == "msg_2"
        assert (await lost.status()).pages == 2


# --- who stops, and who dies ------------------------------------------------------------------


async def test_a_holder_that_is_stopped_while_it_writes_is_named(tmp_path: Path) -> None:
    root = tmp_path / "m"
    with Worker(root) as first, Worker(root, lock_wait_s=0.2) as second:
        first.ask("exec", NO_UPKEEP)
        first.ask("user", "a", "One.")
        second.ask("user", "b", "One.")
        first.ask("exec", STOP.format("settle"))
        first.tell("user", "a", "Two.")
        first.wait_until_stopped()
        with pytest.raises(Refused, match=f"process {first.pid} on ") as refused:
            second.ask("user", "b", "Two.")
        assert refused.value.name == "StoreBusy"
        assert second.ask("recall", "b", "one") == ["msg_1"], "readers never wait"
        first.go_on()
        assert first.answer() == "msg_2"
        assert second.ask("user", "b", "Two.") == "msg_2", "nothing was written: it is repeated"
        assert first.ask("user", "a", "Three.") == "msg_3"
    await check_sound(root)


TEAR = """
from pagefault.store.embedded.disk import Disk
def torn(self, fd, data):
    os.write(fd, data[: len(data) // 2])
    os.kill(os.getpid(), signal.SIGKILL)
Disk.write_all = torn
"""


async def check_a_killed_writer_leaves_others_at_work(root: Path, weakened: str = "") -> None:
    with Worker(root) as first, Worker(root) as second:
        first.ask("user", "a", "One.")
        second.ask("user", "b", "One.")
        if weakened:
            second.ask("exec", weakened)
        first.ask("exec", TEAR)
        first.tell("user", "a", "Torn, and never acknowledged.")
        first.wait_until_ended()
        assert second.ask("user", "b", "Two.") == "msg_2"
        assert any("were cut" in notice for notice in second.ask("notices"))
        assert second.ask("user", "a", "Two.") == "msg_2", "the dead hold nothing"
    assert await _said(root, "a") == ["One.", "Two."]
    assert await _said(root, "b") == ["One.", "Two."]
    await check_sound(root)


async def test_the_next_writer_cuts_what_a_killed_one_left_torn(tmp_path: Path) -> None:
    await check_a_killed_writer_leaves_others_at_work(tmp_path / "m")


async def test_control_a_writer_that_goes_on_behind_a_torn_tail_is_caught(tmp_path: Path) -> None:
    weakened = (
        "from pagefault.store.embedded.segments import SegmentLog\n"
        "SegmentLog.is_current = lambda self: True"
    )
    with pytest.raises((AssertionError, Refused, pagefault.PagefaultError)):
        await check_a_killed_writer_leaves_others_at_work(tmp_path / "m", weakened)


async def test_the_next_writer_folds_what_a_killed_one_left_out_of_the_index(
    tmp_path: Path,
) -> None:
    root = tmp_path / "m"
    with Worker(root) as first, Worker(root) as second:
        first.ask("user", "a", "One.")
        second.ask("user", "b", "One.")
        first.ask("exec", KILL.format("Store", "settle"))
        first.tell("user", "a", "In the log, not in the index.", "k")
        first.wait_until_ended()
        assert second.ask("user", "b", "Two.") == "msg_2"
        assert "msg_2" in second.ask("recall", "a", "index")
        assert second.ask("user", "a", "In the log, not in the index.", "k") == "msg_2"
    await check_sound(root)


async def test_a_forget_whose_process_was_killed_is_finished_by_the_next_writer(
    tmp_path: Path,
) -> None:
    root = tmp_path / "m"
    with Worker(root) as first, Worker(root) as second:
        first.ask("user", "a", "Zanzibarqux.")
        second.ask("exec", NO_UPKEEP)
        second.ask("user", "b", "One.")
        first.ask("exec", "from pagefault.store.embedded.segments import SegmentLog")
        first.ask("exec", KILL.format("SegmentLog", "erase"))
        first.tell("forget", "a", "msg_1")
        first.wait_until_ended()
        assert b"Zanzibarqux" in (root / "log" / "00000001.g0.jsonl").read_bytes()
        second.ask("user", "b", "Two.")
        for path in root.rglob("*"):
            assert not path.is_file() or b"anzibarqux" not in path.read_bytes(), path
    await check_sound(root)


# --- readers ----------------------------------------------------------------------------------


async def test_a_reader_sees_what_is_written_and_waits_for_nobody(tmp_path: Path) -> None:
    root = tmp_path / "m"
    with Worker(root) as writer:
        writer.ask("user", "s", "First message.")
        with Worker(root, read_only=True) as reader:
            assert reader.ask("pages", "s") == 1
            writer.ask("many", "s", "message", 40)
            assert reader.ask("page", "s", "msg_41") == "message 39"
            assert reader.ask("pages", "s") == 41
            with RootLock(root, clock=SystemClock()).held():
                assert reader.ask("page", "s", "msg_2") == "message 0"
                assert reader.ask("recall", "s", "first")[0] == "msg_1"
                assert reader.ask("sessions") == ["s"]
                with Worker(root, read_only=True) as another:
                    assert another.ask("pages", "s") == 41
            writer.ask("user", "new", "A session that was not there.")
            assert reader.ask("page", "new", "msg_1") == "A session that was not there."


async def check_files_are_read_on_threads(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another process wrote is taken in while the loop goes on."""
    on_the_loop: list[str] = []
    read = SegmentLog.refresh

    def refresh(self: SegmentLog, *args: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            on_the_loop.append("here")
        read(self, *args)

    with Worker(root) as other:
        other.ask("user", "s", "the tea is green")
        async with open_memory(root, read_only=True) as memory:
            session = await memory.session("s", create=False)
            monkeypatch.setattr(SegmentLog, "refresh", refresh)
            for verb in (
                memory.sessions,
                lambda: memory.session("s"),
                lambda: session.recall("tea"),
                lambda: session.page("msg_1"),
                session.status,
            ):
                other.ask("user", "s", "more tea")
                await verb()
            assert len((await session.recall("tea")).hits) > 1
    assert on_the_loop == [], "the loop read files"


async def test_what_others_wrote_is_read_on_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await check_files_are_read_on_threads(tmp_path / "m", monkeypatch)


async def test_control_a_look_on_the_loop_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look(self: Journal) -> None:
        self._store.look()

    monkeypatch.setattr(Journal, "look", look)
    with pytest.raises(AssertionError, match="the loop read files"):
        await check_files_are_read_on_threads(tmp_path / "m", monkeypatch)


async def test_control_a_reader_that_never_looks_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "m"
    with Worker(root) as writer:
        writer.ask("user", "s", "One.")
        async with pagefault.open(root, read_only=True) as reading:
            session = await reading.session("s")
            monkeypatch.setattr(SegmentLog, "refresh", lambda *args: None)
            writer.ask("user", "s", "Two.")
            with pytest.raises(IndexError):
                await session.page("msg_2")


# --- forgetting -------------------------------------------------------------------------------


async def check_a_fork_shows_nothing_that_another_process_forgot(root: Path) -> None:
    async with pagefault.open(root, sync="os", window=3_000) as memory:
        session = await memory.session("s")
        await session.user("The word is Zanzibarqux.")
        fork = await session.fork("f")
        await fork.user("What was it?")
        assert "Zanzibarqux" in text_of(await fork.request())
    async with pagefault.open(root, sync="os", window=3_000) as memory:
        fork = await memory.session("f")
        await fork.user("And again?")
        assert "Zanzibarqux" in text_of(await fork.request())
        with Worker(root) as other:
            assert other.ask("forget", "s", "msg_1") == ["msg_1"]
        assert "Zanzibarqux" not in text_of(await fork.request()), "it shows what was forgotten"
        with pytest.raises((NoSuchPage, RecordGone)):
            await fork.page("msg_1")
        fork.check()


async def test_a_fork_shows_nothing_that_another_process_forgot(tmp_path: Path) -> None:
    await check_a_fork_shows_nothing_that_another_process_forgot(tmp_path / "m")


async def test_control_a_session_that_hears_of_no_forget_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "_notice", lambda self: None)
    with pytest.raises(AssertionError, match="shows what was forgotten"):
        await check_a_fork_shows_nothing_that_another_process_forgot(tmp_path / "m")


async def check_a_request_that_was_planned_is_planned_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process forgets after the request was planned, and before it is written."""
    plan = TurnRecall.pages
    async with (
        pagefault.open(root, sync="os", window=3_000) as memory,
        pagefault.open(root, sync="os", window=3_000) as other,
    ):
        session = await other.session("s")
        await session.user("The word is Zanzibarqux.")
        fork = await memory._open_new(_fork(session, memory))  # leased by the one that asks
        await fork.user("What was it?")
        forgotten = 0

        async def planned(self: TurnRecall) -> Any:
            nonlocal forgotten
            pages = await plan(self)
            if self is fork._recall and not forgotten:
                forgotten += 1
                await other.forget("s", "msg_1")
            return pages

        monkeypatch.setattr(TurnRecall, "pages", planned)
        request = await fork.request()
        assert forgotten == 1
        assert "Zanzibarqux" not in text_of(request), "it was sent after it was forgotten"
        fork.check()


def _fork(session: Session, memory: pagefault.Memory) -> SessionOpened:
    return SessionOpened(
        session_id=memory._runtime.mint_session_id(),
        name="f",
        window_tokens=3_000,
        mode=Mode.ACTIVE,
        system="",
        parent=session.session,
        parent_seq=session.owned.folded,
    )


async def test_a_request_that_was_planned_is_planned_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await check_a_request_that_was_planned_is_planned_again(tmp_path / "m", monkeypatch)


async def test_control_a_plan_that_is_not_asked_for_its_age_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Store.append

    def at_once(self: Store, drafts: Sequence[Draft], *, planned: int | None = None) -> list[Event]:
        return append(self, drafts)

    monkeypatch.setattr(Store, "append", at_once)
    monkeypatch.setattr(Store, "tidy", lambda self: False)  # it would notice in between, and plan
    with pytest.raises(AssertionError, match="sent after it was forgotten"):
        await check_a_request_that_was_planned_is_planned_again(tmp_path / "m", monkeypatch)


async def test_a_session_that_another_process_forgot_is_gone(tmp_path: Path) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root, sync="os") as memory:
        await (await memory.session("s")).user("One.")
    async with pagefault.open(root, sync="os") as memory:
        session = await memory.session("s")
        with Worker(root) as other:
            other.ask("forget", "s")
        for refused in (session.user("Two."), session.request(), session.status()):
            with pytest.raises(SessionNotFound):
                await refused
        again = await memory.session("s")
        assert await again.user("Anew.") == "msg_1"


async def test_a_grandchild_sees_its_grandparent_when_what_is_between_was_forgotten(
    tmp_path: Path,
) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root, sync="os", window=3_000) as memory:
        first = await memory.session("first")
        await first.user("Said at first.")
        second = await first.fork("second")
        await second.user("Said between.")
        third = await second.fork("third")
        await third.user("Said at last.")
        await first.user("After the fork.")
        await memory.forget("second")

        async def check(memory: pagefault.Memory) -> None:
            third = await memory.session("third", create=False)
            assert (await third.page("msg_1")).text == "Said at first."
            assert (await third.page("msg_3")).text == "Said at last."
            with pytest.raises((NoSuchPage, RecordGone)):
                await third.page("msg_2")
            request = text_of(await third.request())
            assert "Said at first." in request
            assert "After the fork." not in request
            assert "Said between." not in request

        await check(memory)
        assert await third.user("next") == "msg_4"
    for path in root.glob("index.db*"):
        path.unlink()
    async with pagefault.open(root) as memory:
        await check(memory)
        fifth = await memory.session("third")
        assert await fifth.user("next") == "msg_5"


# --- upkeep -----------------------------------------------------------------------------------


@pytest.mark.parametrize("upkeep", [rebuild, repair])
async def test_upkeep_needs_to_be_alone(tmp_path: Path, upkeep: Callable[..., Any]) -> None:
    root, tools = tmp_path / "m", {"clock": SystemClock(), "minter": memory_log()._minter}
    with Worker(root) as other:
        other.ask("user", "s", "One.")
        with pytest.raises(StoreBusy, match=f"process {other.pid} on "):
            await asyncio.to_thread(upkeep, root, **tools)
        other.stop()
        with pytest.raises(StoreBusy, match=f"process {other.pid} on "):
            await asyncio.to_thread(upkeep, root, **tools)
        other.go_on()
        assert other.ask("user", "s", "Two.") == "msg_2"
    with Worker(root) as other:
        other.kill()
        await asyncio.to_thread(upkeep, root, **tools)
    await check_sound(root)


async def test_an_index_in_use_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version that reads another schema must make the index anew: not under the others."""
    root = tmp_path / "m"
    with Worker(root) as other:
        other.ask("user", "s", "One.")
        monkeypatch.setattr("pagefault.store.embedded.index.SCHEMA", 999)
        with pytest.raises(StoreBusy, match=f"process {other.pid} on "):
            async with pagefault.open(root):
                pass
        monkeypatch.undo()
        assert other.ask("user", "s", "Two.") == "msg_2"


async def test_who_is_there_leaves_nothing_behind(tmp_path: Path) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root):
        with Worker(root) as other:
            assert len(list((root / "instances").iterdir())) == 2
            other.kill()
        with Worker(root):
            assert len(list((root / "instances").iterdir())) == 2, "the dead one was cleared away"
    assert list((root / "instances").iterdir()) == []


def test_leases_know_nothing_of_others_in_memory() -> None:
    assert Leases("memory", None, 30.0).who("x") == "another process, since ended"
