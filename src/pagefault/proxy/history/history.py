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
from pagefault.proxy.history.readable import call_of, named, readable, tool_of

Json = dict[str, Any]


class Part(StrEnum):
    """What an item of a history is."""

    TEXT = "text"
    CALL = "call"
    RESULT = "result"
    SEALED = "sealed"  # data that nobody here said: what a provider's tools returned, images, files
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
    of_call: str = ""  # where that tells which call it makes or answers, beside what it is
    under: str = ""  # the tool of the provider's that it cites, where no item tells of that
    is_media: bool = False  # which is an image, a recording or a file
    asks_for_summary: bool = False  # the client put it in to compact the conversation
    continues: bool = False  # the client put it in for what it compacted
    # Both say that nobody said it; `History.of_program` finds out.

    def __post_init__(self) -> None:
        object.__setattr__(self, "call_id", short_id(self.call_id))

    @property
    def kind(self) -> ItemKind:
        """What it is to the log and to the window."""
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
        """What makes it the same item when it is sent again at the same position; "" if nothing."""
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
        """The same item in a message of another number."""
        if message == self.message:
            return self
        other = object.__new__(Item)  # with what was found out of it: no number has a part in that
        other.__dict__.update(self.__dict__, message=message)
        return other

    @property
    def is_said(self) -> bool:
        """Whether it is said in words, which pages can hold."""
        return self.part is Part.CALL or bool(self.told)

    @property
    def told(self) -> str:
        """Its text as pages hold it. A client's reminders are no words of anybody's, but where a
        tool returned nothing else, these are what it returned: a stranger knows how to write one.
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
        """Who says it, for the log: data is a tool's, in whosever message it stands."""
        return Role.TOOL if self.part is Part.SEALED else self.role

    @cached_property
    def digest(self) -> str:
        """Of what it says now: differs where a client edited or blanked it."""
        return digest(f"{self.part} {essence(self.text)} {self.sealed}")

    @cached_property
    def exact(self) -> bytes:
        """All that it says, for who takes nothing for the same that is not."""
        told = (self.part, self.role, self.text.strip(), self.name, self.call_id, self.sealed)
        return hashlib.sha256(json.dumps(told).encode()).digest()


@dataclass(frozen=True, kw_only=True)
class History:
    """A request, read. `messages` are the client's own values, which nobody changes; where a wire
    adds to them what it takes away again, they are as `received` without it.
    """

    messages: Sequence[Any]
    items: Sequence[Item]
    instructions: str  # what stands before the conversation, as text
    tools: Sequence[Any]
    has_all: bool = True  # False where the provider holds an earlier part of the conversation
    received: Sequence[Any] | None = None

    @property
    def own(self) -> Sequence[Any]:
        """The messages as the client sent them."""
        return self.messages if self.received is None else self.received

    @cached_property
    def placed(self) -> list[Item]:
        """The items that have a position, in order."""
        return [item for item in self.items if item.place]

    def of_program(self, program: str) -> History:
        """The same history with what this client program put in to compact it marked as such.

        A user may paste any sentence of such a text, or speak about it. So none counts but the
        program's whole text, under the program's name, where the program puts it: what asks for a
        summary is the last thing in the request. In doubt it is the user's word, which is logged
        and paged like any other: a summary of a paged window is worse than one of a whole, a
        message that nobody kept is lost.
        """
        known = _COMPACTIONS.get(program)
        if known is None:
            return self
        last = self.placed[-1] if self.placed else None
        items = list(self.items)
        for at, item in enumerate(items):
            if item.part is not Part.TEXT or item.role is not Role.USER:
                continue
            offers_tools = bool(self.tools)
            asks = item is last and known.is_request(item.text, offers_tools=offers_tools)
            continues = known.is_outcome(item.text)
            if (asks, continues) != (item.asks_for_summary, item.continues):
                items[at] = replace(item, asks_for_summary=asks, continues=continues)
        return replace(self, items=items)

    @property
    def lane(self) -> str:
        """Which of a client's conversations this is: those that run under one session (a title, a
        sub-agent, a summary) begin with other instructions. Only the first words count: what
        follows (dates, folders, lists of tools) changes while the conversation goes on.
        """
        words = essence(_VOLATILE_INSTRUCTIONS.sub("", self.instructions))
        return " ".join(words.split())[:_LANE_CHARS]


def begun(earlier: History | None, messages: Sequence[Any]) -> tuple[int, list[Item]]:
    """How many of these messages an earlier history begins with, the very same objects, and the
    items of these.
    """
    if earlier is None:
        return 0, []
    count = in_common(earlier.messages, messages)
    return count, list(earlier.items[: bisect_left(earlier.items, count, key=_number)])


def instructions_in(items: Iterable[Item]) -> list[str]:
    """The instructions among the items that stand before the conversation."""
    before = takewhile(lambda item: not item.place, items)
    return [one.text for one in before if one.part is Part.DRESS and one.role is Role.SYSTEM]


def in_common(one: Sequence[Any], other: Sequence[Any]) -> int:
    """With how many of the very same objects both begin."""
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

    `goes_on` is how it begins what it made of the conversation, or all that it puts there
    (`is_whole`). `asks` are the sentences of its request for a summary, in order: the first begins
    it and the last line of it begins with the last. Without any, it asks in a request of its own,
    which is another lane. `has_tools` if it offers tools with the request.
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
    """Whether a client made an old result of a tool shorter, and did not change what it says.

    Its whole text gave way to nothing or to a notice; or a middle was cut out of it, and at least
    half of it with that. Anything else is an edit, one word of it, too.
    """
    if len(now) >= len(before):
        return False
    if not now.strip() or (len(now) <= _NOTICE_CHARS_MAX and _NOTICE.fullmatch(now)):
        return True
    if 2 * len(now) > len(before):
        return False
    front = _in_common(before, now)
    back = _in_common(before[::-1], now[front:][::-1])
    return len(now) - front - back <= min(_NOTICE_CHARS_MAX, front + back)


def _in_common(one: str, other: str) -> int:
    """With how many characters both begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def is_same_call(before: str, now: str) -> bool:
    """Whether arguments are the same but for some that only one of them names: a client may leave
    out what is the default, or say it.
    """
    try:
        ours, theirs = json.loads(before), json.loads(now)
    except (ValueError, RecursionError):
        return before == now
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return bool(ours == theirs)
    return all(ours[name] == theirs[name] for name in ours.keys() & theirs.keys())


def essence(text: str) -> str:
    """A text less what clients rewrite in it, and the space around."""
    return _REMINDER.sub("", text).strip()


def reminders(text: str) -> list[str]:
    """The spans that `essence` takes out."""
    return [match.group(0) for match in _REMINDER.finditer(text)]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def sealed_item(block: Mapping[str, Any], role: Role, number: int) -> Item:
    """A block of data: its text is what can be read of it, or says that nothing can.

    It is known again by the call that it makes or answers, where it names one; else by all that it
    says but marks and what is null, which a client may leave out.
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
        is_media=is_media(block),
    )


def is_media(block: Mapping[str, Any]) -> bool:
    """Whether an opaque block is an image, a recording or a file, going by its type."""
    kind = str(block.get("type", "")).removeprefix("input_").removesuffix("_url")
    return kind in _MEDIA


_MEDIA: Final = frozenset({"image", "file", "document", "audio", "video"})


def short_id(call_id: str) -> str:
    """What names a call here: a gateway's id may have a signature in it, say."""
    return digest(call_id) if len(call_id) > NAME_CHARS else call_id


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def unmarked(value: Any, *, nulls: bool = True) -> Any:
    """The value without cache markers: they say where to cache, not what was said. Without `nulls`
    it is what those say who leave a field out rather than have nothing in it. Where there is
    nothing to leave out, it is the value itself.
    """
    if isinstance(value, dict):
        told = {
            name: unmarked(one, nulls=nulls)
            for name, one in value.items()
            if name not in CACHE_MARKS and (nulls or one is not None)
        }
        is_same = len(told) == len(value) and all(map(is_, told.values(), value.values()))
        return value if is_same else told
    if isinstance(value, list):
        ones = [unmarked(one, nulls=nulls) for one in value]
        return value if all(map(is_, ones, value)) else ones
    return value


CACHE_MARKS: Final = frozenset({"cache_control", "prompt_cache_breakpoint"})


def texts(values: Iterable[Any]) -> str:
    """The texts among blocks of content, joined by blank lines."""
    found = (one if isinstance(one, str) else one.get("text", "") for one in values if one)
    return "\n\n".join(text for text in found if isinstance(text, str) and text)
