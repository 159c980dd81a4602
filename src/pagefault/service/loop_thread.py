"""One event loop on a thread of its own, for callers that have none.

A caller blocks until its coroutine is done, so whatever the loop loses would block a caller for
ever. A process that runs out of memory loses three things that neither asyncio nor its executor
reports: a callback that could not be run, a worker that died before it took its task, and the
notice that a task is done. Hence:

 (1) The loop continues after a `MemoryError` of its own, and counts it.
 (2) Workers are proven to run before the loop is used, so that a queued task is taken.
 (3) A waiting caller polls: results without a notice are delivered, and if a callback was lost, or
     the thread is gone, the caller gets an error.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar

from pagefault.model.errors import CallerError, StoreError
from pagefault.model.threads import check_room, start

T = TypeVar("T")

LOOK_S: Final = 0.5  # between two polls of a waiting caller
GRACE_S: Final = 5.0  # after a callback was lost, until what is not done counts as lost
STARTING_MAX_S: Final = 20.0  # a worker that has not run by then never will


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that keeps track of what its executor owes it."""

    def __init__(self, workers: ThreadPoolExecutor) -> None:
        super().__init__()
        self.losses = 0  # callbacks that were not run
        self._owed: dict[asyncio.Future[Any], Future[Any]] = {}
        self._done: set[asyncio.Future[Any]] = set()  # of these, done at the last poll
        self.set_default_executor(workers)
        self.set_exception_handler(self._count)
        self._workers = workers

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        check_room()  # a worker may have to start: one that cannot report it would stop the loop
        there = (executor or self._workers).submit(func, *args)
        here: asyncio.Future[T] = self.create_future()
        self._owed[here] = there
        here.add_done_callback(self._settle)
        there.add_done_callback(partial(self._notify, here))
        return here

    def collect(self) -> None:
        """Deliver results without a notice: those that were there at the last poll, because the
        notice of a newer one may be on its way.
        """
        before, self._done = self._done, {h for h, there in self._owed.items() if there.done()}
        for here in before & self._done:
            _deliver(here, self._owed[here])

    def _settle(self, here: asyncio.Future[Any]) -> None:
        there = self._owed.pop(here)
        if here.cancelled():
            there.cancel()

    def _notify(self, here: asyncio.Future[Any], there: Future[Any]) -> None:
        with suppress(RuntimeError):  # it is closed
            self.call_soon_threadsafe(_deliver, here, there)

    def serve(self) -> None:
        while not self.is_closed():
            try:
                self.run_forever()
                return
            except MemoryError:
                self.losses += 1

    @staticmethod
    def _count(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        assert isinstance(loop, _Loop)
        if isinstance(context.get("exception"), MemoryError):
            loop.losses += 1  # not logged: that takes memory
        else:
            loop.default_exception_handler(context)


def _deliver(here: asyncio.Future[Any], there: Future[Any]) -> None:
    """Hand over a result, unless `collect` did, or nobody waits for it any more."""
    if here.done():
        return
    if there.cancelled():
        here.cancel()
    elif (failure := there.exception()) is not None:
        here.set_exception(failure)
    else:
        here.set_result(there.result())


class LoopThread:
    """The process's only loop thread, started on first use. It does not survive `os.fork`."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._loop: _Loop | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0

    def run(self, verb: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine. Raises what it raises, what `start` does, and `StoreError` if it
        was lost. An interrupt cancels it; what it was writing is written whole.
        """
        under_way = self.start(verb)
        while True:
            try:
                return _told(under_way.future.result(LOOK_S))
            except TimeoutError:
                if under_way.future.done():  # with an error of its own, or just now
                    return _told(under_way.future.result())
            except (KeyboardInterrupt, SystemExit):
                if not under_way.future.done():  # ours: nobody waits for it, so it stops
                    under_way.future.cancel()
                    under_way.ended.wait(GRACE_S)
                raise
            under_way.look()

    def start(self, verb: Coroutine[Any, Any, T]) -> UnderWay[T]:
        """Start a coroutine for a caller that waits in its own way, and polls with `look`
        meanwhile. Raises `CallerError` on the loop's own thread, where the coroutine would never
        run; in a process forked since; and when the interpreter shuts down.
        """
        if threading.current_thread() is self._thread:
            verb.close()
            raise CallerError(
                "pagefault.sync was called by a callback of its own, which it would wait for",
                hint="do it once the verb has returned that called back, or in another thread",
            )
        if sys.is_finalizing():  # every other thread was stopped where it was
            verb.close()
            raise CallerError(
                "the program ended before this memory was closed",
                hint="open it in a `with` block; what was acknowledged is written",
            )
        try:
            loop, thread = self._running()
            losses = loop.losses
            ended = threading.Event()
            future = asyncio.run_coroutine_threadsafe(_watched(verb, ended), loop)
        except BaseException:
            verb.close()
            raise
        return UnderWay(future, ended, self, loop, thread, losses)

    def call(self, verb: Callable[[], T]) -> T:
        """Call a function on the loop's thread, between two of its steps: it touches state that
        only that thread changes. Raises what it raises, and otherwise what `run` does. On that very
        thread, in a callback, it is simply called.
        """
        if threading.current_thread() is self._thread:
            return verb()
        return self.run(_called(verb))

    def _running(self) -> tuple[_Loop, threading.Thread]:
        with self._guard:
            if self._loop is None or self._thread is None:
                workers = ThreadPoolExecutor(thread_name_prefix="pagefault-work")
                loop: _Loop | None = None
                try:
                    _prove(workers)
                    loop = _Loop(workers)
                    thread = threading.Thread(target=loop.serve, name="pagefault-sync", daemon=True)
                    start(thread)
                except BaseException:  # a LoopThread without its thread would block every verb
                    workers.shutdown(wait=False)
                    if loop is not None:
                        loop.close()
                    raise
                self._loop, self._thread, self._pid = loop, thread, os.getpid()
            elif self._pid != os.getpid():
                raise CallerError(
                    "this process was forked after pagefault.sync was first used",
                    hint="open memories in the child process only, or start it with 'spawn'",
                )
            return self._loop, self._thread

    def _give_up(self, loop: _Loop) -> None:
        with self._guard:
            if self._loop is loop:
                self._loop = self._thread = None


@dataclass(slots=True)
class UnderWay(Generic[T]):
    """A coroutine on the loop's thread, and its caller's means to see that it is not lost."""

    future: Future[T | _Ended]
    ended: threading.Event
    _thread: LoopThread
    loop: _Loop
    _serving: threading.Thread
    _losses: int
    _lost_s: float | None = None

    def look(self) -> None:
        """Deliver results without a notice. Raises `StoreError` if the coroutine was lost."""
        if not self._serving.is_alive():
            self._thread._give_up(self.loop)
            raise _lost() from None
        self.loop.call_soon_threadsafe(self.loop.collect)
        if self._lost_s is None and self.loop.losses != self._losses:
            self._lost_s = time.monotonic()
        if self._lost_s is not None and time.monotonic() - self._lost_s > GRACE_S:
            self.future.cancel()
            raise _lost() from None


@dataclass(frozen=True, slots=True)
class _Ended:
    """An exception that ends the program: raised on the loop's thread, it would end the loop."""

    why: BaseException


def _told(outcome: T | _Ended) -> T:
    if isinstance(outcome, _Ended):
        raise outcome.why
    return outcome


async def _watched(verb: Coroutine[Any, Any, T], ended: threading.Event) -> T | _Ended:
    try:
        return await verb
    except (KeyboardInterrupt, SystemExit) as why:
        return _Ended(why)
    finally:
        ended.set()


async def _called(verb: Callable[[], T]) -> T:
    return verb()


def _prove(workers: ThreadPoolExecutor) -> None:
    """Make a worker run. One that starts without memory to continue never takes a task."""
    check_room()
    try:
        workers.submit(lambda: None).result(STARTING_MAX_S)
    except TimeoutError:
        raise _lost() from None


def _lost() -> StoreError:
    return StoreError(
        "this process ran out of memory while the call was under way, and what became of it "
        "is unknown",
        hint="let the process have more memory, open the memory again and look, or repeat the "
        "call with its idempotency key",
    )
