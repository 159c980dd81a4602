"""Memory's tools in Chat Completions: an answer is one message, and its text one string.

So the place of a call is a number of characters of the text, from its first that is not space, and
a number of the client's calls before it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Any, Final

from pagefault.engine.usage import usage_from
from pagefault.model.kinds import Role
from pagefault.model.request import ToolCall, ToolSpec
from pagefault.proxy.history.history import Json
from pagefault.proxy.wires.pairs import Apart, Cut, OurCall, Pair, Replies, Round, rounds_of
from pagefault.proxy.wires.wire import dumped

_KNOWN: Final = frozenset(
    ("role", "content", "tool_calls", "refusal", "annotations", "audio", "function_call")
)
_CALL: Final = frozenset(("index", "id", "type", "function"))
_GOES_ON: Final = ("tool_calls", "stop", "function_call")


class ChatForm:
    def tools(self, specs: Sequence[ToolSpec]) -> list[Json]:
        return [
            {
                "type": "function",
                "function": {
                    "name": spec.name,
                    "description": spec.description,
                    "parameters": dict(spec.parameters),
                },
            }
            for spec in specs
        ]

    def beside(self, tools: Sequence[Any], ours: Sequence[Any]) -> list[Any]:
        return [*tools, *ours]

    def names(self, tools: Sequence[Any]) -> set[str]:
        told = [one for one in tools if isinstance(one, dict)]
        inner = [one.get("function") or one.get("custom") or one for one in told]
        return {str(one.get("name", "")) for one in inner if isinstance(one, dict)}

    def takes(self, body: Json) -> bool:
        wanted = body.get("response_format")
        is_text = not isinstance(wanted, dict) or wanted.get("type", "text") == "text"
        is_legacy = "functions" in body or "function_call" in body
        is_free = body.get("tool_choice") != "required"
        return is_text and is_free and not is_legacy and body.get("n") in (None, 1)

    def message(self, role: Role, text: str) -> Json:
        return {"role": str(role), "content": text}

    def extent(self, messages: Sequence[Any], at: int) -> tuple[int, int]:
        return at, at + 1

    def taken_apart(self, answer: Sequence[Any], pairs: Sequence[Pair]) -> Apart | None:
        [message] = answer
        text = _text_of(message.get("content"))
        calls = message.get("tool_calls") or []
        if text is None or not isinstance(calls, list):
            return None
        made: list[Any] = []
        begin, lead = 0, len(text) - len(text.lstrip())
        last: Sequence[Pair] = ()
        for end, group in rounds_of(pairs):
            if end is None:
                last = group
                continue
            upto = min(len(text), lead + end.at) if end.at else begin
            made.append(
                {
                    "role": "assistant",
                    "content": text[begin:upto] or None,
                    **group[0].beside,
                    "tool_calls": [_call(pair) for pair in group],
                }
            )
            made += map(_result, group)
            begin = max(begin, upto)
        rest = text[begin:]
        whole = list(calls)
        for number, pair in enumerate(last):
            whole.insert(min(pair.cut.kept_at, len(calls)) + number, _call(pair))
        if rest or whole or not made:
            told = {**message}
            if begin:
                told["content"] = _with_text(message.get("content"), rest)
            if whole:
                told["tool_calls"] = whole
            return Apart(made, [told, *map(_result, last)])
        return Apart(made, [])

    def with_results(self, message: Any, pairs: Sequence[Pair]) -> Any | None:
        return message

    def editor(self, names: Collection[str]) -> ChatEditor:
        return ChatEditor(names)


def _text_of(content: Any) -> str | None:
    """The text of a content that is text; None for any other."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        told = content[0].get("text")
        return told if isinstance(told, str) else None
    return None


def _with_text(content: Any, text: str) -> Any:
    if isinstance(content, list):
        return [{**content[0], "text": text}] if text else None
    return text or None


def _call(pair: Pair) -> Json:
    told = {"name": pair.call.name, "arguments": pair.call.arguments}
    return {"id": pair.call.call_id, "type": "function", **pair.extra, "function": told}


def _result(pair: Pair) -> Json:
    return {"role": "tool", "tool_call_id": pair.call.call_id, "content": pair.result}


class ChatEditor(Replies):
    def __init__(self, names: Collection[str]) -> None:
        super().__init__(names)
        self._text: list[str] = []  # of the whole answer
        self._theirs = 0  # calls of the client's tools, of the whole answer
        self._head: Json | None = None  # the fields that identify the answer

    def _begin(self) -> None:
        super()._begin()
        self._ours: list[Json] = []
        self._cuts: list[Cut] = []
        self._growing: dict[int, Json] = {}  # those that may continue, by the provider's index
        self._places: dict[int, int] = {}  # of the client's calls, by the provider's index
        self._unknown: dict[int, list[Json]] = {}  # whose names are incomplete
        self._extra: dict[str, list[Any]] = {}  # other fields, in pieces
        self._finish = ""
        self._last: Json | None = None  # the chunk that ends the reply
        self._usage_chunk: Json | None = None
        self._is_done = False

    @property
    def _holds(self) -> bool:
        return bool(self._number or self._ours or self._unknown)

    # --- a stream -----------------------------------------------------------------------------

    def feed(self, event: str, data: Json | None, raw: bytes) -> bytes:
        if data is None:
            if b"[DONE]" not in raw:
                return raw
            self._is_done = True
            return b"" if self._holds else raw
        if "error" in data:
            self._is_broken = True
            return raw
        if self._head is None:
            self._head = {name: data.get(name) for name in ("id", "object", "created", "model")}
        if isinstance(data.get("usage"), dict):
            self._usage = data["usage"]
        choices = [one for one in data.get("choices") or () if isinstance(one, dict)]
        if not choices:
            if not self._holds:
                return raw
            if isinstance(data.get("usage"), dict):
                self._usage_chunk = data
                return b""
            return self._written(data)
        [choice] = choices[:1]
        told = choice.get("delta")
        delta = dict(told) if isinstance(told, dict) else {}
        is_changed = self._take_calls(delta)
        self._take_words(delta)
        if choice.get("finish_reason"):
            self._finish = str(choice["finish_reason"])
        if not self._holds and not is_changed:
            return raw
        if self._number:
            delta.pop("role", None)
        if self._finish and choice.get("finish_reason"):
            self._last = {**data, "choices": [{**choice, "delta": {}}]}
        if not (self._number or is_changed or self._last or data.get("usage")):
            return raw
        if not any(value for value in delta.values() if value is not None):
            return b""
        return self._written(
            {**data, "choices": [{**choice, "delta": delta, "finish_reason": None}]}
        )

    def _take_calls(self, delta: Json) -> bool:
        """Take memory's calls out of a delta; returns whether it changed."""
        calls = delta.get("tool_calls")
        if not isinstance(calls, list):
            return False
        passed: list[Json] = []
        for call in calls:
            if isinstance(call, dict):
                passed += self._sorted(call)
        if passed == calls:
            return False
        if passed:
            delta["tool_calls"] = passed
        else:
            del delta["tool_calls"]
        return True

    def _sorted(self, call: Json) -> Iterator[Json]:
        """A piece of a call to pass on, once it is known to be the client's."""
        index = call.get("index") or 0  # some servers number none
        name = _name_in(call)
        ours = self._growing.get(index)
        if ours is not None:
            if not name or call.get("id") in (None, "", ours["id"]):
                _grow(ours, call)
                return
            del self._growing[index]  # some servers give all calls the same number
        elif index in self._places and name in self._names:
            del self._places[index]
        if index not in self._places:
            waiting = self._unknown.setdefault(index, [])
            waiting.append(call)
            name = "".join(map(_name_in, waiting))
            if name in self._names:
                whole: Json = {"id": "", "name": name, "arguments": "", "extra": {}}
                for one in self._unknown.pop(index):
                    _grow(whole, one)
                self._growing[index] = whole
                self._ours.append(whole)
                self._cuts.append(self._cut())
                return
            if any(one.startswith(name) for one in self._names):
                return
            self._has_others = True
            self._places[index] = self._theirs
            self._theirs += 1
            held = self._unknown.pop(index)
        else:
            held = [call]
        place = self._places[index]
        for one in held:
            yield one if (one.get("index") or 0) == place else {**one, "index": place}

    def _take_words(self, delta: Json) -> None:
        if isinstance(delta.get("content"), str):
            self._text.append(delta["content"])
        for name, value in delta.items():
            if name in _KNOWN or not value:
                continue
            pieces = self._extra.setdefault(name, [])
            if not (pieces and isinstance(value, (str, list)) and type(value) is type(pieces[0])):
                pieces.clear()
            pieces.append(value)

    def _written(self, data: Json) -> bytes:
        """A chunk, as one of the whole answer."""
        told = {**data, **(self._head or {})}
        if told.get("usage") is not None:
            told["usage"] = None
        return b"data: " + dumped(told) + b"\n\n"

    def finish(self) -> bytes:
        if not self._holds or self._is_broken:
            return b""
        written = b""
        for (
            held
        ) in self._unknown.values():  # their names never came: the client's, whatever they are
            choice = {"index": 0, "delta": {"tool_calls": held}, "finish_reason": None}
            written += self._written({"choices": [choice]})
        usage = self._total(output=_is_output)
        if self._last is not None:
            [choice] = self._last["choices"]
            told = {**self._last, **(self._head or {})}
            told["choices"] = [{**choice, "finish_reason": self._ending()}]
            if isinstance(told.get("usage"), dict):
                told["usage"] = _total(usage)
            written += b"data: " + dumped(told) + b"\n\n"
        if self._usage_chunk is not None:
            told = {**self._usage_chunk, **(self._head or {}), "usage": _total(usage)}
            written += b"data: " + dumped(told) + b"\n\n"
        return written + (b"data: [DONE]\n\n" if self._is_done else b"")

    def _ending(self) -> str:
        """Why the answer ends, without memory's calls."""
        is_ours_alone = self._ours and not self._has_others and self._finish in _GOES_ON
        return "stop" if is_ours_alone else self._finish

    def failed(self, status: int, message: str) -> bytes:
        told = {"message": message, "type": "server_error", "param": None, "code": "pagefault"}
        return b"data: " + dumped({"error": told}) + b"\n\n"

    # --- one piece ----------------------------------------------------------------------------

    def take(self, document: Json) -> None:
        self._documents.append(document)
        if isinstance(document.get("usage"), dict):
            self._usage = document["usage"]
        choices = document.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(message, dict):
            return
        self._finish, self._is_done = str(choice.get("finish_reason") or ""), True
        calls = message.get("tool_calls")
        self._take_words(message)
        for index, call in enumerate(calls if isinstance(calls, list) else ()):
            list(self._sorted({**call, "index": index}))

    def merged(self) -> Json:
        last = self._documents[-1]
        [choice, *_] = last["choices"]
        message = {**choice["message"]}
        text = "".join(self._text)
        if text:
            message["content"] = text
        if self._theirs:
            message["tool_calls"] = [one for one in message["tool_calls"] if not self._is_ours(one)]
        else:
            message.pop("tool_calls", None)
        told = {**last, "id": self._documents[0].get("id"), "choices": [{**choice}]}
        told["choices"][0] |= {"message": message, "finish_reason": self._ending()}
        if usage := self._total(output=_is_output):
            told["usage"] = _total(usage)
        return told

    def _is_ours(self, call: Any) -> bool:
        return isinstance(call, dict) and _name_in(call) in self._names

    # --- what it says -------------------------------------------------------------------------

    def round(self) -> Round:
        is_whole = self._finish in _GOES_ON and not self._is_broken
        return Round(
            calls=tuple(
                OurCall(ToolCall(call["id"], call["name"], call["arguments"]), cut, call["extra"])
                for call, cut in zip(self._ours, self._cuts, strict=True)
            ),
            has_others=bool(self._has_others or self._unknown),
            end=self._cut(),
            usage=usage_from(self._usage or None),
            is_whole=is_whole,
            extra={name: _joined(pieces) for name, pieces in self._extra.items()},
        )

    def so_far(self) -> list[Any]:
        message: Json = {"role": "assistant", "content": "".join(self._text) or None}
        return [message]

    def _cut(self) -> Cut:
        text = "".join(self._text)
        return Cut(len(text.lstrip()), self._theirs)


def _grow(whole: Json, piece: Json) -> None:
    told = piece.get("function") or {}
    whole["id"] = whole["id"] or str(piece.get("id") or "")
    whole["arguments"] += _arguments(told.get("arguments"))
    whole["extra"] |= {name: value for name, value in piece.items() if name not in _CALL and value}


def _joined(pieces: list[Any]) -> Any:
    """The value of a field that came in pieces, all of one kind: only texts and lists have many."""
    match pieces[0]:
        case str():
            return "".join(pieces)
        case list():
            return list(chain.from_iterable(pieces))
        case value:
            return value


def _name_in(piece: Json) -> str:
    told = piece.get("function") or piece.get("custom") or {}
    return str(told.get("name") or "")


def _arguments(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _is_output(name: str) -> bool:
    return name.startswith("completion_tokens")


def _total(usage: Json) -> Json:
    """With the sum of both sides, if the report has it."""
    if "total_tokens" not in usage:
        return usage
    both = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
    numbers = [one for one in both if isinstance(one, int)]
    return {**usage, "total_tokens": sum(numbers)} if len(numbers) == 2 else usage
