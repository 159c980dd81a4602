"""Claude's export: `conversations.json` with the texts of attachments, and `projects.json`.

Newer exports name each message's parent: then an edited message is a branch, and the last message
ends the current branch. Files are exported as names only, except for text extracted from some.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from pagefault.history.files import File, Told
from pagefault.history.parts import ROLES, a_dict, a_list, a_str, as_json, moment, text_in
from pagefault.history.stream import elements
from pagefault.history.tree import in_order
from pagefault.history.values import Entry, EntryKind, Flaw, Transcript
from pagefault.model.kinds import Role

SOURCE: Final = "claude"

_HEAD: Final = re.compile(rb'(?<!\\)"chat_messages"\s*:\s*\[|(?<!\\)"prompt_template"\s*:')


def recognises(head: bytes) -> bool:
    return head.lstrip()[:1] in (b"[", b"{") and _HEAD.search(head) is not None


def read(file: File, told: Told) -> Iterator[Transcript | Flaw]:
    with file.open(told) as opened:
        for found in elements(opened):
            if isinstance(found, Flaw):
                yield found
                continue
            line, value = found[0], a_dict(found[1])
            if "chat_messages" in value:
                yield Transcript(
                    id=a_str(value.get("uuid")),
                    entries=_entries(value),
                    title=a_str(value.get("name")),
                    project=a_str(a_dict(value.get("project")).get("name")),
                    place=f"line {line}",
                )
            elif "docs" in value or "prompt_template" in value:
                yield Transcript(
                    id=f"project-{a_str(value.get('uuid'))}",
                    entries=_documents(value),
                    title=a_str(value.get("name")),
                    project=a_str(value.get("name")),
                    place=f"line {line}",
                )
            else:
                yield Flaw(place=f"line {line}", why="neither a conversation nor a project")


def _entries(conversation: dict[str, Any]) -> Iterator[Entry | Flaw]:
    messages: dict[str, dict[str, Any]] = {}
    for number, one in enumerate(a_list(conversation.get("chat_messages"))):
        if isinstance(one, dict):
            messages[a_str(one.get("uuid")) or f"#{number}"] = one
        else:
            yield Flaw(place=f"message {number + 1}", why="not an object")
    parents: dict[str, str] = {}
    before = ""
    for name, message in messages.items():
        parents[name] = a_str(message.get("parent_message_uuid")) or before
        before = name
    leaf = a_str(conversation.get("current_leaf_message_uuid")) or before
    ends: dict[str, str] = {}
    for name, parent in in_order(parents, leaf):
        ends[name] = ends.get(parent, "")
        for entry in _message(name, messages[name], ends[name]):
            if isinstance(entry, Entry):
                ends[name] = entry.key
            yield entry


def _message(name: str, message: dict[str, Any], end: str) -> Iterator[Entry | Flaw]:
    place = f"message {name}"
    role = ROLES.get(a_str(message.get("sender")))
    if role is None:
        yield Flaw(place=place, why=f"sender {message.get('sender')!r:.40} is not known")
        return
    at = moment(message.get("created_at"))
    if at is None:
        yield Flaw(place=place, why=f"{message.get('created_at')!r:.40} is no time", kept=True)
    for index, (form, text, block) in enumerate(_blocks(message)):
        key = f"{name}/{index}"
        has_call = form in (EntryKind.CALL, EntryKind.RESULT)
        yield Entry(
            key=key,
            text=text,
            role=Role.TOOL if form is EntryKind.RESULT else role,
            form=form,
            parent=end,
            at=at or "",
            title=a_str(block.get("name")) if has_call else a_str(block.get("file_name")),
            call_id=a_str(block.get("tool_use_id")) or a_str(block.get("id")) if has_call else "",
            is_error=bool(block.get("is_error")),
            media_type=a_str(block.get("file_type")) if form is EntryKind.FILE else "",
            goes_on=index > 0,
            place=place,
        )
        end = key


def _blocks(message: dict[str, Any]) -> Iterator[tuple[EntryKind, str, dict[str, Any]]]:
    content = [one for one in a_list(message.get("content")) if isinstance(one, dict)]
    for block in content:
        match block.get("type"):
            case "thinking":
                yield EntryKind.REASONING, a_str(block.get("thinking")), block
            case "tool_use":
                yield EntryKind.CALL, as_json(block.get("input", {})), block
            case "tool_result":
                yield EntryKind.RESULT, text_in(block.get("content")), block
            case "text":
                yield EntryKind.MESSAGE, a_str(block.get("text")), {}
    if not any(a_str(block.get("text")) for block in content):
        yield EntryKind.MESSAGE, a_str(message.get("text")), {}
    for one in map(a_dict, a_list(message.get("attachments"))):
        text = a_str(one.get("extracted_content"))
        yield (EntryKind.DOCUMENT if text else EntryKind.FILE), text, one
    for name in ("files", "files_v2"):
        for one in map(a_dict, a_list(message.get(name))):
            yield EntryKind.FILE, "", one


def _documents(project: dict[str, Any]) -> Iterator[Entry | Flaw]:
    told = [
        ("description", a_str(project.get("description")), project),
        ("instructions", a_str(project.get("prompt_template")), project),
        *(
            (a_str(doc.get("filename")), a_str(doc.get("content")), doc)
            for doc in map(a_dict, a_list(project.get("docs")))
        ),
    ]
    for title, text, one in told:
        own = "" if one is project else a_str(one.get("uuid"))
        yield Entry(
            key=f"{own or title}/{len(text)}",
            text=text,
            role=Role.USER,
            form=EntryKind.DOCUMENT,
            at=moment(one.get("created_at")) or "",
            title=title,
            place=f"document {title}",
        )
