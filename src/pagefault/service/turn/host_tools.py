"""Calls and results of the host's own tools, as they are recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final

from pagefault.model.errors import BadInput
from pagefault.model.kinds import PAGE_PREFIX, EventType, Origin, Role
from pagefault.model.request import ToolCall
from pagefault.model.signatures import ANY_VALUE
from pagefault.service.turn.artifacts import UNKNOWN
from pagefault.service.turn.drafts import Incoming
from pagefault.service.turn.turn import as_kept, encodable
from pagefault.service.window import exchanges
from pagefault.service.window.host_calls import called, unused
from pagefault.service.window.state import SessionState

ToolOutput = Annotated[
    str | bytes | bool | int | float | Mapping[Any, Any] | Sequence[Any] | None, ANY_VALUE
]
"""The return type of a tool: a text, bytes, or any JSON value; `None` is no output. `a_result`
validates it.
"""


class MemoryAnswer(dict[str, Any]):
    """The result of a core or archival memory tool: JSON, and its least trusted origin. Given to
    `tool_result`, it is logged with that origin, and not as some tool's.
    """

    def __init__(self, told: Mapping[str, Any], origin: Origin) -> None:
        super().__init__(told)
        self.origin = origin


NO_OUTPUT: Final = "(no output)"

_SIGNS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
)
_RIFF: Final = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}


def told_apart(
    calls: Sequence[ToolCall], state: SessionState, clean: Callable[[str], str]
) -> list[tuple[ToolCall, str]]:
    """The calls of a reply as they are stored, each with an id that is unique in the window, and
    with its id in the reply. Raises `BadInput` if a result would be ambiguous.
    """
    for call in calls:
        if not call.call_id:
            raise BadInput(
                f"a call of {call.name or 'a tool'} has no id",
                hint="make one up where the provider gives none: a result names its call by it",
            )
    kept = [as_kept(call, clean) for call in calls]
    ids = [call.call_id for call in kept]
    twice = next((one for one in ids if ids.count(one) > 1), None)
    if twice is not None:
        raise BadInput(
            f"two calls of one reply have the id {twice!r}", hint="give each an id of its own"
        )
    named = unused(ids, state.layout.entries())
    return [
        (ToolCall(name, call.name, call.arguments), call.call_id)
        for name, call in zip(named, kept, strict=True)
    ]


def a_call(call: ToolCall, given_id: str, model: str) -> Incoming:
    return Incoming(
        text=called(call.name, call.arguments),
        role=Role.ASSISTANT,
        event_type=EventType.TOOL_CALL,
        title=call.name,
        call_id=call.call_id,
        given_id=given_id if given_id != call.call_id else "",
        model=model,
    )


def a_result(result: ToolOutput) -> str | bytes:
    """A tool's result, as a text or as bytes. Raises `BadInput` for values that are not JSON."""
    match result:
        case None:
            return NO_OUTPUT
        case str():
            return str.__str__(result)  # e.g. the plain value of an enumeration's member
        case bytes() | bytearray() | memoryview():
            return bytes(result)
    try:
        told = json.dumps(result, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return told if encodable(told) == told else json.dumps(result, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as problem:
        raise BadInput(
            f"result is not JSON: {problem}",
            hint="give a text, bytes, or lists and dicts of texts, numbers and booleans; "
            "help(pagefault.Session.tool_result) shows what it accepts",
        ) from None


def kept_as(state: SessionState, artifact: Incoming) -> str:
    """The result of a tool that returned bytes, which become the next artifact."""
    stem = PAGE_PREFIX["artifact"]
    page_id = f"{stem}_{state.numbers.get(stem, 0) + 1}"
    return f"{artifact.mime_type}, {artifact.size_bytes:,} bytes, kept as {page_id}"


def sniffed(data: bytes) -> str:
    """The media type by the first bytes, or "application/octet-stream"."""
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], UNKNOWN)
    return next((kind for sign, kind in _SIGNS if data.startswith(sign)), UNKNOWN)


def check_answered(waiting: Sequence[ToolCall]) -> None:
    """Raise `BadInput` while calls wait for their results: every provider refuses a request that
    has a call without one, and an invented result would be a lie to the model.
    """
    if waiting:
        raise BadInput(
            f"calls are waiting for results: {_listed(waiting)}",
            hint="give each: tool_result(call_id, result), or, of one that will not come, "
            'tool_result(call_id, "cancelled", is_error=True)',
        )


def not_open(call_id: str, state: SessionState) -> BadInput:
    """The error for a result whose call is not open."""
    waiting = exchanges.calls_awaited(state)
    known = (call.call_id for call in exchanges.calls_shown(state))
    told = f"; open calls: {_listed(waiting)}" if waiting else ""
    if call_id in known:
        return BadInput(
            f"the call {call_id!r:.80} already has a result",
            hint="a result is given once; with a `key`, a retry is harmless" + told,
        )
    if call_id in state.calls_withdrawn:
        return BadInput(
            f"the call {call_id!r:.80} was withdrawn, with what it rests on: no request shows it",
            hint="drop its result, and go on with the next request" + told,
        )
    return BadInput(
        f"no open call has the id {call_id!r:.80}",
        hint=f"first log the reply that made it: assistant(text, calls=[…]){told}",
    )


def _listed(calls: Sequence[ToolCall]) -> str:
    return ", ".join(f"{call.call_id} ({call.name})" for call in calls)
