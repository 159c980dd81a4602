"""What a provider refuses, refused by the one on loopback: each with status 400, and why.

Thinking is signed, and bound to the turn before it: its signature tells both, so one that was
altered, or that stands in a turn that was, is refused. The rules are those that the providers
document for their interfaces, and known to refuse in practice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pagefault.pack.count import TokenCounter
from pagefault.proxy.history.history import unmarked
from tests.proxy.upstream import Body, Say, Script, Seen

MARKS_MAX = 4


class Refused(Exception):
    pass


def strict(script: Script, counter: TokenCounter, window_tokens: int) -> Script:
    """The script behind a provider that looks at each request first."""

    def answer(seen: Seen) -> Say:
        try:
            check(seen, counter, window_tokens)
        except Refused as refused:
            told = {"error": {"type": "invalid_request_error", "message": str(refused)}}
            return Say(status=400, raw=json.dumps(told).encode())
        say = script(seen)
        if say.thinking and _path(seen).endswith("/messages"):
            turn = _turn(seen.body["messages"])
            say = replace(say, signature=_signature(say.thinking, turn))
        return say

    return answer


def check(seen: Seen, counter: TokenCounter, window_tokens: int) -> None:
    """Raise `Refused` for what a provider would not take."""
    body = seen.body
    tokens = tokens_of(seen, counter)
    if tokens > window_tokens:
        raise Refused(f"prompt is too long: {tokens} tokens > {window_tokens} maximum")
    if seen.raw.count(b'"cache_control"') > MARKS_MAX:
        raise Refused(f"a maximum of {MARKS_MAX} blocks with cache_control may be provided")
    offered = {_name(one) for one in declared(body.get("tools") or ())}
    if ours := {"page_fault", "search_pages"} & {*_named(body)} - offered:
        raise Refused(f"calls of {ours}, which are not among the tools")
    wire = next(check for suffix, check in _CHECKS.items() if _path(seen).endswith(suffix))
    wire(body)


def tokens_of(seen: Seen, counter: TokenCounter) -> int:
    return sum(counter.count_all(list(_strings(seen.body))))


def _path(seen: Seen) -> str:
    return seen.path.split("?")[0]


def _check_messages(body: Body) -> None:
    messages = [one for one in body["messages"] if one["role"] != "system"]
    if messages[0]["role"] != "user":
        raise Refused("the first message must be the user's")
    for at, message in enumerate(messages):
        blocks = _blocks(message)
        if at + 1 < len(messages) and not blocks:
            raise Refused("all messages but the last must have non-empty content")
        if any(b["type"] == "text" and not b["text"] for b in blocks):
            raise Refused("text content blocks must be non-empty")
        before = _blocks(messages[at - 1]) if at else []
        results = [b["tool_use_id"] for b in _blocks(message) if b["type"] == "tool_result"]
        calls = [b["id"] for b in before if b["type"] == "tool_use"]
        if sorted(results) != sorted(calls):
            raise Refused(f"calls {calls} must be answered by results, and are by {results}")
        kinds = [b["type"] == "tool_result" for b in _blocks(message)]
        if kinds != sorted(kinds, reverse=True):
            raise Refused("results stand first")
        for place, block in enumerate(_blocks(message)):
            if block["type"] != "thinking":
                continue
            is_last_turn = _opens_at(messages) <= at
            before_it = [*_turn(messages[:at]), *_blocks(message)[:place]] if is_last_turn else None
            if not _is_signed(block, before_it):
                raise Refused("thinking cannot be modified, nor the turn that it is bound to")


def _check_chat(body: Body) -> None:
    _check_pairs(
        [
            ([call["id"] for call in one.get("tool_calls") or ()], one.get("tool_call_id"))
            for one in body["messages"]
        ]
    )


def _check_responses(body: Body) -> None:
    calls: list[str] = []
    for one in body["input"]:
        if one.get("type") == "function_call":
            calls.append(one["call_id"])
        elif one.get("type") == "function_call_output":
            if one["call_id"] not in calls:
                raise Refused(f"no call is found for the output {one['call_id']}")
            calls.remove(one["call_id"])
    if calls:
        raise Refused(f"no output is found for the calls {calls}")


def _check_gemini(body: Body) -> None:
    contents: list[tuple[bool, list[Body]]] = []  # those that follow each other under a role as one
    for one in body["contents"]:
        is_models = one["role"] == "model"
        if not one["parts"]:
            raise Refused("a content without parts")
        if contents and contents[-1][0] == is_models:
            contents[-1][1].extend(one["parts"])
        else:
            contents.append((is_models, list(one["parts"])))
    is_signed = "thoughtSignature" in json.dumps(body)
    opens_at = max(
        n for n, (ours, parts) in enumerate(contents) if not ours and "text" in parts[-1]
    )
    asked: list[str] = []
    for number, (is_models, parts) in enumerate(contents):
        told = [one.get("functionCall") or one.get("functionResponse") for one in parts]
        named = sorted(str(one.get("id", one["name"])) for one in told if one)
        if not is_models and named != asked:
            raise Refused(f"calls {asked} must be answered by results, and are by {named}")
        asked = named if is_models else []
        calls = [one for one in parts if "functionCall" in one]
        if number > opens_at and is_signed and calls and "thoughtSignature" not in calls[0]:
            raise Refused("function call is missing a thought_signature")
    if asked:
        raise Refused(f"calls {asked} have no results")


def declared(tools: Iterable[Body]) -> list[Body]:
    """The tools, each by itself."""
    return [each for one in tools for each in one.get("functionDeclarations", [one])]


def _name(one: Body) -> str:
    return str(one.get("function", one).get("name"))


def _named(body: Body) -> Iterator[str]:
    """What is called in a history."""
    for one in body.get("messages") or body.get("input") or body.get("contents") or ():
        yield from (_name(call) for call in one.get("tool_calls") or ())
        if one.get("type") == "function_call":
            yield _name(one)
        elif "parts" in one:
            yield from (p["functionCall"]["name"] for p in one["parts"] if "functionCall" in p)
        elif isinstance(one.get("content"), list):
            yield from (_name(block) for block in one["content"] if block["type"] == "tool_use")


def _check_pairs(messages: Sequence[tuple[list[str], str | None]]) -> None:
    open_calls: list[str] = []
    for calls, answers in messages:
        if answers is not None:
            if answers not in open_calls:
                raise Refused(f"the result {answers} answers no call before it")
            open_calls.remove(answers)
        elif open_calls:
            raise Refused(f"calls {open_calls} must be followed by their results")
        open_calls += calls
    if open_calls:
        raise Refused(f"calls {open_calls} must be followed by their results")


_CHECKS: dict[str, Callable[[Body], None]] = {
    "/messages": _check_messages,
    "/chat/completions": _check_chat,
    "/responses": _check_responses,
    ":generateContent": _check_gemini,
    ":streamGenerateContent": _check_gemini,
}


def _blocks(message: Body) -> list[Body]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _opens_at(messages: Sequence[Body]) -> int:
    """Where the last turn begins: with a message of the user's that has more than results."""
    return max(
        at
        for at, one in enumerate(messages)
        if one["role"] == "user" and any(b["type"] != "tool_result" for b in _blocks(one))
    )


def _turn(messages: Sequence[Body]) -> list[Body]:
    messages = [one for one in messages if one["role"] != "system"]
    return [block for one in messages[_opens_at(messages) :] for block in _blocks(one)]


def _signature(thinking: str, before: Iterable[Body]) -> str:
    return f"{_digest(thinking)}:{_digest([unmarked(block) for block in before])}"


def _is_signed(block: Body, before: Iterable[Body] | None) -> bool:
    if before is None:  # of a turn that is over, nobody knows any more what it was bound to
        return bool(block["signature"].split(":")[0] == _digest(block["thinking"]))
    return bool(block["signature"] == _signature(block["thinking"], before))


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for name, one in value.items():
                yield name
                yield from _strings(one)
        case list():
            for one in value:
                yield from _strings(one)
