"""Anthropic Messages API: conversion of requests and replies. No I/O here.

The API demands: the user speaks first; user and assistant alternate; every tool result is at the
beginning of the message after the call; no text is empty; ids are letters, digits, `_` and `-`; a
request with calls has tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from pagefault.engine.breakpoints import marks
from pagefault.engine.usage import usage_from
from pagefault.engine.values import minted, object_of, objects, sendable_object, text_of
from pagefault.model.errors import EngineGarbled
from pagefault.model.kinds import Role
from pagefault.model.request import Message, Reply, Request

NOTHING_SAID: Final = "(no message)"
"""The placeholder for a text that the API demands and the request lacks."""

WITHDRAWN: Final = "No longer offered."
"""The description of a tool that was called, in a request that offers none."""

_FINISH: Final = {"max_tokens": "length", "model_context_window_exceeded": "length"}
_NO_ID: Final = re.compile(r"[^a-zA-Z0-9_-]")


def to_wire(request: Request) -> dict[str, Any]:
    """`system`, `messages` and `tools`; the caller adds `model` and `max_tokens`.

    At most four blocks are marked (`breakpoints.py`), never the tail.
    """
    ids = _Ids()
    blocks: list[dict[str, Any]] = []  # everything that can be marked, in prefix order
    ends: dict[int, int] = {}  # a message's position: its last block
    system: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = []
    for place, message in enumerate(request.messages):
        made = _blocks(message, ids)
        blocks += made
        ends[place] = len(blocks) - 1
        if message.role is Role.SYSTEM:
            system += made
            continue
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        if not messages and role == "assistant":
            messages.append({"role": "user", "content": [_text("")]})
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += made
        else:
            messages.append({"role": role, "content": made})
    if not messages:
        messages.append({"role": "user", "content": [_text("")]})
    wished = [ends[place] for place in request.breakpoints if place in ends]
    for block in marks(wished, len(blocks)):
        blocks[block]["cache_control"] = {"type": "ephemeral"}
    if request.tail:
        _add_tail(messages, request.tail)
    wire: dict[str, Any] = {"messages": messages}
    if system:
        wire["system"] = system
    if request.tools:
        wire["tools"] = [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": dict(tool.parameters),
            }
            for tool in request.tools
        ]
    elif called := sorted({call.name for m in request.messages for call in m.tool_calls}):
        wire["tools"] = [
            {"name": name, "description": WITHDRAWN, "input_schema": {"type": "object"}}
            for name in called
        ]
        wire["tool_choice"] = {"type": "none"}
    return wire


def reply_from(document: Mapping[str, Any], *, taken: Collection[str] = ()) -> Reply:
    """The reply in a message. Raises `EngineGarbled` if there is none.

    `finish` is "length" if the text was cut off, else the `stop_reason`.
    """
    if not isinstance(document.get("content"), list):
        raise EngineGarbled("the answer has no `content`, so it is not of the Messages API")
    said: list[str] = []
    calls: list[tuple[str, str, str]] = []
    for block in objects(document["content"]):
        match block.get("type"):
            case "text":
                said.append(text_of(block.get("text")))
            case "tool_use":
                arguments = json.dumps(object_of(block.get("input")), ensure_ascii=False)
                name = text_of(block.get("name"))
                calls.append((text_of(block.get("id")), name, text_of(arguments)))
    reason = text_of(document.get("stop_reason"))
    return Reply(
        text="".join(said),
        tool_calls=minted(calls, taken),
        usage=usage_from(document.get("usage")),
        finish=_FINISH.get(reason, reason),
    )


class _Ids:
    """Call ids in the API's alphabet: a call and its result share one, and no two calls do."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}

    def of(self, call_id: str) -> str:
        if call_id not in self._given:
            plain = _NO_ID.sub("_", call_id) or "call"
            used = set(self._given.values())
            number, name = 1, plain
            while name in used:
                number += 1
                name = f"{plain}_{number}"
            self._given[call_id] = name
        return self._given[call_id]


def _blocks(message: Message, ids: _Ids) -> list[dict[str, Any]]:
    if message.role is Role.TOOL:
        called = ids.of(message.call_id)
        failed = {"is_error": True} if message.is_error else {}
        return [
            {
                "type": "tool_result",
                "tool_use_id": called,
                "content": message.content,
                **failed,
            }
        ]
    made = [_text(message.content)] if message.content.strip() or not message.tool_calls else []
    made += [
        {
            "type": "tool_use",
            "id": ids.of(call.call_id),
            "name": call.name,
            "input": sendable_object(call.arguments),
        }
        for call in message.tool_calls
    ]
    return made


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text if text.strip() else NOTHING_SAID}


def _add_tail(messages: list[dict[str, Any]], tail: str) -> None:
    newest = next((m for m in reversed(messages) if m["role"] == "user"), messages[-1])
    newest["content"].append(_text(tail))
