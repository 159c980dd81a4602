"""Claude Code's sessions: `~/.claude/projects/PROJECT/SESSION.jsonl`, with a line for each block
that a model wrote and each message sent to it.

Lines name their parent, but do not form a tree of branches: of parallel calls, each result is a
child of its own call's line. Only a prompt begins a branch: if its parent already has a prompt
after it, the user went back to that point. Everything else follows the previous line.

Lines of a sidechain are a subagent's, in a lane of their own. A compaction's replacement text, and
messages that the client wrote in the user's name, are not the user's words.
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

SOURCE: Final = "claude-code"

_HEAD: Final = re.compile(
    rb'(?<!\\)"parentUuid"\s*:|(?<!\\)"leafUuid"\s*:'
    rb'|(?<!\\)"type"\s*:\s*"(?:file-history-snapshot|queue-operation|permission-mode)"'
)
_OWN_WORDS: Final = re.compile(r"<(?:command-(?:name|message|args)|local-command-\w+|bash-\w+)>")
_LOOKED_FOR: Final = 2_000  # leading lines in which a session must be named

Line = tuple[int, Any] | Flaw


def recognises(head: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and _HEAD.search(head) is not None


def read(file: File, told: Told) -> Iterator[Transcript | Flaw]:
    with file.open(told) as opened:
        found = lines(opened)
        first: list[Line] = []
        session: dict[str, Any] = {}
        for line in found:
            first.append(line)
            session = {} if isinstance(line, Flaw) else a_dict(line[1])
            if session.get("sessionId") and session.get("type") in ("user", "assistant", "system"):
                break
            if len(first) >= _LOOKED_FOR:
                break
        yield Transcript(
            id=a_str(session.get("sessionId")),
            entries=_Reader().entries(chain(first, found)),
            title=_title(first),
            project=last_folder(session.get("cwd")),
        )


def _title(found: Iterable[Line]) -> str:
    for line in found:
        told = {} if isinstance(line, Flaw) else a_dict(line[1])
        if title := a_str(told.get("summary")) or a_str(told.get("customTitle")):
            return title
    return ""


class _Reader:
    def __init__(self) -> None:
        self._ends: dict[str, str] = {}  # of each line: its last entry, or what it follows
        self._lanes: dict[str, str] = {}  # of each line
        self._prompts: dict[str, int] = {}  # the number of prompts up to an entry, on its branch
        self._tips: dict[str, str] = {}  # of each lane
        self._tools: dict[str, str] = {}  # the tool of each call

    def entries(self, found: Iterable[Line]) -> Iterator[Entry | Flaw]:
        for line in found:
            if isinstance(line, Flaw):
                yield line
                continue
            number, value = line
            if not isinstance(value, dict):
                yield Flaw(place=f"line {number}", why="not an object")
                continue
            yield from self._entries(number, value)

    def _entries(self, number: int, line: dict[str, Any]) -> Iterator[Entry | Flaw]:
        place = f"line {number}"
        at = moment(line.get("timestamp"))
        uuid, parent = a_str(line.get("uuid")), a_str(line.get("parentUuid"))
        lane = self._lane(line, uuid, parent)
        blocks = list(_blocks(line))
        if at is None and blocks:
            yield Flaw(place=place, why=f"{line.get('timestamp')!r:.40} is no time", kept=True)
        follows = self._follows(lane, parent, is_prompt=any(one[1] is Role.USER for one in blocks))
        prompts = self._prompts.get(follows, 0)
        end = follows
        for index, (form, role, text, block) in enumerate(blocks):
            call_id = a_str(block.get("tool_use_id")) or a_str(block.get("id"))
            is_call = form is EntryKind.CALL
            if is_call:
                self._tools[call_id] = a_str(block.get("name"))
            data, media_type = data_of(block) if form is EntryKind.FILE else (None, "")
            message = a_dict(line.get("message"))
            model = a_str(message.get("model")) if role is Role.ASSISTANT else ""
            key = f"{uuid or number}/{index}"
            yield Entry(
                key=key,
                text=text,
                role=role,
                form=form,
                parent=end,
                lane=lane,
                at=at or "",
                title=self._tools.get(call_id, "")
                if form in (EntryKind.CALL, EntryKind.RESULT)
                else a_str(block.get("title")),
                call_id=call_id if form in (EntryKind.CALL, EntryKind.RESULT) else "",
                is_error=bool(block.get("is_error")),
                model="" if model.startswith("<") else model,
                data=data,
                media_type=media_type,
                goes_on=index > 0,
                place=place,
            )
            end = key
            prompts += role is Role.USER and index == 0
            self._prompts[key] = prompts
        if blocks:
            self._tips[lane] = end
        if uuid:
            self._ends[uuid], self._lanes[uuid] = end, lane

    def _lane(self, line: dict[str, Any], uuid: str, parent: str) -> str:
        if not line.get("isSidechain"):
            return ""
        return a_str(line.get("agentId")) or self._lanes.get(parent) or f"side-{uuid[:8]}"

    def _follows(self, lane: str, parent: str, *, is_prompt: bool) -> str:
        tip = self._tips.get(lane, "")
        named = self._ends.get(parent, "") if parent else ""
        if not is_prompt or (parent and not named):
            return tip
        return named if self._prompts.get(named, 0) < self._prompts.get(tip, 0) else tip


def _blocks(line: dict[str, Any]) -> Iterator[tuple[EntryKind, Role, str, dict[str, Any]]]:
    """The content of a line, block by block."""
    kind = line.get("type")
    if kind == "summary":
        yield EntryKind.MESSAGE, Role.SYSTEM, a_str(line.get("summary")), {"title": "summary"}
    elif kind == "system" and line.get("subtype") == "compact_boundary":
        yield EntryKind.MESSAGE, Role.SYSTEM, a_str(line.get("content")), {"title": "compaction"}
    elif kind in ("user", "assistant"):
        content = a_dict(line.get("message")).get("content")
        role = ROLES.get(a_str(a_dict(line.get("message")).get("role")), ROLES[kind])
        typed = role is Role.USER and not (line.get("isMeta") or line.get("isCompactSummary"))
        for block in (
            [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        ):
            yield from _block(a_dict(block), role, typed=typed)


def _block(
    block: dict[str, Any], role: Role, *, typed: bool
) -> Iterator[tuple[EntryKind, Role, str, dict[str, Any]]]:
    match block.get("type"):
        case "text":
            text = a_str(block.get("text"))
            is_own = role is Role.USER and (not typed or _OWN_WORDS.match(text) is not None)
            yield EntryKind.MESSAGE, Role.SYSTEM if is_own else role, text, {}
        case "thinking":
            yield EntryKind.REASONING, role, a_str(block.get("thinking")), {}
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            yield EntryKind.CALL, Role.ASSISTANT, as_json(block.get("input", {})), block
        case "image" | "document":
            yield EntryKind.FILE, Role.TOOL, "", block
        case str() as kind if kind.endswith("tool_result"):
            yield EntryKind.RESULT, Role.TOOL, text_in(block.get("content")), block
            for part in a_list(block.get("content")):
                if a_dict(part).get("type") in ("image", "document"):
                    yield EntryKind.FILE, Role.TOOL, "", part
