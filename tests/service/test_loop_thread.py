"""A caller without an event loop gets an answer or an error, also where memory ran out."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

import pagefault
from pagefault.model.errors import StoreError
from pagefault.service import loop_thread
from pagefault.service.loop_thread import LoopThread


@pytest.fixture
def thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopThread]:
    monkeypatch.setattr(loop_thread, "LOOK_S", 0.01)
    monkeypatch.setattr(loop_thread, "GRACE_S", 0.05)
    thread = LoopThread()
    thread.run(asyncio.sleep(0))
    yield thread
    loop, served = thread._running()
    loop.call_soon_threadsafe(loop.stop)
    served.join()
    loop.close()


async def _in_a_thread() -> str:
    return await asyncio.to_thread(lambda: "done")


def test_a_notice_that_comes_late_finds_its_result_delivered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ThreadPoolExecutor(1) as workers:
        loop = loop_thread._Loop(workers)
        late: list[Callable[[], None]] = []
        failed: list[object] = []
        monkeypatch.setattr(
            loop, "call_soon_threadsafe", lambda call, *told, **_: late.append(partial(call, *told))
        )
        loop.set_exception_handler(lambda _, context: failed.append(context))

        async def ask() -> int:
            answer = loop.run_in_executor(None, lambda: 7)
            loop._owed[answer].result(300)
            loop.collect()
            loop.collect()
            assert answer.done()
            workers.submit(int).result(300)  # the notice was given before another task is taken
            for notice in late:
                loop.call_soon(notice)
            return await answer

        assert loop.run_until_complete(ask()) == 7
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
    assert failed == []


def test_a_call_in_a_thread_is_answered(thread: LoopThread) -> None:
    assert thread.run(_in_a_thread()) == "done"


@pytest.mark.parametrize("fails", [False, True])
def test_a_result_that_no_word_was_sent_of_is_handed_over(
    thread: LoopThread, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    loop, served = thread._running()
    send = loop.call_soon_threadsafe

    def without_memory(*args: object, **options: object) -> object:
        if threading.current_thread().name.startswith("pagefault-work"):
            raise MemoryError
        return send(*args, **options)  # type: ignore[arg-type]

    def work() -> str:
        if fails:
            raise ValueError("its own")
        return "done"

    async def verb() -> str:
        return await asyncio.to_thread(work)

    monkeypatch.setattr(loop, "call_soon_threadsafe", without_memory)
    if fails:
        with pytest.raises(ValueError, match="its own"):
            thread.run(verb())
    else:
        assert thread.run(verb()) == "done"
    assert served.is_alive()


def _no_memory() -> None:
    raise MemoryError


def test_a_caller_whose_callback_was_lost_is_told(thread: LoopThread) -> None:
    async def never() -> None:
        asyncio.get_running_loop().call_soon(_no_memory)
        await asyncio.get_running_loop().create_future()

    with pytest.raises(StoreError, match="ran out of memory"):
        thread.run(never())
    assert thread.run(_in_a_thread()) == "done", "the next call is served"


def test_a_call_that_ends_although_another_callback_was_lost_is_answered(
    thread: LoopThread,
) -> None:
    async def verb() -> str:
        asyncio.get_running_loop().call_soon(_no_memory)
        await asyncio.sleep(0.02)
        return await _in_a_thread()

    assert thread.run(verb()) == "done"


def test_the_loop_goes_on_where_even_its_report_found_no_memory(
    thread: LoopThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, served = thread._running()

    async def verb() -> str:
        loop.set_exception_handler(lambda *_: _no_memory())
        monkeypatch.setattr(loop, "default_exception_handler", lambda _: _no_memory())
        monkeypatch.setattr(loop, "_run_once", _once(loop._run_once))  # type: ignore[attr-defined]
        await asyncio.sleep(0.02)
        return "done"

    assert thread.run(verb()) == "done"
    assert served.is_alive()


def _once(run_once: object) -> object:
    """Its first turn finds no memory."""
    turns = iter([_no_memory])

    def run() -> None:
        next(turns, run_once)()  # type: ignore[operator]

    return run


def test_a_call_whose_timeout_is_its_own_raises_it(thread: LoopThread) -> None:
    async def verb() -> None:
        await asyncio.sleep(0.03)  # longer than between two looks
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        thread.run(verb())


def test_a_thread_is_not_started_where_it_could_not_say_that_it_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_room(*_: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("pagefault.model.threads.mmap.mmap", no_room)
    verb = _in_a_thread()
    with pytest.raises(RuntimeError, match="no memory for another thread"):
        LoopThread().run(verb)


def test_a_program_that_ends_within_its_memory_is_told_that_and_nothing_of_room(
    tmp_path: Path,
) -> None:
    program = (
        "import sys, pagefault\n"
        "opened = pagefault.sync.open(sys.argv[1])\n"
        "opened.__enter__().session('a').user('hello')\n"
        "raise RuntimeError('the end')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "m"], capture_output=True, text=True, check=False
    )
    assert "the end" in done.stderr
    assert "out of memory" not in done.stderr
    assert "the program ended before this memory was closed" in done.stderr
    with pagefault.sync.open(tmp_path / "m") as memory:
        assert memory.session("a").page("msg_1").text == "hello"
