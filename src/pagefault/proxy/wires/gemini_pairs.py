"""Memory's tools in generateContent.

A client sends an answer back as one content, or as one for each piece of the stream. So a place is
counted in characters of the text and in other parts; thoughts, and the signature of a text, are
what a client may leave out. The results of a reply's calls stand together in the next content, so
memory's go into the client's.

Of parallel calls only the first is signed, and the provider refuses a turn whose first call is not.
If that is memory's, the client's first call gets its signature, and loses it again where memory's
stands before it. Calls without ids get some that `Gemini.put` removes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, Final

from pagefault.engine.usage import usage_from
from pagefault.model.kinds import Role
from pagefault.model.request import ToolCall, ToolSpec
from pagefault.proxy.history.history import Json
from pagefault.proxy.wires.gemini import Gemini, field_of, made_id, parts_of, spelt
from pagefault.proxy.wires.pairs import (
    Apart,
    Cut,
    OurCall,
    Pair,
    Replies,
    Round,
    place_in,
    rounds_of,
)
from pagefault.proxy.wires.wire import dumped

_DECLARED: Final = "functionDeclarations"
_SIGNED: Final = "thoughtSignature"
_OUTPUT: Final = ("candidatesTokenCount", "thoughtsTokenCount")
_PLAIN: Final = ("text", "thought")
_TOTAL: Final = ("promptTokenCount", "toolUsePromptTokenCount", *_OUTPUT)


class GeminiForm:
    def tools(self, specs: Sequence[ToolSpec]) -> list[Json]:
        declared = [
            {
                "name": spec.name,
                "description": spec.description,
                "parametersJsonSchema": dict(spec.parameters),
            }
            for spec in specs
        ]
        return [{_DECLARED: declared}]

    def beside(self, tools: Sequence[Any], ours: Sequence[Any]) -> list[Any]:
        """In the client's own tool of functions: some models take only one."""
        told = list(tools)
        for at in reversed(range(len(told))):
            theirs = field_of(told[at], _DECLARED)
            if isinstance(theirs, list):
                name = spelt(told[at], _DECLARED)
                told[at] = {**told[at], name: [*theirs, *ours[0][_DECLARED]]}
                return told
        return [*told, *ours]

    def names(self, tools: Sequence[Any]) -> set[str]:
        declared = (field_of(one, _DECLARED) for one in tools)
        told = [one for some in declared if isinstance(some, list) for one in some]
        return {str(one.get("name", "")) for one in told if isinstance(one, dict)}

    def takes(self, body: Json) -> bool:
        """Not if the answer must have a given form or be a call, if several candidates are wanted,
        if arguments come in pieces, or if the request has only the provider's own tools: not every
        model takes both kinds.
        """
        wanted = field_of(body, "generationConfig") or {}
        kind = field_of(wanted, "responseMimeType")
        modalities = field_of(wanted, "responseModalities") or ["TEXT"]
        schemas = ("responseSchema", "responseJsonSchema", "responseFormat")
        is_text = kind in (None, "", "text/plain") and modalities in (["TEXT"], ["text"])
        choice = field_of(field_of(body, "toolConfig"), "functionCallingConfig")
        is_free = field_of(choice, "mode") not in ("ANY", "any")
        has_pieces = field_of(choice, "streamFunctionCallArguments")
        tools = body.get("tools") or []
        has_functions = not tools or any(isinstance(field_of(t, _DECLARED), list) for t in tools)
        is_one = field_of(wanted, "candidateCount") in (None, 1)
        has_form = any(field_of(wanted, one) for one in schemas)
        return is_text and is_free and is_one and has_functions and not (has_form or has_pieces)

    def message(self, role: Role, text: str) -> Json:
        name = "model" if role is Role.ASSISTANT else "user"
        return {"role": name, "parts": [{"text": text}]}

    def extent(self, messages: Sequence[Any], at: int) -> tuple[int, int]:
        first, last = at, at + 1
        while first and _is_models(messages[first - 1]):
            first -= 1
        while last < len(messages) and _is_models(messages[last]):
            last += 1
        return first, last

    def taken_apart(self, answer: Sequence[Any], pairs: Sequence[Pair]) -> Apart | None:
        flat: list[tuple[int, Any]] = []
        for number, content in enumerate(answer):
            flat += [(number, part) for part in content.get("parts") or ()]
        if not all(isinstance(part, dict) for _, part in flat):
            return None
        units = [unit for _, part in flat for unit in _units(part)]
        ends = {place_in(units, cut) for pair in pairs for cut in (pair.cut, pair.end or pair.cut)}
        pieces = _cut_at(flat, ends)
        made: list[Any] = []
        begin = 0
        for end, group in rounds_of(pairs):
            upto = len(units) + 1 if end is None else max(begin, place_in(units, end))
            moved = {pair.extra[_SIGNED] for pair in group if pair.extra.get(_SIGNED)}
            pieces = [(place, n, _unmoved(part, moved)) for place, n, part in pieces]
            told: list[tuple[int, Any]] = []
            at, number = begin, len(answer) - 1
            for pair in group:
                to = min(upto, max(at, place_in(units, pair.cut)))
                told += _between(pieces, at, to)
                number = next((n for place, n, _ in pieces if place >= to), number)
                told.append((number, _call(pair)))
                at = to
            told += _between(pieces, at, upto)
            if end is None:
                return Apart(made, _contents(told, answer))
            made.append({"role": "model", "parts": _joined([part for _, part in told])})
            made.append({"role": "user", "parts": [_result(pair) for pair in group]})
            begin = upto
        return Apart(made, _contents(_between(pieces, begin, len(units) + 1), answer))

    def with_results(self, message: Any, pairs: Sequence[Pair]) -> Any | None:
        if _is_models(message) or not isinstance(message.get("parts", []), list):
            return None
        parts = message.get("parts") or []
        results = (n for n, one in enumerate(parts, start=1) if field_of(one, "functionResponse"))
        at = max(results, default=0)
        return {**message, "parts": [*parts[:at], *map(_result, pairs), *parts[at:]]}

    def editor(self, names: Collection[str]) -> GeminiEditor:
        return GeminiEditor(names)


def _is_models(content: Any) -> bool:
    return isinstance(content, dict) and content.get("role") == "model"


def _units(part: Json) -> list[bool]:
    """Its units, and whether clients always send each back."""
    text = part.get("text")
    if not isinstance(text, str):
        return [True]
    said = [not part.get("thought")] * len(text)
    return [*said, False] if part.keys() - _PLAIN else said


def _cut_at(flat: Sequence[tuple[int, Json]], ends: Collection[int]) -> list[tuple[int, int, Json]]:
    """The parts, with the place where each begins, and texts cut at these places."""
    pieces: list[tuple[int, int, Json]] = []
    place = 0
    for number, part in flat:
        count, begin = len(_units(part)), 0
        for end in sorted(one - place for one in ends if place < one < place + count):
            if end < len(part.get("text") or ""):
                kept: Json = {name: part[name] for name in _PLAIN if name in part}
                pieces.append((place + begin, number, kept | {"text": part["text"][begin:end]}))
                begin = end
        last = {**part, "text": part["text"][begin:]} if begin else part
        pieces.append((place + begin, number, last))
        place += count
    return pieces


def _between(
    pieces: Sequence[tuple[int, int, Json]], begin: int, end: int
) -> list[tuple[int, Json]]:
    return [(number, part) for place, number, part in pieces if begin <= place < end]


def _contents(told: Sequence[tuple[int, Json]], answer: Sequence[Any]) -> list[Any]:
    """The parts in the client's contents, without those that have none left."""
    numbers = dict.fromkeys(number for number, _ in told)
    return [{**answer[one], "parts": [part for n, part in told if n == one]} for one in numbers]


def _joined(parts: Sequence[Json]) -> list[Json]:
    """The parts with neighbouring texts joined, whether the client joined them or not."""
    joined: list[Json] = []
    for part in parts:
        last = joined[-1] if joined else {}
        is_plain = all(isinstance(one.get("text"), str) for one in (last, part))
        if is_plain and last.get("thought") == part.get("thought") and last.keys() <= {*_PLAIN}:
            joined[-1] = {**part, "text": last["text"] + part["text"]}
        else:
            joined.append(part)
    return joined


def _unmoved(part: Json, moved: Collection[str]) -> Json:
    """A client's call without the signature that it was given in place of memory's call."""
    if not field_of(part, "functionCall") or field_of(part, _SIGNED) not in moved:
        return part
    return {name: value for name, value in part.items() if name != spelt(part, _SIGNED)}


def _call(pair: Pair) -> Json:
    called = {"id": pair.call.call_id, "name": pair.call.name, "args": pair.arguments}
    return {"functionCall": called, **pair.extra}


def _result(pair: Pair) -> Json:
    told = {"id": pair.call.call_id, "name": pair.call.name, "response": {"output": pair.result}}
    return {"functionResponse": told}


class GeminiEditor(Replies):
    def __init__(self, names: Collection[str]) -> None:
        super().__init__(names)
        self._parts: list[Json] = []  # of the whole answer, as the client has it
        self._head: Json = {}  # what names the answer
        self._seen = Counter[str]()  # calls without ids
        self._held: Json | None = None  # the event that ended the reply before

    def _begin(self) -> None:
        super()._begin()
        self._ours: list[OurCall] = []
        self._signature = ""  # of a call of memory's, which the client's first call gets
        self._finish = ""
        self._candidate: Json = {}  # the latest
        self._last: Json | None = None  # the event that ends the reply, with what it says

    @property
    def _holds(self) -> bool:
        return bool(self._number or self._ours)

    def next(self) -> None:
        self._held = self._last
        super().next()

    # --- a stream -----------------------------------------------------------------------------

    def feed(self, event: str, data: Json | None, raw: bytes) -> bytes:
        if data is None:
            return raw
        if "error" in data:
            self._is_broken = True
            return raw
        before = self._flushed()
        told = self._taken(data)
        if not self._holds:
            return raw
        if self._finish:
            self._last = {**(self._last or {}), **told}  # usage may come by itself after the end
            return before
        return before + (self._written(told) if _said(told) or told is data else b"")

    def _flushed(self) -> bytes:
        """The parts of the event that ended the reply before, without its end: more follows."""
        held, self._held = self._held, None
        if held is None or not _said(held):
            return b""
        [candidate, *_] = held["candidates"]
        left = {n: v for n, v in candidate.items() if n not in ("finishReason", "finish_reason")}
        return self._written({**held, "candidates": [left]})

    def _taken(self, data: Json) -> Json:
        """The event without memory's calls; the same object if it has none."""
        self._head = self._head or {n: data[n] for n in ("responseId",) if n in data}
        usage = field_of(data, "usageMetadata")
        self._usage = usage if isinstance(usage, dict) else self._usage
        candidates = data.get("candidates") or []
        if not candidates:
            return data
        candidate = self._candidate = candidates[0]
        content = candidate.get("content") or {}
        parts = parts_of(content)
        left: list[Json] = []
        for part in parts:
            passed = self._sorted(part)
            self._parts += passed
            left += passed
        self._finish = str(field_of(candidate, "finishReason") or self._finish)
        if left == parts:
            return data
        content = {"role": "model", **content, "parts": left}
        return {**data, "candidates": [{**candidate, "content": content}]}

    def _sorted(self, part: Json) -> list[Json]:
        called = field_of(part, "functionCall")
        if not isinstance(called, dict):
            return [part]
        if called.get("name") in self._names:
            call_id = called.get("id") or made_id(called, self._seen)
            told = json.dumps(called.get("args") or {}, ensure_ascii=False)
            extra = {n: v for n, v in part.items() if n != spelt(part, "functionCall")}
            call = ToolCall(str(call_id), str(called["name"]), told)
            self._ours.append(OurCall(call, self._cut(), extra))
            signature = field_of(part, _SIGNED)
            if signature and not self._has_others:
                self._signature = str(signature)
            return []
        first, self._has_others = not self._has_others, True
        if first and self._signature and not field_of(part, _SIGNED):
            return [{**part, _SIGNED: self._signature}]
        return [part]

    def _written(self, data: Json, **more: Any) -> bytes:
        return b"data: " + dumped({**data, **self._head, **more}) + b"\r\n\r\n"

    def finish(self) -> bytes:
        if not self._holds or self._is_broken or self._last is None:
            return b""
        told = self._last
        if not _said(told):
            [candidate, *_] = told["candidates"]
            content = {"role": "model", "parts": [{"text": ""}]}
            told = {**told, "candidates": [{**candidate, "content": content}]}
        usage = self._total_usage()
        return self._written(told, **({"usageMetadata": usage} if usage else {}))

    def _total_usage(self) -> Json:
        usage = self._total(output=_OUTPUT.__contains__)
        if "totalTokenCount" in usage:
            usage["totalTokenCount"] = sum(usage.get(name) or 0 for name in _TOTAL)
        return usage

    def failed(self, status: int, message: str) -> bytes:
        return b"data: " + dumped(Gemini().refusal(status, message)) + b"\r\n\r\n"

    # --- one piece ----------------------------------------------------------------------------

    def take(self, document: Json) -> None:
        self._documents.append(document)
        self._taken(document)

    def merged(self) -> Json:
        last, candidate = self._documents[-1], self._candidate
        content = {**(candidate.get("content") or {}), "role": "model", "parts": self._parts}
        told = {**last, **self._head, "candidates": [{**candidate, "content": content}]}
        usage = self._total_usage()
        return told | {"usageMetadata": usage} if usage else told

    # --- what it says -------------------------------------------------------------------------

    def round(self) -> Round:
        return Round(
            calls=tuple(self._ours),
            has_others=self._has_others,
            end=self._cut(),
            usage=usage_from(self._usage or None),
            is_whole=self._finish == "STOP" and not self._is_broken,
        )

    def so_far(self) -> list[Any]:
        return [{"role": "model", "parts": list(self._parts)}]

    def _cut(self) -> Cut:
        units = [unit for part in self._parts for unit in _units(part)]
        return Cut(len(units), sum(units))


def _said(data: Json) -> list[Json]:
    """The parts in an event."""
    return parts_of((data.get("candidates") or [{}])[0].get("content"))
