"""An answer on its way to the client, in which a model may call memory's tools.

The client reads one answer, whatever the model asked of memory meanwhile: the text of all replies
as it comes, and one end. Only memory's calls are held back, and the end of a reply that makes one.

Invariants:
 (1) A stream ends once: as its provider ended it, with an error in the wire's own form, or broken
     off as the provider broke it off.
 (2) A reply that makes no call of memory's passes byte for byte, unless it repeats which tools it
     was offered.
 (3) What cannot be read as an answer passes as it is, and none of its calls is served.
 (4) A turn has at most `replies_max` replies.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from pagefault.model.errors import EngineUnreachable
from pagefault.model.request import Usage
from pagefault.proxy.history.history import Json
from pagefault.proxy.http.relay import Headers, onward
from pagefault.proxy.wires.pairs import Editor, Round
from pagefault.proxy.wires.reader import AnswerReader, is_json, is_stream
from pagefault.proxy.wires.wire import RawEvent, RawEvents, dumped, parsed, values

if TYPE_CHECKING:
    import httpx2

ANSWER_BYTES_MAX: Final = 32 * 1024 * 1024  # of a reply in one piece; a larger one passes unread
ERROR_BYTES_MAX: Final = 16 * 1024  # of a provider's refusal

Served = Callable[[Round, Sequence[Any], bool], Awaitable[Json | None]]
"""Serves the calls of a reply, which is the answer so far; whether it is the last that may be
served. What to ask next, None for nothing.
"""


class Reply(Protocol):
    """The way to the client."""

    async def start(self, status: int, headers: Headers) -> None: ...
    async def piece(self, body: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class Upstream:
    """The way to the provider."""

    ask: Callable[[Json | None], AbstractAsyncContextManager[httpx2.Response]]
    pieces: Callable[[httpx2.Response], AsyncIterator[bytes]]


class Answering:
    """One answer. `refused` and `broken` say how a later request failed, if one did."""

    def __init__(
        self,
        editor: Editor,
        upstream: Upstream,
        reply: Reply,
        reader: AnswerReader,
        serve: Served,
        *,
        replies_max: int,
    ) -> None:
        self._editor = editor
        self._reader = reader
        self._upstream = upstream
        self._reply = reply
        self._serve = serve
        self._replies_left = replies_max
        self.problem = ""  # why a call could not be served
        self.refused = self.broken = False
        self._is_first = True
        self._is_strange = False  # it cannot be read, and passes as it is
        self._status = 0  # of a refused later reply in one piece

    @property
    def usage(self) -> Usage | None:
        """The provider's report for the last request; None if that did not come to its end."""
        if self._is_strange or self.refused or self.broken:
            return None
        return self._editor.round().usage

    async def pass_on(self) -> None:
        """Ask, and pass the answer on. The reader gets the head of the answer and everything that
        the client reads. Raises `EngineUnreachable` if the first reply does, and nothing has gone
        to the client yet.
        """
        async with (
            self._upstream.ask(None) as response,
            aclosing(self._upstream.pieces(response)) as pieces,  # type: ignore[type-var]
        ):
            headers = response.headers
            raw = onward(headers.raw)
            if response.status_code != 200 or _is_packed(headers):
                self._reader.begin(response.status_code, headers)
                await self._reply.start(response.status_code, raw)
                async for piece in pieces:
                    await self._out(piece)
                return
            first = b"" if is_stream(headers) or is_json(headers) else await anext(pieces, b"")
            has_events = is_stream(headers, first)
            self._reader.begin(response.status_code, headers, first)
            if has_events:
                bare = [(name, value) for name, value in raw if name.lower() != b"content-length"]
                await self._reply.start(response.status_code, bare)
                await self._stream(first, pieces)
            else:
                await self._whole(first, pieces, response.status_code, raw)
        # The first reply is read, and its connection given back, before another is asked for.
        if has_events:
            await self._go_on()

    # --- a stream -----------------------------------------------------------------------------

    async def _stream(self, first: bytes, pieces: AsyncIterator[bytes]) -> None:
        """Pass on one reply, without what is held back."""
        events = RawEvents()
        await self._told(list(events.feed(first)))
        async for piece in pieces:
            await self._told(list(events.feed(piece)))
        await self._told(list(events.rest()))

    async def _told(self, events: Sequence[RawEvent]) -> None:
        """Pass these events on. One that is unchanged is not read again."""
        edited = [self._edited(*one) for one in events]
        if not any(edited):
            return
        await self._reply.piece(b"".join(edited))
        for (event, data, raw), told in zip(events, edited, strict=True):
            if told is raw and data is not None:
                self._reader.take(event, data)
            elif told:
                self._reader.feed(told)

    async def _out(self, told: bytes) -> None:
        if told:
            await self._reply.piece(told)
            self._reader.feed(told)

    def _edited(self, event: str, data: Json | None, raw: bytes) -> bytes:
        if self._is_strange:
            return raw
        try:
            return self._editor.feed(event, data, raw)
        except _NOT_READ:  # not this protocol, whatever it says
            if not self._is_first or self._editor.round().calls:
                raise EngineUnreachable("an answer that cannot be read") from None
            self._is_strange = True
            return raw

    async def _go_on(self) -> None:
        while not self._is_strange:
            asked = await self._asked(self._editor.round())
            if asked is None:
                await self._out(self._editor.finish())
                return
            self._editor.next()
            self._is_first = False
            try:
                async with (
                    self._upstream.ask(asked) as response,
                    aclosing(self._upstream.pieces(response)) as pieces,  # type: ignore[type-var]
                ):
                    if response.status_code != 200 or is_json(response.headers):
                        self.refused = True
                        why = await self._why(response.status_code, pieces)
                        await self._out(self._editor.failed(response.status_code, why))
                        return
                    await self._stream(b"", pieces)
            except EngineUnreachable as broke:
                self.broken = True
                await self._out(self._editor.failed(502, str(broke)))
                return

    async def _asked(self, round: Round) -> Json | None:
        """Serve the calls of a reply; returns what to ask next, or None if the answer ends here."""
        self._replies_left -= 1
        if not round.calls or not round.is_whole or self._replies_left < 1:
            return None
        try:
            return await self._serve(round, self._editor.so_far(), self._replies_left == 1)
        except Exception as bug:  # the client has its answer all the same
            self.problem = type(bug).__name__
            return None

    async def _why(self, status: int, pieces: AsyncIterator[bytes]) -> str:
        """The beginning of a provider's refusal."""
        said = bytearray()
        async for piece in pieces:
            said += piece
            if len(said) > ERROR_BYTES_MAX:
                break
        document = parsed(bytes(said)) or {}
        told = document.get("error")
        message = told.get("message") if isinstance(told, dict) else told
        why = f"the provider answered {status} when it was asked again"
        return f"{why}: {message}" if isinstance(message, str) and message else why

    # --- one piece ----------------------------------------------------------------------------

    async def _whole(
        self, first: bytes, pieces: AsyncIterator[bytes], status: int, headers: Headers
    ) -> None:
        """Pass on an answer in one piece, unchanged if it makes no call of memory's."""
        body = bytearray(first)
        async for piece in pieces:
            if len(body) > ANSWER_BYTES_MAX:
                await self._out(piece)
                continue
            body += piece
            if len(body) > ANSWER_BYTES_MAX:
                await self._reply.start(status, headers)
                await self._out(bytes(body))
        if len(body) > ANSWER_BYTES_MAX:
            return
        answer, headers = await self._together(bytes(body), headers)
        await self._reply.start(self._status or status, headers)
        await self._out(answer)

    async def _together(self, body: bytes, headers: Headers) -> tuple[bytes, Headers]:
        """The answer of all replies, and its headers; the bytes of a single reply if that is the
        answer, or if a later one was refused.
        """
        is_first = True
        while True:
            read = values(body)
            documents = read if isinstance(read, list) else [read]  # a stream, in one piece
            try:
                for document in documents:
                    self._editor.take(document)
                round = self._editor.round()
            except _NOT_READ:
                return body, headers
            asked = await self._asked(round)
            if asked is None:
                is_plain = is_first and not round.calls
                if is_plain and (not documents or self._editor.bare(document) is document):
                    return body, headers
                whole = self._editor.bare(document) if is_plain else self._editor.merged()
                told = dumped([whole] if isinstance(read, list) else whole)
                length = (b"content-length", str(len(told)).encode())
                kept = [one for one in headers if one[0].lower() != b"content-length"]
                return told, [*kept, length]
            self._editor.next()
            is_first = False
            async with self._upstream.ask(asked) as response:
                body = b"".join([piece async for piece in self._upstream.pieces(response)])
                headers = onward(response.headers.raw)
                if response.status_code != 200:
                    self._status = response.status_code
                    return body, headers


def _is_packed(headers: Mapping[str, str]) -> bool:
    return headers.get("content-encoding", "identity") != "identity"


_NOT_READ: Final = (TypeError, ValueError, AttributeError, KeyError, IndexError)
