"""One model turn as a state machine without I/O: nothing here awaits, sleeps, logs or knows HTTP.

The driver, a proxy, a simulator and the tests all ask this same machine what a reply requires of
them. The cost of a fault is checked later, when its page is known (`paging/fault.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

from pagefault.model.defaults import FAULT_LEVEL, SEARCH_LIMIT
from pagefault.model.ids import PageId
from pagefault.model.kinds import FaultReason, Level, Modality
from pagefault.model.request import CALL_ID_MAX, Reply, ToolCall
from pagefault.pack.tools import PAGE_FAULT, SEARCH_LIMIT_MAX, SEARCH_PAGES

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NO_TOOL_NAME = re.compile(r"[^a-zA-Z0-9_-]")  # providers refuse a request with others


@dataclass(frozen=True, slots=True)
class ServeFault:
    call: ToolCall
    page_id: PageId
    level: Level
    reason: FaultReason


@dataclass(frozen=True, slots=True)
class ServeSearch:
    call: ToolCall
    query: str
    modality: Modality | None
    limit: int


@dataclass(frozen=True, slots=True)
class Refuse:
    """A call that can never be served. `code` is stable."""

    call: ToolCall
    code: str
    why: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The turn is over. `complete` is False if the model was still calling at the last step, or its
    text was cut off at the provider's limit.
    """

    text: str
    complete: bool = True


Action = ServeFault | ServeSearch | Refuse | Finish


class Turn:
    """From a user message to the final answer, in at most `steps_max` requests."""

    def __init__(self, steps_max: int) -> None:
        if steps_max < 1:
            raise ValueError("a turn takes at least one step")
        self._steps_left = steps_max

    def receive(self, reply: Reply) -> list[Action]:
        """The driver's next actions after a reply, in order. A `Finish` comes alone."""
        self._steps_left -= 1
        if not reply.tool_calls:
            return [Finish(reply.text, complete=reply.finish != "length")]
        if self._steps_left < 1:
            return [Finish(reply.text, complete=False)]
        return [read_call(call) for call in reply.tool_calls]


def read_call(call: ToolCall) -> ServeFault | ServeSearch | Refuse:
    """The only place where a model's call becomes typed values."""
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):  # the latter: absurdly nested brackets
        return Refuse(call, "bad_arguments", "the arguments are not JSON")
    if not isinstance(arguments, dict):
        return Refuse(call, "bad_arguments", "the arguments are not a JSON object")
    try:
        match call.name:
            case "page_fault":
                return _fault(call, arguments)
            case "search_pages":
                return _search(call, arguments)
    except _Bad as bad:
        return Refuse(call, "bad_arguments", str(bad))
    return Refuse(call, "unknown_tool", f"memory has two tools: {PAGE_FAULT} and {SEARCH_PAGES}")


class _Bad(Exception):
    """Why an argument is invalid."""


def _fault(call: ToolCall, arguments: dict[str, Any]) -> ServeFault:
    page_id = _text(arguments, "page_id")
    level = arguments.get("target_level", FAULT_LEVEL)
    if not isinstance(level, int) or isinstance(level, bool) or level not in list(Level):
        raise _Bad("target_level is 0, 1, 2 or 3")
    reason = arguments.get("reason", str(FaultReason.RESOLVE_REFERENCE))
    if reason not in list(FaultReason):
        raise _Bad(f"reason is one of {', '.join(FaultReason)}")
    return ServeFault(call, PageId(page_id), Level(level), FaultReason(reason))


def _search(call: ToolCall, arguments: dict[str, Any]) -> ServeSearch:
    modality = arguments.get("modality")
    if modality is not None and modality not in list(Modality):
        raise _Bad(f"modality is one of {', '.join(Modality)}")
    limit = arguments.get("limit", SEARCH_LIMIT)
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= SEARCH_LIMIT_MAX:
        raise _Bad(f"limit is a number from 1 to {SEARCH_LIMIT_MAX}")
    query = _text(arguments, "query", empty=True)
    return ServeSearch(call, query, Modality(modality) if modality else None, limit)


def _text(arguments: dict[str, Any], name: str, *, empty: bool = False) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not (value or empty):
        raise _Bad(f"{name} is a text, and required")
    if not _is_encodable(value):
        raise _Bad(f"{name} is not valid Unicode")
    return value


def _is_encodable(text: str) -> bool:
    """Whether it can be written: JSON can spell halves of surrogate pairs, UTF-8 cannot."""
    return encodable(text) == text


def encodable(text: str) -> str:
    """The text with a question mark for each unencodable character."""
    return text.encode(errors="replace").decode()


def as_kept(call: ToolCall, clean: Callable[[str], str]) -> ToolCall:
    """The call as it can be recorded and sent back to any provider. `clean` redacts secrets, before
    anything is cut.
    """
    name = _NO_TOOL_NAME.sub("_", clean(encodable(call.name)))[:CALL_ID_MAX] or "_"
    return ToolCall(id_as_kept(call.call_id, clean), name, clean(_sendable(call.arguments)))


def id_as_kept(call_id: str, clean: Callable[[str], str]) -> str:
    """The id of a call, likewise."""
    return _CONTROL.sub("_", clean(encodable(call_id)))[:CALL_ID_MAX]


def _sendable(arguments: str) -> str:
    """The arguments without anything, spelled out or not, that cannot be encoded."""
    if "\\ud" in arguments.lower():
        with suppress(ValueError, RecursionError):
            arguments = json.dumps(json.loads(arguments), ensure_ascii=False)
    return encodable(arguments)


def unique_call_ids(
    calls: Sequence[ToolCall], taken: str, *, used: Collection[str] = ()
) -> tuple[ToolCall, ...]:
    """The same calls, each with a unique id, as every provider's protocol requires.

    `used` are those of earlier replies: some servers count from 0 in each.
    """
    seen: set[str] = set(used)
    fresh = (f"call_{taken}_{number}" for number in count())
    given = {call.call_id for call in calls} | seen
    fixed: list[ToolCall] = []
    for call in calls:
        call_id = call.call_id
        if not call_id or call_id in seen:
            call_id = next(name for name in fresh if name not in given)
        seen.add(call_id)
        fixed.append(ToolCall(call_id, call.name, call.arguments))
    return tuple(fixed)
