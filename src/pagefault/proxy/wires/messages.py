"""Messages: blocks of content, tool results within user messages, signed thinking."""

from __future__ import annotations

import json
from collections import defaultdict
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
    essence,
    sealed_item,
    short_id,
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
    whole_number,
)

_THINKING: Final = ("thinking", "redacted_thinking")
_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT}
_KINDS_OF_ERROR: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    504: "timeout_error",
}


class Messages:
    name = "messages"
    messages = "messages"
    content = "content"

    def takes(self, path: str) -> bool:
        return path.endswith("/messages")

    def addressed(self, body: Json, path: str) -> Json:
        return body

    def model(self, body: Json) -> Any:
        return body.get("model")

    def head(self, body: Json) -> list[Any]:
        return [body.get("system")]

    def read(self, body: Json, earlier: History | None = None) -> History:
        messages = listed(body, "messages")
        if body.get("compaction"):
            raise Unreadable("it asks the provider to compact all that it sends")
        known, items = begun(earlier, messages)
        for number, message in enumerate(messages[known:], known):
            if not isinstance(message, dict) or not isinstance(message.get("role"), str):
                raise Unreadable("a message without a role")
            items += _items(message, number)
        tools = body.get("tools")
        return History(
            messages=messages,
            items=items,
            instructions=content_text(body.get("system")),
            tools=tools if isinstance(tools, list) else [],
            # The provider keeps a thread with its tools, from the request that creates it: memory's
            # would be called in answers to requests that do not name them.
            has_all=not body.get("thread"),
        )

    def put(self, body: Json, messages: Sequence[Any]) -> Json:
        return {**body, "messages": list(messages)}

    def opens_turn(self, message: Any) -> bool:
        told = blocks(message.get("content"))
        if message.get("role") != "user":
            return False
        return not any(map(_is_result, told)) or any(map(_is_said, told))

    def without_results(self, message: Any, call_ids: Collection[str]) -> Any:
        told = [one for one in message["content"] if _call_of(one) not in call_ids]
        return {**message, "content": told}

    def with_result(self, message: Any, call_id: str, make: Callable[[str], str]) -> Any:
        told = [
            {**one, "content": make(content_text(one.get("content")))}
            if _call_of(one) == call_id
            else one
            for one in message["content"]
        ]
        return {**message, "content": told}

    def binds(self, message: Any) -> bool:
        return any(one.get("type") in _THINKING for one in blocks(message.get("content")))

    def with_text(self, message: Any, text: str) -> Any:
        own = message.get("content")
        told = [{"type": "text", "text": own}] if isinstance(own, str) else list(own or ())
        # A provider wants the results first, right after the calls that they answer.
        at = max((n for n, block in enumerate(told, start=1) if _is_result(block)), default=0)
        return {**message, "content": [*told[:at], {"type": "text", "text": text}, *told[at:]]}

    def gatherer(self) -> MessagesGatherer:
        return MessagesGatherer()

    def answer(self, document: Json) -> Answered:
        items = _items({"role": "assistant", "content": document.get("content")}, 0)
        usage = usage_from(document.get("usage"))
        return Answered(tuple(items), usage, complete=bool(document.get("stop_reason")))

    def refusal(self, status: int, message: str) -> Json:
        kind = _KINDS_OF_ERROR.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": f"pagefault: {message}"}}


class Pieces:
    """The deltas of a block, joined once: to join each would copy all before it."""

    def __init__(self) -> None:
        self._of: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, delta: Json) -> None:
        """Take a delta: of any kind, it extends the field of its name."""
        for name, more in delta.items():
            if name != "type" and isinstance(more, str):
                self._of[name].append(more)

    def joined(self, begun: Json) -> tuple[Json, str]:
        """The block that began so, and the JSON that a call's input was written in, or ""."""
        told = {}
        for name, pieces in self._of.items():
            before = begun.get(name)
            told[name] = "".join([before, *pieces] if isinstance(before, str) else pieces)
        written = told.pop("partial_json", "")
        return {**begun, **told}, written


class MessagesGatherer:
    def __init__(self) -> None:
        self._blocks: dict[int, Json] = {}
        self._pieces: dict[int, Pieces] = {}  # of their fields
        self._usage: Json = {}
        self._stop = ""

    def feed(self, event: str, data: Json) -> None:
        index = whole_number(data.get("index"))
        match data.get("type", event):
            case "message_start":
                message = data.get("message") or {}
                self._usage = dict(message.get("usage") or {})
            case "content_block_start":
                self._blocks[index] = dict(data.get("content_block") or {})
                self._pieces[index] = Pieces()
            case "content_block_delta" if index in self._blocks:
                self._pieces[index].add(data.get("delta") or {})
            case "message_delta":
                self._stop = str((data.get("delta") or {}).get("stop_reason") or self._stop)
                self._usage |= {k: v for k, v in (data.get("usage") or {}).items() if v}

    def answered(self) -> Answered:
        content = []
        for index, started in sorted(self._blocks.items()):
            block, written = self._pieces[index].joined(started)
            if written:
                try:
                    block["input"] = json.loads(written)
                except ValueError:
                    block["input"] = written
            content.append(block)
        return Messages().answer(
            {"content": content, "usage": self._usage or None, "stop_reason": self._stop}
        )


def _is_result(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _call_of(block: Any) -> str | None:
    """The call that a block answers, if it is a result."""
    return short_id(str(block.get("tool_use_id", ""))) if _is_result(block) else None


def _is_said(block: Json) -> bool:
    """Whether a block has the user's words, not only a client's reminders."""
    return block.get("type") == "text" and bool(essence(str(block.get("text") or "")))


def _items(message: Json, number: int) -> list[Item]:
    if message["role"] == "system":  # these move from request to request
        text = content_text(message.get("content"))
        return [Item(part=Part.DRESS, role=Role.SYSTEM, message=number, text=text)]
    role = _ROLES.get(message["role"])
    if role is None:  # an unknown role
        return [sealed_item(message, Role.SYSTEM, number)]
    return [_item(block, role, number) for block in blocks(message.get("content"))]


def _item(block: Json, role: Role, number: int) -> Item:
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return Item(part=Part.TEXT, role=role, message=number, text=block["text"])
    if kind in _THINKING:
        return Item(part=Part.DRESS, role=role, message=number)
    if kind == "tool_use":
        return Item(
            part=Part.CALL,
            role=role,
            message=number,
            text=same_json(json.dumps(block.get("input"))),
            name=str(block.get("name", "")),
            call_id=str(block.get("id", "")),
        )
    if kind == "tool_result":
        content = block.get("content")
        return Item(
            part=Part.RESULT,
            role=Role.TOOL,
            message=number,
            text=returned_text(content),
            call_id=str(block.get("tool_use_id", "")),
            sealed=sealed_beside(content),
        )
    return sealed_item(block, role, number)
