"""The feed: what people look at of a memory, as values, and word of every record that is written.

Dashboard, studio, notebook and report draw from it. It asks for nothing that would write: open the
memory `read_only`, so that nothing can.

A session is read once, and what was written since is folded in when it is asked about again. So the
first look takes as long as its log is, and each later one as long as what is new.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Final, TypeVar

from pagefault.model.errors import BadInput, SessionNotFound
from pagefault.model.events import Event, PageBody
from pagefault.model.ids import NOTHING, PageId, Seq, TurnNo
from pagefault.model.kinds import REGION_PREFIX, FaultReason, Kind, Level, Role
from pagefault.model.page import PageRow, SessionRow
from pagefault.pack.bill import Bill, BillItem
from pagefault.paging.pressure import Pressure
from pagefault.recall.search import SearchHit
from pagefault.service.inspection.ledger import Entry
from pagefault.service.inspection.memory_map import ROWS
from pagefault.service.inspection.report import report
from pagefault.service.inspection.session_fold import HeldWindow, SessionFold
from pagefault.service.inspection.timetravel import InWindow
from pagefault.service.lookup.imported import IMPORT_PREFIX
from pagefault.service.memory import Memory
from pagefault.service.session import Session
from pagefault.store.api import PageFilter
from pagefault.views.concerns import concerns
from pagefault.views.picture import Clean, Excerpt, SessionTexts, head
from pagefault.views.shown import (
    BroughtBack,
    ClaimsView,
    Health,
    HitView,
    MapView,
    NewRecord,
    RequestLine,
    SegmentKind,
    SessionCard,
    SessionView,
    Spell,
    WindowSegment,
    WindowView,
)

T = TypeVar("T")

SESSIONS: Final = 50  # in a list
REQUESTS: Final = 30  # on a page of the log
SEGMENTS: Final = 240  # of a window, before neighbours of one kind stand together
CLAIMS: Final = 120
HITS: Final = 20
CHANGES: Final = 200  # told at once
EVERY_S: Final = 0.2  # that somebody who follows looks for new records
QUIET_S: Final = 15.0  # after which who follows is told that there were none
SHARE: Final = 20
"""A sum over many sessions is made again at most once in this many times what it took: whoever
looks on costs a twentieth of a core at most.
"""
_FOLDS: Final = 4  # sessions that are kept folded
_WINDOWS: Final = 16
_LET_IN_S: Final = 0.002
_TITLE: Final = 60  # characters

_CLIENTS: Final = {"claude": "Claude Code", "codex": "Codex", "opencode": "opencode"}
_PROXIED: Final = re.compile(r"(?:([a-z]+):)?(.+?)(?::[a-z]+)?:[0-9a-f]{6}@[^:@]+\Z")
_NOBODY_NAMED_IT: Final = re.compile(r"[0-9a-f]{8}-?[0-9a-f-]{4,}|[0-9a-f]{12,}|ses_\w+|\Z")

_DID: Final = {
    "begun": "new conversation",
    "same": "sent again",
    "extended": "new message",
    "edited": "edited an old message",
    "branched": "went back and on from there",
    "compacted": "compacted its history",
    "remodelled": "another model",
    "reinstructed": "other instructions or tools",
    "served": "the model used memory",
}
_WHY: Final = {
    None: "pagefault recalled it for this message",
    FaultReason.USER_REQUESTED_RECALL: "the model asked: the user wants to be reminded",
    FaultReason.RESOLVE_REFERENCE: "the model asked: something refers to it",
    FaultReason.TOOL_PREREQ: "the model asked: a tool needs it",
    FaultReason.SPECULATIVE: "the model asked, in case it is needed",
}
_KINDS: Final = {
    "core": SegmentKind.CLAIMS,
    "summary": SegmentKind.SUMMARIES,
    "recalled": SegmentKind.BROUGHT_BACK,
    "faulted": SegmentKind.BROUGHT_BACK,
    "stub": SegmentKind.STUBS,
}

PressureCallback = Callable[[str, Pressure, Pressure], None]


@dataclass(frozen=True, slots=True)
class _Summed:
    """A bill as of a record, and when it was begun and ended to be summed up."""

    bill: Bill
    upto: int
    began: float
    ended: float

    def is_good(self, upto: int) -> bool:
        """Whether it is still true, or too dear to be made again as yet."""
        pause = SHARE * (self.ended - self.began)
        return self.upto == upto or time.monotonic() < self.ended + pause


class StillReading(Exception):
    """A session is long, and was not read to its end in time: `share` of it was, 0 to 1. It is read
    on meanwhile.
    """

    def __init__(self, name: str, share: float) -> None:
        super().__init__(f"{name}: {share:.0%} of its log is read so far")
        self.name, self.share = name, share


class _Closing(Exception):
    """The feed was closed while a session was read."""


@dataclass(slots=True, eq=False)
class _Kept:
    """A session as it was folded last; `items` are its requests as of that."""

    session: Session
    fold: SessionFold
    texts: SessionTexts
    items: list[BillItem] = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    windows: OrderedDict[int, HeldWindow] = field(default_factory=OrderedDict)
    bill: _Summed | None = None
    reading: asyncio.Task[None] | None = None


class Feed:
    """For one event loop. `clean` takes out of a text what must not be shown; `now` is the time
    here, with its zone. Who has a `patience_s` gets `StillReading` for a session that takes longer
    to be read, and asks again.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        clean: Clean = str,
        patience_s: float | None = None,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        self._memory = memory
        self._runtime = memory._runtime
        self._clean = clean
        self._patience_s = patience_s
        self._now = now
        self._folds: OrderedDict[int, _Kept] = OrderedDict()
        self._forgettings = memory.forgettings
        self._counted: dict[int, tuple[Seq, int]] = {}
        self._titles: dict[int, str] = {}
        self._bills: dict[Spell, _Summed] = {}
        self._is_closed = False
        self._callbacks: list[PressureCallback] = []

    # --- sessions -----------------------------------------------------------------------------

    async def sessions(self, *, limit: int = SESSIONS) -> list[SessionCard]:
        """The sessions that were used last, the latest first."""
        rows = (await self._memory.sessions())[:limit]
        return await asyncio.to_thread(lambda: [self._card(row) for row in rows])

    async def session(self, name: str) -> SessionView:
        """How a session stands, by its name or id. Raises `SessionNotFound`."""
        kept = await self._kept(name)
        claims = await kept.session.claims()

        def look() -> SessionView:
            fold, folded = kept.fold, kept.fold.folded()
            metrics = None
            if folded is not None:
                metrics = report(folded, self._runtime, kept.session.owned.state, per_turn=False)
            bill = self._bill_of(kept)
            proxied = folded.proxied if folded is not None else None
            found = concerns(metrics, proxied, bill.total, claims)
            return SessionView(
                card=self._card(fold.row),
                is_proxied=fold.is_passed_on,
                window_tokens=fold.window_tokens,
                requests=len(kept.items),
                rewrites=sum(bool(one.epoch) for one in kept.items),
                brought_back=fold.brought_pages,
                brought_back_tokens=fold.brought_tokens,
                pressure=fold.pressure,
                bill=bill.total,
                prices=", ".join(sorted(set(bill.prices.values()))),
                concerns=tuple(kept.texts.concerns(found)),
                is_judged=folded is not None,
                upto=fold.upto,
            )

        return await self._look(kept, look)

    async def requests(
        self, name: str, *, before: int | None = None, limit: int = REQUESTS
    ) -> list[RequestLine]:
        """The requests of a session, newest first; those whose number is less, if one is given."""
        kept = await self._kept(name)
        end = len(kept.items) if before is None else max(0, min(before, len(kept.items)))

        def look() -> list[RequestLine]:
            entries = kept.fold.requests.entries
            first = max(0, end - limit)
            return [_line(kept, entries, number) for number in reversed(range(first, end))]

        return await self._look(kept, look)

    async def window(self, name: str, request: int | None = None) -> WindowView | None:
        """What a request held, the newest without a number; None where there was none yet. Raises
        `BadInput` for a number that none has.
        """
        kept = await self._kept(name)
        number = len(kept.items) - 1 if request is None else request
        if request is None and number < 0:
            return None
        if not 0 <= number < len(kept.items):
            raise BadInput(
                f"there is no request {number}", hint=f"so far: 0 to {len(kept.items) - 1}"
            )
        return await self._look(kept, lambda: self._window(kept, number))

    async def map(self, name: str, *, rows: int = ROWS) -> MapView:
        """The memory map, of at most so many rows, with what each says first. With 0 rows it is
        what each request sent, and nothing else.
        """
        kept = await self._kept(name)

        def look() -> MapView:
            told = kept.fold.map(kept.items, rows=rows)
            excerpts = {row.first: kept.texts.excerpt(row.first) for row in told.rows}
            return MapView(map=told, excerpts=excerpts, window_tokens=kept.fold.window_tokens)

        return await self._look(kept, look)

    async def claims(self, name: str, *, limit: int = CLAIMS) -> ClaimsView:
        """What is held true in a session, newest first, and what took the place of what."""
        kept = await self._kept(name)
        told = await kept.session.claims()

        def look() -> ClaimsView:
            shown = told[::-1][:limit]
            return ClaimsView(
                claims=tuple(kept.texts.claim(one) for one in shown),
                total=len(told),
                standing=sum(one.status == "standing" for one in told),
                links=tuple((one.claim_id, one.closed_by) for one in shown if one.closed_by),
            )

        return await self._look(kept, look)

    async def page(self, name: str, page_id: str) -> tuple[Excerpt, str] | None:
        """A page and its whole text, cleaned; None where there is none that can be read."""
        kept = await self._kept(name)

        def look() -> tuple[Excerpt, str] | None:
            page = kept.texts.page(PageId(page_id))
            if page is None:
                return None
            return kept.texts.excerpt_of(page.page_id, page), self._clean(page.text)

        return await self._look(kept, look)

    # --- the whole memory -----------------------------------------------------------------------

    async def bill(self, spell: Spell, name: str = "") -> Bill:
        """What requests cost: of the session `name`, of all since midnight, or of all there are.
        Those of many sessions may be a little old: see `SHARE`.
        """
        if spell is Spell.SESSION:
            kept = await self._kept(name)
            return await self._look(kept, lambda: self._bill_of(kept))
        told = self._bills.get(spell)
        if told is not None and told.is_good(self._memory.records):
            return told.bill
        began = time.monotonic()
        midnight = self._now().replace(hour=0, minute=0, second=0, microsecond=0)
        bill = await self._memory.bill(since=midnight if spell is Spell.TODAY else "")
        self._bills[spell] = _Summed(bill, self._memory.records, began, time.monotonic())
        return bill

    def _bill_of(self, kept: _Kept) -> Bill:
        if kept.bill is None or not kept.bill.is_good(kept.fold.upto):
            began = time.monotonic()
            bill = kept.fold.bill(kept.items)
            kept.bill = _Summed(bill, kept.fold.upto, began, time.monotonic())
        return kept.bill.bill

    async def search(self, words: str, *, limit: int = HITS) -> list[HitView]:
        """Pages of every session that bear on some words, best first."""
        found = await self._memory.recall(words, limit=limit)
        rows = {row.session_id: row for row in await self._memory.sessions()}

        def look(hit: SearchHit) -> HitView:
            row = rows.get(hit.session_id)
            return HitView(
                page_id=hit.page.page_id,
                session_id=hit.session_id,
                session=self._title(row) if row is not None else self._clean(hit.source),
                who=self._clean(hit.speaker) or str(hit.page.role),
                at_ms=hit.page.said_ms,
                relevance=hit.relevance,
                pieces=tuple(self._pieces(hit)),
            )

        return await asyncio.to_thread(lambda: [look(hit) for hit in found.hits])

    async def health(self) -> Health:
        """How the memory is, as far as it is known without reading all of it."""
        rows = await self._memory.sessions()
        redaction = await self._memory.redaction()
        return Health(
            records=self._memory.records,
            sessions=len(rows),
            bytes=sum(row.bytes for row in rows),
            is_adopted=self._memory.is_adopted,
            notices=tuple(self._clean(one) for one in self._memory.notices),
            withheld=redaction.withheld,
            seq=await self.seq(),
        )

    # --- what changes ---------------------------------------------------------------------------

    async def seq(self) -> Seq:
        """The last record that can be told of by now."""
        await self._runtime.journal.look()
        return await asyncio.to_thread(self._runtime.index.applied_seq)

    async def changes(self, after: int = 0, *, limit: int = CHANGES) -> list[NewRecord]:
        """The records behind `after`, oldest first, at most so many."""
        upto = await self.seq()

        def look() -> list[NewRecord]:
            names = {row.session: row.session_id for row in self._runtime.index.sessions()}
            last = Seq(min(upto, after + limit))
            read = self._runtime.log.read(Seq(max(0, after)), last) if last > after else ()
            return [_change(event, names.get(event.session, "")) for event in read]

        return await asyncio.to_thread(look)

    async def follow(
        self, after: int | None = None, *, every_s: float = EVERY_S
    ) -> AsyncGenerator[list[NewRecord]]:
        """The records that are written from now on, or behind `after`, as they come; an empty list
        now and then says that there were none. Ends with whoever reads it.
        """
        seq = await self.seq() if after is None else Seq(after)
        known, waited = NOTHING, 0.0
        while True:
            await self._runtime.journal.look()
            head = self._memory.records
            if head != known or head > seq:
                known = Seq(head)
                told = await self.changes(seq)
                if told:
                    seq, waited = told[-1].seq, 0.0
                    yield told
                    if len(told) == CHANGES:
                        continue
            if waited >= QUIET_S:
                waited = 0.0
                yield []
            await asyncio.sleep(every_s)
            waited += every_s

    def on_pressure(self, callback: PressureCallback) -> Callable[[], None]:
        """Call `callback(session_id, before, now)` where a session that is looked at is found under
        another pressure than when it was looked at before, whoever packs its requests. Returns what
        ends that.
        """
        self._callbacks.append(callback)

        def end() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return end

    # --- how it is found out --------------------------------------------------------------------

    async def _row(self, name: str) -> SessionRow:
        await self._runtime.journal.look()
        row = await asyncio.to_thread(self._runtime.index.find_session, name) if name else None
        if row is None or row.name.startswith(REGION_PREFIX):
            raise SessionNotFound(name)
        return row

    async def _kept(self, name: str) -> _Kept:
        """The session, with all that was written of it by now folded in."""
        row = await self._row(name)
        if self._forgettings != self._memory.forgettings:
            self._forgettings = self._memory.forgettings
            self._folds.clear()
            self._titles.clear()
            self._bills.clear()
        kept = self._folds.get(row.session)
        if kept is None:
            session = await self._memory.session(row.session_id, create=False)
            fold = await asyncio.to_thread(SessionFold, self._runtime, row)
            made = _Kept(session, fold, SessionTexts(self._runtime, row, self._clean))
            kept = self._folds.setdefault(row.session, made)  # unless another was quicker
            while len(self._folds) > _FOLDS:
                self._folds.popitem(last=False)
        self._folds.move_to_end(row.session)
        if kept.reading is None and kept.fold.upto < row.last_seq:
            kept.reading = asyncio.create_task(self._read(kept, row))
        reading = kept.reading  # which others wait for, too
        if reading is not None:
            await asyncio.wait([reading], timeout=self._patience_s)
            if not reading.done():
                share = (kept.fold.upto - row.session) / max(1, row.last_seq - row.session)
                raise StillReading(row.session_id, max(0.0, min(share, 1.0)))
            if kept.reading is reading:
                kept.reading = None
            if reading.exception() is not None:  # nobody knows how far each fold came
                self._folds.pop(row.session, None)
            reading.result()
        return kept

    async def _read(self, kept: _Kept, row: SessionRow) -> None:
        """Fold what was written of a session since, and tell whose pressure has changed."""
        async with kept.lock:
            await kept.session.owned.caught_up()
            before, is_first = kept.fold.pressure, not kept.fold.upto
            await asyncio.to_thread(self._advance, kept, row)
            now = kept.fold.pressure
        if now is not before and not is_first:
            for callback in list(self._callbacks):
                callback(row.session_id, before, now)

    def _advance(self, kept: _Kept, row: SessionRow) -> None:
        kept.fold.row = row
        kept.fold.advance(self._let_in)
        if kept.fold.is_outgrown:
            fold = SessionFold(self._runtime, row)
            fold.advance(self._let_in)
            kept.fold = fold
        kept.items = kept.fold.items()
        self._counted[row.session] = row.last_seq, len(kept.items)

    def _let_in(self) -> None:
        if self._is_closed:
            raise _Closing
        time.sleep(_LET_IN_S)

    async def aclose(self) -> None:
        """End what is being read. Nothing is to be asked after that."""
        self._is_closed = True
        reading = [kept.reading for kept in self._folds.values() if kept.reading is not None]
        await asyncio.gather(*reading, return_exceptions=True)

    async def _look(self, kept: _Kept, look: Callable[[], T]) -> T:
        async with kept.lock:
            return await asyncio.to_thread(look)

    def _card(self, row: SessionRow) -> SessionCard:
        index = self._runtime.index
        seq, requests = self._counted.get(row.session, (NOTHING, 0))
        if seq != row.last_seq:
            requests = len(
                index.events(row.session, types=("relayed",))
                or index.events(row.session, types=("packed",))
            )
            self._counted[row.session] = row.last_seq, requests
        parent = index.session(row.parent) if row.parent else None
        return SessionCard(
            session_id=row.session_id,
            name=self._clean(row.name),
            title=self._title(row),
            client=_client_of(row.name),
            requests=requests,
            turns=row.turns,
            messages=row.pages,
            last_used_ms=row.last_used_ms,
            parent=parent.session_id if parent is not None else "",
        )

    def _title(self, row: SessionRow) -> str:
        found = self._titles.get(row.session)
        if found is None:
            found = _given_name(row.name) or self._first_words(row)
            if found:
                self._titles[row.session] = found = self._clean(found)
        return found or row.session_id

    def _first_words(self, row: SessionRow) -> str:
        """How the conversation begins, of one that nobody named."""
        texts = SessionTexts(self._runtime, row, self._clean)
        pages = self._runtime.index.pages(texts.scope, PageFilter(), limit=8)
        first = next((one for one in pages if one.role is Role.USER), None)
        page = texts.read(first)
        return "" if page is None else head(texts.shown(page.text).strip(), _TITLE)

    def _window(self, kept: _Kept, number: int) -> WindowView:
        entries = kept.fold.requests.entries
        held = kept.windows.get(number)
        if held is None:
            held = kept.windows[number] = kept.fold.held(entries[number])
            while len(kept.windows) > _WINDOWS:
                kept.windows.popitem(last=False)
        rows = self._runtime.index.find_pages(kept.texts.scope, {one.page_id for one in held.pages})
        line = _line(kept, entries, number)
        relayed = entries[number].relayed
        limit = kept.fold.window_tokens if relayed is None else relayed.window_tokens
        asked = [
            one.page_id
            for one in held.pages
            if one.place == "turn" and (row := rows.get(one.page_id)) and row.role is Role.USER
        ]
        return WindowView(
            session_id=kept.fold.row.session_id,
            request=line,
            window_tokens=limit,
            segments=tuple(self._segments(kept, held, rows, free=max(0, limit - line.tokens))),
            brought=tuple(_brought(kept, held, number)),
            question=kept.texts.excerpt(asked[-1]) if asked else None,
        )

    def _segments(
        self, kept: _Kept, held: HeldWindow, rows: Mapping[PageId, PageRow], *, free: int
    ) -> Iterator[WindowSegment]:
        for kind, tokens in (
            (SegmentKind.RULES, held.rules_tokens),
            (SegmentKind.TOOLS, held.tools_tokens),
        ):
            if tokens:
                yield WindowSegment(kind=kind, tokens=tokens)
        told = [(_kind(one, rows.get(one.page_id)), one) for one in held.pages]
        together = len(told) > SEGMENTS
        for _, group in groupby(enumerate(told), lambda one: one[1][0] if together else one[0]):
            run = [one for _, one in group]
            kind, first = run[0]
            text = kept.texts.excerpt(first.page_id)
            yield WindowSegment(
                kind=kind,
                tokens=sum(one.tokens for _, one in run),
                pages=tuple(one.page_id for _, one in run),
                who=text.who,
                text=text.text,
            )
        if free:
            yield WindowSegment(kind=SegmentKind.FREE, tokens=free)

    def _pieces(self, hit: SearchHit) -> Iterator[tuple[str, bool]]:
        at = 0
        for first, last in hit.marks:
            yield self._clean(hit.excerpt[at:first]), False
            yield self._clean(hit.excerpt[first:last]), True
            at = last
        yield self._clean(hit.excerpt[at:]), False


def _line(kept: _Kept, entries: Sequence[Entry], number: int) -> RequestLine:
    entry, item = entries[number], kept.items[number]
    relayed, report = entry.relayed, item.report
    did = "the model used memory" if item.is_ours else "new message"
    if relayed is not None:
        did = _DID.get(relayed.change, relayed.change)
    return RequestLine(
        number=number,
        seq=entry.seq,
        turn=entry.turn,
        at_ms=entry.at_ms,
        did=did,
        client_messages=relayed.client_messages if relayed is not None else 0,
        messages=relayed.messages if relayed is not None else 0,
        without_tokens=item.without,
        tokens=item.tokens,
        shared_tokens=min(item.shared, item.tokens),
        reported_tokens=None if report is None else report.input_tokens,
        reported_cached_tokens=None if report is None else report.cached_tokens,
        brought_back=len(kept.fold.brought[number]),
        rewrite=item.epoch,
    )


def _brought(kept: _Kept, held: HeldWindow, number: int) -> Iterator[BroughtBack]:
    """What a request showed that had been brought back, by it or by one before it."""
    shown = {one.page_id for one in held.pages if one.place in ("recalled", "faulted")}
    for request in range(number, -1, -1):
        for one in kept.fold.brought[request]:
            if request < number and one.page_id not in shown:
                continue
            shown.discard(one.page_id)
            page = kept.texts.page(one.page_id)
            yield BroughtBack(
                request=request,
                page=kept.texts.excerpt_of(one.page_id, page),
                turn=page.row.turn if page is not None else TurnNo(-1),
                asked=one.reason is not None,
                why=_WHY[one.reason],
            )
        if not shown:
            return


def _kind(one: InWindow, row: PageRow | None) -> SegmentKind:
    if row is not None and row.kind is Kind.CLAIM:
        return SegmentKind.CLAIMS
    if one.level is Level.REFERENCE:
        return SegmentKind.STUBS
    if one.place in _KINDS:
        return _KINDS[one.place]
    is_tools = row is not None and row.role is Role.TOOL
    return SegmentKind.TOOL_RESULTS if is_tools else SegmentKind.CONVERSATION


def _change(event: Event, session_id: str) -> NewRecord:
    page_id, tokens = PageId(""), 0
    if isinstance(event.body, PageBody):
        page_id, tokens = event.body.page_id, event.body.tokens
    return NewRecord(
        seq=event.seq,
        at_ms=event.at_ms,
        session_id=session_id,
        turn=event.turn,
        type=event.type,
        page_id=page_id,
        tokens=tokens,
    )


def _client_of(name: str) -> str:
    """The program whose conversation a session is, where its name tells."""
    if name.startswith(IMPORT_PREFIX):
        return f"imported from {name.removeprefix(IMPORT_PREFIX).partition(':')[0]}"
    match = _PROXIED.match(name)
    return _CLIENTS.get(match[1] or "", "") if match else ""


def _given_name(name: str) -> str:
    """What a person called a session; "" where nobody did."""
    match = _PROXIED.match(name)
    kind, key = (match[1] or "", match[2]) if match else ("", name)
    if kind == "unnamed" or name.startswith(IMPORT_PREFIX) or _NOBODY_NAMED_IT.match(key):
        return ""
    return key
