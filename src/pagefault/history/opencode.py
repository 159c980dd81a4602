"""opencode's store, a database since 2026 and before that a file for each session, message and
part; and the output of `opencode export`: a session in one file.

    storage/session/PROJECT/SESSION.json   storage/message/SESSION/MESSAGE.json
    storage/part/MESSAGE/PART.json

Before mid-2025 the three were below `storage/session`, as `info`, `message` and `part`, with parts
in a folder of their session. Ids ascend with time. A session with a `parentID` is a subagent's.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from pagefault.history.files import File, Told, Unreadable, listed, open_regular
from pagefault.history.files import read as read_bytes
from pagefault.history.parts import (
    ROLES,
    a_dict,
    a_list,
    a_str,
    as_json,
    data_of,
    last_folder,
    moment,
)
from pagefault.history.stream import VALUE_BYTES, elements, value_of
from pagefault.history.values import Entry, EntryKind, Flaw, Transcript
from pagefault.model.kinds import Role

SOURCE: Final = "opencode"

_HEAD: Final = re.compile(
    rb'(?<!\\)"info"\s*:\s*\{.*(?<!\\)"(?:projectID|sessionID|directory)"\s*:', re.DOTALL
)

Message = tuple[dict[str, Any], list[dict[str, Any]]]
"""The message's own data, and its parts."""


def recognises(head: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and _HEAD.search(head) is not None


def read(file: File, told: Told) -> Iterator[Transcript | Flaw]:
    with file.open(told) as opened:
        for found in elements(opened):
            if isinstance(found, Flaw):
                yield found
                continue
            value = a_dict(found[1])
            messages = (
                (a_dict(one.get("info")), [a_dict(p) for p in a_list(one.get("parts"))])
                for one in map(a_dict, a_list(value.get("messages")))
            )
            yield _conversation(a_dict(value.get("info")), messages)


# --- the store ------------------------------------------------------------------------------------


def is_store(folder: Path) -> bool:
    """Whether a folder is opencode's `storage`."""
    names = {path.name for path in listed(folder) if path.is_dir() and not path.is_symlink()}
    return {"session", "message", "part"} <= names or (
        "session" in names
        and {"info", "message", "part"} <= {p.name for p in listed(folder / "session")}
    )


def read_store(folder: Path, told: Told) -> Iterator[Transcript | Flaw]:
    is_old = (folder / "session" / "info").is_dir()
    groups = [folder / "session" / "info"] if is_old else listed(folder / "session")
    for group in groups:
        if group.is_symlink() or not group.is_dir():
            continue
        for path in listed(group):
            info = _load(path, told)
            if isinstance(info, Flaw):
                yield info
            else:
                yield _conversation(info, _stored(folder, info, told, is_old=is_old))


def _stored(
    folder: Path, info: dict[str, Any], told: Told, *, is_old: bool
) -> Iterator[Message | Flaw]:
    session = _a_name(info.get("id"))
    below = folder / "session" if is_old else folder
    for path in listed(below / "message" / session) if session else ():
        message = _load(path, told)
        if isinstance(message, Flaw):
            yield message
            continue
        name = _a_name(message.get("id"))
        parts: list[dict[str, Any]] = []
        place = below / "part" / session / name if is_old else below / "part" / name
        for one in listed(place) if name else ():
            part = _load(one, told)
            if isinstance(part, Flaw):
                yield part
            else:
                parts.append(part)
        yield message, parts


def _a_name(value: Any) -> str:
    """An id, if it is safe as a folder's name."""
    return value if isinstance(value, str) and re.fullmatch(r"[\w-]+", value) else ""


def _load(path: Path, told: Told) -> dict[str, Any] | Flaw:
    try:
        with open_regular(path) as file:
            data = read_bytes(file, VALUE_BYTES + 1)
        told(len(data))
        if len(data) > VALUE_BYTES:
            return Flaw(place=str(path), why="too long")
        value = value_of(data)
    except OSError as problem:
        return Flaw(place=str(path), why=problem.strerror or str(problem))
    except (Unreadable, ValueError) as problem:
        return Flaw(place=str(path), why=f"not JSON ({problem})")
    return value if isinstance(value, dict) else Flaw(place=str(path), why="not an object")


# --- the database ---------------------------------------------------------------------------------


def is_database(head: bytes, file: File) -> bool:
    """Whether a file is opencode's database, `opencode.db`."""
    if not head.startswith(b"SQLite format 3\0"):
        return False
    try:
        with closing(_connected(file.path)) as db:
            db.execute(_MESSAGES, ("",)).fetchone()
            db.execute(_PARTS, ("",)).fetchone()
    except sqlite3.Error:
        return False
    return True


_SESSIONS: Final = "SELECT id, parent_id, directory, title FROM session ORDER BY time_created, id"
_MESSAGES: Final = (
    "SELECT id, data, time_created FROM message WHERE session_id = ? ORDER BY time_created, id"
)
_PARTS: Final = "SELECT id, data FROM part WHERE message_id = ? ORDER BY id"


def read_database(file: File, told: Told) -> Iterator[Transcript | Flaw]:
    """Read the database without writing to it or blocking its other users."""
    try:
        with closing(_connected(file.path)) as db:
            for session, parent, directory, title in db.execute(_SESSIONS).fetchall():
                info = {"id": session, "parentID": parent, "directory": directory, "title": title}
                yield _conversation(info, _rows(db, session))
        told(file.size)
    except sqlite3.Error as problem:
        raise Unreadable(str(problem)) from problem


def _connected(path: str) -> sqlite3.Connection:
    place = quote(path)
    for mode in ("mode=ro", "mode=ro&immutable=1"):  # without a log beside it, no file is created
        db = sqlite3.connect(f"file:{place}?{mode}", uri=True, check_same_thread=False)
        try:
            db.execute("PRAGMA query_only = ON")
            db.execute("PRAGMA trusted_schema = OFF")
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            db.close()
            continue
        return db
    raise sqlite3.OperationalError("it cannot be opened")


def _rows(db: sqlite3.Connection, session: Any) -> Iterator[Message | Flaw]:
    for name, data, created in db.execute(_MESSAGES, (session,)).fetchall():
        message = _row(name, data)
        if isinstance(message, Flaw):
            yield message
            continue
        message.setdefault("time", {"created": created})
        parts: list[dict[str, Any]] = []
        for part_id, part_data in db.execute(_PARTS, (name,)).fetchall():
            part = _row(part_id, part_data)
            if isinstance(part, Flaw):
                yield part
            else:
                parts.append(part)
        yield message, parts


def _row(name: Any, data: Any) -> dict[str, Any] | Flaw:
    try:
        value = value_of(data.encode() if isinstance(data, str) else bytes(data))
    except (ValueError, TypeError) as problem:
        return Flaw(place=f"row {name}", why=f"not JSON ({problem})")
    if not isinstance(value, dict):
        return Flaw(place=f"row {name}", why="not an object")
    return {**value, "id": name}


# --- all -----------------------------------------------------------------------------------------


def _conversation(info: dict[str, Any], messages: Iterator[Message | Flaw]) -> Transcript:
    return Transcript(
        id=a_str(info.get("id")),
        entries=_entries(messages),
        title=a_str(info.get("title")),
        project=last_folder(info.get("directory") or a_dict(info.get("path")).get("cwd")),
        of=a_str(info.get("parentID")),
    )


def _entries(messages: Iterator[Message | Flaw]) -> Iterator[Entry | Flaw]:
    for one in messages:
        if isinstance(one, Flaw):
            yield one
        else:
            yield from _message(*one)


def _message(info: dict[str, Any], parts: list[dict[str, Any]]) -> Iterator[Entry | Flaw]:
    name = a_str(info.get("id"))
    place = f"message {name}"
    role = ROLES.get(a_str(info.get("role")))
    if role is None or not name:
        yield Flaw(place=place, why=f"role {info.get('role')!r:.40} is not known")
        return
    told = a_dict(info.get("time")).get("created")
    at = moment(told)
    if at is None:
        yield Flaw(place=place, why=f"{told!r:.40} is no time", kept=True)
    model = a_str(info.get("modelID")) or a_str(a_dict(info.get("model")).get("modelID"))
    is_first = True
    for part in parts:
        for index, (form, said_by, text) in enumerate(_blocks(part, role)):
            data, media_type = data_of(part) if form is EntryKind.FILE else (None, "")
            has_call = form in (EntryKind.CALL, EntryKind.RESULT)
            title = part.get("tool") if has_call else part.get("filename")
            yield Entry(
                key=f"{a_str(part.get('id')) or name}/{index}",
                text=text,
                role=said_by,
                form=form,
                at=at or "",
                title=a_str(title),
                call_id=a_str(part.get("callID")) if has_call else "",
                is_error=form is EntryKind.RESULT
                and a_dict(part.get("state")).get("status") == "error",
                model=model if said_by is Role.ASSISTANT else "",
                data=data,
                media_type=media_type,
                goes_on=not is_first,
                place=place,
            )
            is_first = False


def _blocks(part: dict[str, Any], role: Role) -> Iterator[tuple[EntryKind, Role, str]]:
    match part.get("type"):
        case "text":
            is_own = role is Role.USER and bool(part.get("synthetic"))
            yield EntryKind.MESSAGE, Role.SYSTEM if is_own else role, a_str(part.get("text"))
        case "reasoning":
            yield EntryKind.REASONING, role, a_str(part.get("text"))
        case "file":
            yield EntryKind.FILE, role, ""
        case "tool":
            state = a_dict(part.get("state"))
            yield EntryKind.CALL, Role.ASSISTANT, as_json(state.get("input", {}))
            if state.get("status") in ("completed", "error"):
                answer = state.get("output") or state.get("error")
                yield EntryKind.RESULT, Role.TOOL, a_str(answer)
