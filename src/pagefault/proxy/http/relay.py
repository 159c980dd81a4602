"""The connection to a provider: bytes unchanged, no redirects, bounded in time.

Invariant: a client's credentials go to the configured provider only: not to a log, nor into an
error.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from pagefault.engine.endpoint import checked_url, is_loopback
from pagefault.model.errors import BadInput, EngineUnreachable, not_installed

if TYPE_CHECKING:
    import httpx2

Headers = Sequence[tuple[bytes, bytes]]

_HOP_BY_HOP: Final = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer "
    b"transfer-encoding upgrade".split()
)
"""RFC 9110 §7.6.1: between two neighbours, not between client and provider."""
IDEMPOTENT: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})
"""Methods that may be repeated, whatever they ask for (RFC 9110 §9.2.2)."""
KEPT_IDLE_S: Final = 4.0
"""How long an idle connection is kept. uvicorn, which serves vLLM, and Node close theirs after 5 s:
if the proxy closes first, no request of its own meets a closed connection.
"""
_OURS: Final = frozenset(
    b"host content-length expect x-pagefault-session x-pagefault-token x-pagefault-mode "
    b"x-pagefault-mark x-pagefault-form x-pagefault-operator".split()
)


class NoAnswer(EngineUnreachable):
    """The provider was reached, but did not begin an answer in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Timeouts for a provider, in seconds. A long answer is silent while the model thinks.

    A kept connection that ends within `stale_s` of a request, without an answer, was closed before
    the request came; one that ends later may have had a model at work. `total_s` limits a whole
    answer, and is checked whenever a piece of it arrives.
    """

    connect_s: float = 10.0
    stale_s: float = 2.0
    first_byte_s: float = 600.0
    between_s: float = 300.0
    total_s: float = 3_600.0


class Relay:
    """Sends requests to one provider. To be closed."""

    def __init__(
        self,
        upstream: str,
        patience: Patience,
        *,
        allow_http: bool = False,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """Uses `transport` instead of connections of its own, if given. Raises `BadInput` for an
        invalid address, `CallerError` without httpx2.
        """
        self.upstream = checked_url(upstream, allow_http=allow_http).removesuffix("/v1")
        self._patience = patience
        self._http, self._fresh = _clients(self.upstream, patience, transport)

    async def aclose(self) -> None:
        await self._http.aclose()
        await self._fresh.aclose()

    @asynccontextmanager
    async def ask(
        self,
        method: str,
        target: bytes,
        headers: Iterable[tuple[bytes, bytes]],
        body: bytes | AsyncIterable[bytes],
        *,
        repeatable: bool = False,
    ) -> AsyncIterator[httpx2.Response]:
        """The provider's answer, with its body still to come. Leaving the block ends the
        connection. The timeout for an answer begins when the last piece of `body` is sent.

        `target` is appended byte for byte to the path of the provider's address. A `repeatable`
        request that met a connection which the provider had just closed is sent once more, on a
        new one. Raises `EngineUnreachable`, which names the provider's host and nothing of the
        request.
        """
        import httpx2

        url = httpx2.URL(self.upstream)
        exact = {"target": url.raw_path.rstrip(b"/") + target}  # a URL would be normalised
        wait_s = self._patience.first_byte_s
        timeouts = {"connect": self._patience.connect_s}
        try:
            async with asyncio.timeout(wait_s) as waiting:
                content = body if isinstance(body, bytes) else _keeping_up(body, waiting, wait_s)
                trace = _Trace()
                request = httpx2.Request(
                    method,
                    url,
                    headers=list(headers),
                    content=content,
                    extensions=exact | {"trace": trace, "timeout": timeouts},
                )
                try:
                    response = await self._http.send(request, stream=True)
                except httpx2.TransportError as error:
                    is_held = repeatable and isinstance(body, bytes)
                    if not (is_held and trace.was_stale(error, self._patience.stale_s)):
                        raise
                    response = await self._fresh.send(request, stream=True)
        except TimeoutError:
            raise NoAnswer(f"{self.host} did not answer in time") from None
        except httpx2.TransportError as error:
            kind = type(error).__name__
            raise EngineUnreachable(f"cannot reach {self.host} ({kind})") from None
        # httpcore reads this when the body begins. It limits each wait for the socket, and unlike a
        # timer around each piece costs nothing for pieces that are there already.
        timeouts["read"] = self._patience.between_s
        try:
            yield response
        finally:
            await response.aclose()

    async def pieces(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        """The body as it arrives, not decompressed. Raises `EngineUnreachable`."""
        import httpx2

        chunks = response.aiter_raw()
        now = asyncio.get_running_loop().time
        end = now() + self._patience.total_s
        while True:
            try:
                chunk = await anext(chunks, None)
            except httpx2.ReadTimeout:
                raise EngineUnreachable(f"{self.host} fell silent in an answer") from None
            except httpx2.HTTPError as error:
                kind = type(error).__name__
                raise EngineUnreachable(f"{self.host} broke off an answer ({kind})") from None
            if chunk is None:
                return
            if now() > end:
                raise EngineUnreachable(f"{self.host} took too long over an answer")
            yield chunk

    @property
    def host(self) -> str:
        return urlsplit(self.upstream).netloc


class _Trace:
    """What httpcore reports of a request that is being sent (its extension `trace`)."""

    def __init__(self) -> None:
        self._is_new = False  # the connection
        self._sent_s: float | None = None  # None with another transport, which reports nothing

    async def __call__(self, event: str, info: object) -> None:
        if event == "connection.connect_tcp.started":
            self._is_new = True
        elif event == "http11.send_request_headers.started":
            self._sent_s = asyncio.get_running_loop().time()

    def was_stale(self, error: httpx2.TransportError, within_s: float) -> bool:
        """Whether the request met a connection that had served others and that the provider had
        closed: it ended soon, and without an answer.
        """
        import httpx2

        if self._is_new or self._sent_s is None:
            return False
        if asyncio.get_running_loop().time() - self._sent_s > within_s:
            return False
        if isinstance(error, httpx2.RemoteProtocolError):  # its message for an end before any head
            return "without sending" in str(error)
        return isinstance(error, (httpx2.ReadError, httpx2.WriteError))


async def _keeping_up(
    body: AsyncIterable[bytes], waiting: asyncio.Timeout, wait_s: float
) -> AsyncIterator[bytes]:
    now = asyncio.get_running_loop().time
    async for piece in body:
        waiting.reschedule(now() + wait_s)
        yield piece
    waiting.reschedule(now() + wait_s)


def onward(headers: Headers, *, drop: Iterable[bytes] = ()) -> list[tuple[bytes, bytes]]:
    """The headers to pass on, either way: all but hop-by-hop headers and ours."""
    named = {
        name.strip().lower()
        for header, value in headers
        if header.lower() == b"connection"
        for name in value.split(b",")
    }
    left = _HOP_BY_HOP | named | set(drop)
    return [(name, value) for name, value in headers if name.lower() not in left]


def to_provider(headers: Headers, *, drop: Iterable[bytes] = ()) -> list[tuple[bytes, bytes]]:
    return onward(headers, drop=_OURS | set(drop))


def _clients(
    upstream: str, patience: Patience, transport: httpx2.AsyncBaseTransport | None
) -> tuple[httpx2.AsyncClient, httpx2.AsyncClient]:
    """A client that keeps connections, and one that opens a new connection for each request."""
    try:
        import httpx2
    except ImportError:
        raise not_installed("the proxy needs the package httpx2", "proxy") from None
    parts = urlsplit(upstream)
    if parts.username or parts.password:
        raise BadInput("an upstream holds no user and password")
    verify = transport is not None or httpx2.create_ssl_context()

    def client(kept_max: int) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            timeout=httpx2.Timeout(None, connect=patience.connect_s),
            limits=httpx2.Limits(
                max_connections=None,
                max_keepalive_connections=kept_max,
                keepalive_expiry=KEPT_IDLE_S,
            ),
            follow_redirects=False,
            transport=transport,
            verify=verify,
            trust_env=parts.scheme == "https" and not is_loopback(parts.hostname or ""),
        )

    return client(20), client(0)
