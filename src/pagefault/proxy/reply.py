"""One response on its way to the client, and its line in the access log."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pagefault.proxy.http.relay import Headers
from pagefault.proxy.metrics import Metrics, NoMetrics, Outcome
from pagefault.proxy.telemetry import Telemetry
from pagefault.proxy.wires.chat import Chat
from pagefault.proxy.wires.wire import Wire

Send = Callable[[Mapping[str, Any]], Awaitable[None]]
NOT_LOGGED_HEADER: Final = b"x-pagefault-not-logged"
THE_MEMORY: Final = "memory"  # why a request was not logged, if not for a quota
UNREAD: Final = "unread"  # the request could not be read, so it was not logged or paged


@dataclass(slots=True)
class Told:
    """The line of one request in the access log."""

    method: str
    path: str
    metrics: Metrics | NoMetrics | Telemetry
    status: int = 0
    words: str = ""
    not_logged: str = ""  # why it was not logged: the name of a quota, `THE_MEMORY` or `UNREAD`
    format: str = ""
    outcome: Outcome = Outcome.FAILED
    logging: asyncio.Task[None] | None = None  # logs the request, while the provider is asked
    learning: asyncio.Task[None] | None = None  # logs the answer


class ClientReply:
    """One response, noted for the access log as it goes out."""

    def __init__(self, send: Send, told: Told, began: Callable[[], None]) -> None:
        self._send = send
        self._began = began
        self.told = told
        self.started = False

    async def start(self, status: int, headers: Headers) -> None:
        """Begin the answer, once it is known whether its request is logged."""
        if self.told.logging is not None:
            await asyncio.wait([self.told.logging])
        self.told.status = status
        self.started = True
        if status >= 400 and self.told.outcome is Outcome.FAILED:
            self.told.outcome = Outcome.REFUSED_UPSTREAM
        self._began()
        if self.told.not_logged:
            headers = [*headers, (NOT_LOGGED_HEADER, self.told.not_logged.encode())]
        await self._send(
            {"type": "http.response.start", "status": status, "headers": list(headers)}
        )

    async def noting(self, message: Mapping[str, Any]) -> None:
        """Send a message of another application, and note its status."""
        if message["type"] == "http.response.start":
            self.told.status, self.started = message["status"], True
            self.told.outcome = Outcome.OWN if message["status"] < 400 else Outcome.REFUSED_HERE
        await self._send(message)

    async def piece(self, body: bytes) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        if self.told.outcome is Outcome.FAILED:
            self.told.outcome = Outcome.ANSWERED

    async def own(self, status: int, body: bytes, kind: bytes = b"application/json") -> None:
        """Send the proxy's own answer."""
        if self.told.outcome is Outcome.FAILED:
            self.told.outcome = Outcome.OWN
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
        await self.start(status, headers)
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def refuse(
        self,
        wire: Wire | None,
        status: int,
        message: str,
        *,
        words: str = "",
        outcome: Outcome = Outcome.REFUSED_HERE,
    ) -> None:
        """Refuse in the client's own format; `words` are for the access log, if they differ."""
        self.told.words, self.told.outcome = words or message, outcome
        await self.own(status, json.dumps((wire or Chat()).refusal(status, message)).encode())
