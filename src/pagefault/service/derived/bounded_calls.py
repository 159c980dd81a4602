"""Bounded calls with timeouts, each on its own thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from pagefault.model.threads import start

T = TypeVar("T")


class CallTimedOut(Exception):
    """The call did not answer in time. It continues in its thread, and its result is dropped."""


class CallRejected(Exception):
    """The call was not made: an earlier one is late, or too many are under way."""


class BoundedCalls:
    """Invariants: at most `at_once` calls are under way, awaited or not; while one of them is late,
    none begins. So at most that many calls ever hang.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._changed = threading.Condition()
        self._under_way = 0
        self._late: set[Future[Any]] = set()

    def __call__(self, call: Callable[[], T], seconds: float) -> T:
        """Return or raise what `call` does, within `seconds`.

        Raises `CallTimedOut` after them, and `CallRejected` at once if one is late already.
        """
        until = time.monotonic() + seconds
        with self._changed:
            self._changed.wait_for(lambda: self._late or self._under_way < self._at_once, seconds)
            if self._late or self._under_way >= self._at_once:
                raise CallRejected
            self._under_way += 1
        future: Future[T] = Future()
        thread = threading.Thread(
            target=self._run, args=(call, future), name="pagefault-query", daemon=True
        )
        try:
            start(thread)
        except RuntimeError:  # no thread is available
            self._ended(future)
            raise
        try:
            return future.result(timeout=max(0.0, until - time.monotonic()))
        except TimeoutError:
            with self._changed:
                if future.done():  # an error of the call's own, or its answer came just now
                    return future.result()
                self._late.add(future)
                self._changed.notify_all()
            raise CallTimedOut from None

    def _run(self, call: Callable[[], T], future: Future[T]) -> None:
        try:
            result = call()
        except BaseException as failure:
            future.set_exception(failure)
        else:
            future.set_result(result)
        finally:
            self._ended(future)

    def _ended(self, future: Future[T]) -> None:
        with self._changed:
            self._under_way -= 1
            self._late.discard(future)
            self._changed.notify_all()
