"""Responses: a list in which calls, results and sealed reasoning are items of their own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
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
from pagefault.proxy.history.readable import link_of
from pagefault.proxy.wires.wire import (
    Answered,
    Unreadable,
    blocks,
    content_text,
    instructs,
    listed,
    returned_text,
    same_json,
    sealed_beside,
    whole_number,
)

_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT}
_TEXTS: Final = ("input_text", "output_text", "text", "refusal")
_CALLS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS: Final = ("function_call_output", "custom_tool_call_output")


class Responses:
    name = "responses"
    messages = "input"
    content = "content"

    def takes(self, path: str) -> bool:
        return path.endswith("/responses")

    def addressed(self, body: Json, path: str) -> Json:
        return body

    def model(self, body: Json) -> Any:
        return body.get("model")

    def head(self, body: Json) -> list[Any]:
        return [body.get("instructions")]

    def read(self, body: Json, earlier: History | None = None) -> History:
        if isinstance(body.get("input"), str):
            body = {**body, "input": [{"role": "user", "content": body["input"]}]}
        messages = listed(body, "input")
        known, items = begun(earlier, messages)
        for number, message in enumerate(messages[known:], known):
            if not isinstance(message, dict):
                raise Unreadable("an item that is no object")
            items += _items(message, number)
        instructions = [content_text(body.get("instructions")), *instructions_in(items)]
        tools = body.get("tools")
        return History(
            messages=messages,
            items=items,
            instructions="\n\n".join(text for text in instructions if text),
            tools=tools if isinstance(tools, list) else [],
            has_all=not (body.get("previous_response_id") or body.get("conversation")),
        )

    def put(self, body: Json, messages: Sequence[Any]) -> Json:
        return {**body, "input": list(messages)}

    def opens_turn(self, message: Any) -> bool:
        return bool(message.get("role") == "user" and message.get("type", "message") == "message")

    def without_results(self, message: Any, call_ids: Collection[str]) -> Any:
        return message  # a result is a message of its own

    def with_result(self, message: Any, call_id: str, make: Callable[[str], str]) -> Any:
        return {**message, "output": make(content_text(message.get("output")))}

    def binds(self, message: Any) -> bool:
        return False  # sealed reasoning is bound to what follows it, which stays

    def with_text(self, message: Any, text: str) -> Any:
        content = message.get("content")
        if isinstance(content, list):
            return {**message, "content": [{"type": "input_text", "text": text}, *content]}
        return {**message, "content": f"{text}\n\n{content or ''}"}

    def gatherer(self) -> ResponsesGatherer:
        return ResponsesGatherer()

    def answer(self, document: Json) -> Answered:
        output = document.get("output")
        items = [
            item
            for message in (output if isinstance(output, list) else [])
            if isinstance(message, dict)
            for item in _items(message, 0)
        ]
        return Answered(
            tuple(items),
            usage_from(document.get("usage")),
            complete=document.get("status") == "completed",
        )

    def refusal(self, status: int, message: str) -> Json:
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": "pagefault"}}


class ResponsesGatherer:
    """The last event holds the whole answer; if its output is left out, the earlier ones do."""

    def __init__(self) -> None:
        self._done: dict[int, Json] = {}
        self._whole: Json = {}

    def feed(self, event: str, data: Json) -> None:
        match data.get("type", event):
            case "response.output_item.done" if isinstance(data.get("item"), dict):
                self._done[whole_number(data.get("output_index"))] = data["item"]
            case "response.completed" | "response.incomplete" | "response.failed":
                whole = data.get("response")
                self._whole = whole if isinstance(whole, dict) else {}

    def answered(self) -> Answered:
        output = self._whole.get("output") or [item for _, item in sorted(self._done.items())]
        return Responses().answer({**self._whole, "output": output})


def _items(message: Json, number: int) -> list[Item]:
    kind = str(message.get("type", "message"))
    if kind == "message" or instructs(message):  # such as the one with the tools of Codex
        return _said(message, number)
    if kind in _CALLS:
        arguments = message.get(_CALLS[kind], "")
        return [
            Item(
                part=Part.CALL,
                role=Role.ASSISTANT,
                message=number,
                text=same_json(str(arguments)),
                name=str(message.get("name", "")),
                call_id=str(message.get("call_id", "")),
            )
        ]
    if kind in _RESULTS:
        output = message.get("output")
        return [
            Item(
                part=Part.RESULT,
                role=Role.TOOL,
                message=number,
                text=returned_text(output),
                call_id=str(message.get("call_id", "")),
                sealed=sealed_beside(output),
            )
        ]
    if kind == "reasoning":
        return [Item(part=Part.DRESS, role=Role.ASSISTANT, message=number)]
    # Compacted histories, calls that the provider serves itself, and what is still to come.
    plain = {name: value for name, value in message.items() if name not in ("id", "status")}
    item = sealed_item(plain, Role.ASSISTANT, number)
    return [replace(item, link=link_of(message), asks_for_summary=kind == "compaction_trigger")]


def _said(message: Json, number: int) -> list[Item]:
    if instructs(message):
        told = content_text(message.get("content"))
        return [Item(part=Part.DRESS, role=Role.SYSTEM, message=number, text=told)]
    role = _ROLES.get(str(message.get("role")))
    if role is None:  # an unknown role
        return [sealed_item(message, Role.SYSTEM, number)]
    items: list[Item] = []
    for block in blocks(message.get("content")):
        text = block.get("text", block.get("refusal"))
        if block.get("type") in _TEXTS and isinstance(text, str):
            items.append(Item(part=Part.TEXT, role=role, message=number, text=text))
        else:
            items.append(sealed_item(block, role, number))
    return items
