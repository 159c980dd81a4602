"""ChatGPT's export: `conversations.json`, and the files beside it, in a zip archive or unpacked.

A conversation is a tree of nodes. Where the user edited a message, or regenerated an answer, a node
has several children; `current_node` is the last one of the visible branch. A message of the model
to anybody but `all` is a call, and that tool's next message is its result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from pagefault.history.files import Attachment, File, Told, Unreadable
from pagefault.history.parts import ROLES, a_dict, a_list, a_str, as_json, moment, text_in
from pagefault.history.stream import elements
from pagefault.history.tree import in_order
from pagefault.history.values import Entry, EntryKind, Flaw, Transcript
from pagefault.model.kinds import Role

SOURCE: Final = "chatgpt"

_HEAD: Final = re.compile(rb'(?<!\\)"mapping"\s*:\s*\{')
_ASSET: Final = re.compile(r"^[\w-]+://(?:.*[/#])?([\w.-]+)")

Block = tuple[EntryKind, str, dict[str, Any]]


def recognises(head: bytes) -> bool:
    return head.lstrip()[:1] in (b"[", b"{") and _HEAD.search(head) is not None


def read(file: File, told: Told) -> Iterator[Transcript | Flaw]:
    files: dict[str, Attachment] | None = None

    def find(asset: str) -> Attachment | None:
        nonlocal files
        if files is None:
            files = file.beside()
        return next((one for name, one in files.items() if name.startswith(asset)), None)

    with file.open(told) as opened:
        for found in elements(opened):
            if isinstance(found, Flaw):
                yield found
                continue
            line, value = found
            mapping = a_dict(value).get("mapping")
            if not isinstance(mapping, dict):
                yield Flaw(place=f"line {line}", why="no conversation: it has no `mapping`")
                continue
            yield Transcript(
                id=a_str(value.get("conversation_id")) or a_str(value.get("id")),
                entries=_Reader(mapping, find).entries(a_str(value.get("current_node"))),
                title=a_str(value.get("title")),
                place=f"line {line}",
            )


class _Reader:
    def __init__(self, mapping: dict[str, Any], find: Any) -> None:
        self._nodes = {name: a_dict(node) for name, node in mapping.items()}
        self._find = find
        self._ends: dict[str, str] = {}  # for each node: its last entry, or the one that it follows
        self._calls: dict[str, str] = {}  # the call that a node is, or follows

    def entries(self, current: str) -> Iterator[Entry | Flaw]:
        parents = {name: a_str(node.get("parent")) for name, node in self._nodes.items()}
        for name, parent in in_order(parents, current):
            follows = self._ends.get(parent, "")
            self._ends[name] = follows
            self._calls[name] = self._calls.get(parent, "")
            message = self._nodes[name].get("message")
            if isinstance(message, dict):
                yield from self._message(name, message, follows)

    def _message(self, name: str, message: dict[str, Any], end: str) -> Iterator[Entry | Flaw]:
        place = f"message {a_str(message.get('id')) or name}"
        author = a_dict(message.get("author"))
        role = ROLES.get(a_str(author.get("role")))
        if role is None:
            yield Flaw(place=place, why=f"role {author.get('role')!r:.40} is not known")
            return
        at = moment(message.get("create_time"))
        if at is None:
            yield Flaw(place=place, why=f"{message.get('create_time')!r:.40} is no time", kept=True)
        recipient = a_str(message.get("recipient")) or "all"
        metadata = a_dict(message.get("metadata"))
        is_call = role is Role.ASSISTANT and recipient != "all"
        if is_call:
            self._calls[name] = name
        attachments = {
            a_str(one.get("id")): one for one in map(a_dict, a_list(metadata.get("attachments")))
        }
        blocks = list(_blocks(a_dict(message.get("content"))))
        shown = {_asset(block) for form, _, block in blocks if form is EntryKind.FILE}
        blocks += [
            (EntryKind.FILE, "", {"asset_pointer": f"file://{key}"})
            for key in attachments
            if key and key not in shown
        ]
        for index, (form, text, block) in enumerate(blocks):
            if form is EntryKind.MESSAGE:
                form = (
                    EntryKind.CALL if is_call else EntryKind.RESULT if role is Role.TOOL else form
                )
            data: bytes | None = None
            title, media_type = "", ""
            if form is EntryKind.FILE:
                told = attachments.get(_asset(block), {})
                title = a_str(told.get("name")) or _asset(block)
                media_type = a_str(told.get("mime_type")) or a_str(told.get("mimeType"))
                try:
                    data = self._data(_asset(block))
                except Unreadable as problem:
                    yield Flaw(place=f"{place}, {title}", why=str(problem), kept=True)
            elif form in (EntryKind.CALL, EntryKind.RESULT):
                title = recipient if is_call else a_str(author.get("name"))
            key = f"{name}/{index}"
            yield Entry(
                key=key,
                text=text,
                role=role,
                form=form,
                parent=end,
                at=at or "",
                title=title,
                call_id=self._calls[name] if form in (EntryKind.CALL, EntryKind.RESULT) else "",
                is_error=form is EntryKind.RESULT and block.get("content_type") == "system_error",
                model=a_str(metadata.get("model_slug")) if role is Role.ASSISTANT else "",
                data=data,
                media_type=media_type,
                goes_on=index > 0,
                place=place,
            )
            end = self._ends[name] = key

    def _data(self, asset: str) -> bytes | None:
        found: Attachment | None = self._find(asset) if asset else None
        return None if found is None else found.read()


def _asset(block: dict[str, Any]) -> str:
    """The target of a file pointer: `file-service://file-abc`, `sediment://file_abc`."""
    pointer = block.get("asset_pointer")
    match = _ASSET.match(pointer) if isinstance(pointer, str) else None
    return match[1] if match else ""


def _blocks(content: dict[str, Any]) -> Iterator[Block]:
    """The content of a message, part by part."""
    match content.get("content_type"):
        case "thoughts":
            for thought in map(a_dict, a_list(content.get("thoughts"))):
                told = (a_str(thought.get("summary")), a_str(thought.get("content")))
                yield EntryKind.REASONING, "\n".join(filter(None, told)), thought
        case "reasoning_recap":
            yield EntryKind.REASONING, a_str(content.get("content")), content
        case "tether_browsing_display":
            yield EntryKind.MESSAGE, a_str(content.get("result")) or text_in(content), content
        case "user_editable_context" | "model_editable_context":
            texts = (v for k, v in content.items() if k != "content_type" and isinstance(v, str))
            yield EntryKind.MESSAGE, "\n".join(texts), content
        case _ if isinstance(content.get("parts"), list):
            for part in content["parts"]:
                yield from _part(part, content)
        case _:
            yield EntryKind.MESSAGE, text_in(content), content


def _part(part: Any, content: dict[str, Any]) -> Iterator[Block]:
    if isinstance(part, str):
        yield EntryKind.MESSAGE, part, content
        return
    told = a_dict(part)
    pointers = [told, *(a_dict(v) for v in told.values())]
    found = [one for one in pointers if isinstance(one.get("asset_pointer"), str)]
    if found:
        yield from ((EntryKind.FILE, "", one) for one in found)
    elif text := text_in(told):
        yield EntryKind.MESSAGE, text, told
    elif told:
        yield EntryKind.MESSAGE, as_json(told), told
