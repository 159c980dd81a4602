"""OpenAI Responses API: conversion of requests and replies. No I/O here.

Every request has the whole conversation as `input`. Server-side state (`store`,
`previous_response_id`) is not used, because what the model sees is decided here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pagefault.engine.openai_marks import mark
from pagefault.engine.usage import usage_from
from pagefault.engine.values import minted, object_of, objects, sendable, text_of
from pagefault.model.errors import EngineGarbled
from pagefault.model.kinds import Role
from pagefault.model.request import Message, Reply, Request


def to_wire(request: Request, *, system_role: str = "developer") -> dict[str, Any]:
    """`input`, and `tools` if there are any. The tail is a separate part, after the last text.

    The request's key becomes `prompt_cache_key`, so one conversation's requests are routed alike.
    Its breakpoints become marks (`openai_marks.py`); what the model said carries none here.
    """
    items: list[dict[str, Any]] = []
    wire: dict[str, Any] = {"input": items}
    ends: dict[int, dict[str, Any]] = {}
    for place, message in enumerate(request.messages):
        items += _items(message, system_role)
        if message.role is not Role.ASSISTANT:
            ends[place] = items[-1]
    mark(wire, ends, request.breakpoints, part_type="input_text")
    if request.tail:
        _add_tail(items, request.tail)
    if request.tools:
        wire["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
                "strict": False,
            }
            for tool in request.tools
        ]
    if request.cache_key:
        wire["prompt_cache_key"] = request.cache_key
    return wire


def reply_from(document: Mapping[str, Any], *, taken: Collection[str] = ()) -> Reply:
    """The reply in a response. Raises `EngineGarbled` if this is not one.

    `taken` has the ids of the calls in the request. `finish` is "length" if the text was cut off,
    else the response's `status`.
    """
    if not isinstance(document.get("output"), list):
        raise EngineGarbled(
            "the answer has no `output`, so it is not of the Responses API",
            hint="base_url usually ends with /v1",
        )
    said: list[str] = []
    calls: list[tuple[str, str, str]] = []
    for item in objects(document["output"]):
        match item.get("type"):
            case "message":
                said += [
                    text_of(part.get("text")) or text_of(part.get("refusal"))
                    for part in objects(item.get("content"))
                ]
            case "function_call":
                calls.append(
                    (
                        text_of(item.get("call_id")),
                        text_of(item.get("name")),
                        text_of(item.get("arguments")),
                    )
                )
    reason = object_of(document.get("incomplete_details")).get("reason")
    return Reply(
        text="".join(said),
        tool_calls=minted(calls, taken),
        usage=usage_from(document.get("usage")),
        finish="length" if reason == "max_output_tokens" else text_of(document.get("status")),
    )


def _items(message: Message, system_role: str) -> Iterator[dict[str, Any]]:
    if message.role is Role.TOOL:
        yield {
            "type": "function_call_output",
            "call_id": message.call_id,
            "output": message.content,
        }
        return
    if message.content or not message.tool_calls:
        role = system_role if message.role is Role.SYSTEM else str(message.role)
        yield {"role": role, "content": message.content}
    for call in message.tool_calls:
        yield {
            "type": "function_call",
            "call_id": call.call_id,
            "name": call.name,
            "arguments": sendable(call.arguments),
        }


def _add_tail(items: list[dict[str, Any]], tail: str) -> None:
    newest = next((item for item in reversed(items) if item.get("role") == "user"), None)
    if newest is None:
        newest = {"role": "user", "content": ""}
        items.append(newest)
    said = newest["content"] or []
    if isinstance(said, str):
        said = [{"type": "input_text", "text": said}]
    newest["content"] = [*said, {"type": "input_text", "text": tail}]
