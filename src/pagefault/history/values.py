"""The output of readers: conversations of entries, and flaws.

A reader is lazy: it holds one conversation at most, and one line of a file of lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from pagefault.model.kinds import Role


class EntryKind(StrEnum):
    """What an entry is."""

    MESSAGE = "message"
    REASONING = "reasoning"
    CALL = "call"  # of a tool: `text` has its arguments, as JSON
    RESULT = "result"  # of such a call
    DOCUMENT = "document"
    FILE = "file"  # bytes, or only their description if the export lacks them


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One item of a conversation, in file order.

    `key` is unique within its conversation, and the same on every reading. `parent` is the key of
    the entry that it follows, "" for the first of the conversation; None if the format has no
    branches: it follows the entry before it. A parent comes before its children, and the current
    branch before its siblings. Entries of another `lane` are a separate conversation within this
    one, such as a subagent's.
    """

    key: str
    text: str
    role: Role
    form: EntryKind = EntryKind.MESSAGE
    parent: str | None = None
    lane: str = ""
    at: str = ""  # ISO 8601 with its zone; "" if the file has no valid time
    title: str = ""  # of a document or a file; for a call or a result, the tool's name
    call_id: str = ""
    is_error: bool = False
    model: str = ""
    speaker: str = ""
    data: bytes | None = None
    media_type: str = ""
    goes_on: bool = False  # it continues the message of the entry before
    place: str = ""  # in the file, for people
    seq: int = 0  # in the log of the exported memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """Something that could not be read properly: where and why. If `kept`, it is incomplete."""

    place: str
    why: str
    kept: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """`id` is its program's id; "" if it has none, and then its file identifies it. For an export
    of ours, `memory` is the exported memory.
    """

    id: str
    entries: Iterable[Entry | Flaw]
    title: str = ""
    project: str = ""  # a name, never a path
    of: str = ""  # the conversation that it was started from
    place: str = ""
    memory: str = ""
