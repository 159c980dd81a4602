"""generateContent: contents of parts, from the model and the user; the path names the model.

The format is JSON of protocol buffers, in which a field has two spellings (`functionCall` and
`function_call`), and calls need no ids. Where one has none, `read` assigns one that no client would
use, to calls and results alike, and `put` removes it again.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from pagefault.engine.usage import usage_from
from pagefault.model.kinds import Role
from pagefault.proxy.history.history import (
    History,
    Item,
    Json,
    Part,
    canonical,
    digest,
    essence,
    sealed_item,
    short_id,
    texts,
)
from pagefault.proxy.history.trie import Match
from pagefault.proxy.wires.wire import Answered, Unreadable, listed, same_json, sealed_beside

_PATH: Final = re.compile(r"/models/([^/:]+):(?:streamG|g)enerateContent\Z")
_MODEL: Final = "pagefault:model"  # for the model in the path; no body has this field
_OURS: Final = "pagefault:"  # prefix of the ids that calls have only here
_ROLES: Final = {"model": Role.ASSISTANT, "user": Role.USER, "": Role.USER}
_MEDIA: Final = ("inlineData", "fileData")
_GROUNDS: Final = {"groundingMetadata": "google_search", "urlContextMetadata": "url_context"}
"""What tells in an answer that it is made of what a tool of the provider's found."""
_RESULT_FIELDS: Final = ("output", "result", "content", "error")
_STATUS: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class Gemini:
    name = "gemini"
    messages = "contents"
    content = "parts"

    def takes(self, path: str) -> bool:
        return _PATH.search(path) is not None

    def addressed(self, body: Json, path: str) -> Json:
        named = _PATH.search(path)
        return {_MODEL: named[1], **body} if named else body

    def model(self, body: Json) -> Any:
        return body.get(_MODEL) or body.get("model")

    def head(self, body: Json) -> list[Any]:
        return [field_of(body, "systemInstruction"), field_of(body, "cachedContent")]

    def read(self, body: Json, earlier: History | None = None) -> History:
        contents = listed(body, "contents")
        for content in contents:
            if not isinstance(content, dict) or not isinstance(content.get("parts", []), list):
                raise Unreadable("a content without parts")
        named = _with_ids(contents)
        tools = body.get("tools")
        instructions = field_of(body, "systemInstruction")
        return History(
            messages=named,
            received=contents,
            items=_items(named),
            instructions=texts(parts_of(instructions)),
            tools=tools if isinstance(tools, list) else [],
            has_all=not field_of(body, "cachedContent"),
        )

    def put(self, body: Json, messages: Sequence[Any]) -> Json:
        rest = {name: value for name, value in body.items() if name != _MODEL}
        return {**rest, "contents": [_without_ids(message) for message in messages]}

    def opens_turn(self, message: Any) -> bool:
        if _role_of(message) is not Role.USER:
            return False
        parts = parts_of(message)
        has_results = any(field_of(part, "functionResponse") for part in parts)
        return not has_results or any(essence(str(part.get("text") or "")) for part in parts)

    def without_results(self, message: Any, call_ids: Collection[str]) -> Any:
        left = [part for part in message["parts"] if _answers(part) not in call_ids]
        return {**message, "parts": left}

    def with_result(self, message: Any, call_id: str, make: Callable[[str], str]) -> Any:
        parts = [
            _answering(part, make) if _answers(part) == call_id else part
            for part in message["parts"]
        ]
        return {**message, "parts": parts}

    def binds(self, message: Any) -> bool:
        """Never. The provider checks that a call of the present turn has its signature, but not
        what precedes it (ai.google.dev/gemini-api/docs/thought-signatures). Calls stay as they are.
        """
        return False

    def with_text(self, message: Any, text: str) -> Any:
        parts = parts_of(message)
        results = (n for n, one in enumerate(parts, start=1) if field_of(one, "functionResponse"))
        at = max(results, default=0)
        return {**message, "parts": [*parts[:at], {"text": text}, *parts[at:]]}

    def gatherer(self) -> GeminiGatherer:
        return GeminiGatherer()

    def answer(self, document: Json) -> Answered:
        gathered = GeminiGatherer()
        gathered.feed("", document)
        return gathered.answered()

    def refusal(self, status: int, message: str) -> Json:
        told = {"code": status, "message": f"pagefault: {message}"}
        return {"error": told | {"status": _STATUS.get(status, "UNKNOWN")}}


class GeminiGatherer:
    """Each event is a response with more parts of the answer."""

    def __init__(self) -> None:
        self._parts: list[Json] = []
        self._usage: Json | None = None
        self._under = ""
        self._finished = False

    def feed(self, event: str, data: Json) -> None:
        usage = field_of(data, "usageMetadata")
        self._usage = usage if isinstance(usage, dict) else self._usage
        for candidate in data.get("candidates") or ():
            if candidate.get("index", 0) != 0:
                continue  # the client keeps one of several answers; our guess is the first
            self._parts += parts_of(candidate.get("content"))
            self._finished = self._finished or bool(field_of(candidate, "finishReason"))
            for name, tool in _GROUNDS.items():
                self._under = tool if field_of(candidate, name) else self._under

    def answered(self) -> Answered:
        items = tuple(_items(_with_ids([{"role": "model", "parts": self._parts}])))
        usage = usage_from(self._usage)
        return Answered(items, usage, complete=self._finished, under=self._under)


def field_of(value: Any, name: str) -> Any:
    """A field by either of its JSON names (protobuf.dev, ProtoJSON)."""
    if not isinstance(value, Mapping):
        return None
    found = value.get(name)
    return value.get(_second(name)) if found is None else found


def spelt(value: Mapping[str, Any], name: str) -> str:
    """The name that a field has there."""
    return name if name in value else _second(name)


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


_second: Final = cache(_snake)  # of this file's own names alone: a client's would stay for ever


def parts_of(content: Any) -> list[Json]:
    """The parts of a content; instructions may be only text."""
    if isinstance(content, str):
        return [{"text": content}]
    parts = content.get("parts") if isinstance(content, Mapping) else None
    return [part for part in parts or () if isinstance(part, dict)]


def _items(contents: Sequence[Json]) -> list[Item]:
    """The items of the parts. A streamed answer comes in pieces, which clients join, or send back
    in as many contents: it is one item, where it began, and the rest is dress.
    """
    items: list[Item] = []
    begun = -1  # where the model's text that may continue begins
    pieces: dict[int, list[str]] = {}  # of such texts
    for number, content in enumerate(contents):
        for part in content.get("parts", ()):
            item = _item(part, content, number)
            if item.part is Part.TEXT and item.role is Role.ASSISTANT:
                if begun >= 0:
                    pieces[begun].append(item.text)
                    item = replace(item, part=Part.DRESS, text="")
                else:
                    begun = len(items)
                    pieces[begun] = [item.text]
            elif item.part is not Part.DRESS:
                begun = -1
            items.append(item)
    for at, told in pieces.items():
        if len(told) > 1:
            items[at] = replace(items[at], text="".join(told))
    return items


def _item(part: Any, message: Json, number: int) -> Item:
    role = _role_of(message)
    if not isinstance(part, dict):
        return sealed_item({"content": part}, role or Role.SYSTEM, number)
    called, returned = field_of(part, "functionCall"), field_of(part, "functionResponse")
    if role is not None and part.get("thought"):
        return Item(part=Part.DRESS, role=role, message=number)
    if isinstance(called, dict) and role is Role.ASSISTANT:
        return Item(
            part=Part.CALL,
            role=role,
            message=number,
            text=same_json(json.dumps(called.get("args"))),
            name=str(called.get("name", "")),
            call_id=str(called.get("id", "")),
        )
    if isinstance(returned, dict):
        opaque = [one for one in returned.get("parts") or () if isinstance(one, dict)]
        return Item(
            part=Part.RESULT,
            role=Role.TOOL,
            message=number,
            text=_told(returned.get("response")),
            call_id=str(returned.get("id", "")),
            sealed=sealed_beside(opaque),
        )
    if role is not None and isinstance(part.get("text"), str):
        return Item(part=Part.TEXT, role=role, message=number, text=part["text"])
    kind = next((name for name, one in part.items() if isinstance(one, dict)), "")
    item = sealed_item({"type": _snake(kind)} | part, role or Role.SYSTEM, number)
    return replace(item, is_media=any(field_of(part, name) for name in _MEDIA))


def _role_of(message: Json) -> Role | None:
    """The role of a content; None if unknown: then it is data of a tool."""
    role = message.get("role") or ""
    return _ROLES.get(role) if isinstance(role, str) else None


def _told(response: Any) -> str:
    """A function's result as text: a response is an object, mostly of one field."""
    if isinstance(response, Mapping) and len(response) == 1:
        name, value = next(iter(response.items()))
        if name in _RESULT_FIELDS and isinstance(value, str):
            return value
    return "" if response is None else json.dumps(response, ensure_ascii=False)


def _answers(part: Any) -> str | None:
    """The call that a part answers, if any."""
    returned = field_of(part, "functionResponse")
    return short_id(str(returned.get("id", ""))) if isinstance(returned, dict) else None


def _answering(part: Json, make: Callable[[str], str]) -> Json:
    name = spelt(part, "functionResponse")
    returned = part[name]
    response = returned.get("response")
    field = next(iter(response), "") if isinstance(response, Mapping) else ""
    said = {field if field in _RESULT_FIELDS else "output": make(_told(response))}
    kept = {key: value for key, value in returned.items() if key != "parts"}
    return {**part, name: {**kept, "response": said}}


def _with_ids(contents: Sequence[Json]) -> list[Json]:
    """The contents with an id for each call and result that has none.

    An id is made from the call, so that it is the same in an answer, and after a client cut off the
    beginning; not from its signature, which some clients leave out. Equal ones are numbered from
    the first that is present. The n-th result of a name answers the n-th such call of the contents
    right before it.
    """
    seen, waiting = Counter[str](), dict[str, list[str]]()
    named: list[Json] = []
    was_models = False
    for content in contents:
        parts: list[Any] = []
        is_models = content.get("role") == "model"
        if is_models and not was_models:
            waiting = {}
        was_models = is_models
        for part in content.get("parts", ()):
            told = field_of(part, "functionCall"), field_of(part, "functionResponse")
            called, returned = (one if isinstance(one, dict) else None for one in told)
            if called is not None:
                name = str(called.get("name", ""))
                call_id = called.get("id") or made_id(called, seen)
                waiting.setdefault(name, []).append(call_id)
                parts.append(_given(part, "functionCall", call_id))
            elif returned is not None:
                asked = waiting.get(str(returned.get("name", "")), [])
                call_id = asked.pop(0) if asked else ""
                call_id = returned.get("id") or call_id or made_id(returned, seen)
                parts.append(_given(part, "functionResponse", call_id))
            else:
                parts.append(part)
        named.append({**content, "parts": parts} if "parts" in content else content)
    return named


def made_id(of: Json, seen: Counter[str]) -> str:
    """The id of a call, or of a result without one."""
    return _numbered(f"{_OURS}{digest(canonical(of))}", seen)


def _numbered(made: str, seen: Counter[str]) -> str:
    seen[made] += 1
    return made + (f":{seen[made]}" if seen[made] > 1 else "")


def numbered(answered: Answered, request: Match) -> Answered:
    """An answer with its calls numbered as the next request will number them: after equal ones of
    its own request, which an answer alone does not know.
    """
    if not any(map(_is_made, answered.items)):
        return answered
    seen = Counter(_unnumbered(node.place) for node in request.path if _is_call(node.place))
    items = (
        replace(one, call_id=_numbered(_unnumbered(one.call_id), seen)) if _is_made(one) else one
        for one in answered.items
    )
    return replace(answered, items=tuple(items))


def _is_call(place: str) -> bool:
    return place.startswith("call ")


def _is_made(item: Item) -> bool:
    return item.part is Part.CALL and item.call_id.startswith(_OURS)


def _unnumbered(place: str) -> str:
    """An id without its number; a place ends with an id."""
    return ":".join(place.rpartition(" ")[2].split(":")[:2])


def _given(part: Json, name: str, call_id: str) -> Json:
    own = spelt(part, name)
    return part if part[own].get("id") else {**part, own: {**part[own], "id": call_id}}


def _without_ids(message: Json) -> Json:
    """The contents as the client has them."""
    if not any(map(_has_ours, message.get("parts", ()))):
        return message
    parts = [_bare(part) if _has_ours(part) else part for part in message["parts"]]
    return {**message, "parts": parts}


def _has_ours(part: Any) -> bool:
    told = field_of(part, "functionCall") or field_of(part, "functionResponse")
    return isinstance(told, dict) and str(told.get("id", "")).startswith(_OURS)


def _bare(part: Json) -> Json:
    name = spelt(part, "functionCall" if field_of(part, "functionCall") else "functionResponse")
    return {**part, name: {key: value for key, value in part[name].items() if key != "id"}}
