"""Codex's rollouts: `~/.codex/sessions/**/rollout-*.jsonl`, a line for each item of a session.

A line has a time, a type and a payload. What the model received and said is in `response_item`;
events repeat it for display, except the one that takes turns back: what follows it is a branch.
Before September 2025 the items had no envelope, and followed one line about the session.

Nothing has an id, but files are append-only, so a line is identified by its number.
"""

from __future__ import annotations

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
    last_folder,
    moment,
    text_in,
)
from pagefault.history.stream import lines
from pagefault.history.values import Entry, EntryKind, Flaw, Transcript
from pagefault.model.kinds import Role

SOURCE: Final = "codex"

_HEAD: Final = re.compile(
    rb'(?<!\\)"type"\s*:\s*"(?:session_meta|response_item|turn_context|event_msg)"'
    rb'|(?<!\\)"record_type"\s*:'
)
_OLD_HEAD: Final = re.compile(rb'\{"id":"[\w-]+","timestamp":"[^"]+","(?:instructions|git)":')
_OWN_WORDS: Final = re.compile(
    r"\s*<(?:environment_context|user_instructions|turn_aborted|user_shell_command|skill)\b"
    r"|# AGENTS\.md instructions"
)

Found = tuple[int, Any] | Flaw


def recognises(head: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and bool(_HEAD.search(head) or _OLD_HEAD.match(head.lstrip()))


def read(file: File, told: Told) -> Iterator[Transcript | Flaw]:
    with file.open(told) as opened:
        found = lines(opened)
        first = next(found, None)
        if first is None:
            return
        value = {} if isinstance(first, Flaw) else a_dict(first[1])
        meta = a_dict(value.get("payload")) if "payload" in value else value
        meta = meta if value.get("type", "session_meta") == "session_meta" else {}
        yield Transcript(
            id=a_str(meta.get("id")),
            entries=_Reader().entries(chain([first], found)),
            project=last_folder(meta.get("cwd")),
            of=a_str(meta.get("forked_from_id")),
        )


class _Reader:
    def __init__(self) -> None:
        self._tip = ""
        self._turns: list[str] = []  # what each prompt so far follows
        self._model = ""
        self._tools: dict[str, str] = {}

    def entries(self, found: Iterable[Found]) -> Iterator[Entry | Flaw]:
        for one in found:
            if isinstance(one, Flaw):
                yield one
                continue
            number, line = one[0], a_dict(one[1])
            payload = a_dict(line.get("payload")) if "payload" in line else line
            kind = a_str(line.get("type"))
            at = moment(line.get("timestamp"))
            if at is None:
                told = f"{line.get('timestamp')!r:.40}"
                yield Flaw(place=f"line {number}", why=f"{told} is no time", kept=True)
            match kind:
                case "turn_context":
                    self._model = a_str(payload.get("model"))
                case "event_msg" if payload.get("type") == "thread_rolled_back":
                    self._roll_back(payload.get("num_turns"))
                case "compacted":
                    text = a_str(payload.get("message"))
                    yield self._entry(number, 0, at, (EntryKind.MESSAGE, Role.SYSTEM, text, {}))
                case "session_meta" | "event_msg":
                    pass
                case _:  # a response item, with its envelope or, in the old form, without
                    for index, block in enumerate(_blocks(payload)):
                        yield self._entry(number, index, at, block)

    def _roll_back(self, turns: Any) -> None:
        if isinstance(turns, int) and 0 < turns <= len(self._turns):
            self._tip = self._turns[-turns]
            del self._turns[-turns:]

    def _entry(
        self,
        number: int,
        index: int,
        at: str | None,
        block: tuple[EntryKind, Role, str, dict[str, Any]],
    ) -> Entry:
        form, role, text, item = block
        key = f"{number}/{index}"
        call_id = a_str(item.get("call_id")) or a_str(item.get("id"))
        has_call = form in (EntryKind.CALL, EntryKind.RESULT)
        if form is EntryKind.CALL:
            self._tools[call_id] = a_str(item.get("name")) or a_str(item.get("type"))
        data, media_type = data_of(item) if form is EntryKind.FILE else (None, "")
        output = item.get("output")
        entry = Entry(
            key=key,
            text=text,
            role=role,
            form=form,
            parent=self._tip,
            at=at or "",
            title=self._tools.get(call_id, "") if has_call else "",
            call_id=call_id if has_call else "",
            is_error=form is EntryKind.RESULT and a_dict(output).get("success") is False,
            model=self._model if role is Role.ASSISTANT else "",
            data=data,
            media_type=media_type,
            goes_on=index > 0,
            place=f"line {number}",
        )
        if role is Role.USER and form is EntryKind.MESSAGE and index == 0:
            self._turns.append(self._tip)
        if text or form is not EntryKind.MESSAGE:
            self._tip = key
        return entry


def _blocks(item: dict[str, Any]) -> Iterator[tuple[EntryKind, Role, str, dict[str, Any]]]:
    kind = a_str(item.get("type"))
    match kind:
        case "message":
            role = ROLES.get(a_str(item.get("role")), Role.SYSTEM)
            content = item.get("content")
            for part in [content] if isinstance(content, str) else a_list(content):
                told = a_dict(part)
                if told.get("type") in ("input_image", "input_file"):
                    yield EntryKind.FILE, role, "", told
                    continue
                text = text_in(part)
                is_own = role is Role.USER and _OWN_WORDS.match(text) is not None
                yield EntryKind.MESSAGE, Role.SYSTEM if is_own else role, text, {}
        case "reasoning":
            text = text_in(item.get("summary")) or text_in(item.get("content"))
            yield EntryKind.REASONING, Role.ASSISTANT, text, {}
        case "function_call":
            yield EntryKind.CALL, Role.ASSISTANT, a_str(item.get("arguments")), item
        case "custom_tool_call":
            yield EntryKind.CALL, Role.ASSISTANT, a_str(item.get("input")), item
        case "local_shell_call" | "web_search_call" | "tool_search_call":
            yield EntryKind.CALL, Role.ASSISTANT, as_json(item.get("action") or {}), item
        case _ if kind.endswith("_output"):
            yield EntryKind.RESULT, Role.TOOL, text_in(item.get("output")), item
