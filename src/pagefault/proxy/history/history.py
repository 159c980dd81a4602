"""A client's history, independent of the wire format.

Clients resend the whole conversation with every request, never quite the same: cache markers move,
reminders are rewritten, old results are blanked, thinking is dropped. So an item has a *place*, by
which it is recognised when it is sent again, and a digest of what it says now. Items without a
place (reminders, thinking) are the conversation's dress, not its body.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import takewhile
from operator import is_
from typing import Any, Final

from pagefault.model.defaults import NAME_CHARS
from pagefault.model.kinds import ItemKind, Role
from pagefault.proxy.history.readable import call_of, is_answer, link_of, named, readable, tool_of

Json = dict[str, Any]


class Part(StrEnum):
    """The kind of an item."""

    TEXT = "text"
    CALL = "call"
    RESULT = "result"
    SEALED = "sealed"  # data nobody here said: results of a provider's tools, images, files
    DRESS = "dress"  # thinking, mid-conversation instructions: without a place


@dataclass(frozen=True, kw_only=True)
class Item:
    """One block of a message. `message` is the number of the message in the request, from 0."""

    part: Part
    role: Role
    message: int
    text: str = ""
    name: str = ""  # of a tool
    call_id: str = ""
    sealed: str = ""  # a digest of what is opaque
    of_call: str = ""  # the call that it makes or answers, if it names one
    link: str = ""  # the id that a call and its result share, even if they are opaque
    answers: bool = False  # an opaque result of the call with this `link`
    under: str = ""  # the provider's tool that it cites, if no item shows the call
    is_media: bool = False  # an image, a recording or a file
    asks_for_summary: bool = False  # the client's request for a summary
    continues: bool = False  # the client's summary
    # Nobody said either; `History.of_program` marks them, unless their format does.

    def __post_init__(self) -> None:
        object.__setattr__(self, "call_id", short_id(self.call_id))
        object.__setattr__(self, "link", self.call_id or short_id(self.link))

    @property
    def kind(self) -> ItemKind:
        """Its kind for the log and the window."""
        match self.part:
            case Part.CALL:
                return ItemKind.CALL
            case Part.RESULT:
                return ItemKind.RESULT
            case Part.SEALED:
                return ItemKind.MEDIA if self.is_media else ItemKind.OPAQUE
            case Part.DRESS:
                return ItemKind.REASONING
            case Part.TEXT:
                return ItemKind.MESSAGE

    @cached_property
    def place(self) -> str:
        """What identifies it when it is sent again at the same position; "" if nothing does."""
        match self.part:
            case Part.CALL:
                return f"call {self.name} {self.call_id}"
            case Part.RESULT:
                return f"result {self.call_id}"
            case Part.SEALED:
                return f"{self.role} sealed {self.of_call or self.sealed}"
            case Part.TEXT if said := essence(self.text):
                return f"{self.role} {digest(said)}"
        return ""

    def moved(self, message: int) -> Item:
        """The same item in the message of another number."""
        if message == self.message:
            return self
        other = object.__new__(Item)  # with all that is cached of it, which no number is part of
        other.__dict__.update(self.__dict__, message=message)
        return other

    @property
    def is_said(self) -> bool:
        """Whether it is text that pages can hold."""
        return self.part is Part.CALL or bool(self.told)

    @property
    def told(self) -> str:
        """Its text as pages hold it. Reminders of a client are nobody's words. But if a tool's
        result has nothing else, they are the result: a stranger knows how to write one.
        """
        match self.part:
            case Part.DRESS:
                return ""
            case Part.SEALED:
                return self.text.strip()
            case Part.RESULT:
                return essence(self.text) or self.text.strip()
        return essence(self.text)

    @property
    def told_by(self) -> Role:
        """Its author, for the log: data is a tool's, whoever's message it is in."""
        return Role.TOOL if self.part is Part.SEALED else self.role

    @cached_property
    def digest(self) -> str:
        """Of what it says now: changes if a client edits or blanks it."""
        return digest(f"{self.part} {essence(self.text)} {self.sealed}")

    @cached_property
    def exact(self) -> bytes:
        """A digest of everything in it, for callers that must not take two
        different items for one.
        """
        told = (self.part, self.role, self.text.strip(), self.name, self.call_id, self.sealed)
        return hashlib.sha256(json.dumps(told).encode()).digest()


@dataclass(frozen=True, kw_only=True)
class History:
    """A request, read. `messages` are the client's own values, which nobody changes; if a wire
    added something to them that it removes again, `received` has them without it.
    """

    messages: Sequence[Any]
    items: Sequence[Item]
    instructions: str  # what stands before the conversation, as text
    tools: Sequence[Any]
    has_all: bool = True  # False if the provider holds an earlier part of the conversation
    received: Sequence[Any] | None = None

    @property
    def own(self) -> Sequence[Any]:
        """The messages as the client sent them."""
        return self.messages if self.received is None else self.received

    @cached_property
    def placed(self) -> list[Item]:
        """The items that have a place, in order."""
        return [item for item in self.items if item.place]

    def of_program(self, program: str) -> History:
        """The same history with this client program's texts for compaction marked as such.

        A user may paste any sentence of such a text, or talk about it. So only the program's whole
        text counts, under the program's name, where the program puts it: a request for a summary
        comes last. In doubt it is the user's message, which is logged and paged like any other: a
        summary of a paged window is worse than one of the whole, but a message that is not kept is
        lost.
        """
        known = _COMPACTIONS.get(program)
        if known is None:
            return self
        last = self.placed[-1] if self.placed else None
        marked: dict[int, Item] = {}
        for at, item in enumerate(self.items):
            if item.part is not Part.TEXT or item.role is not Role.USER:
                continue
            offers_tools = bool(self.tools)
            asks = item is last and known.is_request(item.text, offers_tools=offers_tools)
            continues = known.is_outcome(item.text)
            if (asks, continues) != (item.asks_for_summary, item.continues):
                marked[at] = replace(item, asks_for_summary=asks, continues=continues)
        if not marked:
            return self
        return replace(self, items=[marked.get(at, one) for at, one in enumerate(self.items)])

    @property
    def lane(self) -> str:
        """Which of a client's conversations this is: those under one session (a title, a sub-agent,
        a summary) begin with different instructions. Only the first words count: the rest (dates,
        folders, lists of tools) changes during a conversation.
        """
        words = essence(_VOLATILE_INSTRUCTIONS.sub("", self.instructions))
        return " ".join(words.split())[:_LANE_CHARS]


def begun(earlier: History | None, messages: Sequence[Any]) -> tuple[int, list[Item]]:
    """How many of these messages, as the very same objects, an earlier history begins with, and
    their items.
    """
    if earlier is None:
        return 0, []
    count = in_common(earlier.messages, messages)
    return count, list(earlier.items[: bisect_left(earlier.items, count, key=_number)])


def instructions_in(items: Iterable[Item]) -> list[str]:
    """The instructions among the items before the conversation."""
    before = takewhile(lambda item: not item.place, items)
    return [one.text for one in before if one.part is Part.DRESS and one.role is Role.SYSTEM]


def in_common(one: Sequence[Any], other: Sequence[Any]) -> int:
    """How many of the very same objects both begin with."""
    return sum(takewhile(bool, map(is_, one, other)))


def _number(item: Item) -> int:
    return item.message


_LANE_CHARS: Final = 80

_VOLATILE_INSTRUCTIONS: Final = re.compile(r"^x-anthropic-billing-header:[^\n]*\n?", re.MULTILINE)

_REMINDER: Final = re.compile(
    r"<(system-reminder|environment_context|user_instructions)>.*?</\1>", re.DOTALL
)
"""What clients put into the user's messages about the day, the folder and the state of the task."""


@dataclass(frozen=True, slots=True)
class _Compaction:
    """How a client program compacts.

    `goes_on` is the beginning of its summary message, or the whole of it (`is_whole`). `asks` are
    the sentences of its request for a summary, in order: the first begins it, and its last line
    begins with the last. If there are none, it asks in a request of its own, which is another lane.
    `has_tools` if that request offers tools.
    """

    goes_on: str
    is_whole: bool = False
    asks: tuple[str, ...] = ()
    has_tools: bool = False

    def is_outcome(self, text: str) -> bool:
        text = text.strip()
        return text == self.goes_on if self.is_whole else text.startswith(self.goes_on)

    def is_request(self, text: str, *, offers_tools: bool) -> bool:
        text = text.strip()
        if not self.asks or not text.startswith(self.asks[0]) or offers_tools > self.has_tools:
            return False
        at = 0
        for sentence in self.asks:
            at = text.find(sentence, at)
            if at < 0:
                return False
            at += len(sentence)
        return "\n" not in text[at:]


_COMPACTIONS: Final[Mapping[str, _Compaction]] = {
    "claude": _Compaction(
        goes_on="This session is being continued from a previous conversation that ran out of",
        asks=(
            "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.",
            "\n\nYour task is to create a detailed summary of the conversation so far, paying",
            "\n1. Primary Request and Intent: ",
            "\n8. Current Work: ",
            "\nPlease provide your summary based on the conversation so far, following this",
            "\nREMINDER: Do NOT call any tools. Respond with plain text only",
        ),
        has_tools=True,
    ),
    "codex": _Compaction(
        goes_on="Another language model started to solve this problem and produced a summary of",
        asks=(
            "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary for",
            "\n\nInclude:\n- ",
            "\n\nBe concise, structured, and focused on helping the next LLM seamlessly continue ",
        ),
    ),
    "opencode": _Compaction(goes_on="What did we do so far?", is_whole=True),
}
"""By the name that `client.program` gives; the texts are those of `tests/proxy/recordings`."""


_NOTICE_CHARS_MAX: Final = 200
_NOTICE: Final = re.compile(
    r"\s*[\[<(][^\n]*\b(?:clear|remov|omit|truncat|compact|elid|hid|prun|trim|delet|drop|gone)"
    r"[^\n]*[\]>)]\s*",
    re.IGNORECASE,
)
"""What clients put where a result was: `[Old tool result content cleared]`. Known of Claude Code,
opencode, Codex and LangChain; other words are taken for an edit, which loses nothing either."""


def is_blanked(before: str, now: str) -> bool:
    """Whether a client shortened an old result of a tool without changing what it says.

    Either nothing or a notice, which may be longer, replaces the whole text, or a middle is cut
    out, and with it at least half. Anything else is an edit, even of one word.
    """
    if is_notice(now):
        return now != before
    if len(now) >= len(before):
        return False
    if not now.strip():
        return True
    if 2 * len(now) > len(before):
        return False
    front = _in_common(before, now)
    back = _in_common(before[::-1], now[front:][::-1])
    return len(now) - front - back <= min(_NOTICE_CHARS_MAX, front + back)


def is_notice(text: str) -> bool:
    """Whether a result is what a client puts where one was."""
    return len(text) <= _NOTICE_CHARS_MAX and _NOTICE.fullmatch(text) is not None


def _in_common(one: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def is_same_call(before: str, now: str) -> bool:
    """Whether arguments are equal but for some that only one of them names: a client may leave a
    default out, or state it.
    """
    try:
        ours, theirs = json.loads(before), json.loads(now)
    except (ValueError, RecursionError):
        return before == now
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return bool(ours == theirs)
    return all(ours[name] == theirs[name] for name in ours.keys() & theirs.keys())


def essence(text: str) -> str:
    """A text without what clients rewrite in it, and without the space around it."""
    return _REMINDER.sub("", text).strip()


def reminders(text: str) -> list[str]:
    """The spans that `essence` removes."""
    return [match.group(0) for match in _REMINDER.finditer(text)]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def sealed_item(block: Mapping[str, Any], role: Role, number: int) -> Item:
    """A block of data. Its text is what can be read of it, or a notice that nothing can.

    It is recognised by the call that it makes or answers, if it names one; otherwise by everything
    in it but marks and nulls, which a client may leave out.
    """
    told = canonical(unmarked(block, nulls=False))
    call_id = short_id(call_of(block))
    return Item(
        part=Part.SEALED,
        role=role,
        message=number,
        text=readable(block) or named(block, len(told)),
        name=tool_of(block),
        sealed=digest(told),
        of_call=f"{block.get('type')} {call_id}" if call_id else "",
        link=link_of(block),
        answers=is_answer(block),
        is_media=is_media(block),
    )


def is_media(block: Mapping[str, Any]) -> bool:
    """Whether an opaque block is an image, a recording or a file, by its type."""
    kind = str(block.get("type", "")).removeprefix("input_").removesuffix("_url")
    return kind in _MEDIA


_MEDIA: Final = frozenset({"image", "file", "document", "audio", "video"})


def short_id(call_id: str) -> str:
    """The id of a call here: a gateway's id may contain a signature."""
    return digest(call_id) if len(call_id) > NAME_CHARS else call_id


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def unmarked(value: Any, *, nulls: bool = True) -> Any:
    """The value without cache markers, which say where to cache, not what was said. Without
    `nulls`, fields that are null are left out as well. If there is nothing to leave out, it is the
    value itself.
    """
    containers = [value] if isinstance(value, dict | list) else []
    is_bare = True
    for one in containers:  # not by calls: JSON may be nested deeper than those
        inside: Iterable[Any] = one
        if isinstance(one, dict):
            inside = one.values()
            is_bare = is_bare and CACHE_MARKS.isdisjoint(one) and (nulls or None not in inside)
        containers += [each for each in inside if isinstance(each, dict | list)]
    if is_bare:
        return value
    bare: dict[int, Any] = {}
    for one in reversed(containers):
        if isinstance(one, dict):
            named = {
                name: bare.get(id(each), each)
                for name, each in one.items()
                if name not in CACHE_MARKS and (nulls or each is not None)
            }
            is_same = len(named) == len(one) and all(map(is_, named.values(), one.values()))
            bare[id(one)] = one if is_same else named
        else:
            listed = [bare.get(id(each), each) for each in one]
            bare[id(one)] = one if all(map(is_, listed, one)) else listed
    return bare.get(id(value), value)


CACHE_MARKS: Final = frozenset({"cache_control", "prompt_cache_breakpoint"})


def texts(values: Iterable[Any]) -> str:
    """The texts among blocks of content, joined by blank lines."""
    found = (one if isinstance(one, str) else one.get("text", "") for one in values if one)
    return "\n\n".join(text for text in found if isinstance(text, str) and text)
