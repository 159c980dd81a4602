"""What the studio reads of a memory, as values: the one place here that asks for anything.

Nothing here draws, and nothing writes. All of it is asked of the public verbs of a memory that is
open for reading, which read in threads: whoever awaits it keeps nobody waiting.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Protocol

from pagefault.model.errors import PagefaultError
from pagefault.model.events import RetentionRule
from pagefault.model.ids import PageId, Seq
from pagefault.model.kinds import EventType, Kind
from pagefault.model.page import Page, PageRow, SessionRow
from pagefault.model.reprs import counted
from pagefault.recall.search import SearchHit
from pagefault.service.derived.claims import ClaimInfo
from pagefault.service.inspection.memory_map import MapColumn, MapPlace
from pagefault.service.inspection.status import Status
from pagefault.service.inspection.timetravel import Moment, Movement
from pagefault.service.inspection.work_events import WorkEvent
from pagefault.service.lookup.imported import ImportedSession
from pagefault.service.memory import Memory
from pagefault.service.session import Session
from pagefault.studio.filters import PageQuery
from pagefault.views.concerns import Concern, concerns_of

HITS: Final = 500
"""Of a search or a filter, shown at most: who needs the next asks for less."""

EVENTS: Final = 1_000
COLUMNS: Final = 400  # of the timeline: as many as a very wide terminal can tell apart
_SPACE: Final = re.compile(r"\s+")
_GONE: Final = "(forgotten, or not to be read here)"

Clean = Callable[[str], str]
"""Takes out of a text what must not be shown, and makes visible what acts on a terminal."""


class PieceKind(StrEnum):
    """What a part of a request is, in the order in which requests have them."""

    RULES = "rules, tools, calls"  # whatever is no page
    CLAIMS = "claims"
    SUMMARIES = "summaries"
    STUBS = "stubs"
    BACK = "brought back"
    TALK = "conversation"
    RESULTS = "tool results"


@dataclass(frozen=True, slots=True)
class Piece:
    kind: PieceKind
    tokens: int
    page_id: PageId = PageId("")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestWindow:
    """What a request held: its pages, and what no page is of. `request` is -1 before the first."""

    request: int
    turn: int
    tokens: int
    limit: int  # 0 where there is none
    pieces: tuple[Piece, ...]  # empty while they are being read
    is_now: bool = False  # what the next request would hold

    @property
    def when(self) -> str:
        return f"{'now' if self.is_now else f'at request {self.request}'}, turn {self.turn}"

    @property
    def pages(self) -> tuple[Piece, ...]:
        return tuple(one for one in self.pieces if one.page_id)

    def tokens_of(self, kind: PieceKind) -> int:
        return sum(one.tokens for one in self.pieces if one.kind is kind)

    def sentence(self) -> str:
        """The same in words, for who cannot see a bar."""
        of = f" of {self.limit:,}" if self.limit else ""
        parts = [f"{kind} {self.tokens_of(kind):,}" for kind in PieceKind if self.tokens_of(kind)]
        free = f", free {self.limit - self.tokens:,}" if self.limit > self.tokens else ""
        return f"Window {self.when}: {self.tokens:,}{of} tokens. {', '.join(parts)}{free}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """The requests of a session, oldest first; several in a column where there are very many.
    `back` counts the messages that came back with each column.
    """

    columns: tuple[MapColumn, ...] = ()
    back: Counter[int] = field(default_factory=Counter)
    messages: int = 0
    total: int = 0

    def sentence(self, at: int) -> str:
        if not self.columns:
            return "No request yet."
        one = self.columns[at]
        told = f"Request {one.last} of {self.total:,}, turn {one.turn}: {one.tokens:,} tokens"
        if one.tokens:
            told += f", {one.shared_tokens / one.tokens:.0%} as in the request before"
        if self.back[at]:
            told += f", {counted(self.back[at], 'message')} brought back"
        return told + (f". Rewritten: {one.rewrite.replace('_', ' ')}." if one.rewrite else ".")


@dataclass(frozen=True, slots=True)
class PageRef:
    """A page that is listed: its row where it is known, and whose it is."""

    page_id: PageId
    row: PageRow | None = None
    session_id: str = ""  # where it is of another session than the one that is looked at


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a list. `marks` are places in the last cell that were found; `tone` names the
    colour of the first.
    """

    of: Any
    cells: tuple[str, ...]
    tone: str = ""
    marks: tuple[tuple[int, int], ...] = ()


class LineSource(Protocol):
    """Where the lines of a list come from, a few at a time."""

    @property
    def count(self) -> int: ...
    async def rows(self, first: int, number: int) -> Sequence[Row | None]:
        """The lines `first` and following; None for one that is gone."""
        ...


@dataclass(frozen=True, slots=True)
class Listed:
    """Lines that are all there already."""

    all: Sequence[Row] = ()

    @property
    def count(self) -> int:
        return len(self.all)

    async def rows(self, first: int, number: int) -> Sequence[Row | None]:
        return self.all[first : first + number]


@dataclass(frozen=True, slots=True)
class AllPages:
    """Every page that the session sees, the newest first, read where they are looked at: their
    orders follow one another, and one that was forgotten leaves its place empty.
    """

    desk: Desk
    count: int

    async def rows(self, first: int, number: int) -> Sequence[Row | None]:
        newest = self.count - 1 - first
        oldest = max(newest - number + 1, 0)
        found = await self.desk.memory.pages(
            self.desk.session, after=oldest - 1, limit=newest - oldest + 1
        )
        by_order = {row.order: row for row in found}
        return [
            await self.desk.line(PageRef(by_order[order].page_id, by_order[order]))
            if order in by_order
            else None
            for order in range(newest, oldest - 1, -1)
        ]


@dataclass(frozen=True, slots=True)
class WindowPages:
    """The pages that one request held, in their order there."""

    desk: Desk
    pieces: tuple[Piece, ...]

    @property
    def count(self) -> int:
        return len(self.pieces)

    async def rows(self, first: int, number: int) -> Sequence[Row | None]:
        return [
            await self.desk.line(PageRef(one.page_id), one)
            for one in self.pieces[first : first + number]
        ]


@dataclass(frozen=True, slots=True)
class PageView:
    """A page as it is shown: a line about it, its text, what it rests on, what it is about."""

    ref: PageRef
    about: str
    text: str
    rests_on: tuple[PageId, ...]
    topics: tuple[str, ...]
    tasks: tuple[str, ...]
    names: tuple[str, ...]
    quotes: tuple[tuple[str, str, str, str], ...] = ()  # page, before, words, after


@dataclass(frozen=True, slots=True)
class Review:
    """What was done in a session: changed files, what was handed over, what failed; newest first.
    `more` tells that older events were not read.
    """

    changed: tuple[WorkEvent, ...]
    shipped: tuple[WorkEvent, ...]
    failed: tuple[WorkEvent, ...]
    events: int
    more: bool


@dataclass(frozen=True, slots=True)
class Keeping:
    """What a memory keeps, and what it does with it: imports, rules of retention, modes."""

    imports: tuple[ImportedSession, ...]
    rules: tuple[RetentionRule, ...]
    control: str  # of this session
    control_of_all: str
    names: dict[str, str]  # of sessions, by their ids

    @property
    def waiting(self) -> tuple[ImportedSession, ...]:
        return tuple(one for one in self.imports if not one.is_approved)


@dataclass(slots=True)
class Desk:
    """A memory that is open for reading, and the session that is looked at."""

    memory: Memory
    session: Session
    clean: Clean

    @property
    def called(self) -> str:
        return self.shown(self.session.name or self.session.session_id)

    def shown(self, text: str) -> str:
        """Cleaned, and on one line."""
        return " ".join(self.clean(text).split())

    async def look_at(self, session_id: str) -> None:
        self.session = await self.memory.session(session_id, create=False)

    async def sessions(self) -> list[SessionRow]:
        return await self.memory.sessions()

    async def status(self) -> Status:
        return await self.session.status()

    async def control(self) -> str:
        """The control mode that the session was given last, by whatever process."""
        return await self.memory.control_of(self.session.session_id)

    # --- windows ----------------------------------------------------------------------------------

    async def requests(self) -> Requests:
        """Reads the whole log of the session."""
        told = await self.session.memory_map(columns=COLUMNS)
        back: Counter[int] = Counter()
        for row in told.rows:
            back.update(s.first for s in row.spans if s.place is MapPlace.BROUGHT_BACK)
        return Requests(
            columns=told.columns, back=back, messages=told.messages, total=told.requests
        )

    async def window_now(self) -> RequestWindow | None:
        """What the next request would hold, as far as the session's state tells: at once. None
        where a client decides that.
        """
        if await self.memory.proxied(self.session) is not None:
            return None
        status, abi = await self.status(), self.session.abi()
        pages = [
            Piece(_kind(one.page_id, _PLACES.get(one.page_type, "turn")), one.tokens, one.page_id)
            for one in abi.pages
        ]
        return RequestWindow(
            request=status.requests,
            turn=max(status.turns - 1, 0),
            tokens=status.request_tokens,
            limit=status.window_tokens,
            pieces=_with_rules(status.request_tokens, pages),
            is_now=True,
        )

    async def window_at(self, seq: Seq) -> RequestWindow:
        """What the request of this record held. Reads the log up to it."""
        return window_of(await self.session.at(seq=seq))

    # --- pages ------------------------------------------------------------------------------------

    async def all_pages(self) -> AllPages:
        return AllPages(self, (await self.status()).pages)

    async def found(self, query: PageQuery) -> tuple[Listed, int]:
        """What a filter finds, and how many there are in all."""
        if query.page_id:
            line = await self.line(PageRef(PageId(query.page_id)))
            return Listed([line]), 1
        asked = self.memory if query.everywhere else self.session
        if query.is_listing:
            result = await asked.recent(HITS, query.wanted)
        else:
            result = await asked.recall(
                query.words, limit=HITS, wanted=query.wanted, topic=query.topic, task=query.task
            )
        return Listed([self._hit(hit, query.everywhere) for hit in result.hits]), result.total

    def _hit(self, hit: SearchHit, everywhere: bool) -> Row:
        text, marks = self.shown(hit.excerpt), hit.marks
        if text != hit.excerpt:
            marks = ()  # they were places in what was changed
        who = self.shown(hit.speaker or str(hit.page.role))
        other = hit.session_id if everywhere and hit.session_id != self.session.session_id else ""
        return Row(
            PageRef(hit.page.page_id, hit.page, other),
            (hit.page.page_id, who, f"{hit.page.tokens:,}", _day(hit.page.said_ms), text),
            tone=_tone(hit.page.page_id),
            marks=marks,
        )

    async def line(self, ref: PageRef, piece: Piece | None = None) -> Row:
        tone = _tone(ref.page_id) if piece is None else piece.kind.value
        try:
            page = await self._page(ref)
        except PagefaultError:
            return Row(ref, (ref.page_id, "", "", "", _GONE), tone)
        who = self.shown(page.speaker or _made_of(page) or str(page.row.role))
        tokens = page.row.tokens if piece is None else piece.tokens
        return Row(
            PageRef(ref.page_id, page.row, ref.session_id),
            (ref.page_id, who, f"{tokens:,}", f"turn {page.row.turn}", self.shown(page.text[:400])),
            tone,
        )

    async def _page(self, ref: PageRef) -> Page:
        if ref.row is not None:
            return await self.memory.read(ref.row)
        return await self.session.page(ref.page_id)

    async def page(self, ref: PageRef) -> PageView | None:
        """A page to be read; None where it cannot be."""
        try:
            page = await self._page(ref)
        except PagefaultError:
            return None
        row, derived = page.row, page.derived
        when = page.occurred_at or minute_of(row.at_ms)
        who = page.speaker or _made_of(page) or str(row.role)
        about = f"{who} · {when} · turn {row.turn} · {counted(row.tokens, 'token')} · {row.origin}"
        if row.superseded:
            about += " · other words stand in its place now"
        is_ours = derived is not None and not ref.session_id  # else its ids mean other pages
        spans = derived.evidence if derived is not None and is_ours else ()
        quotes = [await self._quoted(one.page_id, one.start, one.end) for one in spans]
        return PageView(
            ref=ref,
            about=self.shown(about),
            text=self.clean(page.text),
            rests_on=tuple(dict.fromkeys(derived.provenance)) if derived is not None else (),
            topics=tuple(map(self.shown, page.topic_tags)),
            tasks=tuple(map(self.shown, page.task_refs)),
            names=tuple(map(self.shown, page.entities)),
            quotes=tuple(quotes),
        )

    async def _quoted(self, page_id: PageId, start: int, end: int) -> tuple[str, str, str, str]:
        try:
            raw = (await self.session.page(page_id)).text.encode()
        except PagefaultError:
            return page_id, "", _GONE, ""
        before, words, after = raw[:start], raw[start:end], raw[end:]
        told = [
            _SPACE.sub(" ", self.clean(part.decode(errors="ignore")))
            for part in (before[-480:], words, after[:480])
        ]
        return page_id, told[0][-120:].lstrip(), told[1], told[2][:120].rstrip()

    async def story(self, ref: PageRef) -> list[str]:
        """What happened to a page, a line each, oldest first. Reads the log."""
        if ref.session_id:
            return ["It is of another session: open that one to see what happened to it."]
        moved = await self.session.history(ref.page_id)
        return [_moved(self.shown, one) for one in moved]

    # --- what is held true, what was done, what is kept -------------------------------------------

    async def claims(self) -> list[ClaimInfo]:
        return await self.session.claims()

    async def claim_quotes(self, one: ClaimInfo) -> list[tuple[str, str, str, str]]:
        return [await self._quoted(s.page_id, s.start, s.end) for s in one.evidence]

    async def review(self) -> Review:
        found = await self.memory.events(session=self.session.session_id, limit=EVENTS)
        return Review(
            changed=tuple(one for one in found if one.event_type is EventType.FILE_CHANGE),
            shipped=tuple(one for one in found if is_shipping(one.argv)),
            failed=tuple(one for one in found if has_failed(one)),
            events=len(found),
            more=len(found) == EVENTS,
        )

    async def keeping(self) -> Keeping:
        rows = await self.memory.sessions()
        return Keeping(
            imports=tuple(await self.memory.imports()),
            rules=await self.memory.retention(),
            control=await self.control(),
            control_of_all=await self.memory.control(),
            names={row.session_id: self.shown(row.name or row.session_id) for row in rows},
        )

    async def concerns(self) -> list[Concern]:
        """What needs a look now: of the session, and of the memory. Reads the whole log."""
        proxied = await self.memory.proxied(self.session)
        found = await concerns_of(self.memory, self.session, await self.session.metrics(), proxied)
        found += [
            Concern(
                what=self.shown(one), why="Opening the memory found it.", do="`pagefault doctor`"
            )
            for one in self.memory.notices
        ]
        waiting = (await self.keeping()).waiting
        if waiting:
            found.append(
                Concern(
                    what=f"{counted(len(waiting), 'imported session')} not approved yet.",
                    why="You find them when you search; the model is not shown them by itself.",
                    do="Approve them under Keeping, or leave them as they are.",
                    figure="imports",
                )
            )
        return found


_PLACES: Final = {
    str(Kind.CLAIM): "core",
    str(Kind.SUMMARY): "summary",
    str(Kind.INDEX): "summary",
    str(Kind.PROCEDURE): "summary",
}
_KINDS: Final = {
    "core": PieceKind.CLAIMS,
    "summary": PieceKind.SUMMARIES,
    "stub": PieceKind.STUBS,
    "recalled": PieceKind.BACK,
    "faulted": PieceKind.BACK,
}


def window_of(then: Moment) -> RequestWindow:
    pages = [Piece(_kind(one.page_id, one.place), one.tokens, one.page_id) for one in then.pages]
    return RequestWindow(
        request=then.request,
        turn=then.turn,
        tokens=then.request_tokens,
        limit=then.window_tokens,
        pieces=_with_rules(then.request_tokens, pages),
    )


def _kind(page_id: PageId, place: str) -> PieceKind:
    found = _KINDS.get(place)
    if found is not None:
        return found
    return PieceKind.RESULTS if page_id.startswith("tool_") else PieceKind.TALK


def _with_rules(tokens: int, pages: Sequence[Piece]) -> tuple[Piece, ...]:
    rest = tokens - sum(one.tokens for one in pages)
    return (Piece(PieceKind.RULES, rest), *pages) if rest > 0 else tuple(pages)


def _tone(page_id: PageId) -> str:
    stem = page_id.rpartition("_")[0]
    return {
        "clm": PieceKind.CLAIMS,
        "sum": PieceKind.SUMMARIES,
        "idx": PieceKind.SUMMARIES,
        "prc": PieceKind.SUMMARIES,
        "tool": PieceKind.RESULTS,
    }.get(stem, PieceKind.TALK)


def _made_of(page: Page) -> str:
    return "" if page.row.kind in (Kind.TRANSCRIPT, Kind.ARTIFACT) else str(page.row.kind)


def _moved(shown: Clean, one: Movement) -> str:
    told = f"turn {one.turn:<4} {one.what.replace('_', ' ')}"
    return shown(f"{told}, {one.by.replace('_', ' ')}" if one.by else told)


_SHIPPING: Final = {
    "git": ("commit", "push", "tag", "merge"),
    "gh": ("pr", "release"),
    "npm": ("publish",),
    "twine": ("upload",),
    "cargo": ("publish",),
    "uv": ("publish",),
}
"""Commands by which work leaves the hands of who did it, and what they are given first."""


def is_shipping(argv: Sequence[str]) -> bool:
    """Whether a command hands work over: commits, pushes, publishes."""
    words = [word for word in argv if not word.startswith("-")]
    return len(words) > 1 and words[1] in _SHIPPING.get(words[0].rpartition("/")[2], ())


def has_failed(one: WorkEvent) -> bool:
    return one.failed or bool(one.exit_code) or bool(one.tests_failed)


def minute_of(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000).astimezone():%Y-%m-%d %H:%M}"


def _day(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000).astimezone():%d %b %y}"
