"""Clients of httpx2 whose requests to a model go through the proxy, with no socket between.

An SDK builds and sends its requests with a client of httpx2. One of these takes its place: it
passes requests to a model to the proxy, as a server would, and all others to the SDK's own client.
The proxy runs on the loop of the memory; what it sends on is sent by the caller again, in his
thread or task, with the SDK's own client, its hooks, proxies, time-outs and cookies. So there are
two sides of one exchange:

    caller     ── begin ──►  the proxy at home
    caller     ◄── ask ────  send this request; then: the next piece of its answer; then: close it
    caller     ◄── start, pieces, end ──  the answer, as the proxy passes it on

Invariants:
 (1) The caller gets the very exception that the SDK's own client raises.
 (2) Nothing is read from the provider before the caller wants it; a caller who leaves ends it.
 (3) If memory fails before anything was asked, the request goes out unchanged, and the answer says
     so in a header.
"""

from __future__ import annotations

import asyncio
import math
import queue
import threading
import time
import warnings
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from pagefault.integrations.home import HOMES, Begun, Home
from pagefault.model.errors import CallerError, PagefaultError, StoreError
from pagefault.proxy.http.client import (
    CONTROL_HEADER,
    FORM_HEADER,
    MARK_HEADER,
    SESSION_HEADER,
    named_in_path,
)
from pagefault.proxy.http.relay import Headers
from pagefault.proxy.http.token import TOKEN_HEADER
from pagefault.proxy.reply import NOT_LOGGED_HEADER, THE_MEMORY
from pagefault.proxy.server import BrokenOff
from pagefault.proxy.wires.known import WIRES
from pagefault.service.loop_thread import GRACE_S, LOOK_S

_OURS: Final = (SESSION_HEADER, CONTROL_HEADER, MARK_HEADER, FORM_HEADER, TOKEN_HEADER)
_BETWEEN: Final = frozenset(
    "host origin connection keep-alive proxy-authenticate proxy-authorization proxy-connection te "
    "trailer upgrade".split()
)
"""Headers for the connection to a peer: the proxy is not a peer, and ignores them."""
_LENGTH: Final = "transfer-encoding"  # of a chunked body, which is whole by now
_SEND: Final = "pagefault.send"  # in a request's extensions: how the SDK wants it sent

_draining: set[asyncio.Task[None]] = set()  # of dropped exchanges
_exchange: ContextVar[_Exchange] = ContextVar("_exchange")


@dataclass(slots=True)
class Wrapped:
    """How a client is wrapped. Its blocking and asynchronous halves, if it has both, share one."""

    home: Home
    session: str | Callable[[], str]
    window_tokens: int | None
    user: str
    has_left: bool = False  # whether either half has left the home

    def leave(self) -> bool:
        """Note that a half is closed; whether it is the first, which leaves the home."""
        is_first, self.has_left = not self.has_left, True
        return is_first


@dataclass(frozen=True, slots=True)
class _Ask:
    """An action that only the caller can do."""

    verb: Callable[[], Any]
    done: Future[Any]


@dataclass(frozen=True, slots=True)
class _Start:
    status: int
    headers: Headers


@dataclass(frozen=True, slots=True)
class _End:
    error: BaseException | None = None


_Message = _Ask | _Start | bytes | _End


class _Exchange:
    """One request, between its caller and the proxy."""

    def __init__(self, wrapped: Wrapped, request: httpx2.Request, session: str) -> None:
        self._wrapped = wrapped
        self._request = request
        self._session = session
        self._is_told = False  # the proxy has the request
        self._gone = asyncio.Event()
        self._begun: Begun | None = None
        self._has_ended = False
        self._failure: BaseException | None = None  # of the SDK's own client, the latest
        self._answer: httpx2.Response | None = None  # the provider's, the latest
        self.was_asked = False  # the provider was

    def begin(self) -> None:
        """Raises `CallerError` if the home is gone."""
        self._begun = self._wrapped.home.begin(self._serve())

    # --- at home ------------------------------------------------------------------------------

    async def _serve(self) -> None:
        error: BaseException | None = None
        try:
            proxy = await self._wrapped.home.proxy(self._wrapped.window_tokens, self._wrapped.user)
            _exchange.set(self)
            await proxy(self._scope(), self._receive, self._send)
        except BrokenOff:
            error = self._failure or httpx2.RemoteProtocolError("the answer broke off")
        except Exception as wrong:
            error = wrong
        except BaseException as ended:
            self._post(_End(ended))
            raise
        self._post(_End(error))

    def _scope(self) -> Mapping[str, Any]:
        raw_path = self._request.url.raw_path.partition(b"?")[0].decode("latin-1")
        _, path = named_in_path(raw_path)  # the session is passed separately
        left = [
            (name, value)
            for name, value in self._request.headers.raw
            if _name(name) not in _BETWEEN and _name(name) not in (SESSION_HEADER, _LENGTH)
        ]
        if self._session:
            left.append((SESSION_HEADER.encode(), self._session.encode("utf-8", "replace")))
        return {
            "type": "http",
            "method": self._request.method,
            "path": path,
            "raw_path": path.encode("latin-1"),
            "query_string": b"",
            "http_version": "1.1",
            "headers": [(b"host", b"localhost"), *left],
        }

    async def _receive(self) -> Mapping[str, Any]:
        if not self._is_told:
            self._is_told = True
            return {"type": "http.request", "body": self._request.content, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._post(_Start(message["status"], message["headers"]))
        elif body := message.get("body", b""):
            self._post(body)

    async def ask(self, request: httpx2.Request) -> httpx2.Response:
        """Make the caller send it where the SDK would have sent the original request."""
        self.was_asked, self._failure = True, None
        between = [one for one in self._request.headers.raw if _name(one[0]) in _BETWEEN]
        headers = [one for one in request.headers.raw if _name(one[0]) != "host"]
        given = dict(self._request.extensions)
        options = given.pop(_SEND)
        onward = httpx2.Request(
            self._request.method,
            self._request.url,
            headers=[*between, *headers],
            content=await request.aread(),
            extensions=given,
        )
        answer: httpx2.Response = await self._at_caller(lambda: self._sent(onward, options))
        self._answer = answer
        told = answer.headers.raw
        if answer.is_stream_consumed:  # a hook has read it, and decoded it
            told = [
                one for one in told if _name(one[0]) not in ("content-encoding", "content-length")
            ]
        return httpx2.Response(answer.status_code, headers=told, stream=_Onward(self, answer))

    async def read(self, answer: httpx2.Response) -> AsyncIterator[bytes]:
        pieces = self._pieces(answer)
        while (piece := await self._at_caller(lambda: self._next(pieces))) is not None:
            yield piece

    async def shut(self, answer: httpx2.Response) -> None:
        await self._at_caller(lambda: self._close(answer))

    async def _at_caller(self, verb: Callable[[], Any]) -> Any:
        """The result of an ask. Raises `httpx2.TransportError`, as a connection would."""
        done: Future[Any] = Future()
        self._post(_Ask(verb, done))
        try:
            return await asyncio.wrap_future(done)
        except Exception as error:
            self._failure = error
            raise httpx2.TransportError(type(error).__name__) from None

    # --- at the caller's ----------------------------------------------------------------------

    def leave(self) -> None:
        """The caller does not want the rest."""
        if self._begun is not None:
            with suppress(RuntimeError):  # the loop has ended, and everything on it
                self._begun.loop.call_soon_threadsafe(self._gone.set)

    def drop(self) -> None:
        """The caller is gone. Never blocks: the collector may call it, in any thread."""
        self.leave()
        if self._begun is not None:
            with suppress(RuntimeError):
                self._begun.loop.call_soon_threadsafe(self._serve_out)

    def _started(self, start: _Start) -> tuple[int, list[tuple[bytes, bytes]]]:
        """Raises what the SDK's own client raised, if that is why there is no answer."""
        if self._failure is not None:
            raise self._failure
        return start.status, list(start.headers)

    def _extensions(self) -> dict[str, Any]:
        return dict(self._answer.extensions) if self._answer is not None else {}

    def _lost(self) -> _End | None:
        """Polls the other side; returns its end, if nothing more will come."""
        assert self._begun is not None
        try:
            self._begun.look()
        except StoreError as lost:
            return _End(lost)
        return _End(self._begun.future.exception()) if self._begun.future.done() else None

    def _post(self, message: _Message) -> None:
        raise NotImplementedError

    def _serve_out(self) -> None:
        """Do what the proxy still asks for, until it ends. Called on its loop."""
        raise NotImplementedError

    def _sent(self, request: httpx2.Request, options: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def _pieces(self, answer: httpx2.Response) -> Any:
        raise NotImplementedError

    def _next(self, pieces: Any) -> Any:
        raise NotImplementedError

    def _close(self, answer: httpx2.Response) -> Any:
        raise NotImplementedError


class Onward(httpx2.AsyncBaseTransport):
    """The proxy's way to the provider: through the caller."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await _exchange.get().ask(request)


class _Onward(httpx2.AsyncByteStream):
    def __init__(self, exchange: _Exchange, answer: httpx2.Response) -> None:
        self._exchange = exchange
        self._answer = answer

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._exchange.read(self._answer)

    async def aclose(self) -> None:
        await self._exchange.shut(self._answer)


# --- synchronous callers ------------------------------------------------------------------------


class _Blocking(_Exchange):
    def __init__(self, client: httpx2.Client, *given: Any) -> None:
        super().__init__(*given)
        self._client = client
        self._inbox: queue.SimpleQueue[_Message] = queue.SimpleQueue()
        self._owner = threading.get_ident()

    def take(self, until_s: float = math.inf) -> _Start | bytes | _End | None:
        """The next part of the answer, after doing what the proxy asks for meanwhile. None on a
        timeout.
        """
        while not self._has_ended:
            try:
                message = self._inbox.get(timeout=LOOK_S)
            except queue.Empty:
                lost = self._lost()
                if lost is None or not self._inbox.empty():
                    if time.monotonic() > until_s:
                        return None
                    continue
                message = lost
            if isinstance(message, _Ask):
                _do(message)
                continue
            self._has_ended = isinstance(message, _End)
            return message
        return _End()

    def own(self) -> None:
        """This thread reads on."""
        self._owner = threading.get_ident()

    def close(self) -> None:
        """Wait for the end, so that the answer is kept. A collected SDK object closes this, too,
        and the collector may run in a thread that the other side waits for, such as its loop's: a
        thread that never read does not wait, and any other only briefly.
        """
        if threading.get_ident() != self._owner:
            return self.drop()
        self.leave()
        end_s = time.monotonic() + GRACE_S
        while not isinstance(message := self.take(end_s), _End):
            if message is None:
                return self.drop()
        return None

    def _serve_out(self) -> None:
        def serve() -> None:
            while not isinstance(self.take(), _End):
                pass

        threading.Thread(target=serve, name="pagefault-closing", daemon=True).start()

    def _post(self, message: _Message) -> None:
        self._inbox.put(message)

    def _sent(self, request: httpx2.Request, options: Mapping[str, Any]) -> Any:
        return self._client.send(request, stream=True, **options)

    def _pieces(self, answer: httpx2.Response) -> Any:
        return iter([answer.content]) if answer.is_stream_consumed else answer.iter_raw()

    def _next(self, pieces: Any) -> Any:
        return next(pieces, None)

    def _close(self, answer: httpx2.Response) -> Any:
        answer.close()


def _do(ask: _Ask) -> None:
    if not ask.done.set_running_or_notify_cancel():
        return
    try:
        ask.done.set_result(ask.verb())
    except Exception as error:
        ask.done.set_exception(error)
    except BaseException as error:  # it ends this thread's work, but not the other side's loop
        ask.done.set_exception(httpx2.TransportError(type(error).__name__))
        raise


class _Answer(httpx2.SyncByteStream):
    def __init__(self, exchange: _Blocking) -> None:
        self._exchange = exchange
        self._dropped = weakref.finalize(self, exchange.drop)
        self._dropped.atexit = False

    def __iter__(self) -> Iterator[bytes]:
        self._exchange.own()
        while not isinstance(message := self._exchange.take(), _End):
            if isinstance(message, bytes):
                yield message
                self._exchange.own()
        if message.error is not None:
            raise message.error

    def close(self) -> None:
        self._dropped.detach()
        self._exchange.close()


class _Transport(httpx2.BaseTransport):
    def __init__(self, client: httpx2.Client, wrapped: Wrapped) -> None:
        self._client = client
        self._wrapped = wrapped

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        session = _session_of(request, self._wrapped)
        exchange = _Blocking(self._client, self._wrapped, request, session)
        try:
            exchange.begin()
        except CallerError as failed:
            return self._unpaged(request, failed)
        try:
            message = exchange.take()
            if isinstance(message, _Start):
                status, headers = exchange._started(message)
                return httpx2.Response(
                    status,
                    headers=headers,
                    stream=_Answer(exchange),
                    extensions=exchange._extensions(),
                )
        except BaseException:
            exchange.close()
            raise
        assert isinstance(message, _End)
        error = message.error or StoreError("the memory ended")
        if exchange.was_asked:
            raise error
        return self._unpaged(request, error)

    def _unpaged(self, request: httpx2.Request, failed: BaseException) -> httpx2.Response:
        onward, options = _as_it_came(request, failed)
        answer = self._client.send(onward, stream=True, **options)
        stream = answer.stream
        assert isinstance(stream, httpx2.SyncByteStream)
        return _told(answer, stream)


class PagedClient(httpx2.Client):
    """Takes the place of an SDK's client, and sends through it."""

    def __init__(self, client: httpx2.Client, wrapped: Wrapped) -> None:
        super().__init__(
            transport=_Transport(client, wrapped), timeout=client.timeout, trust_env=False
        )
        self._client = client
        self.wrapped = wrapped

    def build_request(self, *given: Any, **more: Any) -> httpx2.Request:
        return self._client.build_request(*given, **more)

    def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> Any:
        if not _is_read(request):
            return self._client.send(request, stream=stream, **options)
        request.extensions = {**request.extensions, _SEND: options}
        return super().send(request, stream=stream, auth=None, follow_redirects=False)

    def close(self) -> None:
        if self.is_closed:
            return
        super().close()
        self._client.close()
        if self.wrapped.leave():
            HOMES.close(self.wrapped.home)


# --- asynchronous callers -----------------------------------------------------------------------


class _Awaiting(_Exchange):
    def __init__(self, client: httpx2.AsyncClient, *given: Any) -> None:
        super().__init__(*given)
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._inbox: asyncio.Queue[_Message] = asyncio.Queue()

    async def take(self) -> _Start | bytes | _End:
        """The next part of the answer, after doing what the proxy asks for meanwhile."""
        while not self._has_ended:
            try:
                async with asyncio.timeout(LOOK_S):
                    message = await self._inbox.get()
            except TimeoutError:
                lost = self._lost()
                if lost is None or not self._inbox.empty():
                    continue
                message = lost
            if isinstance(message, _Ask):
                await _do_and_wait(message)
                continue
            self._has_ended = isinstance(message, _End)
            return message
        return _End()

    async def aclose(self) -> None:
        """A caller cancelled meanwhile leaves; this continues."""
        self.leave()
        await asyncio.shield(asyncio.ensure_future(self._drain()))

    async def _drain(self) -> None:
        while not isinstance(await self.take(), _End):
            pass

    def _serve_out(self) -> None:
        def serve() -> None:
            task = self._loop.create_task(self._drain())
            _draining.add(task)
            task.add_done_callback(_draining.discard)

        with suppress(RuntimeError):  # it has ended, and everything open on it
            self._loop.call_soon_threadsafe(serve)

    def _post(self, message: _Message) -> None:
        try:
            self._loop.call_soon_threadsafe(self._inbox.put_nowait, message)
        except RuntimeError:  # the caller's loop has ended, and everything open on it
            if isinstance(message, _Ask):
                message.done.set_exception(httpx2.TransportError("the caller has ended"))

    def _sent(self, request: httpx2.Request, options: Mapping[str, Any]) -> Any:
        return self._client.send(request, stream=True, **options)

    def _pieces(self, answer: httpx2.Response) -> Any:
        return _once(answer.content) if answer.is_stream_consumed else answer.aiter_raw()

    def _next(self, pieces: Any) -> Any:
        return anext(pieces, None)

    def _close(self, answer: httpx2.Response) -> Any:
        return answer.aclose()


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _do_and_wait(ask: _Ask) -> None:
    if not ask.done.set_running_or_notify_cancel():
        return
    work: Awaitable[Any] = ask.verb()
    try:
        ask.done.set_result(await work)
    except Exception as error:
        ask.done.set_exception(error)
    except BaseException as error:  # the caller was cancelled, and the other side was not
        ask.done.set_exception(httpx2.TransportError(type(error).__name__))
        raise


class _AsyncAnswer(httpx2.AsyncByteStream):
    def __init__(self, exchange: _Awaiting) -> None:
        self._exchange = exchange
        self._dropped = weakref.finalize(self, exchange.drop)
        self._dropped.atexit = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while not isinstance(message := await self._exchange.take(), _End):
            if isinstance(message, bytes):
                yield message
        if message.error is not None:
            raise message.error

    async def aclose(self) -> None:
        self._dropped.detach()
        await self._exchange.aclose()


class _AsyncTransport(httpx2.AsyncBaseTransport):
    def __init__(self, client: httpx2.AsyncClient, wrapped: Wrapped) -> None:
        self._client = client
        self._wrapped = wrapped

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        session = _session_of(request, self._wrapped)
        exchange = _Awaiting(self._client, self._wrapped, request, session)
        try:
            exchange.begin()
        except CallerError as failed:
            return await self._unpaged(request, failed)
        try:
            message = await exchange.take()
            if isinstance(message, _Start):
                status, headers = exchange._started(message)
                return httpx2.Response(
                    status,
                    headers=headers,
                    stream=_AsyncAnswer(exchange),
                    extensions=exchange._extensions(),
                )
        except BaseException:
            await exchange.aclose()
            raise
        assert isinstance(message, _End)
        error = message.error or StoreError("the memory ended")
        if exchange.was_asked:
            raise error
        return await self._unpaged(request, error)

    async def _unpaged(self, request: httpx2.Request, failed: BaseException) -> httpx2.Response:
        onward, options = _as_it_came(request, failed)
        answer = await self._client.send(onward, stream=True, **options)
        stream = answer.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        return _told(answer, stream)


class PagedAsyncClient(httpx2.AsyncClient):
    """Takes the place of an SDK's asynchronous client, and sends through it."""

    def __init__(self, client: httpx2.AsyncClient, wrapped: Wrapped) -> None:
        super().__init__(
            transport=_AsyncTransport(client, wrapped), timeout=client.timeout, trust_env=False
        )
        self._client = client
        self.wrapped = wrapped

    def build_request(self, *given: Any, **more: Any) -> httpx2.Request:
        return self._client.build_request(*given, **more)

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> Any:
        if not _is_read(request):
            return await self._client.send(request, stream=stream, **options)
        request.extensions = {**request.extensions, _SEND: options}
        return await super().send(request, stream=stream, auth=None, follow_redirects=False)

    async def aclose(self) -> None:
        if self.is_closed:
            return
        await super().aclose()
        await self._client.aclose()
        if self.wrapped.leave():
            await self.wrapped.home.left()


# --- both ---------------------------------------------------------------------------------------


def _name(header: bytes) -> str:
    return header.decode("latin-1").lower()


def _is_read(request: httpx2.Request) -> bool:
    """Whether the proxy handles it; from any other request, our headers are removed."""
    if request.method == "POST" and any(wire.takes(request.url.path) for wire in WIRES):
        return True
    for name in _OURS:
        request.headers.pop(name, None)
    return False


def _session_of(request: httpx2.Request, wrapped: Wrapped) -> str:
    """The session of a request: from its own header, else from its client."""
    told = request.headers.get(SESSION_HEADER)
    if told is not None:
        return told
    return wrapped.session() if callable(wrapped.session) else wrapped.session


def _as_it_came(
    request: httpx2.Request, failed: BaseException
) -> tuple[httpx2.Request, Mapping[str, Any]]:
    """The request without our additions, and how to send it. Warns of the reason."""
    why = failed.message if isinstance(failed, PagefaultError) else type(failed).__name__
    warnings.warn(
        f"a request goes on as it came, and is not kept: {why}", RuntimeWarning, stacklevel=2
    )
    given = dict(request.extensions)
    options: Mapping[str, Any] = given.pop(_SEND)
    onward = httpx2.Request(
        request.method,
        request.url,
        headers=[
            (n, v) for n, v in request.headers.raw if n.decode("latin-1").lower() not in _OURS
        ],
        content=request.content,
        extensions=given,
    )
    return onward, options


def _told(
    answer: httpx2.Response, stream: httpx2.SyncByteStream | httpx2.AsyncByteStream
) -> httpx2.Response:
    return httpx2.Response(
        answer.status_code,
        headers=[*answer.headers.raw, (NOT_LOGGED_HEADER, THE_MEMORY.encode())],
        stream=stream,
        extensions=dict(answer.extensions),
    )
