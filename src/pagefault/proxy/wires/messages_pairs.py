"""Memory's tools in Messages: an answer is one message of blocks.

The results of a reply's calls come together at the beginning of the next message. So if the
client's tools were called too, memory's results go into the message with which the client answers.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any, Final

from pagefault.engine.usage import usage_from
from pagefault.model.kinds import Role
from pagefault.model.request import ToolCall, ToolSpec
from pagefault.proxy.history.history import CACHE_MARKS, Json
from pagefault.proxy.wires.messages import Pieces
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
from pagefault.proxy.wires.wire import whole_number

_THINKING: Final = ("thinking", "redacted_thinking")
_SAID: Final = {
    "text": ("type", "text"),
    "thinking": ("type", "thinking", "signature"),
    "redacted_thinking": ("type", "data"),
    "tool_use": ("type", "id", "name", "input"),
}
"""What a provider reads of a block; a client may send more, and not always the same."""
_GOES_ON: Final = ("tool_use", "end_turn")
_INPUT: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class MessagesForm:
    def tools(self, specs: Sequence[ToolSpec]) -> list[Json]:
        return [
            {
                "name": spec.name,
                "description": spec.description,
                "input_schema": dict(spec.parameters),
            }
            for spec in specs
        ]

    def beside(self, tools: Sequence[Any], ours: Sequence[Any]) -> list[Any]:
        return [*tools, *ours]

    def names(self, tools: Sequence[Any]) -> set[str]:
        return {str(one.get("name", "")) for one in tools if isinstance(one, dict)}

    def takes(self, body: Json) -> bool:
        told = body.get("output_config")
        has_format = isinstance(told, dict) and told.get("format")
        choice = body.get("tool_choice")
        must_call = isinstance(choice, dict) and choice.get("type") == "any"
        return not (has_format or must_call or body.get("output_format"))

    def message(self, role: Role, text: str) -> Json:
        return {"role": str(role), "content": [{"type": "text", "text": text}]}

    def extent(self, messages: Sequence[Any], at: int) -> tuple[int, int]:
        return at, at + 1

    def taken_apart(self, answer: Sequence[Any], pairs: Sequence[Pair]) -> Apart | None:
        [message] = answer
        blocks = message.get("content")
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        if not isinstance(blocks, list) or not all(isinstance(one, dict) for one in blocks):
            return None
        units = [one.get("type") not in _THINKING for one in blocks]
        replies = cut_up(units, blocks, pairs)
        made: list[Any] = []
        rounds = list(rounds_of(pairs))
        for told, (end, group) in zip(replies, rounds, strict=False):
            content = [_call(one) if isinstance(one, Pair) else _normal(one) for one in told]
            if end is None:
                return Apart(made, [{**message, "content": content}])
            made.append({"role": "assistant", "content": content})
            made.append({"role": "user", "content": [_result(pair) for pair in group]})
        return Apart(made, [{**message, "content": replies[-1]}] if replies[-1] else [])

    def with_results(self, message: Any, pairs: Sequence[Pair]) -> Any | None:
        if message.get("role") != "user":
            return None
        own = message.get("content")
        told = [{"type": "text", "text": own}] if isinstance(own, str) else list(own or ())
        results = [n for n, one in enumerate(told, start=1) if _is_result(one)]
        at = max(results, default=0)
        return {**message, "content": [*told[:at], *map(_result, pairs), *told[at:]]}

    def editor(self, names: Collection[str]) -> MessagesEditor:
        return MessagesEditor(names)


def _is_result(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _normal(block: Json) -> Json:
    said = _SAID.get(str(block.get("type")))
    if said is None or block.get("citations"):
        return block
    marks = {name: value for name, value in block.items() if name in CACHE_MARKS}
    return {name: block[name] for name in said if name in block} | marks


def _call(pair: Pair) -> Json:
    return {
        "type": "tool_use",
        **pair.extra,
        "id": pair.call.call_id,
        "name": pair.call.name,
        "input": pair.arguments,
    }


def _result(pair: Pair) -> Json:
    return {"type": "tool_result", "tool_use_id": pair.call.call_id, "content": pair.result}


class MessagesEditor(Replies):
    def __init__(self, names: Collection[str]) -> None:
        super().__init__(names)
        self._blocks: list[Json] = []  # of the whole answer, as the client has it

    def _begin(self) -> None:
        super()._begin()
        self._places: dict[int, int] = {}  # of the client's blocks, by the provider's index
        self._ours: dict[int, Json] = {}
        self._cuts: dict[int, Cut] = {}
        self._pieces: defaultdict[int, Pieces] = defaultdict(Pieces)  # of open blocks
        self._stop = ""
        self._last: Json | None = None  # the event with the reason why the reply ends
        self._is_done = False

    @property
    def _holds(self) -> bool:
        return bool(self._number or self._ours)

    # --- a stream -----------------------------------------------------------------------------

    def feed(self, event: str, data: Json | None, raw: bytes) -> bytes:
        if data is None:
            return raw
        index = whole_number(data.get("index"))
        kind = data.get("type", event)
        match kind:
            case "message_start":
                told = data.get("message")
                self._usage = dict((told if isinstance(told, dict) else {}).get("usage") or {})
                return b"" if self._number else raw
            case "content_block_start":
                return self._start(index, data.get("content_block"), data, raw)
            case "content_block_delta" | "content_block_stop":
                if index in self._ours:
                    self._add(index, self._ours[index], data.get("delta"))
                    return b""
                place = self._places.get(index)
                if place is None:
                    return raw
                self._add(index, self._blocks[place], data.get("delta"))
                if kind == "content_block_stop":
                    self._close(index, self._blocks[place])
                return raw if place == index else sse(event, {**data, "index": place})
            case "message_delta":
                self._stop = str((data.get("delta") or {}).get("stop_reason") or self._stop)
                more = data.get("usage")
                if isinstance(more, dict):
                    self._usage |= {name: n for name, n in more.items() if n is not None}
                self._last = data
                return b"" if self._holds else raw
            case "message_stop":
                self._is_done = True
                return b"" if self._holds else raw
            case "error":
                self._is_broken = True
        return raw

    def _start(self, index: int, told: Any, data: Json, raw: bytes) -> bytes:
        block = dict(told) if isinstance(told, dict) else {}
        if block.get("type") == "tool_use" and block.get("name") in self._names:
            self._ours[index], self._cuts[index] = block, self._cut()
            return b""
        self._has_others = self._has_others or block.get("type") == "tool_use"
        place = self._places[index] = len(self._blocks)
        self._blocks.append(block)
        return raw if place == index else sse("content_block_start", {**data, "index": place})

    def _add(self, index: int, block: Json, delta: Any) -> None:
        if not isinstance(delta, dict):
            return
        if delta.get("type") == "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]
        else:
            self._pieces[index].add(delta)

    def _close(self, index: int, block: Json) -> None:
        told, written = self._pieces.pop(index, Pieces()).joined(block)
        block |= told
        if written:
            try:
                block["input"] = json.loads(written)
            except (ValueError, RecursionError):
                block["input"] = {}

    def finish(self) -> bytes:
        if not self._holds or self._is_broken:
            return b""
        written = b""
        if self._last is not None:
            delta = {**(self._last.get("delta") or {}), "stop_reason": self._ending()}
            usage = self._total(output=_is_output)
            told = self._last.get("usage")
            known = {*_INPUT, "output_tokens", *(told if isinstance(told, dict) else ())}
            usage = {name: value for name, value in usage.items() if name in known}
            written = sse("message_delta", {**self._last, "delta": delta, "usage": usage})
        return written + (sse("message_stop", {"type": "message_stop"}) if self._is_done else b"")

    def _ending(self) -> str:
        """Why the answer ends, without memory's calls."""
        is_ours_alone = self._ours and not self._has_others and self._stop in _GOES_ON
        return "end_turn" if is_ours_alone else self._stop

    def failed(self, status: int, message: str) -> bytes:
        kind = {429: "rate_limit_error", 529: "overloaded_error"}.get(status, "api_error")
        told = {"type": "error", "error": {"type": kind, "message": f"pagefault: {message}"}}
        return sse("error", told)

    # --- one piece ----------------------------------------------------------------------------

    def take(self, document: Json) -> None:
        self._documents.append(document)
        usage = document.get("usage")
        self._usage = dict(usage) if isinstance(usage, dict) else {}
        self._stop = str(document.get("stop_reason") or "")
        self._is_done = bool(self._stop)
        content = document.get("content")
        for index, block in enumerate(content if isinstance(content, list) else ()):
            if isinstance(block, dict):
                self._start(index, block, {}, b"")

    def merged(self) -> Json:
        first, last = self._documents[0], self._documents[-1]
        told = {**last, "id": first.get("id"), "content": self._blocks}
        return told | {"stop_reason": self._ending(), "usage": self._total(output=_is_output)}

    # --- what it says -------------------------------------------------------------------------

    def round(self) -> Round:
        for index, place in self._places.items():  # whose end was left out
            self._close(index, self._blocks[place])
        calls = []
        for index, block in sorted(self._ours.items()):
            _, written = self._pieces[index].joined(block)
            told = written or json.dumps(block.get("input") or {}, ensure_ascii=False)
            call = ToolCall(str(block.get("id") or ""), str(block.get("name")), told)
            extra = {n: v for n, v in block.items() if n not in _SAID["tool_use"] and v}
            calls.append(OurCall(call, self._cuts[index], extra))
        return Round(
            calls=tuple(calls),
            has_others=self._has_others,
            end=self._cut(),
            usage=usage_from(self._usage or None),
            is_whole=self._stop in _GOES_ON and self._is_done and not self._is_broken,
        )

    def so_far(self) -> list[Any]:
        return [{"role": "assistant", "content": list(self._blocks)}]

    def _cut(self) -> Cut:
        kept = sum(block.get("type") not in _THINKING for block in self._blocks)
        return Cut(len(self._blocks), kept)


def _is_output(name: str) -> bool:
    return name.startswith("output_tokens")
