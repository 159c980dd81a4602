"""Chat Completions: calls are fields of the assistant's messages, results are messages of role
tool.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from pagefault.engine.usage import usage_from
from pagefault.model.kinds import Role
from pagefault.proxy.history.history import (
    History,
    Item,
    Json,
    Part,
    begun,
    instructions_in,
    sealed_item,
)
from pagefault.proxy.wires.wire import (
    Answered,
    Unreadable,
    blocks,
    content_text,
    listed,
    returned_text,
    same_json,
    sealed_beside,
)

_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT}
_TEXTS: Final = ("text", "input_text", "output_text", "refusal")


class Chat:
    name = "chat"
    messages = "messages"
    content = "content"

    def takes(self, path: str) -> bool:
        return path.endswith("/chat/completions")

    def addressed(self, body: Json, path: str) -> Json:
        return body

    def model(self, body: Json) -> Any:
        return body.get("model")

    def head(self, body: Json) -> list[Any]:
        return []

    def read(self, body: Json, earlier: History | None = None) -> History:
        messages = listed(body, "messages")
        known, items = begun(earlier, messages)
        for number, message in enumerate(messages[known:], known):
            if not isinstance(message, dict) or not isinstance(message.get("role"), str):
                raise Unreadable("a message without a role")
            role = message["role"]
            if role in ("system", "developer"):
                text = content_text(message.get("content"))
                items.append(Item(part=Part.DRESS, role=Role.SYSTEM, message=number, text=text))
            elif role == "tool":
                items.append(_result(message, number))
            elif role in _ROLES:
                items += _said(message, _ROLES[role], number)
            else:  # of an unknown kind: kept as it is, at its position
                items.append(sealed_item(message, Role.SYSTEM, number))
        tools = body.get("tools")
        return History(
            messages=messages,
            items=items,
            instructions="\n\n".join(instructions_in(items)),
            tools=tools if isinstance(tools, list) else [],
        )

    def put(self, body: Json, messages: Sequence[Any]) -> Json:
        return {**body, "messages": list(messages)}

    def opens_turn(self, message: Any) -> bool:
        return bool(message.get("role") == "user")

    def without_results(self, message: Any, call_ids: Collection[str]) -> Any:
        return message  # a result is a message of its own

    def with_result(self, message: Any, call_id: str, make: Callable[[str], str]) -> Any:
        return {**message, "content": make(content_text(message.get("content")))}

    def binds(self, message: Any) -> bool:
        told = blocks(message.get("content"))
        return bool(message.get("thinking_blocks")) or any(map(_is_thinking, told))

    def with_text(self, message: Any, text: str) -> Any:
        content = message.get("content")
        if isinstance(content, list):
            return {**message, "content": [{"type": "text", "text": text}, *content]}
        return {**message, "content": f"{text}\n\n{content or ''}"}

    def gatherer(self) -> ChatGatherer:
        return ChatGatherer()

    def answer(self, document: Json) -> Answered:
        choices = document.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        message = choice.get("message") if isinstance(choice, dict) else None
        return Answered(
            tuple(_said(message, Role.ASSISTANT, 0)) if isinstance(message, dict) else (),
            usage_from(document.get("usage")),
            complete=isinstance(message, dict),
            under=_cited(message) if isinstance(message, dict) else "",
        )

    def refusal(self, status: int, message: str) -> Json:
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": "pagefault"}}


class ChatGatherer:
    def __init__(self) -> None:
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, Json] = {}
        self._usage: Json | None = None
        self._finished = False
        self._under = ""

    def feed(self, event: str, data: Json) -> None:
        if isinstance(data.get("usage"), dict):
            self._usage = data["usage"]
        for choice in data.get("choices") or ():
            if not isinstance(choice, dict) or choice.get("index", 0) != 0:
                continue  # the client keeps one of several answers; our guess is the first
            delta = choice.get("delta") or {}
            if isinstance(delta.get("content"), str):
                self._text.append(delta["content"])
            if isinstance(delta.get("refusal"), str):
                self._refusal.append(delta["refusal"])
            for call in delta.get("tool_calls") or ():
                self._add(call)
            self._under = self._under or _cited(delta)
            self._finished = self._finished or bool(choice.get("finish_reason"))

    def _add(self, call: Any) -> None:
        if not isinstance(call, dict):
            return
        index = call.get("index", 0)
        whole = self._calls.setdefault(index, {"id": "", "name": "", "arguments": []})
        told = call.get("function") or {}
        whole["id"] = whole["id"] or str(call.get("id") or "")
        whole["name"] = whole["name"] or str(told.get("name") or "")
        whole["arguments"].append(str(told.get("arguments") or ""))

    def answered(self) -> Answered:
        calls = [
            {"id": call["id"], "function": {**call, "arguments": "".join(call["arguments"])}}
            for _, call in sorted(self._calls.items())
        ]
        refusal = "".join(self._refusal)
        message = {"content": "".join(self._text), "refusal": refusal, "tool_calls": calls}
        return Answered(
            tuple(_said(message, Role.ASSISTANT, 0)),
            usage_from(self._usage),
            complete=self._finished,
            under=self._under,
        )


def _cited(message: Json) -> str:
    """What a model that searches by itself cites: its answer has no more of what it looked into."""
    return "web_search" if message.get("annotations") else ""


def _said(message: Json, role: Role, number: int) -> list[Item]:
    items: list[Item] = []
    for block in blocks(message.get("content")):
        text = block.get("text", block.get("refusal"))
        if block.get("type") in _TEXTS and isinstance(text, str):
            under = _cited(message) if role is Role.ASSISTANT else ""
            items.append(Item(part=Part.TEXT, role=role, message=number, text=text, under=under))
        elif _is_thinking(block):
            items.append(Item(part=Part.DRESS, role=role, message=number))
        else:
            items.append(sealed_item(block, role, number))
    refusal = message.get("refusal")
    if isinstance(refusal, str):
        items.append(Item(part=Part.TEXT, role=role, message=number, text=refusal))
    for call in message.get("tool_calls") or ():
        told = call.get("function") or call.get("custom") or {}
        arguments = told.get("arguments", told.get("input", ""))
        items.append(
            Item(
                part=Part.CALL,
                role=Role.ASSISTANT,
                message=number,
                text=same_json(str(arguments)),
                name=str(told.get("name", "")),
                call_id=str(call.get("id", "")),
            )
        )
    return items


def _is_thinking(block: Json) -> bool:
    return block.get("type") in ("thinking", "redacted_thinking", "reasoning")


def _result(message: Json, number: int) -> Item:
    return Item(
        part=Part.RESULT,
        role=Role.TOOL,
        message=number,
        text=returned_text(message.get("content")),
        call_id=str(message.get("tool_call_id", "")),
        sealed=sealed_beside(message.get("content")),
    )
