"""Gemini generateContent: conversion of requests and replies. No I/O here."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from pagefault.engine.usage import usage_from
from pagefault.engine.values import (
    minted,
    object_of,
    objects,
    result_object,
    sendable_object,
    text_of,
)
from pagefault.model.errors import EngineGarbled
from pagefault.model.kinds import Role
from pagefault.model.request import Message, Reply, Request

NO_SIGNATURE: Final = "skip_thought_signature_validator"
"""The value that Google documents for calls without a signature, which Gemini 3 refuses."""

_FINISH: Final = {"MAX_TOKENS": "length", "STOP": "stop"}


def to_wire(request: Request) -> dict[str, Any]:
    """`systemInstruction`, `contents` and `tools`. The tail is the user's last part."""
    names = {call.call_id: call.name for m in request.messages for call in m.tool_calls}
    system: list[dict[str, Any]] = []
    contents: list[dict[str, Any]] = []
    for message in request.messages:
        parts = _parts(message, names)
        if message.role is Role.SYSTEM:
            system += parts
            continue
        role = "model" if message.role is Role.ASSISTANT else "user"
        if not contents and role == "model":
            contents.append({"role": "user", "parts": [{"text": "(no message)"}]})
        if contents and contents[-1]["role"] == role:
            contents[-1]["parts"] += parts
        else:
            contents.append({"role": role, "parts": parts})
    if not contents:
        contents.append({"role": "user", "parts": [{"text": "(no message)"}]})
    if request.tail:
        newest = next((c for c in reversed(contents) if c["role"] == "user"), contents[-1])
        newest["parts"].append({"text": request.tail})
    wire: dict[str, Any] = {"contents": contents}
    if system:
        wire["systemInstruction"] = {"parts": system}
    if request.tools:
        declared = [
            {
                "name": tool.name,
                "description": tool.description,
                "parametersJsonSchema": dict(tool.parameters),
            }
            for tool in request.tools
        ]
        wire["tools"] = [{"functionDeclarations": declared}]
    return wire


def reply_from(document: Mapping[str, Any], *, taken: Collection[str] = ()) -> Reply:
    """The reply in the first candidate. Raises `EngineGarbled` if this is not a response.

    For a blocked prompt the text is empty and `finish` has the reason; "length" means that the text
    was cut off.
    """
    candidates = objects(document.get("candidates"))
    blocked = object_of(document.get("promptFeedback")).get("blockReason")
    if not candidates and not blocked:
        raise EngineGarbled("the answer has no `candidates`, so it is not of generateContent")
    first = candidates[0] if candidates else {"finishReason": blocked}
    said: list[str] = []
    calls: list[tuple[str, str, str]] = []
    for part in objects(object_of(first.get("content")).get("parts")):
        called = part.get("functionCall")
        if isinstance(called, dict):
            arguments = json.dumps(object_of(called.get("args")), ensure_ascii=False)
            name = text_of(called.get("name"))
            calls.append((text_of(called.get("id")), name, text_of(arguments)))
        elif not part.get("thought"):
            said.append(text_of(part.get("text")))
    reason = text_of(first.get("finishReason"))
    return Reply(
        text="".join(said),
        tool_calls=minted(calls, taken),
        usage=usage_from(document.get("usageMetadata")),
        finish=_FINISH.get(reason, reason),
    )


def _parts(message: Message, names: Mapping[str, str]) -> list[dict[str, Any]]:
    if message.role is Role.TOOL:
        answered = {
            "id": message.call_id,
            "name": names.get(message.call_id, "unknown"),
            "response": {"error": message.content}
            if message.is_error
            else result_object(message.content),
        }
        return [{"functionResponse": answered}]
    parts: list[dict[str, Any]] = []
    if message.content or not message.tool_calls:
        parts.append({"text": message.content or "(no message)"})
    for call in message.tool_calls:
        called = {
            "id": call.call_id,
            "name": call.name,
            "args": sendable_object(call.arguments),
        }
        parts.append({"functionCall": called, "thoughtSignature": NO_SIGNATURE})
    return parts
