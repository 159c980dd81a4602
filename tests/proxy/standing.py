"""A proxy that stands between a test and a scripted provider, for the length of a block."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

import pagefault
from pagefault.model.clock import Clock, SystemClock
from pagefault.pack.count import TokenCounter
from pagefault.proxy.history.history import Json
from pagefault.proxy.http.relay import Patience, Relay
from pagefault.proxy.http.upstreams import Upstreams
from pagefault.proxy.listen import bound
from pagefault.proxy.server import Proxy
from pagefault.service.bootstrap import open_memory
from pagefault.service.memory import Memory
from tests.proxy.histories import COUNTER, body, long_talk
from tests.proxy.upstream import Upstream

KEY = "sk-ant-api03-none-of-your-business-0123456789"
SESSION = {"x-pagefault-session": "planning", "x-api-key": KEY}


@dataclass(slots=True)
class Standing:
    url: str
    http: httpx2.AsyncClient
    proxy: Proxy
    memory: Memory
    upstream: Upstream
    log: list[str] = field(default_factory=list)  # whole once the block has ended

    async def lines(self) -> list[str]:
        """The access log. A client has its answer a moment before the line is written."""
        await self.proxy.settled()
        return list(self.log)

    async def logged(self, session: str) -> list[str]:
        """Every text of a session of the memory, in order."""
        await self.proxy.settled()
        found = await self.memory.session(session, create=False)
        rows = await self.memory.pages(found, limit=1_000)
        return [(await self.memory.read(row)).text for row in rows]

    async def sessions(self) -> list[str]:
        await self.proxy.settled()
        return [row.name for row in await self.memory.sessions()]


class _Server(uvicorn.Server):
    """Ends at once; uvicorn's own looks every tenth of a second, then waits for another."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ends = asyncio.Event()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self.ends.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listening in (*self.servers, *(sockets or ())):
            listening.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                while self.server_state.connections or self.server_state.tasks:  # noqa: ASYNC110
                    await asyncio.sleep(0.001)
        for task in self.server_state.tasks:
            task.cancel()


@asynccontextmanager
async def standing(
    upstream: Upstream,
    *,
    root: Path | str = ":memory:",
    window: int = 0,
    patience: Patience | None = None,
    body_bytes_max: int = 1_000_000,
    url: str = "",
    token: str = "",
    any_host: bool = False,
    counter: TokenCounter = COUNTER,
    relay: Relay | Upstreams | None = None,
    limits: pagefault.Limits | None = None,
    quotas: pagefault.Quotas | None = None,
    compaction: str | None = None,
    memory_clock: Clock | None = None,
    **more: Any,
) -> AsyncIterator[Standing]:
    listening = bound("127.0.0.1", 0)
    log: list[str] = []
    async with open_memory(
        root,
        sync="os",
        limits=limits,
        quotas=quotas,
        compaction=compaction,
        clock=memory_clock or SystemClock(),
    ) as memory:
        relay = relay or Relay(url or upstream.url, patience or Patience())
        proxy = Proxy(
            memory=memory,
            relay=relay,
            counter=counter,
            clock=SystemClock(),
            window_tokens=window,
            token=token,
            any_host=any_host,
            log=log.append,
            body_bytes_max=body_bytes_max,
            **more,
        )
        config = uvicorn.Config(
            proxy, http="h11", ws="none", lifespan="off", log_config=None, access_log=False,
            timeout_graceful_shutdown=1,
        )  # fmt: skip
        server = _Server(config)
        serving = asyncio.create_task(server._serve(sockets=[listening]))
        own = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            async with httpx2.AsyncClient(base_url=own, timeout=300) as http:
                yield Standing(own, http, proxy, memory, upstream, log)
        finally:
            server.ends.set()
            await serving
            await proxy.settled()
            listening.close()
            await relay.aclose()


async def post(to: Standing, request: Json, path: str = "/v1/messages", **more: Any) -> Any:
    return await to.http.post(path, json=request, headers=SESSION, **more)


async def talk(to: Standing, turns: int) -> list[Json]:
    said = long_talk(turns)
    for upto in range(1, len(said) + 1, 2):
        assert (await post(to, body(*said[:upto]))).status_code == 200
    return said
