"""Messages in API form: an array for OpenAI or Anthropic, or one message per line.

They have no ids: a message is identified by its position and its text. So a replaced message is a
new one, and what follows it is a branch.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

from pagefault.history.files import File, Told
from pagefault.history.parts import (
    ROLES,
    a_dict,
    a_list,
    a_str,
    as_json,
    data_of,
    moment,
    text_in,
)
from pagefault.history.stream import elements, lines, value_of
from pagefault.history.values import Entry, EntryKind, Flaw, Transcript
from pagefault.model.kinds import Role

SOURCE: Final = "messages"

_ROLE: Final = re.compile(
    rb'(?<!\\)"(?:role|from)"\s*:\s*"(?:user|human|assistant|gpt|ai|model|tool|function|system|developer)"'
)
_LIST: Final = re.compile(rb'(?<!\\)"(?:messages|conversations?)"\s*:\s*\[')
_TIMES: Final = ("occurred_at", "timestamp", "created_at", "create_time", "created", "time", "date")

Found = tuple[int, Any] | Flaw


def recognises(head: bytes) -> bool:
    return head.lstrip()[:1] in (b"[", b"{") and _ROLE.search(head) is not None


def read(file: File, told: Told) -> Iterator[Transcript | Flaw]:
    head = file.head()
    with file.open(told) as opened:
        found = lines(opened) if is_lines(head) else elements(opened)
        first = next(found, None)
        while isinstance(first, Flaw):
            yield first
            first = next(found, None)
        if first is None:
            return
        rest: Iterator[Found] = chain([first], found)
        if _messages_of(first[1]) is None:
            yield Transcript(id="", entries=_entries(rest))
            return
        for number, one in enumerate(rest):
            if isinstance(one, Flaw):
                yield one
                continue
            value = a_dict(one[1])
            messages = _messages_of(value)
            if messages is None:
                yield Flaw(place=f"line {one[0]}", why="no list of messages")
                continue
            called = a_str(value.get("id")) or a_str(value.get("conversation_id"))
            yield Transcript(
                id=f"#{called}" if called else f"#{number}" if number else "",
                entries=_entries((one[0], message) for message in messages),
                title=a_str(value.get("title")),
                place=f"line {one[0]}",
            )


def is_lines(head: bytes) -> bool:
    """Whether a file with this beginning has a value on each line, rather than one value."""
    first = head.lstrip().partition(b"\n")[0]
    if first[:1] != b"{":
        return False
    try:
        value_of(first)
    except ValueError:
        return False
    return True


def _messages_of(value: Any) -> list[Any] | None:
    told = a_dict(value)
    for name in ("messages", "conversations", "conversation"):
        if isinstance(told.get(name), list):
            return a_list(told[name])
    return None


def _entries(found: Iterable[Found]) -> Iterator[Entry | Flaw]:
    for number, one in enumerate(found):
        if isinstance(one, Flaw):
            yield one
            continue
        place = f"line {one[0]}, message {number + 1}"
        if not isinstance(one[1], dict):
            yield Flaw(place=place, why="not an object")
        else:
            yield from _message(number, one[1], place)


def _message(number: int, message: dict[str, Any], place: str) -> Iterator[Entry | Flaw]:
    named = a_str(message.get("role")) or a_str(message.get("from"))
    kind = a_str(message.get("type"))
    role = ROLES.get({"gpt": "assistant"}.get(named, named))
    if role is None and kind in ("function_call", "function_call_output", "reasoning"):
        role = Role.TOOL if kind.endswith("output") else Role.ASSISTANT
    if role is None:
        yield Flaw(place=place, why=f"role {named!r:.40} is not known")
        return
    told = next((message[name] for name in _TIMES if message.get(name)), None)
    at = moment(told)
    if at is None:
        yield Flaw(place=place, why=f"{told!r:.40} is no time", kept=True)
    for index, (form, said_by, text, block) in enumerate(_blocks(message, role, kind)):
        data, media_type = data_of(block) if form is EntryKind.FILE else (None, "")
        digest = hashlib.sha256(f"{form}\0{said_by}\0{text}".encode("utf-8", "replace"))
        has_call = form in (EntryKind.CALL, EntryKind.RESULT)
        call_id = a_str(block.get("tool_call_id")) or a_str(block.get("tool_use_id"))
        call_id = call_id or a_str(block.get("call_id")) or a_str(block.get("id"))
        function = a_dict(block.get("function")) or block
        yield Entry(
            key=f"{number}/{index}/{digest.hexdigest()[:16]}",
            text=text,
            role=said_by,
            form=form,
            at=at or "",
            title=a_str(function.get("name")) if has_call else a_str(block.get("filename")),
            call_id=call_id if has_call else "",
            is_error=bool(block.get("is_error")),
            model=a_str(message.get("model")) if said_by is Role.ASSISTANT else "",
            speaker="" if has_call else a_str(message.get("name")) or a_str(message.get("speaker")),
            data=data,
            media_type=media_type,
            goes_on=index > 0,
            place=place,
        )


def _blocks(
    message: dict[str, Any], role: Role, kind: str
) -> Iterator[tuple[EntryKind, Role, str, dict[str, Any]]]:
    content = message.get("content")
    if kind == "function_call":
        yield EntryKind.CALL, role, a_str(message.get("arguments")), message
        return
    if role is Role.TOOL:
        text = text_in(message.get("output") if content is None else content)
        yield EntryKind.RESULT, role, text, message
        return
    if kind == "reasoning":
        yield EntryKind.REASONING, role, text_in(message.get("summary")) or text_in(content), {}
        return
    if thought := message.get("reasoning_content") or message.get("reasoning"):
        yield EntryKind.REASONING, role, text_in(thought), {}
    if content is None:
        content = message.get("value") if "value" in message else message.get("text")
    for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        yield from _block(block if isinstance(block, dict) else {"text": block}, role)
    calls = [message["function_call"]] if message.get("function_call") else []
    for call in [*a_list(message.get("tool_calls")), *calls]:
        function = a_dict(a_dict(call).get("function")) or a_dict(call)
        yield EntryKind.CALL, Role.ASSISTANT, as_json(function.get("arguments", {})), a_dict(call)


def _block(
    block: dict[str, Any], role: Role
) -> Iterator[tuple[EntryKind, Role, str, dict[str, Any]]]:
    match block.get("type"):
        case "tool_use":
            yield EntryKind.CALL, Role.ASSISTANT, as_json(block.get("input", {})), block
        case "tool_result":
            yield EntryKind.RESULT, Role.TOOL, text_in(block.get("content")), block
        case "thinking" | "reasoning":
            yield EntryKind.REASONING, role, text_in(block), {}
        case "image" | "image_url" | "input_image" | "document" | "file" | "input_file":
            yield EntryKind.FILE, role, "", {**block, **a_dict(block.get("file"))}
        case _:
            yield EntryKind.MESSAGE, role, text_in(block), {}
