"""Request bodies: whole if they are read, piece by piece if they are only passed on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from pagefault.proxy.http.encoding import TooLarge

Receive = Callable[[], Awaitable[Mapping[str, Any]]]


class Gone(Exception):
    """The client left before its request was complete."""


class Late(Exception):
    """The client paused for too long."""


async def whole_body(receive: Receive, bytes_max: int, within_s: float) -> bytes:
    """The whole body. Raises `TooLarge`, `Gone`, and `Late` after `within_s`."""
    body = bytearray()
    try:
        async with asyncio.timeout(within_s):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Gone
                body += message.get("body", b"")
                if len(body) > bytes_max:
                    raise TooLarge
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise Late from None


class Upload:
    """A body of any size, held one piece at a time: providers take files of gigabytes, and none of
    it is read here. Iterate once; raises `Gone`, and `Late` if the client pauses for longer than
    `between_s`. `over` is set when `receive` will not be called again.
    """

    def __init__(self, receive: Receive, between_s: float) -> None:
        self._receive = receive
        self._between_s = between_s
        self.over = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            more = True
            while more:
                try:
                    async with asyncio.timeout(self._between_s):
                        message = await self._receive()
                except TimeoutError:
                    raise Late from None
                if message["type"] == "http.disconnect":
                    raise Gone
                more = message.get("more_body", False)
                if piece := message.get("body", b""):
                    yield piece
        finally:
            self.over.set()


async def unless_gone(
    work: Awaitable[None],
    receive: Receive,
    *,
    sent: asyncio.Event | None,
    left: Callable[[], None],
) -> None:
    """Do the work. If the client goes away meanwhile, call `left` and cancel it. What the client
    still sends is the work's to read, until it is `sent`.
    """

    async def gone() -> None:
        if sent is not None:
            await sent.wait()
        while (await receive())["type"] != "http.disconnect":
            pass

    doing, leaving = asyncio.ensure_future(work), asyncio.ensure_future(gone())
    try:
        await asyncio.wait((doing, leaving), return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            doing.result()
        else:
            left()
    finally:
        for task in (doing, leaving):
            task.cancel()
        await asyncio.gather(doing, leaving, return_exceptions=True)
