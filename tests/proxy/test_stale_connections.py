"""A request that meets a connection which its provider has just closed is sent once more, over a
new one: but only where that does no harm.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import httpx2
import pytest

from pagefault.proxy.http.relay import Patience
from tests.proxy.standing import KEY, Standing, standing
from tests.proxy.upstream import Upstream, always

CHAT: Final = "/v1/chat/completions"
ANSWER: Final = b'{"choices": [{"message": {"role": "assistant", "content": "Ilse."}}]}'
PATIENT: Final = Patience(stale_s=60.0)  # however slow the machine is


@dataclass
class Closing:
    """A provider that answers a connection's first request, if it `answers`, and closes the
    connection when the next one begins to arrive: it was idle for too long just then. It `resets`
    it, or says that it ends; before that, it sends `begun`.
    """

    answers: bool = True
    resets: bool = True
    begun: bytes = b""
    answered: list[bytes] = field(default_factory=list)  # bodies
    closed: int = 0  # on a request

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.answers:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            size = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            self.answered.append(await reader.readexactly(size))
            length = b"content-length: %d\r\n\r\n" % len(ANSWER)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n" + length + ANSWER)
        if await reader.read(1):
            self.closed += 1
            writer.write(self.begun)
            await writer.drain()
            if self.resets:
                writer.transport.abort()
        writer.close()


@asynccontextmanager
async def behind(provider: Closing, patience: Patience = PATIENT) -> AsyncIterator[Standing]:
    server = await asyncio.start_server(provider.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, standing(Upstream(always()), url=url, patience=patience) as to:
        to.http.headers["x-api-key"] = KEY
        yield to


async def ask(to: Standing, text: str, path: str = CHAT) -> httpx2.Response:
    message = {"role": "user", "content": text}
    return await to.http.post(path, json={"model": "m", "messages": [message]})


@pytest.mark.parametrize("resets", [True, False])
async def test_a_request_that_meets_a_connection_just_closed_is_answered_over_a_new_one(
    resets: bool,
) -> None:
    provider = Closing(resets=resets)
    async with behind(provider) as to:
        await ask(to, "first")
        second = await ask(to, "second")
        assert (second.status_code, second.content) == (200, ANSWER)
        assert (provider.closed, len(provider.answered)) == (1, 2)
        assert b"second" in provider.answered[1]
        assert (await to.http.get("/v1/models")).status_code == 200


async def test_what_may_have_been_at_work_is_not_asked_again() -> None:
    """A connection that ends later, an answer that was begun, a request of which nobody knows what
    it does, and one that had a new connection.
    """
    late = Patience(stale_s=-1.0)  # whenever it ends
    begun = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"
    for provider, patience, path in (
        (Closing(), late, CHAT),
        (Closing(begun=begun, resets=False), PATIENT, CHAT),
        (Closing(), PATIENT, "/v1/batches"),
        (Closing(answers=False), PATIENT, CHAT),
    ):
        async with behind(provider, patience) as to:
            if provider.answers:
                await ask(to, "first")
            if provider.begun:
                with pytest.raises(httpx2.RemoteProtocolError):
                    await ask(to, "second", path)
            else:
                assert (await ask(to, "second", path)).status_code == 502
            assert (provider.closed, len(provider.answered)) == (1, int(provider.answers))
