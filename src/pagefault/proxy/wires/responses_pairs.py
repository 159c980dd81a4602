"""Memory's tools in Responses: an answer is a list of output items, with calls and reasoning among
them.

Results are items of their own, so memory's come after the reply that called, wherever the client's
are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from pagefault.engine.usage import usage_from
from pagefault.model.kinds import Role
from pagefault.model.request import ToolCall, ToolSpec
from pagefault.proxy.history.history import Json
from pagefault.proxy.history.readable import is_answer, link_of
from pagefault.proxy.wires.pairs import (
    Apart,
    Cut,
    OurCall,
    Pair,
    Replies,
    Round,
    cut_up,
    rounds_of,
    sse,
)
from pagefault.proxy.wires.wire import blocks, instructs, whole_number

_ENDS: Final = ("response.completed", "response.incomplete", "response.failed")
_BEGINS: Final = ("response.created", "response.in_progress", "response.queued")
_FUNCTIONS: Final = ("function_call", "custom_tool_call")
_CALL: Final = frozenset(("type", "id", "call_id", "name", "arguments", "status"))


class ResponsesForm:
    def tools(self, specs: Sequence[ToolSpec]) -> list[Json]:
        return [
            {
                "type": "function",
                "name": spec.name,
                "description": spec.description,
                "parameters": dict(spec.parameters),
                "strict": False,
            }
            for spec in specs
        ]

    def beside(self, tools: Sequence[Any], ours: Sequence[Any]) -> list[Any]:
        return [*tools, *ours]

    def names(self, tools: Sequence[Any]) -> set[str]:
        return {str(one.get("name", "")) for one in tools if isinstance(one, dict)}

    def takes(self, body: Json) -> bool:
        told = body.get("text")
        wanted = told.get("format") if isinstance(told, dict) else None
        is_text = not isinstance(wanted, dict) or wanted.get("type", "text") == "text"
        # A client that continues by the id of a stored answer may take that from the stream's
        # beginning, which is the first reply's: what came after it would be missing.
        is_kept = bool(body.get("stream")) and body.get("store") is not False
        is_free = body.get("tool_choice") != "required"
        return is_text and is_free and not is_kept and not body.get("background")

    def message(self, role: Role, text: str) -> Json:
        kind = "output_text" if role is Role.ASSISTANT else "input_text"
        content = [{"type": kind, "text": text}]
        return {"type": "message", "role": str(role), "content": content}

    def extent(self, messages: Sequence[Any], at: int) -> tuple[int, int]:
        first, last = at, at + 1
        while first and messages[first - 1].get("type") == "reasoning":
            first -= 1
        asked: dict[str, Any] = {}
        while last < len(messages):
            before, item = messages[last - 1], messages[last]
            asked[link_of(before)] = before
            if not _is_output(item, asked.get(link_of(item), before)):
                break
            last += 1
        return first, last

    def taken_apart(self, answer: Sequence[Any], pairs: Sequence[Pair]) -> Apart | None:
        units = [one.get("type") != "reasoning" for one in answer]
        replies = cut_up(units, answer, pairs)
        made: list[Any] = []
        rounds = list(rounds_of(pairs))
        for told, (end, group) in zip(replies, rounds, strict=False):
            results = list(map(_result, group))
            if end is None:
                last = [_call(one) if isinstance(one, Pair) else one for one in told]
                return Apart(made, [*last, *results])
            made += [_call(one) if isinstance(one, Pair) else _normal(one) for one in told]
            made += results
        return Apart(made, replies[-1])

    def with_results(self, message: Any, pairs: Sequence[Pair]) -> Any | None:
        return message

    def editor(self, names: Collection[str]) -> ResponsesEditor:
        return ResponsesEditor(names)


def _is_output(item: Any, call: Any) -> bool:
    """Whether an item is part of a model's answer; `call` is the call that it answers, if any."""
    if str(item.get("type") or "message") == "message":
        return bool(item.get("role") == "assistant")
    if not is_answer(item):
        return not instructs(item)
    where = call.get("environment")  # that of a shell; null if the client runs it
    is_hosted = isinstance(where, dict) and where.get("type") != "local"
    return is_hosted or call.get("execution") == "server" or call.get("type") == "program"


def _waits(items: Sequence[Json]) -> bool:
    """Whether there are calls for the client to answer. A provider answers its own at once."""
    told = {link_of(one) for one in items if is_answer(one)}
    asked = [one for one in items if not (is_answer(one) or one.get("approval_request_id"))]
    waiting = any(link and link not in told for link in map(link_of, asked))
    return waiting or any(one.get("type") in _FUNCTIONS for one in asked)  # whose ids may be empty


def _normal(item: Json) -> Json:
    """What a provider reads of an item; a client may send more of it, and not always the same."""
    match item.get("type", "message"):
        case "reasoning" if item.get("encrypted_content"):
            told = ("type", "summary", "content", "encrypted_content")
            return {name: item[name] for name in told if item.get(name) is not None}
        case "message":
            content = [
                {"type": "output_text", "text": one["text"]}
                if one.get("type") in ("output_text", "text") and not one.get("annotations")
                else one
                for one in blocks(item.get("content"))
            ]
            return {"type": "message", "role": "assistant", "content": content}
    return item


def _call(pair: Pair) -> Json:
    told = {"call_id": pair.call.call_id, "name": pair.call.name, "arguments": pair.call.arguments}
    return {"type": "function_call", **pair.extra, **told}


def _result(pair: Pair) -> Json:
    return {
        "type": "function_call_output",
        "call_id": pair.call.call_id,
        "output": pair.result,
    }


class ResponsesEditor(Replies):
    def __init__(self, names: Collection[str]) -> None:
        super().__init__(names)
        self._items: list[Json] = []  # of the whole answer, as the client has it
        self._sequence = 0  # of the next event
        self._head: Json | None = None

    def _begin(self) -> None:
        super()._begin()
        self._places: dict[int, int] = {}  # of the client's items, by the provider's index
        self._ours: dict[int, Json] = {}
        self._cuts: dict[int, Cut] = {}
        self._last: Json | None = None  # the event that ends the reply

    @property
    def _holds(self) -> bool:
        return bool(self._number or self._ours)

    # --- a stream -----------------------------------------------------------------------------

    def feed(self, event: str, data: Json | None, raw: bytes) -> bytes:
        if data is None:
            return raw
        kind = str(data.get("type", event))
        if kind in _BEGINS:
            whole = data.get("response")
            if self._head is None and isinstance(whole, dict):
                self._head = whole
            return b"" if self._number else self._passed(kind, data, raw)
        if kind in _ENDS:
            whole = data.get("response")
            whole = whole if isinstance(whole, dict) else {}
            self._usage = whole["usage"] if isinstance(whole.get("usage"), dict) else {}
            self._last = data
            self._take_left_out(whole)
            return b"" if self._holds else self._passed(kind, data, raw)
        if kind == "error":
            self._is_broken = True
            return raw
        if "output_index" not in data:
            return self._passed(kind, data, raw)
        index = whole_number(data.get("output_index"))
        item = data.get("item")
        if isinstance(item, dict) and index not in self._ours and index not in self._places:
            self._place(index, item)
        if index in self._ours:
            if kind == "response.output_item.done" and isinstance(item, dict):
                self._ours[index] = item
            return b""
        place = self._places.get(index, index)
        if kind == "response.output_item.done" and isinstance(item, dict):
            self._items[place] = item
        if place != index and self._holds:
            data, raw = {**data, "output_index": place}, b""
        return self._passed(kind, data, raw)

    def _place(self, index: int, item: Json) -> None:
        if item.get("type") == "function_call" and item.get("name") in self._names:
            self._ours[index], self._cuts[index] = item, self._cut()
            return
        self._places[index] = len(self._items)
        self._items.append(item)

    def _take_left_out(self, whole: Json) -> None:
        """Items that only the last event has."""
        output = whole.get("output")
        for index, item in enumerate(output if isinstance(output, list) else ()):
            if isinstance(item, dict) and index not in self._ours and index not in self._places:
                self._place(index, item)

    def _passed(self, kind: str, data: Json, raw: bytes) -> bytes:
        """An event, numbered among those that pass, and without memory's tools in it. `raw` is it
        as it came, b"" if it was changed.
        """
        number, told = self._sequence, data.get("sequence_number")
        if not self._holds and isinstance(told, int):
            number = told  # the provider's number, as long as nothing was held back
        self._sequence = number + 1
        if self._holds and data.get("sequence_number", number) != number:
            data, raw = {**data, "sequence_number": number}, b""
        whole = data.get("response")
        left = self.bare(whole) if isinstance(whole, dict) else whole
        if left is not whole:
            data, raw = {**data, "response": left}, b""
        return raw or sse(kind, data)

    def bare(self, document: Json) -> Json:
        tools = document.get("tools")
        if not isinstance(tools, list):
            return document
        left = [t for t in tools if not (isinstance(t, dict) and t.get("name") in self._names)]
        return document if len(left) == len(tools) else {**document, "tools": left}

    def finish(self) -> bytes:
        if not self._holds or self._is_broken or self._last is None:
            return b""
        whole = self._last.get("response")
        whole = self._as_one(whole if isinstance(whole, dict) else {}, self._head)
        kind = str(self._last.get("type"))
        return self._passed(kind, {**self._last, "response": whole}, b"")

    def _as_one(self, last: Json, first: Json | None) -> Json:
        begun: Json = first or {}
        named: Json = {name: begun[name] for name in ("id", "created_at") if name in begun}
        told: Json = {**self.bare(last), **named, "output": self._items}
        usage = self._total(output=lambda name: name.startswith("output_tokens"))
        if usage:
            both = (usage.get("input_tokens"), usage.get("output_tokens"))
            numbers = [one for one in both if isinstance(one, int)]
            if "total_tokens" in usage and len(numbers) == 2:
                usage["total_tokens"] = sum(numbers)
            told["usage"] = usage
        return told

    def failed(self, status: int, message: str) -> bytes:
        told = {"code": "rate_limit_exceeded" if status == 429 else "server_error"}
        told["message"] = message
        whole = {**(self._head or {}), "status": "failed", "error": told, "output": self._items}
        told_last = {"type": "response.failed", "response": whole, "sequence_number": 0}
        return self._passed("response.failed", told_last, b"")

    # --- one piece ----------------------------------------------------------------------------

    def take(self, document: Json) -> None:
        self._documents.append(document)
        usage = document.get("usage")
        self._usage = usage if isinstance(usage, dict) else {}
        self._last = {"type": f"response.{document.get('status')}", "response": document}
        self._take_left_out(document)

    def merged(self) -> Json:
        return self._as_one(self._documents[-1], None)

    # --- what it says -------------------------------------------------------------------------

    def round(self) -> Round:
        calls = []
        for index, item in sorted(self._ours.items()):
            told = str(item.get("arguments") or "")
            call = ToolCall(str(item.get("call_id") or ""), str(item.get("name")), told)
            extra = {n: v for n, v in item.items() if n not in _CALL and v}
            calls.append(OurCall(call, self._cuts[index], extra))
        is_whole = self._last is not None and self._last.get("type") == "response.completed"
        return Round(
            calls=tuple(calls),
            has_others=_waits(self._items),
            end=self._cut(),
            usage=usage_from(self._usage or None),
            is_whole=is_whole and not self._is_broken,
        )

    def so_far(self) -> list[Any]:
        return list(self._items)

    def _cut(self) -> Cut:
        kept = sum(item.get("type") != "reasoning" for item in self._items)
        return Cut(len(self._items), kept)
