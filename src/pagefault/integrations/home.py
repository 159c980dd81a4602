"""The home of wrapped clients' memory: one event loop, with a proxy beside it.

Clients of one root share one. The first request opens it, so a program may wrap its client before
it forks, and every process that sends requests has a memory of its own.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from pagefault import sync
from pagefault.model.clock import SystemClock
from pagefault.model.errors import BadInput, CallerError, PagefaultError
from pagefault.pack.count import O200k
from pagefault.proxy.http.relay import Patience, Relay
from pagefault.proxy.server import Proxy
from pagefault.service.config import load
from pagefault.service.memory import Memory
from pagefault.service.open import open

T = TypeVar("T")

_NOWHERE: Final = "http://localhost"  # requests go on where their client sends them
_EVER_S: Final = 1e9  # the client decides how long to wait
_FAREWELL_S: Final = 3.0  # that answers under way get when the last client closes


@dataclass(frozen=True, slots=True)
class Begun:
    """A coroutine that runs at home. `look` raises `StoreError` if it was lost."""

    future: Future[Any]
    loop: asyncio.AbstractEventLoop
    look: Callable[[], None]


class Home:
    """A memory, and the proxies over it. With a `root` it is opened and closed here; a memory that
    is passed in is neither.
    """

    def __init__(self, *, root: str = "", memory: Memory | sync.Memory | None = None) -> None:
        self._root = root
        self._is_async = isinstance(memory, Memory)
        self._memory = memory._memory if isinstance(memory, sync.Memory) else memory
        self._loop = _running() if self._is_async else None
        self._opening: AbstractAsyncContextManager[Memory] | None = None
        self._opened: asyncio.Task[Memory] | None = None
        self._proxies: dict[tuple[int, str], tuple[Proxy, Relay]] = {}
        self.clients = 0

    def begin(self, verb: Coroutine[Any, Any, Any]) -> Begun:
        """Start a coroutine on the memory's loop. Raises `CallerError` if that is impossible."""
        if not self._is_async:
            under_way = sync._LOOP.start(verb)
            return Begun(under_way.future, under_way.loop, under_way.look)
        loop = self._loop = self._loop or _running()
        if loop is None or loop.is_closed():
            verb.close()
            raise CallerError("the event loop of this client's memory has ended")
        return Begun(asyncio.run_coroutine_threadsafe(verb, loop), loop, lambda: None)

    def waited(self, verb: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine, in a synchronous program. Raises `CallerError` if the memory is on
        a loop of the program's: this might block that very loop.
        """
        if self._is_async:
            verb.close()
            raise CallerError(
                "blocking code cannot use an asynchronous memory",
                hint="pass a path, or a memory from pagefault.sync",
            )
        return sync._LOOP.run(verb)

    async def awaited(self, verb: Coroutine[Any, Any, T]) -> T:
        """Await a coroutine, whichever loop it runs on."""
        if self._is_async and self._loop in (None, asyncio.get_running_loop()):
            return await verb
        found: T = await asyncio.wrap_future(self.begin(verb).future)
        return found

    @property
    def has_async_memory(self) -> bool:
        return self._is_async

    async def left(self) -> None:
        """One client less; the last one closes the memory."""
        if HOMES.leave(self):
            with suppress(CallerError):  # it is another process's
                await self.awaited(self.close())

    # --- on the memory's loop -----------------------------------------------------------------

    async def memory(self) -> Memory:
        """The memory, opened if necessary. After a failure, the next request tries again."""
        if self._memory is not None:
            return self._memory
        if self._opened is None or self._opened.done():
            self._opened = asyncio.create_task(self._open())
            self._opened.add_done_callback(_retrieve)
        return await asyncio.shield(self._opened)  # a caller cancelled cancels no other's opening

    async def proxy(self, window_tokens: int | None, user: str) -> Proxy:
        from pagefault.integrations.exchange import Onward

        memory = await self.memory()
        window = window_of(memory, window_tokens)
        made = self._proxies.get((window, user))
        if made is None:
            patience = Patience(first_byte_s=_EVER_S, between_s=_EVER_S, total_s=_EVER_S)
            relay = Relay(_NOWHERE, patience, allow_http=True, transport=Onward())
            proxy = Proxy(
                memory=memory,
                relay=relay,
                counter=O200k(),
                clock=SystemClock(),
                window_tokens=window,
                user=user,
                body_bytes_max=1 << 40,  # it is in this process already
                forms=None,  # each goes out as the SDK's own request
                measures=False,
            )
            made = self._proxies[window, user] = proxy, relay
        return made[0]

    async def close(self) -> None:
        HOMES.note(self, is_open=False)
        for proxy, relay in self._proxies.values():
            with suppress(TimeoutError):
                async with asyncio.timeout(_FAREWELL_S):
                    await proxy.settled()
            await relay.aclose()
        self._proxies.clear()
        if self._opening is not None:
            opening, self._opening, self._memory = self._opening, None, None
            await opening.__aexit__(None, None, None)

    async def _open(self) -> Memory:
        opening = open(self._root)
        memory = await opening.__aenter__()
        self._opening, self._memory = opening, memory
        HOMES.note(self, is_open=True)
        return memory


def window_of(memory: Memory, window_tokens: int | None) -> int:
    return memory._window_tokens if window_tokens is None else window_tokens


class Homes:
    """The homes of this process, by their roots."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._by_root: dict[str, Home] = {}
        self._open: dict[Home, int] = {}  # by the process that opened it
        self._is_watching = False

    def note(self, home: Home, *, is_open: bool) -> None:
        """Close open homes when the program ends."""
        with self._guard:
            self._open.pop(home, None)
            if not is_open:
                return
            self._open[home] = os.getpid()
            if not self._is_watching:
                self._is_watching = True
                _at_end(self._close_all)

    def _close_all(self) -> None:
        for home, process in list(self._open.items()):
            if process == os.getpid():
                with suppress(PagefaultError):
                    home.waited(home.close())

    def take(self, memory: str | Path | Memory | sync.Memory | Home | None) -> Home:
        """The home of a root, or of a memory, with one client more. One of `:memory:`, or of a
        memory, is new each time; a home given belongs to its client already. Raises `BadInput`,
        also for the configuration.
        """
        if isinstance(memory, Home):
            return memory
        if not isinstance(memory, str | Path | Memory | sync.Memory | None):
            raise BadInput(f"a {type(memory).__name__} is neither a memory nor a path to one")
        if isinstance(memory, Memory | sync.Memory):
            home = Home(memory=memory)
            home.clients = 1
            return home
        flags = {} if memory is None else {"root": str(memory)}
        root = str(load(environ=os.environ, cwd=Path.cwd(), flags=flags).root)
        with self._guard:
            home = self._by_root.get(root) or Home(root=root)
            if root != ":memory:":
                self._by_root[root] = home
            home.clients += 1
            return home

    def leave(self, home: Home) -> bool:
        """One client less. Returns whether that was the last one, so that the home must be
        closed.
        """
        with self._guard:
            home.clients -= 1
            if home.clients:
                return False
            self._by_root = {root: one for root, one in self._by_root.items() if one is not home}
            return True

    def close(self, home: Home) -> None:
        """One client less; the last one waits until the home is closed, if it may wait."""
        if self.leave(home) and not home.has_async_memory:
            with suppress(CallerError):  # it is another process's, or the program has ended
                home.waited(home.close())


HOMES: Final = Homes()


def _retrieve(opened: asyncio.Task[Memory]) -> None:
    """Retrieve the outcome, in case everyone who waited for it is gone."""
    if not opened.cancelled():
        opened.exception()


def _at_end(verb: Callable[[], None]) -> None:
    """Call it when the program ends, while threads still take work: `atexit` is too late."""
    register: Callable[[Callable[[], None]], object]
    register = getattr(threading, "_register_atexit", atexit.register)
    with suppress(RuntimeError):  # it is ending
        register(verb)


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
