"""What a reader makes of another program's file: conversations of entries, and what it could not
read.

A reader is lazy: it holds one conversation at most, and of a file of lines one line.
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
    CALL = "call"  # of a tool: `text` is its arguments, as JSON
    RESULT = "result"  # of such a call
    DOCUMENT = "document"
    FILE = "file"  # bytes, or only their description where the export has none


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing of a conversation, in the order in which it stands in the file.

    `key` tells it from every other of its conversation, and is the same whenever the file is read
    again. `parent` is the key of the entry that it follows, "" where it begins the conversation;
    None where the format knows no branches: it follows the entry before it. A parent comes before
    its children, and the branch that is current before its siblings. Entries of another `lane` are
    a conversation of their own within this one, as a subagent's are.
    """

    key: str
    text: str
    role: Role
    form: EntryKind = EntryKind.MESSAGE
    parent: str | None = None
    lane: str = ""
    at: str = ""  # ISO 8601 with its zone; "" where the file tells no time that can be
    title: str = ""  # of a document or a file; of a call or a result the tool's name
    call_id: str = ""
    is_error: bool = False
    model: str = ""
    speaker: str = ""
    data: bytes | None = None
    media_type: str = ""
    goes_on: bool = False  # more of the message that the entry before it began
    place: str = ""  # in the file, for a person
    seq: int = 0  # in the log of the memory that it was exported from


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """What could not be read as it should: where, and why. Where it was `kept`, less something."""

    place: str
    why: str
    kept: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """`id` is what its program calls it; "" where nothing does, and its file has to tell it. Of an
    export of ours, `memory` tells which memory it is from.
    """

    id: str
    entries: Iterable[Entry | Flaw]
    title: str = ""
    project: str = ""  # a name, never a path
    of: str = ""  # the conversation that it was begun from
    place: str = ""
    memory: str = ""
