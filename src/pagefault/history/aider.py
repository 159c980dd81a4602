"""aider's `.aider.chat.history.md`: one file for all chats in a folder.

A chat begins with `# aider chat started at TIME`. Lines of the user begin with `####`, lines of
aider itself with `>`, and the rest is the model's. Only the start of a chat has a time, in an
unknown local zone. A message is identified by its position and its text.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from pagefault.history.files import File, Told
from pagefault.history.parts import YEARS
from pagefault.history.stream import TOO_LONG, VALUE_BYTES
from pagefault.history.values import Entry, EntryKind, Flaw, Transcript
from pagefault.model.kinds import Role

SOURCE: Final = "aider"

_START: Final = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
_HEAD: Final = re.compile(rb"(?m)^# aider chat started at \d{4}-")
_LINE_BYTES: Final = 1 << 20


def recognises(head: bytes) -> bool:
    return _HEAD.search(head) is not None


def read(file: File, told: Told) -> Iterator[Transcript | Flaw]:
    begun = Counter[str]()
    chat: list[tuple[int, str]] = []
    at, first, size = "", 1, 0
    with file.open(told) as opened:
        number = 0
        while line := opened.readline(_LINE_BYTES):
            number += 1
            text = line.decode("utf-8", "replace")
            start = _START.fullmatch(text)
            if start is None:
                size += len(line)
                if size > VALUE_BYTES:
                    yield Flaw(place=f"line {number}", why=f"a chat {TOO_LONG}: nothing after")
                    break
                chat.append((number, text))
                continue
            yield from _chat(chat, at, first, begun)
            chat, at, first, size = [], start[1], number, 0
    yield from _chat(chat, at, first, begun)


def _chat(
    chat: list[tuple[int, str]], at: str, first: int, begun: Counter[str]
) -> Iterator[Transcript | Flaw]:
    if not any(text.strip() for _, text in chat):
        return
    begun[at] += 1
    when = _moment(at)
    if when is None:
        yield Flaw(place=f"line {first}", why=f"{at!r} is no time", kept=True)
    name = re.sub(r"\D", "", at) or "before"
    yield Transcript(
        id=f"#{name}-{begun[at]}", entries=_entries(chat, when or ""), place=f"line {first}"
    )


def _moment(at: str) -> str | None:
    if not at:
        return ""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return None
    return moment.isoformat() if YEARS[0] <= moment.year < YEARS[1] else None


def _entries(chat: list[tuple[int, str]], at: str) -> Iterator[Entry]:
    for number, (role, first, text) in enumerate(_runs(chat)):
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        yield Entry(
            key=f"{number}/{digest}",
            text=text,
            role=role,
            form=EntryKind.MESSAGE,
            at=at,
            speaker="aider" if role is Role.SYSTEM else "",
            place=f"line {first}",
        )


def _runs(chat: list[tuple[int, str]]) -> Iterator[tuple[Role, int, str]]:
    """Consecutive lines of one voice; blank ones belong to what precedes them."""
    role, first, held = Role.ASSISTANT, 0, list[str]()
    for number, line in chat:
        if line.startswith("#### "):
            now, said = Role.USER, line[5:]
        elif line.startswith(">"):
            now, said = Role.SYSTEM, line[1:].removeprefix(" ")
        else:
            now, said = (role if not line.strip() else Role.ASSISTANT), line
        if now is not role and "".join(held).strip():
            yield role, first, "".join(held).strip()
            held = []
        if now is not role or not held:
            role, first = now, number
        held.append(said)
    if "".join(held).strip():
        yield role, first, "".join(held).strip()
