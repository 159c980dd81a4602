"""Values that all wire formats share, read and written in the same way."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from pagefault.model.request import ToolCall


def is_object(text: str) -> bool:
    """Whether a text is a JSON object."""
    return _object(text) is not None


def sendable(arguments: str) -> str:
    """The arguments as written, unless they are not a JSON object.

    Servers parse the arguments of earlier calls (vLLM, and every chat template that iterates over
    them) and refuse the whole request if one is malformed. So that one is sent as a string inside
    an object: the model still sees what it wrote.
    """
    if not arguments.strip():
        return "{}"
    if is_object(arguments):
        return arguments
    return json.dumps({"malformed_arguments": arguments}, ensure_ascii=False)


def sendable_object(arguments: str) -> dict[str, Any]:
    """The same, for formats whose arguments are an object instead of a text."""
    return _object(sendable(arguments)) or {}


def result_object(text: str) -> dict[str, Any]:
    """A tool result, for formats where that is an object: itself, or its text in one."""
    found = _object(text)
    return {"result": text} if found is None else found


def minted(calls: Sequence[tuple[str, str, str]], taken: Collection[str]) -> tuple[ToolCall, ...]:
    """Calls from (id, name, arguments).

    A call without an id, or with a taken one, gets the lowest free `call_N`, the same on every run.
    """
    used = set(taken)
    given = {call_id for call_id, _, _ in calls}
    number = 0
    made: list[ToolCall] = []
    for call_id, name, arguments in calls:
        while not call_id or call_id in used:
            candidate = f"call_{number}"
            call_id = candidate if candidate not in given else ""
            number += 1
        used.add(call_id)
        made.append(ToolCall(call_id, name, arguments.strip() or "{}"))
    return tuple(made)


def whole(text: str) -> str:
    """Joins surrogate pairs; a lone one, which UTF-8 cannot hold, becomes U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def text_of(value: object) -> str:
    """A string that UTF-8 can hold; empty for anything else."""
    return whole(value) if isinstance(value, str) else ""


def objects(value: object) -> list[dict[str, Any]]:
    """The JSON objects in a list; none if it is not a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def object_of(value: object) -> dict[str, Any]:
    """A JSON object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")
