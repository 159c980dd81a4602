"""Memory behind a path of the proxy: streamable HTTP, in both eras of the protocol.

Each request stands for itself: no session is opened, no stream is kept, and an answer is one JSON
document. Who asks is known before a request comes here (`proxy/server.py`: Host, Origin, token),
and reads what is theirs.

The package is imported, and its machinery started, by the first request: who uses the proxy alone
does not pay for it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from pagefault.mcp_server import check_installed
from pagefault.model.errors import CallerError
from pagefault.service.memory import Memory

if TYPE_CHECKING:
    from pagefault.mcp_server.answers import Answers

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY_BYTES_MAX: Final = 1024 * 1024  # of a request: its arguments are bounded far below
ANSWER_S_MAX: Final = 120.0

_ANSWERS: ContextVar[Answers] = ContextVar("answers")
"""That of whoever asked: every task that serves a request begins with the context of its request,
and where none was set nothing is served.
"""


class McpPath:
    """For the event loop of the memory; used within `mcp_path`."""

    def __init__(self, memory: Memory, whose: Callable[[str], str], *, writes: bool) -> None:
        self._memory = memory
        self._whose = whose
        self._writes = writes
        self._starting = asyncio.Lock()
        self._app: App | None = None
        self._host: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send, user: str) -> None:
        """Serve a request of a user, who was let in."""
        if scope["method"] != "POST":  # there is no session to end, and no stream to open
            return await _refuse(send, 405, "POST one message; nothing is kept open", allow=True)
        try:
            app = await self._started()
        except CallerError as missing:
            return await _refuse(send, 501, f"{missing.message}: {missing.hint}")
        from pagefault.mcp_server.answers import Answers
        from pagefault.mcp_server.reach import Reach, VisibleSessions

        assert user, "else it would read everybody's"
        seen = VisibleSessions(self._memory, Reach(user=user), self._whose)
        _ANSWERS.set(Answers(self._memory, seen, writes=self._writes))
        began = False

        async def noting(message: Mapping[str, Any]) -> None:
            nonlocal began
            began = True
            await send(message)

        try:
            async with asyncio.timeout(ANSWER_S_MAX):
                await app(scope, receive, noting)
        except TimeoutError:
            if began:
                raise
            await _refuse(send, 408, "the request did not arrive, or was not answered, in time")

    async def _started(self) -> App:
        async with self._starting:
            if self._app is None:
                check_installed()
                ready: asyncio.Future[App] = asyncio.get_running_loop().create_future()
                self._host = asyncio.create_task(self._keep(ready))
                self._app = await ready
            return self._app

    async def _keep(self, ready: asyncio.Future[App]) -> None:
        """Hold what serves requests open until the end, in one task, as its task group asks."""

        def made() -> Any:
            from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
            from mcp.server.transport_security import TransportSecuritySettings

            from pagefault.mcp_server.server import make_server

            return StreamableHTTPSessionManager(
                app=make_server(_ANSWERS.get, writes=self._writes).lowlevel,
                json_response=True,
                stateless=True,
                max_request_body_size=BODY_BYTES_MAX,
                # Host and Origin were looked at already, by the rules of the proxy.
                security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            )

        try:
            manager = await asyncio.to_thread(made)
            async with manager.run():
                ready.set_result(manager.handle_request)
                await self._stop.wait()
        except Exception as error:
            if ready.done():
                raise
            ready.set_exception(error)

    async def aclose(self) -> None:
        self._stop.set()
        if self._host is not None:
            await self._host


@asynccontextmanager
async def mcp_path(
    memory: Memory, whose: Callable[[str], str], *, writes: bool = False
) -> AsyncIterator[McpPath]:
    """What serves requests, until the block ends. `whose` is as of `VisibleSessions`; `writes`
    offers the tools that write.
    """
    path = McpPath(memory, whose, writes=writes)
    try:
        yield path
    finally:
        await path.aclose()


async def _refuse(send: Send, status: int, message: str, *, allow: bool = False) -> None:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": message}}
    headers = [(b"content-type", b"application/json")] + ([(b"allow", b"POST")] if allow else [])
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(error).encode()})
