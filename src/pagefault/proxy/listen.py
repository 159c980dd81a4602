"""Serves the proxy on a port of this machine, until it is told to stop."""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from types import ModuleType
from typing import Final

from pagefault.engine.endpoint import is_loopback
from pagefault.model.clock import Clock
from pagefault.model.errors import BadInput, not_installed
from pagefault.pack.count import TokenCounter
from pagefault.proxy.allocator import map_large_blocks
from pagefault.proxy.desk import Desk
from pagefault.proxy.http.relay import Patience, Relay
from pagefault.proxy.http.upstreams import opened
from pagefault.proxy.server import MemoryPath, Proxy, Viewer
from pagefault.service.idle_leases import giving_up_idle
from pagefault.service.memory import Memory
from pagefault.service.recovery import hurry

DEFAULT_PORT: Final = 8788
FAREWELL_S: Final = 3  # for answers under way when it stops
HEADER_BYTES_MAX: Final = 64 * 1024
AT_ONCE_MAX: Final = 2_048  # connections, idle ones among them: an SDK alone opens 1,000
KEEP_ALIVE_S: Final = 75  # longer than clients keep an idle connection, so that they close it
FILES_MAX: Final = 8_192  # open at once: two for each connection, and the memory's
LOCK_WAIT_S: Final = 1.0  # that a client waits for another process that writes to the memory
WANTED_EVERY_S: Final = 0.2  # how often a private proxy checks that it is still needed


def bound(host: str, port: int, *, wants_token: bool = False) -> socket.socket:
    """A listening socket. Raises `BadInput` if other machines can reach the host and no token is
    wanted, and if the port is in use.
    """
    if not is_loopback(host) and not wants_token:
        raise BadInput(
            f"{host} can be reached from other machines, and anyone who reaches this proxy can "
            "read and write your memory",
            hint="listen on 127.0.0.1, or require a token: PAGEFAULT_PROXY_TOKEN or --token",
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP: only for such sockets asyncio turns Nagle's algorithm off, with which the end of
    # an answer waits 40 ms for the client to acknowledge its beginning.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise BadInput(
                f"port {port} is in use", hint="choose another with --port, or 0 for any free one"
            ) from None
        raise BadInput(f"cannot listen on {host}:{port}: {error.strerror}") from None
    return listening


async def serve(
    memory: Memory,
    *,
    upstreams: Mapping[str, str],
    listening: socket.socket,
    counter: TokenCounter,
    clock: Clock,
    window_tokens: int = 0,
    token: str = "",
    tokens: Mapping[str, str] | None = None,
    user: str = "",
    faults: bool | None = None,
    marks: bool = False,
    forms: bool = False,
    patience: Patience | None = None,
    allow_http: bool = False,
    log: Callable[[str], None] = lambda line: None,
    ready: Callable[[str], None] = lambda url: None,
    desk: Desk | None = None,
    is_wanted: Callable[[], bool] | None = None,
    mcp: MemoryPath | None = None,
    dashboard: Viewer | None = None,
) -> int:
    """Serve until SIGINT or SIGTERM, or until `is_wanted` says no; returns the number of requests.
    `ready` is called with the URL. `upstreams` are addresses by their purpose, as `read_upstreams`
    returns them.

    Raises `BadInput` for an invalid upstream, `CallerError` if a package is missing.
    """
    needs_uvicorn()
    patience = patience or Patience()
    hurry(memory, LOCK_WAIT_S)
    relays = opened(upstreams, lambda url: Relay(url, patience, allow_http=allow_http))
    proxy = Proxy(
        memory=memory,
        relay=relays,
        counter=counter,
        clock=clock,
        window_tokens=window_tokens,
        token=token,
        tokens=tokens,
        user=user,
        faults=faults,
        marks=marks,
        forms=forms,
        any_host=not is_loopback(listening.getsockname()[0]),
        log=log,
        desk=desk,
        mcp=mcp,
        dashboard=dashboard,
    )
    _raise_file_limit()
    map_large_blocks()
    warming = asyncio.create_task(asyncio.to_thread(_warm, counter))
    leaving = dashboard.stop if dashboard is not None else _nothing
    try:
        async with giving_up_idle(memory, proxy.under_way):
            await run(proxy, listening, ready=ready, leaving=leaving, is_wanted=is_wanted)
        await warming
        await proxy.settled()
    finally:
        listening.close()
        await relays.aclose()
    return proxy.requests


async def run(
    app: Callable[..., Awaitable[None]],
    listening: socket.socket,
    *,
    ready: Callable[[str], None],
    leaving: Callable[[], None],
    is_wanted: Callable[[], bool] | None = None,
) -> None:
    """Serve an application until SIGINT or SIGTERM, or until `is_wanted` says no. `ready` is called
    with the URL; `leaving` is called before connections are ended. Raises `CallerError` without
    uvicorn.
    """
    uvicorn = needs_uvicorn()
    host, port = listening.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=HEADER_BYTES_MAX,
        limit_concurrency=AT_ONCE_MAX,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=FAREWELL_S,
    )
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL + 1)  # it would print broken answers

    class Server(uvicorn.Server):  # type: ignore[misc, name-defined]
        should_exit: bool
        force_exit: bool

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready(url)

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            loop = asyncio.get_running_loop()
            caught = (signal.SIGINT, signal.SIGTERM)
            for number in caught:
                with suppress(NotImplementedError):  # Windows: Ctrl-C then raises, as elsewhere
                    loop.add_signal_handler(number, self._stop)
            try:
                yield
            finally:
                for number in caught:
                    with suppress(NotImplementedError):
                        loop.remove_signal_handler(number)

        def _stop(self) -> None:
            leaving()
            self.force_exit = self.should_exit  # the second time: at once
            self.should_exit = True

    server = Server(config)

    def look(is_wanted: Callable[[], bool]) -> None:
        if is_wanted():
            asyncio.get_running_loop().call_later(WANTED_EVERY_S, look, is_wanted)
        else:
            leaving()
            server.should_exit = True

    if is_wanted is not None:
        look(is_wanted)
    await server.serve(sockets=[listening])


def needs_uvicorn() -> ModuleType:
    """The package. Raises `CallerError` if it is missing."""
    try:
        import uvicorn
    except ImportError:
        raise not_installed("proxy and dashboard need the package uvicorn", "proxy") from None
    return uvicorn


def _warm(counter: TokenCounter) -> None:
    """Load what the first request would wait for: the vocabulary, the rules for decisions, and what
    recall imports when it is first asked.
    """
    counter.count("loads the vocabulary")
    for name in ("truth.extract", "recall.daily", "recall.rank", "store.embedded.postings"):
        import_module(f"pagefault.{name}")


def _nothing() -> None:
    """Called when nobody else is."""


def _raise_file_limit() -> None:
    """Raise the limit of open files to `FILES_MAX`, if the system allows: shells start with 256 or
    1,024.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_MAX if hard == resource.RLIM_INFINITY else min(FILES_MAX, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
