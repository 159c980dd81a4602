"""Group commit: one thread writes; appends that wait together share an fsync.

An append is acknowledged once it is written, synced as its level requires, and indexed. The queue
is bounded: a producer that is faster than the disk waits in `append` instead of filling memory.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, Final, Protocol, TypeVar, cast

from pagefault.model.errors import StoreClosed, StoreError, StoreLatched
from pagefault.model.events import Draft, Event
from pagefault.model.kinds import Sync
from pagefault.model.threads import start
from pagefault.store.precedence import appending

T = TypeVar("T")

QUEUE_MAX: Final = 1_024  # appends queued at once
TIDY_DRAFTS: Final = 64  # written without a pause, after which a slice of upkeep is due
GROUP_DRAFTS_MAX: Final = 4_096  # drafts that share one fsync, at most
IDLE_S: Final = 0.05  # without an append, before upkeep begins
STARTING_S: Final = 0.05  # between checks that a starting thread is still alive


class Writable(Protocol):
    """What the thread writes to: a log and its index together."""

    def writing(self) -> AbstractContextManager[None]:
        """Within this block no other process writes, and what others wrote has been read."""
        ...

    def append(self, drafts: Sequence[Draft], *, planned: int | None = None) -> list[Event]:
        """Append all drafts or none, neither durable nor indexed yet. Call within `writing`."""
        ...

    def settle(self, events: Sequence[Event], *, sync: bool) -> None:
        """Make appended events durable, if asked, and fold them into the index."""
        ...

    def tidy(self) -> bool:
        """Do a little of the pending upkeep; whether more is pending."""
        ...


class _Asked:
    """A request whose caller waits on an event loop. Any thread may answer it, once."""

    __slots__ = ("_loop", "future", "is_answered")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self._loop.create_future()
        self.is_answered = False

    def answer(self, result: object) -> None:
        self._tell(result, None)

    def refuse(self, failure: BaseException) -> None:
        if not self.is_answered:
            self._tell(None, failure)

    def _tell(self, result: object, failure: BaseException | None) -> None:
        self.is_answered = True
        with suppress(RuntimeError):  # that loop has ended, and the caller with it
            self._loop.call_soon_threadsafe(self._told, result, failure)

    def _told(self, result: object, failure: BaseException | None) -> None:
        if self.future.done():  # the caller gave up: what was queued is written all the same
            return
        if failure is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(failure)


class _Append(_Asked):
    __slots__ = ("drafts", "events", "planned")

    def __init__(self, drafts: Sequence[Draft], planned: int | None) -> None:
        super().__init__()
        self.drafts = drafts
        self.planned = planned
        self.events: list[Event] = []  # once it is written


class _Run(_Asked):
    __slots__ = ("call",)

    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__()
        self.call = call


class Committer:
    """Owns the writing thread. `close` ends it after everything queued is written.

    Every request is carried out or refused with `StoreClosed`; no caller is left waiting. The
    constructor raises `StoreError` if the thread cannot be started.
    """

    def __init__(self, store: Writable, sync: Sync) -> None:
        self._store = store
        self._sync = sync
        self._queue: queue.SimpleQueue[_Append | _Run | None] = queue.SimpleQueue()
        self._closed = False
        self._is_over = False  # the thread has ended after `close`
        self._broke: StoreError | None = None  # set once the thread has ended because of an error
        self._room = asyncio.Semaphore(QUEUE_MAX)  # fair: callers queue in order
        self._is_ready = threading.Event()
        self._thread = threading.Thread(target=self._work, name="pagefault-commit", daemon=True)
        try:
            start(self._thread)
            while not self._is_ready.wait(STARTING_S):
                if not self._thread.is_alive():
                    raise RuntimeError("it ended at once")
        except RuntimeError as failure:
            raise StoreError(
                f"the writer thread cannot be started: {failure}",
                hint="allow this process more threads or memory, then reopen the memory",
            ) from failure

    async def append(self, drafts: Sequence[Draft], *, planned: int | None = None) -> list[Event]:
        """Append as one batch and return its events once they are acknowledged.

        Cancelling the wait does not undo the append: retry with the same idempotency key.
        """
        if not drafts:
            return []
        with appending():
            return cast("list[Event]", await self._answered(_Append(drafts, planned)))

    async def run(self, call: Callable[[], T]) -> T:
        """Run `call` on the writing thread, alone: no process appends meanwhile."""
        return cast(T, await self._answered(_Run(call)))

    def close(self) -> None:
        """Write what is queued, then end the thread. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._queue.put(None)
        self._thread.join()
        self._is_over = True
        self._refuse_the_rest()

    def _refuse_the_rest(self) -> None:
        """Refuse the requests that were queued after the end marker."""
        with suppress(queue.Empty):
            while True:
                late = self._queue.get_nowait()
                if late is not None:
                    late.refuse(self._broke or StoreClosed())

    @property
    def is_closed(self) -> bool:
        return self._closed

    def check_open(self) -> None:
        """Raise `StoreClosed` once this is closed, `StoreLatched` if nothing can be written."""
        if self._closed:
            raise StoreClosed
        if self._broke is not None:
            raise self._broke

    async def _answered(self, item: _Append | _Run) -> Any:
        """Queue a request, in call order, and wait for its answer. No lock excludes the end:
        callers look for it after queueing, and it refuses what is queued by then.
        """
        async with self._room:
            self.check_open()
            self._queue.put(item)
            if self._is_over or self._broke is not None:
                self._refuse_the_rest()
            return await item.future

    def _work(self) -> None:
        hand: list[_Append | _Run | None] = []
        try:
            self._is_ready.set()
            self._serve(hand)
        except BaseException as failure:  # this thread's own, such as a lack of memory
            self._break(failure, hand)

    def _break(self, failure: BaseException, hand: Sequence[_Append | _Run | None]) -> None:
        """End after an error: refuse what is in hand, what is queued, and all that follows."""
        self._broke = StoreLatched(
            f"the thread that writes ended ({type(failure).__name__}: {failure}), "
            "so what is on the disk is unknown"
        )
        for item in hand:
            if item is not None:
                item.refuse(self._broke)
        self._refuse_the_rest()

    def _serve(self, hand: list[_Append | _Run | None]) -> None:
        """Process the queue until the end marker. `hand` holds what was taken but is not done."""
        is_tidy, written = False, 0
        while True:
            try:
                hand.append(self._queue.get(timeout=None if is_tidy else IDLE_S))
            except queue.Empty:  # nobody waits: time for upkeep, one slice per check
                while self._queue.empty() and not is_tidy:
                    is_tidy = self._tidy()
                continue
            is_tidy = False
            self._gather(hand)
            group = [item for item in hand if isinstance(item, _Append)]
            if group:
                self._write(group)
                written += sum(len(one.drafts) for one in group)
            while written >= TIDY_DRAFTS:  # under constant load upkeep must run, too
                written = 0 if self._tidy() else written - TIDY_DRAFTS
            last = hand[-1]
            if last is None:
                return
            if isinstance(last, _Run):
                self._call(last)
            hand.clear()

    def _tidy(self) -> bool:
        """A slice of upkeep; true if nothing is pending, or nothing can be done now."""
        try:
            return not self._store.tidy()
        except Exception:  # nobody asked for it: failures show elsewhere
            return True

    def _gather(self, hand: list[_Append | _Run | None]) -> None:
        """Take the requests that may share an fsync with the one in hand, and the next one if it is
        not an append.
        """
        drafts = 0
        while isinstance(last := hand[-1], _Append):
            drafts += len(last.drafts)
            if self._sync is Sync.ALWAYS or drafts >= GROUP_DRAFTS_MAX:
                return
            try:
                hand.append(self._queue.get_nowait())
            except queue.Empty:
                return

    def _write(self, group: list[_Append]) -> None:
        try:
            with self._store.writing():
                for item in group:
                    try:
                        item.events = self._store.append(item.drafts, planned=item.planned)
                    except Exception as failure:
                        item.refuse(failure)
                events = [event for item in group for event in item.events]
                self._store.settle(events, sync=self._sync is not Sync.OS)
        except Exception as failure:
            for item in group:
                item.refuse(failure)
            return
        for item in group:
            if not item.is_answered:
                item.answer(item.events)

    def _call(self, item: _Run) -> None:
        try:
            with self._store.writing():
                result = item.call()
        except Exception as failure:
            item.refuse(failure)
            return
        item.answer(result)
