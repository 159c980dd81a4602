"""An event loop on its own thread, for blocking callers of an endpoint.

Invariant: calls still waiting when it is closed get `EngineUnreachable`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from pagefault.model.errors import EngineUnreachable
from pagefault.model.threads import start

T = TypeVar("T")


class OwnLoop:
    """The thread starts with the first `run`; `close` ends it, and awaits `closing` on it.

    Call it from any thread but its own.
    """

    def __init__(self, what: str, closing: Callable[[], Awaitable[None]]) -> None:
        """`what` names the thread, and the closed object in errors: "embedder"."""
        self._what = what
        self._closing = closing
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of the coroutine. Raises `EngineUnreachable` once this is closed."""
        with self._starting:
            if self._is_closed:
                work.close()
                raise self._closed()
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._live,
                    args=(self._loop,),
                    name=f"pagefault-{self._what}",
                    daemon=True,
                )
                start(self._thread)
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except CancelledError:
            raise self._closed() from None

    def close(self) -> None:
        """Idempotent."""
        with self._starting:
            self._is_closed = True
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    def _closed(self) -> EngineUnreachable:
        return EngineUnreachable(f"this {self._what} is closed", hint="make another")

    def _live(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(self._closing())
        loop.close()
