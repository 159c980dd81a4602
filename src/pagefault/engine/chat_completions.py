"""OpenAI Chat Completions: conversion of requests and replies. No I/O here.

The format is the published one (platform.openai.com/docs/api-reference/chat) with the variations of
vLLM, Ollama, llama.cpp and LM Studio: ids may be missing, two calls may share an index, a stream
may end without `[DONE]`. Everything unambiguous is accepted; the rest is `EngineGarbled`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pagefault.engine.openai_marks import mark
from pagefault.engine.usage import usage_from
from pagefault.engine.values import is_object, minted, sendable, whole
from pagefault.model.errors import EngineGarbled
from pagefault.model.kinds import Role
from pagefault.model.request import Message, Reply, Request, Usage

SystemRole = Literal["system", "developer"]
"""The role of the system text; newer OpenAI models prefer the second."""

DONE: Final = "[DONE]"
EVENT_BYTES_MAX: Final = 8 * 1024 * 1024
"""The maximum size of a stream event. A whole reply of 128k tokens is well below it."""


# --- requests ---------------------------------------------------------------------------------


def to_wire(request: Request, *, system_role: SystemRole = "system") -> dict[str, Any]:
    """`messages`, and `tools` if there are any (some servers refuse an empty list).

    Equal messages give equal values in the same order, so a stable prefix stays stable. The tail is
    a separate part, after the text of the newest user message. The request's key becomes
    `prompt_cache_key`, its breakpoints become marks (`openai_marks.py`): only OpenAI's own servers
    are known to accept them.
    """
    wire: dict[str, Any] = {"messages": [_message(m, system_role) for m in request.messages]}
    mark(wire, dict(enumerate(wire["messages"])), request.breakpoints, part_type="text")
    if request.tail:
        _add_tail(wire["messages"], request.tail)
    if request.cache_key:
        wire["prompt_cache_key"] = request.cache_key
    if request.tools:
        wire["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                },
            }
            for tool in request.tools
        ]
    return wire


def _add_tail(messages: list[dict[str, Any]], tail: str) -> None:
    newest = next((m for m in reversed(messages) if m["role"] == "user"), None)
    if newest is None:
        newest = {"role": "user", "content": []}
        messages.append(newest)
    said = newest["content"] or []
    if isinstance(said, str):
        said = [{"type": "text", "text": said}]
    newest["content"] = [*said, {"type": "text", "text": tail}]


def _message(message: Message, system_role: SystemRole) -> dict[str, Any]:
    match message.role:
        case Role.SYSTEM:
            return {"role": system_role, "content": message.content}
        case Role.TOOL:
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
        case Role.ASSISTANT if message.tool_calls:
            return {
                "role": "assistant",
                "content": message.content or None,
                "tool_calls": [
                    {
                        "id": call.call_id,
                        "type": "function",
                        "function": {"name": call.name, "arguments": sendable(call.arguments)},
                    }
                    for call in message.tool_calls
                ],
            }
        case _:
            return {"role": str(message.role), "content": message.content}


# --- streams ----------------------------------------------------------------------------------


class EventStream:
    """Parses the bytes of a `text/event-stream` into the data of whole events.

    Comments, keep-alives, names and ids of events are dropped. `data:` may lack its space, and the
    last event its blank line. Invalid UTF-8 becomes U+FFFD.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._data: list[str] = []
        self._bytes = 0

    def feed(self, chunk: bytes) -> Iterator[str]:
        """The events that this chunk completes. Raises `EngineGarbled` for one that is too long."""
        if b"\n" in chunk:
            *lines, rest = (bytes(self._rest) + chunk).split(b"\n")
            self._rest = bytearray(rest)
            for line in lines:
                yield from self._line(line.removesuffix(b"\r"))
        else:
            self._rest += chunk
        if self._bytes + len(self._rest) > EVENT_BYTES_MAX:
            raise EngineGarbled(
                f"the server sent an event of more than {EVENT_BYTES_MAX // 1024 // 1024} MiB"
            )

    def close(self) -> Iterator[str]:
        """The event that the end of the stream completes, if any."""
        yield from self._line(bytes(self._rest).removesuffix(b"\r"))
        yield from self._line(b"")
        self._rest = bytearray()

    def _line(self, line: bytes) -> Iterator[str]:
        if not line:
            data, self._data, self._bytes = self._data, [], 0
            yield from _events(data)
        elif line.removeprefix(b"\xef\xbb\xbf").startswith(b"data:"):
            line = line.removeprefix(b"\xef\xbb\xbf").removeprefix(b"data:").removeprefix(b" ")
            self._data.append(line.decode("utf-8", "replace"))
            self._bytes += len(line)


def _events(data: list[str]) -> Iterator[str]:
    """One event; or one per line, from servers that omit the blank line between events."""
    joined = "\n".join(data)
    if len(data) > 1 and not is_object(joined):
        yield from (line for line in data if line.strip())
    elif joined.strip():
        yield joined


def parse(text: str) -> dict[str, Any]:
    """The JSON object in `text`; raises `EngineGarbled` for anything else."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        shown = text if len(text) <= 80 else text[:80] + "…"
        raise EngineGarbled(f"the server sent {shown!r} where a JSON object was due")
    return document


# --- errors -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Problem:
    """A server's error. `code` joins its type and its code; either may be missing."""

    message: str
    code: str

    @property
    def status(self) -> int:
        """The HTTP status in the code, else 0. An error inside a stream has no other."""
        found = re.search(r"(?<!\d)[45]\d\d(?!\d)", self.code)
        return int(found[0]) if found else 0


def problem_in(document: Mapping[str, Any]) -> Problem | None:
    """The error in a response or an event, in any of the shapes in use; else None."""
    error = document.get("error")
    if error is None and (document.get("object") == "error" or "choices" not in document):
        # vLLM before 0.10 has the fields at the top; FastAPI uses `detail`.
        if "detail" in document:
            error = document["detail"]
        elif "message" in document:
            error = document
    match error:
        case None | False | "":
            return None
        case {"message": str(message)}:
            codes = (error.get("type"), error.get("code"))
            return Problem(message, " ".join(str(c) for c in codes if c is not None))
        case str(message):
            return Problem(message, "")
        case _:
            return Problem(json.dumps(error, ensure_ascii=False), "")


# --- replies ----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Call:
    """A tool call under construction."""

    index: int | None
    call_id: str = ""
    name: str = ""
    arguments: str = ""

    def continues(self, call_id: str, name: str, arguments: str) -> bool:
        """Whether a piece belongs to this call, and not to another with the same index.

        Ollama gives every call index 0. A proper prefix of a JSON object is never a JSON object, so
        a piece that names a function after complete arguments begins a new call.
        """
        if call_id and self.call_id and call_id != self.call_id:
            return False
        return not (name and arguments.strip() and is_object(self.arguments))

    def add(self, call_id: str, name: str, arguments: str) -> None:
        self.call_id = self.call_id or call_id
        if name != self.name:  # some servers repeat it, others send it in pieces
            self.name += name
        self.arguments += arguments


@dataclass(slots=True)
class Fold:
    """Folds the chunks of one reply into the `Reply`. An unstreamed response is one chunk.

    `taken` has the ids of the calls in the request. A call without an id, or with a taken one, gets
    the lowest free `call_N`, the same on every run.
    """

    taken: Collection[str] = ()
    finish_reason: str = ""
    _text: list[str] = field(default_factory=list)
    _half: str = ""  # of a surrogate pair that was split between chunks
    _calls: list[_Call] = field(default_factory=list)
    _usage: Usage | None = None

    @property
    def ended(self) -> bool:
        """Whether the model said that it was done, so that a missing `[DONE]` means nothing."""
        return bool(self.finish_reason)

    def feed(self, document: Mapping[str, Any]) -> str:
        """Fold one chunk; the text it adds, "" if none. Raises `EngineGarbled`."""
        self._usage = usage_from(document.get("usage")) or self._usage
        choices = document.get("choices")
        if not isinstance(choices, list):
            if choices is None and "usage" in document:
                return ""
            raise EngineGarbled(
                "the answer has no `choices`, so it is not Chat Completions",
                hint="base_url usually ends with /v1",
            )
        return "".join([self._choice(c) for c in choices if isinstance(c, dict)])

    def reply(self) -> Reply:
        """The reply from everything folded so far."""
        return Reply(
            text="".join(self._text),
            tool_calls=minted(
                [(whole(c.call_id), whole(c.name), whole(c.arguments)) for c in self._calls],
                self.taken,
            ),
            usage=self._usage,
            finish=self.finish_reason,
        )

    def _choice(self, choice: Mapping[str, Any]) -> str:
        if choice.get("index") not in (None, 0):  # we request one answer
            return ""
        reason = choice.get("finish_reason")
        if isinstance(reason, str):
            self.finish_reason = reason or self.finish_reason
        delta = choice.get("delta" if "delta" in choice else "message")
        if not isinstance(delta, dict):
            return ""
        calls = delta.get("tool_calls")
        for piece in calls if isinstance(calls, list) else ():
            if isinstance(piece, dict):
                self._call(piece)
        return self._said(_string(delta.get("content")) or _string(delta.get("refusal")))

    def _said(self, text: str) -> str:
        text = self._half + text
        self._half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        text = whole(text)
        if text:
            self._text.append(text)
        return text

    def _call(self, piece: Mapping[str, Any]) -> None:
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        arguments = function.get("arguments")
        if isinstance(arguments, Mapping):
            arguments = json.dumps(arguments, ensure_ascii=False)
        said = (_string(piece.get("id")), _string(function.get("name")), _string(arguments))
        number = piece.get("index")
        index = number if isinstance(number, int) else None
        call = self._open_call(index, *said)
        if call is None:
            call = _Call(index)
            self._calls.append(call)
        call.add(*said)

    def _open_call(
        self, index: int | None, call_id: str, name: str, arguments: str
    ) -> _Call | None:
        """The call that a piece continues: the last with its index; without one, with its id."""
        if index is not None:
            same = [c for c in self._calls if c.index == index]
        elif call_id:
            same = [c for c in self._calls if c.call_id == call_id]
        else:
            same = [] if name else self._calls
        if same and same[-1].continues(call_id, name, arguments):
            return same[-1]
        return None


def _string(value: object) -> str:
    """A string unchanged; the text of a list of parts (Mistral); else empty."""
    match value:
        case str():
            return value
        case list():
            return "".join(_string(p.get("text")) for p in value if isinstance(p, dict))
        case _:
            return ""


def call_ids(request: Request) -> frozenset[str]:
    """The ids of all calls in the request, for `Fold.taken`."""
    return frozenset(call.call_id for m in request.messages for call in m.tool_calls)


def reply_from(document: Mapping[str, Any], *, taken: Collection[str] = ()) -> Reply:
    """The reply in an unstreamed response. Raises `EngineGarbled`."""
    fold = Fold(taken)
    fold.feed(document)
    return fold.reply()
