"""The interface of a wire format: reads a request, puts it back, assembles an answer.

Invariant: a body is put back with the client's own values, in the client's order; only messages
that left and texts that were inserted differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from pagefault.model.request import Usage
from pagefault.proxy.history.history import History, Item, Json, canonical, digest, texts, unmarked
from pagefault.proxy.history.readable import named, readable

EVENT_BYTES_MAX: Final = 32 * 1024 * 1024


class Wire(Protocol):
    """One wire format, stateless."""

    name: str
    messages: str  # the field of a body with its messages
    content: str  # the field of a message with its blocks

    def takes(self, path: str) -> bool:
        """Whether a POST to this path is of this format."""

    def addressed(self, body: Json, path: str) -> Json:
        """The body with what the path adds to it, which `put` removes again."""

    def model(self, body: Json) -> Any:
        """The name of the requested model."""

    def head(self, body: Json) -> list[Any]:
        """The instructions before the messages, if they are separate from them."""

    def read(self, body: Json, earlier: History | None = None) -> History:
        """The history of a request. Raises `Unreadable` if it is not of this format. Messages that
        an `earlier` one begins with, as the same objects, are not read again.
        """

    def put(self, body: Json, messages: Sequence[Any]) -> Json:
        """The same body with these messages."""

    def opens_turn(self, message: Any) -> bool:
        """Whether a message opens a turn: it has the user's words, whatever precedes them."""

    def without_results(self, message: Any, call_ids: Collection[str]) -> Any:
        """The message without the results of these calls. It has others."""

    def with_result(self, message: Any, call_id: str, make: Callable[[str], str]) -> Any:
        """The message with a call's result replaced by what `make` returns for its text."""

    def binds(self, message: Any) -> bool:
        """Whether it holds signed thinking, which is bound to what precedes it in its turn."""

    def with_text(self, message: Any, text: str) -> Any:
        """The user's message with a text before its own, and after tool results."""

    def gatherer(self) -> Gatherer:
        """A new gatherer for a streamed answer."""

    def answer(self, document: Json) -> Answered:
        """What a complete answer says."""

    def refusal(self, status: int, message: str) -> Json:
        """An error of ours in this provider's form."""


class Unreadable(Exception):
    """A body that is not of the format of its path. It is passed on as it is."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer: its items, and the provider's count, None if not reported. `complete` if it came
    to its end.
    """

    items: tuple[Item, ...] = ()
    usage: Usage | None = None
    complete: bool = False
    under: str = ""  # the provider's tool that it cites, if no item shows the call

    @property
    def input_tokens(self) -> int:
        return self.usage.input_tokens if self.usage is not None else 0


class Gatherer(Protocol):
    def feed(self, event: str, data: Json) -> None:
        """Take one event of the stream."""

    def answered(self) -> Answered: ...


RawEvent = tuple[str, Json | None, bytes]
"""An event, None for what is not one, not JSON or too large to be read, and all bytes of it."""


@dataclass(slots=True)
class RawEvents:
    """The same with the bytes of each event, so that unchanged ones pass as they came."""

    _rest: bytearray = field(default_factory=bytearray)

    def feed(self, chunk: bytes) -> Iterator[RawEvent]:
        looked = max(0, len(self._rest) - 3)
        self._rest += chunk
        while (end := _END.search(self._rest, looked)) is not None:
            raw, looked = bytes(self._rest[: end.end()]), 0
            del self._rest[: end.end()]
            yield self._told(raw)
        if len(self._rest) > EVENT_BYTES_MAX:
            yield "", None, bytes(self._rest)
            self._rest.clear()

    def rest(self) -> Iterator[RawEvent]:
        """What came after the last complete event."""
        if self._rest:
            raw = bytes(self._rest)
            self._rest.clear()
            yield self._told(raw)

    @staticmethod
    def _told(raw: bytes) -> RawEvent:
        lines = [line for line in raw.replace(b"\r\n", b"\n").split(b"\n") if line]
        event = _event(lines) if lines else None
        return (*event, raw) if event is not None else ("", None, raw)


_END: Final = re.compile(rb"\r?\n\r?\n")


@dataclass(slots=True)
class Events:
    """Server-sent events, parsed while a stream passes. Events that are not JSON are skipped;
    `is_spoilt` says that there were some, so that the whole is unknown.
    """

    _rest: bytearray = field(default_factory=bytearray)
    _lines: list[bytes] = field(default_factory=list)
    _bytes: int = 0
    overflowed: bool = False
    is_spoilt: bool = False

    def feed(self, chunk: bytes) -> list[tuple[str, Json]]:
        if self.overflowed:
            return []
        self._rest += chunk
        lines: list[bytes] = []
        if b"\n" in chunk:  # a line of megabytes, as of an image, is not gone over with each piece
            *lines, rest = bytes(self._rest).replace(b"\r\n", b"\n").split(b"\n")
            self._rest = bytearray(rest)
        found: list[tuple[str, Json]] = []
        for line in lines:
            if line:
                self._lines.append(line)
                self._bytes += len(line)
            elif self._lines:
                event = _event(self._lines)
                if event is not None:
                    found.append(event)
                elif any(map(_SAYS.match, self._lines)):
                    self.is_spoilt = True
                self._lines, self._bytes = [], 0
        if self._bytes + len(self._rest) > EVENT_BYTES_MAX:
            self.overflowed, self._lines = True, []
            self._rest.clear()
        return found


_SAYS: Final = re.compile(rb"data:(?! ?(?:\[DONE\])?\Z)")


def _event(lines: Sequence[bytes]) -> tuple[str, Json] | None:
    name, data = "", b""
    for line in lines:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            name = value.decode("utf-8", "replace")
        elif field == b"data":
            data = data + b"\n" + value if data else value
    document = parsed(data)
    return None if document is None else (name, document)


def parsed(data: bytes | str) -> Json | None:
    """A JSON object, or None for anything else."""
    document = values(data)
    return document if isinstance(document, dict) else None


def values(data: bytes | str) -> Any:
    """Any JSON, or None if it is not JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def dumped(body: Json | list[Json]) -> bytes:
    """JSON in UTF-8, unescaped: an escape would take six bytes for a letter of two.

    Raises ValueError for numbers that JSON does not have. A lone surrogate, which UTF-8 does not
    have, stays an escape.
    """
    text = json.dumps(body, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace")


def instructs(message: Any) -> bool:
    """Whether a message instructs the model instead of being said by somebody: instructions, tools
    and settings, which apply from their place on.
    """
    is_settings = message.get("type") == "configuration_update"  # of Responses, without a role
    return is_settings or message.get("role") in ("system", "developer")


def listed(body: Json, field: str) -> list[Any]:
    value = body.get(field)
    if not isinstance(value, list):
        raise Unreadable(f"there is no list of {field}")
    return value


def content_text(content: Any) -> str:
    """The text of a content that is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    return texts(content) if isinstance(content, list) else ""


def sealed_beside(content: Any) -> str:
    """A digest of what in a content is not text, or ""."""
    if isinstance(content, dict):
        content = [content]
    others = [one for one in blocks(content) if not isinstance(one.get("text"), str)]
    told = (digest(canonical(unmarked(one))) for one in others)
    return digest("".join(told)) if others else ""


def returned_text(content: Any) -> str:
    """All readable text of a tool's result, or the notice in its place."""
    if isinstance(content, dict):
        content = [content]
    told = blocks(content)
    said = (one["text"] if isinstance(one.get("text"), str) else readable(one) for one in told)
    others = (one for one in told if not isinstance(one.get("text"), str))
    unread = (named(one, len(canonical(unmarked(one)))) for one in others)
    return "\n\n".join(filter(None, said)) or "\n\n".join(unread)


def blocks(content: Any) -> list[Json]:
    """A content as blocks: a string becomes a text block, and anything else is put into a block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list):
        return [_block(one) for one in content if one is not None]
    return []


def _block(value: Any) -> Json:
    if isinstance(value, dict):
        return value
    return {"type": "text", "text": value} if isinstance(value, str) else {"content": value}


def same_json(text: str) -> str:
    """Arguments in one spelling, however the client spaced them."""
    try:
        return json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return text


def whole_number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
