"""The stable layout: what was sent is frozen, changes are appended, an epoch rewrites in one batch.

A layout takes entries as they happen (`add`) and renders pending ones into messages when a request
is packed (`freeze`). Only `rewrite` changes what was sent. It is a pure fold: the same calls give
the same bytes, so a restart, a rebuilt index and a replay see the same requests.

Invariants, true between any two public calls:
 (1) Outside `rewrite`, the messages of one request begin with those of the one before it.
 (2) `tokens` is the sum over head, tools and segments, each counted as it is rendered.
 (3) No page is in the layout twice at level 0.
 (4) No two adjacent messages have the same role, user or model: some chat templates refuse that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, pairwise
from typing import Final

from pagefault.model.ids import PageId, Seq
from pagefault.model.kinds import Kind, Level, Role
from pagefault.model.page import Page
from pagefault.model.request import Message, ToolCall, ToolSpec
from pagefault.model.segments import Facet, RenderedSegment
from pagefault.pack import render
from pagefault.pack.count import (
    REQUEST_TOKENS,
    TokenCounter,
    message_tokens,
    messages_tokens,
    tools_tokens,
)

UNSEALED: Final = render.sealed_with(str)
_COUNTED_MAX: Final = 64  # messages whose tokens are remembered


@dataclass(frozen=True, slots=True)
class Shown:
    """A page in its own place in the conversation, at level 0."""

    page: Page

    @property
    def seq(self) -> Seq:
        return self.page.row.seq


@dataclass(frozen=True, slots=True)
class Note:
    """Our line in place of something that is not shown."""

    text: str
    seq: Seq
    is_data: bool = False  # it names something by a title that a stranger may have given


@dataclass(frozen=True, slots=True)
class Recalled:
    """Pages brought back out of their place, as `with_recalled` orders them; behind them what is
    only named.
    """

    pages: tuple[Page, ...]
    seq: Seq


@dataclass(frozen=True, slots=True)
class Front:
    """The front of an epoch: core, summaries, and pages kept out of their place."""

    seq: Seq
    core: tuple[Page, ...] = ()
    claims_left_out: int = 0
    summaries: tuple[tuple[Page, Level], ...] = ()
    older: int = 0
    kept: tuple[Page, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.core or self.summaries or self.older or self.kept)


@dataclass(slots=True)
class Exchange:
    """The calls of one reply and their results, which are never split.

    For calls of the host's tools, `pages` has the pages shown of text, calls and results; `awaited`
    the text of each call without a result yet, by id; `failed` the ids of failed calls; and
    `renamed` the reply's own ids of calls that are kept under another id.
    """

    cause: Seq
    seq: Seq
    said: str
    calls: list[tuple[ToolCall, str, Page | None]] = field(default_factory=list)
    of_host: bool = False
    pages: list[Page] = field(default_factory=list)
    awaited: dict[str, str] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)


Entry = Shown | Note | Recalled | Front | Exchange


@dataclass(frozen=True, slots=True)
class Segment:
    """Messages as they were sent, and their entries."""

    messages: tuple[Message, ...]
    entries: tuple[Entry, ...]
    tokens: int

    @property
    def pages(self) -> list[PageId]:
        """The pages whose text this segment shows."""
        return [page.page_id for entry in self.entries for page in pages_of(entry)]


SILENCE: Final = {
    Role.USER: Message(role=Role.ASSISTANT, content="(no answer)"),
    Role.ASSISTANT: Message(role=Role.USER, content="(no message)"),
}
"""The placeholder between two messages of one role: the log has nothing there."""


_BETWEEN: Final = "\n\n"  # texts of one message
Facets = list[tuple[Facet, ...]]
_Part = tuple[tuple[Message, ...], tuple[Entry, ...]]  # a segment that is not counted yet


class Layout:
    row_tokens = 0  # what a page takes beside its own text

    def __init__(
        self,
        counter: TokenCounter,
        head: str,
        tools: tuple[ToolSpec, ...],
        seal: render.Seal = UNSEALED,
    ) -> None:
        """`seal` is keyed with the memory's secret. Without it the author of a text could compute
        the number that closes a block: only for layouts that show no untrusted text.
        """
        self._counter = counter
        self._seal = seal
        self._counted: dict[Message, int] = {}
        self.tools = tools
        self.head = Message(role=Role.SYSTEM, content=head)
        self.pending: list[Entry] = []
        self._segments: list[Segment] = []
        self._messages: list[Message] = []  # of these
        self._uncomposed: list[list[Entry]] = []  # sent after these, by requests
        self._sent_tokens = 0  # of `_segments`
        self._composed: _Composed | None = None  # what `freeze` would append, as asked last

    @cached_property
    def head_tokens(self) -> int:
        """The tokens of the head and the tools. Counted on first use: counting loads the
        vocabulary, which reading the pages and claims of a session does not need.
        """
        told = message_tokens(self._counter, self.head)
        return REQUEST_TOKENS + told + tools_tokens(self._counter, self.tools)

    def add(self, entry: Entry) -> None:
        """Append an entry that has not been sent yet."""
        self.pending.append(entry)

    def changed(self) -> None:
        """A pending entry changed."""
        self._composed = None

    def freeze(self, recalled: Sequence[Page] = ()) -> None:
        """Turn pending entries into messages, with `recalled` before the newest user message.

        Messages are composed lazily: while a log is folded, a later epoch may drop them.
        """
        asked = self._composed
        if not self._uncomposed and asked is not None and asked.answers(self.pending, recalled):
            self._append(asked.segments)
        else:
            self._uncomposed.append(with_recalled(self.pending, recalled))
        self.pending = []

    @property
    def segments(self) -> list[Segment]:
        """The segments that were sent."""
        self.compose_sent()
        return self._segments

    def compose_sent(self) -> None:
        """Compose the messages of sent entries now, instead of lazily."""
        if not self._uncomposed:
            return
        parts: list[_Part] = []
        after = self._messages[-1].role if self._messages else self.head.role
        for entries in self._uncomposed:
            parts += self._parts(entries, after)
            after = parts[-1][0][-1].role if parts else after
        self._append(self._weighed(parts))  # counted all at once
        self._uncomposed = []

    def _append(self, segments: Sequence[Segment]) -> None:
        self._segments += segments
        self._messages += [message for segment in segments for message in segment.messages]
        self._sent_tokens += sum(segment.tokens for segment in segments)

    def rewrite(self, front: Front, verbatim_from: Seq) -> None:
        """Begin an epoch with `front`, then everything from `verbatim_from` on.

        What stays is pending again, and is composed with the epoch's request.
        """
        self.pending = self.survivors(front, verbatim_from)
        self._segments, self._messages, self._uncomposed = [], [], []
        self._sent_tokens = 0

    def survivors(self, front: Front, verbatim_from: Seq) -> list[Entry]:
        """The entries that `rewrite` would keep. Pages out of their place stay only in `front`."""
        stay: list[Entry] = [
            entry
            for entry in self.entries()
            if entry.seq >= verbatim_from and not isinstance(entry, Recalled | Front)
        ]
        return [front, *stay] if front else stay

    def entries(self) -> list[Entry]:
        """Sent and pending entries, in order."""
        return self.sent() + self.pending

    def sent(self) -> list[Entry]:
        """The entries sent since the last epoch, in order."""
        composed = [entry for segment in self._segments for entry in segment.entries]
        return composed + [entry for entries in self._uncomposed for entry in entries]

    def latest(self) -> Iterator[Entry]:
        """Every entry, last first."""
        yield from reversed(self.pending)
        for entries in reversed(self._uncomposed):
            yield from reversed(entries)
        for segment in reversed(self._segments):
            yield from reversed(segment.entries)

    def tokens(self, recalled: Sequence[Page] = ()) -> int:
        """The tokens of the whole request if packed now, with `recalled`."""
        return self.frozen_tokens() + sum(segment.tokens for segment in self._appended(recalled))

    def tokens_unlisted(self, recalled: Sequence[Page] = ()) -> int:
        """The same, without parts that only take spare room."""
        return self.tokens(recalled)

    def tokens_showing(self, entries: Sequence[Entry], recalled: Sequence[Page] = ()) -> int:
        """The tokens of a fresh request that shows these entries and `recalled`."""
        return self.head_tokens + self.tokens_of(with_recalled(entries, recalled))

    def frozen_tokens(self) -> int:
        """The tokens of the head and of sent entries."""
        self.compose_sent()
        return self.head_tokens + self._sent_tokens

    def tokens_of(self, entries: Sequence[Entry]) -> int:
        """The tokens that these entries would add, composed together."""
        return sum(segment.tokens for segment in self.compose(entries))

    def exchange_tokens(self, said: str, calls: Sequence[tuple[ToolCall, str, Page | None]]) -> int:
        exchange = Exchange(cause=Seq(0), seq=Seq(0), said=said, calls=list(calls))
        return self.tokens_of([exchange])

    def messages(self) -> tuple[Message, ...]:
        """Head and segments, without pending entries: call `freeze` first."""
        self.compose_sent()
        return (self.head, *self._messages)

    def rendered(self, segments: Sequence[Segment], *, first: int) -> list[RenderedSegment]:
        """The pages in each message of these segments, and their positions; `first` is the place of
        the first message in its request.
        """
        found: list[RenderedSegment] = []
        for segment in segments:
            counts = self._count(segment.messages)
            facets = _facets(segment.messages, segment.entries, self._seal)
            for tokens, shown in zip(counts, facets, strict=True):
                place = first + len(found)
                found.append(RenderedSegment(message=place, tokens=tokens, facets=shown))
        return found

    def compose(self, entries: Sequence[Entry], *, after: Role = Role.SYSTEM) -> list[Segment]:
        """Messages for entries, in order; neighbours of one role become one message.

        `after` is the role of the preceding message. A `SILENCE` separates messages of one role if
        the first was already sent and cannot grow, or if calls follow text of the model.
        """
        return self._weighed(self._parts(entries, after))

    def _parts(self, entries: Iterable[Entry], after: Role) -> list[_Part]:
        composed: list[_Part] = []
        group: list[Entry] = []
        for entry in entries:
            if group and (isinstance(entry, Exchange) or _role(entry) != _role(group[-1])):
                composed.append(self._text_part(group))
                group = []
            if isinstance(entry, Exchange):
                composed.append(_exchange_part(entry))
            else:
                group.append(entry)
        if group:
            composed.append(self._text_part(group))
        parts: list[_Part] = []
        for messages, shown in composed:
            if messages[0].role is after:
                parts.append(((SILENCE[after],), ()))
            parts.append((messages, shown))
            after = messages[-1].role
        return parts

    def _text_part(self, group: Sequence[Entry]) -> _Part:
        content = _BETWEEN.join(_texts(group, self._seal))
        return (Message(role=_role(group[0]), content=content),), tuple(group)

    def _appended(self, recalled: Sequence[Page]) -> list[Segment]:
        """The segments that `freeze` would append."""
        asked = self._composed
        if asked is None or not asked.answers(self.pending, recalled):
            after = self.messages()[-1].role
            made = self.compose(with_recalled(self.pending, recalled), after=after)
            self._composed = asked = _Composed.of(self.pending, recalled, made)
        return asked.segments

    def last_role(self, recalled: Sequence[Page] = ()) -> Role:
        """The role of the last message if the request were packed now, with `recalled`."""
        entries = with_recalled(self.pending, recalled)
        if not entries:
            return self.messages()[-1].role
        return Role.TOOL if isinstance(entries[-1], Exchange) else _role(entries[-1])

    def check(self) -> None:
        """The invariants that can be seen from here, slowly."""
        for segment in self.segments:
            recount = sum(message_tokens(self._counter, message) for message in segment.messages)
            assert segment.tokens == recount, "(2)"
        assert self._sent_tokens == sum(segment.tokens for segment in self.segments), "(2)"
        kept, last = self._composed, self.messages()[-1]
        if kept is not None and kept.answers(self.pending, kept.recalled):
            anew = self.compose(with_recalled(self.pending, kept.recalled), after=last.role)
            assert kept.segments == anew, "(2)"
        roles = [message.role for message in self.messages()]
        assert all(a != b or a is Role.TOOL for a, b in pairwise(roles)), "(4)"
        shown = [page.page_id for entry in self.entries() for page in pages_of(entry)]
        twice = sorted({page_id for page_id in shown if shown.count(page_id) > 1})
        assert not twice, f"(3) {twice}"

    def _weighed(self, parts: Sequence[_Part]) -> list[Segment]:
        counts = iter(self._count([message for messages, _ in parts for message in messages]))
        return [
            Segment(messages, entries, sum(islice(counts, len(messages))))
            for messages, entries in parts
        ]

    def _count(self, messages: Sequence[Message]) -> list[int]:
        """The tokens of each, cached because a message is planned first and then frozen."""
        known = [self._counted.get(message) for message in messages]
        fresh = [message for message, tokens in zip(messages, known, strict=True) if tokens is None]
        if not fresh:
            return [tokens for tokens in known if tokens is not None]
        counted = messages_tokens(self._counter, fresh)
        if len(self._counted) + len(fresh) > _COUNTED_MAX:
            self._counted = {}
        if len(fresh) <= _COUNTED_MAX:
            self._counted.update(zip(fresh, counted, strict=True))
        rest = iter(counted)
        return [next(rest) if tokens is None else tokens for tokens in known]


@dataclass(frozen=True, slots=True)
class _Composed:
    """The messages of pending entries: planning, counting and freezing a request share them."""

    pending: list[Entry]  # the very list: what was sent, or rewritten, leaves another
    entries: int
    calls: int  # of the last exchange, the only one that grows
    recalled: tuple[Page, ...]
    segments: list[Segment]

    @classmethod
    def of(
        cls, pending: list[Entry], recalled: Sequence[Page], segments: list[Segment]
    ) -> _Composed:
        return cls(pending, len(pending), _calls(pending), tuple(recalled), segments)

    def answers(self, pending: list[Entry], recalled: Sequence[Page]) -> bool:
        return (
            pending is self.pending
            and len(pending) == self.entries
            and _calls(pending) == self.calls
            and tuple(recalled) == self.recalled
        )


def _calls(pending: Sequence[Entry]) -> int:
    last = pending[-1] if pending else None
    return len(last.calls) if isinstance(last, Exchange) else 0


def pages_of(entry: Entry) -> list[Page]:
    """The pages whose full text an entry shows."""
    match entry:
        case Shown(page=page):
            return [page]
        case Recalled(pages=pages):
            return [page for page in pages if not page.is_named]
        case Front(core=core, summaries=summaries, kept=kept):
            told = [page for page, level in summaries if level is not Level.REFERENCE]
            return [*core, *told, *kept]
        case Exchange(calls=calls, pages=pages):
            return [*pages, *(page for _, _, page in calls if page is not None)]
        case Note():
            return []


def said_in(entry: Entry) -> list[Page]:
    """The pages that an entry shows in their own place in the conversation."""
    match entry:
        case Shown(page=page):
            return [page]
        case Exchange(pages=pages):
            return sorted(pages, key=lambda page: page.row.order)
        case _:
            return []


def with_recalled(entries: Sequence[Entry], recalled: Sequence[Page]) -> list[Entry]:
    """`recalled` put before the newest user message among `entries`, else after them all: in the
    order of the conversation, but what is older than another of them stands right behind that, and
    what is only named behind them all.
    """
    if not recalled:
        return list(entries)
    at = len(entries)
    for place, entry in enumerate(entries):
        if isinstance(entry, Shown) and _opens_turn(entry.page):
            at = place
    by_order = sorted(recalled, key=lambda page: page.row.order)
    in_order = newest_first([page for page in by_order if not page.is_named])
    in_order += (page for page in by_order if page.is_named)
    seq = entries[at].seq if at < len(entries) else Seq(0)
    return [*entries[:at], Recalled(tuple(in_order), seq), *entries[at:]]


def newest_first(pages: Sequence[Page]) -> list[Page]:
    """Pages in their order, except that a page directly follows the page that is newer than it."""
    behind: dict[PageId, list[Page]] = {}
    newest = {old: page.page_id for page in pages for old in page.newer_than}
    for page in pages:
        if page.page_id in newest:
            behind.setdefault(newest[page.page_id], []).append(page)
    ordered: list[Page] = []
    waiting = [page for page in reversed(pages) if page.page_id not in newest]
    while waiting:
        ordered.append(waiting.pop())
        waiting += behind.get(ordered[-1].page_id, ())  # of these the last said comes first
    return ordered


def _opens_turn(page: Page) -> bool:
    row = page.row
    return row.role is Role.USER and row.kind is Kind.TRANSCRIPT and row.part == 0


def _role(entry: Entry) -> Role:
    if isinstance(entry, Shown) and entry.page.row.role is Role.ASSISTANT:
        return Role.ASSISTANT
    return Role.USER


def _exchange_part(exchange: Exchange) -> _Part:
    calls = tuple(call for call, _, _ in exchange.calls)
    messages = [Message(role=Role.ASSISTANT, content=exchange.said, tool_calls=calls)]
    messages += [
        Message(
            role=Role.TOOL,
            content=result,
            call_id=call.call_id,
            is_error=call.call_id in exchange.failed,
        )
        for call, result, _ in exchange.calls
    ]
    return tuple(messages), (exchange,)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a message's text, and the texts of pages in it, in order."""

    text: str
    shows: tuple[tuple[Sequence[Page], str], ...] = ()


def _pieces(group: Iterable[Entry], seal: render.Seal) -> list[_Piece]:
    pieces: list[_Piece] = []
    run: list[Page] = []

    def told(run: Sequence[Page]) -> _Piece:
        text = render.message(run)
        shown = render.block([text], seal) if render.is_data(run[0]) else text
        return _Piece(shown, ((run, text),))

    for entry in group:
        if isinstance(entry, Shown) and _continues(run, entry.page):
            run.append(entry.page)
            continue
        if run:
            pieces.append(told(run))
            run = []
        match entry:
            case Shown(page=page):
                run = [page]
            case Note(text=text, is_data=is_data):
                pieces.append(_Piece(render.block([text], seal) if is_data else text))
            case Recalled(pages=pages):
                whole = [page for page in pages if not page.is_named]
                shows = tuple((parts, render.line(parts)) for parts in runs(whole))
                named = (render.named(page) for page in pages if page.is_named)
                block = render.block([*(line for _, line in shows), *named], seal)
                pieces.append(_Piece(block, shows))
            case Front():
                lines = _front_lines(entry)
                of_pages = tuple((parts, line) for parts, line in lines if parts)
                block = render.block([line for _, line in lines], seal)
                pieces.append(_Piece(block, of_pages))
            case Exchange():
                raise AssertionError("an exchange is a segment of its own")
    if run:
        pieces.append(told(run))
    return pieces


def _texts(group: Iterable[Entry], seal: render.Seal) -> list[str]:
    return [piece.text for piece in _pieces(group, seal)]


def _facets(messages: Sequence[Message], entries: Sequence[Entry], seal: render.Seal) -> Facets:
    """The texts of pages in each message."""
    if len(entries) == 1 and isinstance(entries[0], Exchange):
        return [_exchange_facets(message, entries[0]) for message in messages]
    if not entries:
        return [() for _ in messages]
    facets: list[Facet] = []
    before = 0
    for piece in _pieces(entries, seal):
        at = 0
        for pages, text in piece.shows:
            at = piece.text.index(text, at)
            start = before + len(piece.text[:at].encode())
            at += len(text)
            facets.append(_facet(pages, start, before + len(piece.text[:at].encode())))
        before += len(piece.text.encode()) + len(_BETWEEN)
    return [tuple(facets)]


def _facet(pages: Sequence[Page], start: int, end: int) -> Facet:
    ids = tuple(page.page_id for page in pages)
    return Facet(pages=ids, turn=pages[0].row.turn, start=start, end=end)


def _exchange_facets(message: Message, exchange: Exchange) -> tuple[Facet, ...]:
    """The pages of a message of calls or of a result, as one."""
    faulted = {call.call_id: page for call, _, page in exchange.calls if page is not None}
    if message.role is Role.TOOL:
        pages = [one for one in exchange.pages if one.call_id == message.call_id]
        pages = [one for one in pages if one.row.role is Role.TOOL]
        if message.call_id in faulted:
            pages = [faulted[message.call_id]]
    else:
        pages = [one for one in exchange.pages if one.row.role is Role.ASSISTANT]
    size = len(message.content.encode())
    return (_facet(pages, 0, size),) if pages else ()


def _front_lines(front: Front) -> list[tuple[Sequence[Page], str]]:
    """The lines of the front, each with its pages."""
    lines: list[tuple[Sequence[Page], str]] = [
        ((page,), render.line([page])) for page in front.core
    ]
    if front.claims_left_out:
        lines.append(((), render.claims_left_out(front.claims_left_out)))
    if front.older:
        lines.append(((), render.older(front.older)))
    lines += [((page,), render.summary(page, level)) for page, level in front.summaries]
    kept = newest_first(sorted(front.kept, key=lambda page: page.row.order))
    lines.extend((parts, render.line(parts)) for parts in runs(kept))
    return lines


def runs(pages: Iterable[Page]) -> list[list[Page]]:
    """Pages as they are shown: consecutive parts of one text are one."""
    found: list[list[Page]] = []
    for page in pages:
        if found and _continues(found[-1], page):
            found[-1].append(page)
        else:
            found.append([page])
    return found


def _continues(run: Sequence[Page], page: Page) -> bool:
    """Whether a page is the next part of the run's text."""
    return bool(
        run
        and page.row.part > 0
        and page.row.part == run[-1].row.part + 1
        and page.row.order == run[-1].row.order + 1
    )
