"""Calls of memory's tools within a client's conversation, which the provider is sent and the client
is not.

A model's answer may call `page_fault` or `search_pages` besides the client's tools. The proxy
answers such calls itself, and the client reads one answer without them. To the provider it was
several: a reply with a call, its result, another reply. When the client sends its answer back, it
is taken apart into these again, byte for byte; if that fails, it is sent as the client has it.

The place of a call is counted in the client's form of the answer (`Cut`): in its units in order
(blocks, output items; in Chat Completions and generateContent, characters of the text), and in
those units that a client always sends back (not thinking; in Chat Completions, its own calls).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, NamedTuple, Protocol

from pagefault.model.events import Splice
from pagefault.model.ids import NOTHING, PageId, Seq
from pagefault.model.kinds import Level, Role
from pagefault.model.request import ToolCall, ToolSpec, Usage
from pagefault.proxy.history.history import History, Item, Json, Part, short_id
from pagefault.proxy.history.trie import Match
from pagefault.proxy.wires.wire import Wire, dumped, parsed


@dataclass(frozen=True, slots=True)
class Cut:
    """A place in the client's form of an answer."""

    at: int
    kept_at: int


@dataclass(frozen=True, slots=True)
class OurCall:
    """A call of memory's tools as the model made it. `extra` is what its wire added to it."""

    call: ToolCall
    cut: Cut
    extra: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One reply of the model, of those that form one answer to the client."""

    calls: tuple[OurCall, ...] = ()  # of memory's tools
    has_others: bool = False  # calls of the client's tools
    end: Cut = Cut(0, 0)
    usage: Usage | None = None
    is_whole: bool = False  # it ended, and was not cut at a limit
    extra: Json = field(default_factory=dict)  # what its wire added to the reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A call of memory's tools and its result. `reply` numbers the reply that made it; `end` is
    where that ended, None if the answer ends there: then the reply also called the client's tools.
    """

    call: ToolCall
    result: str
    reply: int
    cut: Cut
    end: Cut | None
    seq: Seq = NOTHING  # of the record of the call
    loaded: Mapping[PageId, Level] = field(default_factory=dict)  # pages that the result shows
    extra: Json = field(default_factory=dict)  # of the call
    beside: Json = field(default_factory=dict)  # of the reply

    @property
    def arguments(self) -> Json:
        """The arguments of the call; empty if the model wrote no object."""
        return parsed(self.call.arguments) or {}

    @property
    def splice(self) -> Splice | None:
        """Its place, for the log; None if it cannot be logged."""
        if self.seq == NOTHING or self.extra or self.beside:
            return None
        end = self.end or Cut(-1, -1)
        return Splice(
            call=self.seq,
            reply=self.reply,
            at=self.cut.at,
            kept_at=self.cut.kept_at,
            end=end.at,
            kept_end=end.kept_at,
        )


class Apart(NamedTuple):
    """An answer as the provider's messages: `asked` are the replies that memory answered, with
    their results; `last` is the reply that the client answers, with its calls of memory's tools
    and, if this wire has results in messages of their own, their results.
    """

    asked: list[Any]
    last: list[Any]


Told = list[tuple[Any, list[Item]]]
"""Messages, each with its items."""


class Editor(Protocol):
    """Makes one answer of the replies to an agent loop, as the client reads it.

    It is fed the events of a stream, or whole documents. Bytes that need not change do not.
    """

    def feed(self, event: str, data: Json | None, raw: bytes) -> bytes:
        """What to pass on for an event of the present reply: it, another, or nothing yet."""

    def take(self, document: Json) -> None:
        """The same for a reply in one piece."""

    def bare(self, document: Json) -> Json:
        """A reply in one piece without memory's tools, if it repeats what it was offered; otherwise
        the same object.
        """

    def round(self) -> Round:
        """The present reply so far."""

    def next(self) -> None:
        """The next reply begins."""

    def so_far(self) -> list[Any]:
        """The answer so far in the client's form, as messages."""

    def finish(self) -> bytes:
        """The end of the stream, held back while another reply might follow."""

    def failed(self, status: int, message: str) -> bytes:
        """The end of a stream whose next reply failed, in the wire's own form."""

    def merged(self) -> Json:
        """The answer in one piece."""


class Replies:
    """What all editors keep of the replies to one request: how many there were, and their reports.
    `_begin` resets what is kept of the present one.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = names  # of memory's tools
        self._number = 0  # of the present reply
        self._usages: list[Json] = []  # of earlier ones
        self._documents: list[Json] = []  # that came in one piece
        self._begin()

    def _begin(self) -> None:
        self._has_others = False  # calls of the client's tools
        self._usage: Json = {}
        self._is_broken = False

    def next(self) -> None:
        if self._usage:
            self._usages.append(self._usage)
        self._begin()
        self._number += 1

    def bare(self, document: Json) -> Json:
        return document

    def _total(self, *, output: Callable[[str], bool]) -> Json:
        """The report for all replies; None if there was none."""
        return summed([*self._usages, *([self._usage] if self._usage else [])], output=output)


def sse(name: str, data: Json) -> bytes:
    """A server-sent event named after its type."""
    kind = str(data.get("type") or name)
    return b"event: " + kind.encode() + b"\ndata: " + dumped(data) + b"\n\n"


class CallForm(Protocol):
    """The form of tools, calls and results in one wire format."""

    def tools(self, specs: Sequence[ToolSpec]) -> list[Json]:
        """The tools as this wire offers them."""

    def beside(self, tools: Sequence[Any], ours: Sequence[Any]) -> list[Any]:
        """The client's tools, and these after them."""

    def names(self, tools: Sequence[Any]) -> set[str]:
        """The names of the client's tools."""

    def takes(self, body: Json) -> bool:
        """Whether a request lets the model say what it wants, and its replies can be combined."""

    def message(self, role: Role, text: str) -> Json:
        """A message of this role, in this wire."""

    def extent(self, messages: Sequence[Any], at: int) -> tuple[int, int]:
        """The range of messages of the answer whose first placed item is in `at`."""

    def taken_apart(self, answer: Sequence[Any], pairs: Sequence[Pair]) -> Apart | None:
        """The answer as the provider knows it; None if this form of it does not show that."""

    def with_results(self, message: Any, pairs: Sequence[Pair]) -> Any | None:
        """The message after the answer, with the results that belong there; None if it has no place
        for them. The same message if this wire has results in messages of their own.
        """

    def editor(self, names: Collection[str]) -> Editor: ...


def rounds_of(pairs: Sequence[Pair]) -> Iterator[tuple[Cut | None, list[Pair]]]:
    """The pairs by the replies that made them, in order."""
    for _, group in groupby(pairs, key=lambda pair: pair.reply):
        these = list(group)
        yield these[0].end, these


def place_in(units: Sequence[bool], cut: Cut) -> int:
    """The index of a cut among units, given whether clients always send each back. If some were
    left out since, the count of those always sent back decides.
    """
    if cut.at <= len(units) and sum(units[: cut.at]) == cut.kept_at:
        return cut.at
    at = kept = 0
    while kept < cut.kept_at and at < len(units):
        kept += units[at]
        at += 1
    return at


def cut_up(units: Sequence[bool], items: Sequence[Any], pairs: Sequence[Pair]) -> list[list[Any]]:
    """The items of an answer by reply, with the pairs in their places. The last one has the items
    of the last reply, and may be empty.
    """
    replies: list[list[Any]] = []
    begin = 0
    for end, group in rounds_of(pairs):
        upto = len(items) if end is None else max(begin, place_in(units, end))
        told: list[Any] = []
        at = begin
        for pair in group:
            to = min(upto, max(at, place_in(units, pair.cut)))
            told += [*items[at:to], pair]
            at = to
        replies.append([*told, *items[at:upto]])
        begin = upto
    if not pairs or pairs[-1].end is not None:
        replies.append(list(items[begin:]))
    return replies


@dataclass(slots=True)
class Kept:
    """What is kept of an answer: its pairs and, if this process gave it, the messages that were
    sent when memory was asked for them. Some clients never send all thinking back.

    The last way it was taken apart is cached: a client sends it with every request.
    """

    pairs: Sequence[Pair]
    sent: Sequence[Any] = ()
    answer: Sequence[Any] = ()  # that was taken apart
    is_open: bool = False  # results of it stand in the message behind it
    told: Told | None = None  # the result


@dataclass(frozen=True, slots=True)
class TakenApart:
    """A history with the pairs in it, and these by the nodes of their answers."""

    history: History
    pairs: Mapping[str, Sequence[Pair]]


def taken_apart(
    history: History, match: Match, wire: Wire, form: CallForm, kept: Mapping[str, Kept]
) -> TakenApart:
    """The history as the provider knows it. `kept` is by the node of an answer's first item. What
    the client does not know has no place: it belongs to what it leads up to.

    An answer that cannot be taken apart, or whose results have no place, stays as the client has
    it.
    """
    if not kept:
        return TakenApart(history, {})
    nodes: dict[int, list[str]] = {}
    for item, node in zip(history.placed, match.path, strict=True):
        nodes.setdefault(item.message, []).append(node.key)
    starts: dict[int, tuple[int, str]] = {}
    for number, keys in nodes.items():
        if keys[0] in kept:
            first, last = form.extent(history.messages, number)
            starts[first] = last, keys[0]
    if not starts:
        return TakenApart(history, {})
    by_message: dict[int, list[Item]] = {}
    for item in history.items:
        by_message.setdefault(item.message, []).append(item)
    found: dict[str, Sequence[Pair]] = {}
    messages: list[Any] = []
    items: list[Item] = []
    owed: Sequence[Pair] = ()  # results that stand in the next message

    def add(message: Any, told: Sequence[Item]) -> None:
        items.extend(item.moved(len(messages)) for item in told)
        messages.append(message)

    number, count = 0, len(history.messages)
    while number < count:
        message = history.messages[number]
        start = starts.get(number)
        if start is not None:
            upto, key = start
            theirs = [item for one in range(number, upto) for item in by_message.get(one, ())]
            behind = history.messages[upto] if upto < count else None
            theirs = [item.moved(item.message - number) for item in theirs]
            told, these = _answer(
                history.messages[number:upto], theirs, kept[key], behind, wire, form
            )
            for one, its in told:
                add(one, its)
            if these:
                found[key] = these
                owed = [pair for pair in these if pair.end is None]
            number = upto
            continue
        if owed:
            with_ours = form.with_results(message, owed)
            assert with_ours is not None, "it was tried before"
            add(with_ours, _items_with(message, by_message.get(number, ()), with_ours, wire, owed))
            owed = ()
        else:
            add(message, by_message.get(number, ()))
        number += 1
    expanded = replace(history, messages=messages, items=items)
    if len(expanded.placed) != len(history.placed):
        return TakenApart(history, {})
    return TakenApart(expanded, found)


def _answer(
    answer: Sequence[Any],
    theirs: Sequence[Item],
    kept: Kept,
    behind: Any,
    wire: Wire,
    form: CallForm,
) -> tuple[Told, Sequence[Pair]]:
    """An answer taken apart: each message with its items, and the pairs that it has now."""
    as_it_is: Told = [
        (message, [item for item in theirs if item.message == number])
        for number, message in enumerate(answer)
    ]
    pairs = kept.pairs
    owed = [pair for pair in pairs if pair.end is None]
    is_open = bool(owed) and behind is not None and form.with_results(behind, owed) is not None
    if owed and not is_open:
        pairs = [pair for pair in pairs if pair.end is not None]
    if kept.told is not None and kept.is_open == is_open and kept.answer == answer:
        return kept.told, pairs
    apart = form.taken_apart(answer, pairs) if pairs else None
    if apart is None:
        return as_it_is, ()
    ours = _ids(pairs)
    messages = [*(kept.sent or apart.asked), *apart.last]
    items: dict[int, list[Item]] = {}
    for item in _dressed(wire.read({wire.messages: messages}).items, ours):
        items.setdefault(item.message, []).append(item)
    told = [(message, items.get(number, [])) for number, message in enumerate(messages)]
    placed = [item for item in theirs if item.place]
    spare = sum(bool(item.place) for _, its in told for item in its) - len(placed)
    for _, its in told:  # the first part of a text cut in two has no place
        for at, item in enumerate(its):
            if spare and item.place and item.part is Part.TEXT:
                its[at] = replace(item, part=Part.DRESS, text="")
                spare -= 1
    if spare:
        return as_it_is, ()
    kept.answer, kept.is_open, kept.told = answer, is_open, told
    return told, pairs


def _ids(pairs: Sequence[Pair]) -> set[str]:
    return {short_id(pair.call.call_id) for pair in pairs}


def _read(message: Any, wire: Wire) -> list[Item]:
    return list(wire.read({wire.messages: [message]}).items)


def _dressed(items: Sequence[Item], ours: Collection[str]) -> list[Item]:
    """The items, with those of memory's calls without a place."""
    return [
        replace(item, part=Part.DRESS, text="")
        if item.part in (Part.CALL, Part.RESULT) and item.call_id in ours
        else item
        for item in items
    ]


def _items_with(
    message: Any, known: Sequence[Item], with_ours: Any, wire: Wire, owed: Sequence[Pair]
) -> list[Item]:
    """The items of a message that now has results of ours; the others as they were read."""
    if with_ours is message:
        return list(known)
    ours = _ids(owed)
    left = iter(known)
    return [
        item if item.part is Part.DRESS and item.call_id in ours else next(left, item)
        for item in _dressed(_read(with_ours, wire), ours)
    ]


def summed(usages: Sequence[Json], *, output: Callable[[str], bool]) -> Json:
    """The last of these reports, with the sum of output tokens: the context holds what the last
    request held, and every reply was paid for.
    """
    if not usages:
        return {}
    total = dict(usages[-1])
    for name, value in total.items():
        if not output(name):
            continue
        if isinstance(value, int) and not isinstance(value, bool):
            total[name] = sum(_int(one.get(name)) for one in usages)
        elif isinstance(value, dict):
            inner = [one[name] for one in usages if isinstance(one.get(name), dict)]
            total[name] = summed(inner, output=lambda _: True)
    return total


def _int(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
