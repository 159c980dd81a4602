"""Markdown notes: each is a document, unchanged. An edited note is a new document after the old."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

from pagefault.history.files import File, Told
from pagefault.history.files import read as read_bytes
from pagefault.history.parts import moment
from pagefault.history.values import Entry, EntryKind, Flaw, Transcript
from pagefault.model.kinds import Role

SOURCE: Final = "notes"

NOTE_BYTES: Final = 16 << 20
_SUFFIXES: Final = (".md", ".markdown", ".mdown", ".mkd")
_MARKDOWN: Final = re.compile(
    r"(?m)^#{1,6} \S|^---[ \t]*$|^[-*+] \S|^\d+\. \S|^> |\[[^\]\n]+\]\([^)\n]+\)|\*\*\S"
)
_HEADING: Final = re.compile(r"(?m)^#{1,6} +(.+?)[ #]*$")
_DATED: Final = re.compile(r"(?m)^(?:date|created|created_at)[ \t]*:[ \t]*[\"']?([\d][^\"'\n]*)")


def recognises(head: bytes, file: File) -> bool:
    if b"\0" in head or not (file.is_named or file.name.lower().endswith(_SUFFIXES)):
        return False
    try:
        text = head.decode()
    except UnicodeDecodeError as bad:
        if bad.start < len(head) - 3:  # not because it was cut off
            return False
        text = head[: bad.start].decode()
    return _MARKDOWN.search(text) is not None


def read(file: File, told: Told) -> Iterator[Transcript | Flaw]:
    with file.open(told) as opened:
        data = read_bytes(opened, NOTE_BYTES + 1)
    if len(data) > NOTE_BYTES:
        yield Flaw(place="", why=f"a note of more than {NOTE_BYTES >> 20} MiB")
        return
    text = data.decode("utf-8-sig", "replace")
    front = text.split("\n---", 1)[0] if text.startswith("---") else ""
    dated = _DATED.search(front)
    heading = _HEADING.search(text)
    name = PurePath(file.name.rpartition("!")[2]).stem
    title = heading[1] if heading else name
    entry = Entry(
        key=hashlib.sha256(data).hexdigest()[:32],
        text=text,
        role=Role.USER,
        form=EntryKind.DOCUMENT,
        at=(moment(dated[1].strip()) or "") if dated else "",
        title=title,
    )
    project = PurePath(file.name.rpartition("!")[0] or file.path).parent.name
    yield Transcript(id="", entries=[entry], title=title, project=project)
