"""What a client's request says, in nobody's wire format.

Clients resend the whole conversation with every request, and no two resend it alike: cache markers
move, reminders are rewritten, old results are blanked, thinking is dropped. So an item has a
*place*, by which it is recognised when it comes again, and a digest of what it says now. Items
without a place (reminders, thinking) belong to the conversation's dress, not to its body.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

from pagefault.model.kinds import Role

Json = dict[str, Any]


class Part(StrEnum):
    """What an item of a history is."""

    TEXT = "text"
    CALL = "call"
    RESULT = "result"
    SEALED = "sealed"  # an image, a file, a compacted history: only its bytes count
    DRESS = "dress"  # thinking, mid-conversation instructions: present, but no position


@dataclass(frozen=True, kw_only=True)
class Item:
    """One block of a message. `message` counts the messages of the request from 0."""

    part: Part
    role: Role
    message: int
    text: str = ""
    name: str = ""  # of a tool
    call_id: str = ""
    sealed: str = ""  # a digest of what is opaque

    @cached_property
    def place(self) -> str:
        """What makes it the same item when it is sent again at the same position; "" if nothing."""
        match self.part:
            case Part.CALL:
                return f"call {self.name} {self.call_id}"
            case Part.RESULT:
                return f"result {self.call_id}"
            case Part.SEALED:
                return f"{self.role} sealed {self.sealed}"
            case Part.TEXT if said := essence(self.text):
                return f"{self.role} {digest(said)}"
        return ""

    @cached_property
    def digest(self) -> str:
        """Of what it says now: differs where a client edited or blanked it."""
        return digest(f"{self.part} {essence(self.text)} {self.sealed}")

    @property
    def continues(self) -> bool:
        """Whether it opens a history that a client made shorter: what came before is summed up."""
        return self.part is Part.TEXT and bool(_CONTINUES.search(self.text[:2_000]))

    @property
    def asks_for_summary(self) -> bool:
        """Whether a client put it in to have the conversation summed up: nobody said it."""
        return (
            self.part is Part.TEXT
            and self.role is Role.USER
            and bool(_ASKS_FOR_SUMMARY.search(self.text[:4_000]))
        )


@dataclass(frozen=True, kw_only=True)
class History:
    """A request, read. `messages` are the client's own values, which nobody changes."""

    messages: Sequence[Any]
    items: Sequence[Item]
    instructions: str  # what stands before the conversation, as text
    tools: Sequence[Any]
    has_all: bool = True  # False where the provider holds an earlier part of the conversation

    @cached_property
    def placed(self) -> list[Item]:
        """The items that have a position, in order."""
        return [item for item in self.items if item.place]

    @property
    def lane(self) -> str:
        """Which of a client's conversations this is: those that run under one session (a title, a
        sub-agent, a summary) begin with other instructions. Only the first words count: what
        follows (dates, folders, lists of tools) changes while the conversation goes on.
        """
        words = essence(_VOLATILE_INSTRUCTIONS.sub("", self.instructions))
        return digest(" ".join(words.split())[:_LANE_CHARS])[:6]


_LANE_CHARS: Final = 80

_VOLATILE_INSTRUCTIONS: Final = re.compile(r"^x-anthropic-billing-header:[^\n]*\n?", re.MULTILINE)

_REMINDER: Final = re.compile(
    r"<(system-reminder|environment_context|user_instructions)>.*?</\1>", re.DOTALL
)
"""What clients put into the user's messages about the day, the folder and the state of the task."""

_CONTINUES: Final = re.compile(
    r"This session is being continued from a previous conversation"  # Claude Code
    r"|Another language model started to solve this problem and produced a summary"  # Codex
    r"|\A\s*What did we do so far\?\s*\Z"  # opencode
)
_ASKS_FOR_SUMMARY: Final = re.compile(
    r"performing a CONTEXT CHECKPOINT COMPACTION"  # Codex
    r"|Your task is to create a detailed summary of the conversation so far"  # Claude Code
)


def essence(text: str) -> str:
    """A text less what clients rewrite in it, and the space around."""
    return _REMINDER.sub("", text).strip()


def reminders(text: str) -> list[str]:
    """The spans that `essence` takes out."""
    return [match.group(0) for match in _REMINDER.finditer(text)]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def sealed(block: Mapping[str, Any]) -> str:
    """The digest of an opaque block, whatever marks it bears."""
    return digest(canonical(unmarked(block)))


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def unmarked(value: Any) -> Any:
    """The same value without cache markers: they say where to cache, not what was said."""
    if isinstance(value, Mapping):
        return {k: unmarked(v) for k, v in value.items() if k not in CACHE_MARKS}
    if isinstance(value, list):
        return [unmarked(one) for one in value]
    return value


CACHE_MARKS: Final = frozenset({"cache_control", "prompt_cache_breakpoint"})


def texts(values: Iterable[Any]) -> str:
    """The texts among blocks of content, joined by blank lines."""
    found = (one if isinstance(one, str) else one.get("text", "") for one in values if one)
    return "\n\n".join(text for text in found if isinstance(text, str) and text)
