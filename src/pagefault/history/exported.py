"""Our own exports: their layout, and reading them back.

A line of `events` is an event envelope: `event_id`, `session_id`, `project_id`, `ts`, `source`,
`event_type`, `role`, `text`, tags, `hash`, and what is needed to read it back: the event that it
`follows`, its seq in the log, the speaker, the call. A Markdown document has the same in comments,
so people read the text and programs the comments.

Derived pages (summaries, claims) are for readers of the export. Reading it back imports only the
original texts: nobody vouches for a file, and claims need evidence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final

from pagefault.history.files import Attachment, File, Told, Unreadable
from pagefault.history.parts import ROLES, a_dict, a_list, a_str, moment
from pagefault.history.stream import lines
from pagefault.history.values import Entry, EntryKind, Flaw, Transcript

SOURCE: Final = "pagefault"
EVENTS_NAME: Final = "events.jsonl"
CONTENTS_NAME: Final = "README.md"

_HEAD: Final = re.compile(
    rb'\A\s*\{"event_id": ?"[^"]*", ?"session_id": ?"[^"]*", ?"project_id": ?"pagefault:'
)
_LIST: Final = re.compile(rb'\A\s*\{"session_id": ?"[^"]*", ?"project_id": ?"pagefault:')
_DOCUMENT: Final = "<!-- pagefault session "
_PART: Final = "<!-- pagefault event "
_CONTENTS: Final = "<!-- pagefault contents -->"
_END: Final = " -->"
_MARK: Final = re.compile(r"^(\\*)(?=<!-- pagefault )", re.MULTILINE)
_FORMS: Final = {
    "tool_call": EntryKind.CALL,
    "tool_result": EntryKind.RESULT,
    "document": EntryKind.DOCUMENT,
    "note": EntryKind.DOCUMENT,
    "core": EntryKind.DOCUMENT,
    "artifact": EntryKind.FILE,
}
_DERIVED: Final = frozenset({"summary", "claim", "decision", "representation"})
_UNSAFE: Final = re.compile(r"[^\w-]+")


# --- writing --------------------------------------------------------------------------------------


def document_name(name: str, session_id: str) -> str:
    """The file name of a session's document: its name, as far as a file can have it."""
    plain = _UNSAFE.sub("-", name).strip("-")[:60]
    return f"{plain}-{session_id}.md" if plain else f"{session_id}.md"


def document_head(session: dict[str, Any]) -> str:
    title = _one_line(session["name"]) or session["session_id"]
    return f"{_comment(_DOCUMENT, session)}\n# {title}\n\nOpened {session['opened_at']}.\n"


def document_part(line: dict[str, Any]) -> str:
    """A text with a heading for people, and a comment for programs."""
    of_session = ("text", "session_id", "session")
    told = {name: value for name, value in line.items() if name not in of_session}
    who = line.get("speaker") or line["role"]
    if line.get("title"):
        who = f"{who}: {line['title']}"
    when = line.get("occurred_at") or line["ts"]
    heading = f"## {_one_line(str(who))} · {line['page_id']} · {when}"
    text = _MARK.sub(lambda found: "\\" + found[1], line["text"])
    return f"\n{_comment(_PART, told)}\n{heading}\n\n{text}\n"


def contents(listed: Sequence[tuple[str, dict[str, Any]]]) -> str:
    links = [f"- [{_one_line(one['name']) or one['session_id']}]({name})" for name, one in listed]
    return "\n".join([_CONTENTS, "# Sessions", "", *links, ""])


def _comment(opening: str, told: dict[str, Any]) -> str:
    # `>` is escaped, so that the content cannot end the comment.
    return opening + json.dumps(told).replace(">", "\\u003e") + _END


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]


# --- reading --------------------------------------------------------------------------------------


def recognises(head: bytes) -> bool:
    return (
        _HEAD.match(head) is not None
        or _LIST.match(head) is not None
        or head.startswith(b"<!-- pagefault ")
    )


def read(file: File, told: Told) -> Iterator[Transcript | Flaw]:
    files: dict[str, Attachment] | None = None

    def find(ref: str) -> Attachment | None:
        nonlocal files
        if files is None:
            files = file.beside()
        return files.get(ref)

    head = file.head()
    if head.startswith(b"<!-- pagefault "):
        if head.startswith(_DOCUMENT.encode()):
            yield _document(file, told, find)
        return
    if _LIST.match(head):
        return  # for other readers of the archive: each line of events names its session
    with file.open(told) as opened:
        found = lines(opened)
        first = next(found, None)
        while first is not None:
            if isinstance(first, Flaw):
                yield first
                first = next(found, None)
                continue
            session = a_str(a_dict(first[1]).get("session_id"))
            rest = _OfSession(session, chain([first], found))
            yield Transcript(
                id=session,
                memory=a_str(a_dict(first[1]).get("project_id")),
                title=a_str(a_dict(first[1]).get("session")),
                entries=_entries(rest, find),
                place=f"line {first[0]}",
            )
            first = rest.next_


class _OfSession:
    """The lines of one session; `next_` is the first line of the one after it."""

    def __init__(self, session: str, found: Iterator[tuple[int, Any] | Flaw]) -> None:
        self._session = session
        self._found = found
        self.next_: tuple[int, Any] | Flaw | None = None

    def __iter__(self) -> Iterator[tuple[str, Any] | Flaw]:
        for one in self._found:
            if isinstance(one, Flaw):
                yield one
            elif a_str(a_dict(one[1]).get("session_id")) == self._session:
                yield f"line {one[0]}", one[1]
            else:
                self.next_ = one
                return


def _document(file: File, told: Told, find: Any) -> Transcript:
    with file.open(told) as opened:
        text = opened.read().decode("utf-8", "replace")
    head, _, rest = text.partition("\n")
    session = _told(head, _DOCUMENT)

    def parts() -> Iterator[tuple[str, Any] | Flaw]:
        starts = [found.start() for found in re.finditer(rf"^{_PART}", rest, re.MULTILINE)]
        for start, end in zip(starts, [*starts[1:], len(rest) + 1], strict=True):
            comment, _, body = rest[start : end - 1].partition("\n")
            line = _told(comment, _PART)
            place = f"line {2 + rest.count(chr(10), 0, start)}"
            if not line:
                yield Flaw(place=place, why="its comment is damaged")
                continue
            _, _, said = body.partition("\n\n")
            said = re.sub(r"^\\(?=\\*<!-- pagefault )", "", said, flags=re.MULTILINE)
            yield place, line | {"text": said.removesuffix("\n")}

    return Transcript(
        id=a_str(session.get("session_id")),
        memory=a_str(session.get("project_id")),
        title=a_str(session.get("name")),
        of=a_str(session.get("parent")),
        entries=_entries(parts(), find),
    )


def _told(comment: str, opening: str) -> dict[str, Any]:
    try:
        return a_dict(json.loads(comment.removeprefix(opening).rstrip().removesuffix(_END)))
    except (ValueError, RecursionError):
        return {}


def _entries(found: Any, find: Any) -> Iterator[Entry | Flaw]:
    for one in found:
        if isinstance(one, Flaw):
            yield one
            continue
        place, value = one
        line = a_dict(value)
        kind = a_str(line.get("event_type"))
        if kind in _DERIVED or "evidence" in line:
            continue
        role, key = ROLES.get(a_str(line.get("role"))), a_str(line.get("event_id"))
        if role is None or not key:
            yield Flaw(place=place, why="no role or no event_id")
            continue
        at = moment(line.get("occurred_at") or line.get("ts"))
        if at is None:
            yield Flaw(place=place, why=f"{line.get('ts')!r:.40} is no time", kept=True)
        form = _FORMS.get(kind, EntryKind.MESSAGE)
        artifact = a_dict(next(iter(a_list(line.get("artifacts"))), None))
        data = None
        if form is EntryKind.FILE and (attached := find(a_str(artifact.get("ref")))):
            try:
                data = attached.read()
            except Unreadable as problem:
                yield Flaw(place=place, why=str(problem), kept=True)
        seq = line.get("seq")
        yield Entry(
            key=key,
            text=a_str(line.get("text")),
            role=role,
            form=form,
            parent=a_str(line.get("follows")) or ("" if "follows" in line else None),
            at=at or "",
            title=a_str(line.get("title")),
            call_id=a_str(line.get("call_id")),
            is_error=bool(line.get("is_error")),
            model=a_str(line.get("model")),
            speaker=a_str(line.get("speaker")),
            data=data,
            media_type=a_str(artifact.get("mime_type")),
            place=place,
            seq=seq if isinstance(seq, int) else 0,
        )
