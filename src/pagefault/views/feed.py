"""The feed: a memory's contents as values for display, and a stream of new records.

Dashboard, studio, notebook and report use it. It never writes: open the memory `read_only` to
enforce that.

Sessions are folded incrementally: the first look at one reads its whole log, later ones only the
new records.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeVar

from pagefault.model.errors import BadInput
from pagefault.model.events import Event, PageBody
from pagefault.model.ids import NOTHING, PageId, Seq
from pagefault.model.kinds import REGION_PREFIX
from pagefault.model.page import SessionRow
from pagefault.model.reprs import counted
from pagefault.pack.bill import Bill
from pagefault.pack.context_pack import ContextPack
from pagefault.paging.pressure import Pressure, subscribed
from pagefault.recall.search import SearchHit
from pagefault.service.inspection.memory_map import ROWS
from pagefault.service.inspection.report import report
from pagefault.service.inspection.session_fold import SessionFold
from pagefault.service.lookup.names import brief_names, not_found
from pagefault.service.memory import Memory
from pagefault.service.session import Session
from pagefault.views.browser import Browser
from pagefault.views.claim_graph import edges_of
from pagefault.views.concerns import Concern, concerns
from pagefault.views.filters import PageQuery, parsed
from pagefault.views.kept import KeptSession, Summed
from pagefault.views.shown import (
    ClaimsView,
    FoundView,
    Health,
    HitView,
    KeepingView,
    MapView,
    NewRecord,
    PageView,
    RequestLine,
    SessionCard,
    SessionView,
    Spell,
    WindowView,
    WorkView,
)
from pagefault.views.sources import sources_first, worth_showing
from pagefault.views.texts import WHY_FOUND, Clean, SessionTexts, who_said
from pagefault.views.titles import client_of, title_of
from pagefault.views.windows import line_of, window_of
from pagefault.views.windows import next_window as window_of_next
from pagefault.views.work import work_of

T = TypeVar("T")

SESSIONS: Final = 50  # in a list
REQUESTS: Final = 30  # on a page of the log
CLAIMS: Final = 120
HITS: Final = 20
CHANGES: Final = 200  # per batch
EVERY_S: Final = 0.2  # polling interval of `follow`
QUIET_S: Final = 15.0  # after which `follow` yields an empty batch
_FOLDS: Final = 4  # sessions whose fold is kept
_LET_IN_S: Final = 0.002

PressureCallback = Callable[[str, Pressure, Pressure], None]


class StillReading(Exception):
    """A long session was not fully read in time: `share` of it was, 0 to 1. Reading continues in
    the background.
    """

    def __init__(self, name: str, share: float) -> None:
        super().__init__(f"{name}: {share:.0%} of its log is read so far")
        self.name, self.share = name, share


class _Closing(Exception):
    """The feed was closed while it read a session."""


class Feed:
    """The feed of one memory, for one event loop. `clean` removes from a text what must not be
    shown; `now` is the local time with its zone. If a session takes longer than `patience_s` to
    read, the caller gets `StillReading` and should try again.
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
        self._folds: OrderedDict[int, KeptSession] = OrderedDict()
        self._forgettings = memory.forgettings
        self._counted: dict[int, tuple[Seq, int]] = {}
        self._titles: dict[int, str] = {}
        self._bills: dict[Spell, Summed] = {}
        self._is_closed = False
        self._callbacks: list[PressureCallback] = []

    # --- sessions -----------------------------------------------------------------------------

    async def sessions(self, *, limit: int = SESSIONS) -> list[SessionCard]:
        """The most recently used sessions, latest first."""
        rows = (await self._memory.sessions())[:limit]
        return await asyncio.to_thread(lambda: [self._card(row) for row in rows])

    async def card(self, name: str) -> SessionCard:
        """A session's entry in the list, by name or id. Raises `SessionNotFound`."""
        row = await self._row(name)
        return await asyncio.to_thread(self._card, row)

    async def session(self, name: str) -> SessionView:
        """The state of a session, by name or id. Raises `SessionNotFound`."""
        kept = await self._kept(name)
        claims = await kept.session.claims()

        def look() -> SessionView:
            fold, folded = kept.fold, kept.fold.folded()
            metrics = None
            if folded is not None:
                metrics = report(folded, self._runtime, kept.session.owned.state, per_turn=False)
            bill = kept.summed()
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
        """The requests of a session, newest first, from the one before number `before` if given."""
        kept = await self._kept(name)
        end = len(kept.items) if before is None else max(0, min(before, len(kept.items)))

        def look() -> list[RequestLine]:
            first = max(0, end - limit)
            return [line_of(kept, number) for number in reversed(range(first, end))]

        return await self._look(kept, look)

    async def window(
        self, name: str, request: int | None = None, *, whole: bool = False
    ) -> WindowView | None:
        """The window of a request, by default the newest; None if there is none yet. With `whole`,
        each page is a segment of its own, without text: `Browser.excerpts` reads the visible ones.
        Raises `BadInput` for a number that no request has.
        """
        kept = await self._kept(name)
        number = len(kept.items) - 1 if request is None else request
        if request is None and number < 0:
            return None
        if not 0 <= number < len(kept.items):
            raise BadInput(
                f"there is no request {number}", hint=f"so far: 0 to {len(kept.items) - 1}"
            )
        return await self._look(kept, lambda: window_of(kept, number, whole=whole))

    async def next_window(self, name: str) -> WindowView | None:
        """The window of the next request, one segment per page. Reads no log. None if the session
        is proxied, because then the client decides.
        """
        session, texts = await self._session(name)
        if await self._memory.proxied(session) is not None:
            return None
        status = await session.status()
        return await asyncio.to_thread(window_of_next, session, texts, status)

    async def map(self, name: str, *, rows: int = ROWS) -> MapView:
        """The memory map with at most `rows` rows, and the beginning of each row's first message.
        With 0 rows, only what each request sent.
        """
        kept = await self._kept(name)

        def look() -> MapView:
            told = kept.fold.map(kept.items, rows=rows)
            excerpts = {row.first: kept.texts.excerpt(row.first) for row in told.rows}
            brought = [len(one) for one in kept.fold.brought]
            return MapView(
                map=told,
                brought=tuple(sum(brought[one.first : one.last + 1]) for one in told.columns),
                excerpts=excerpts,
                window_tokens=kept.fold.window_tokens,
            )

        return await self._look(kept, look)

    async def claims(self, name: str, *, limit: int = CLAIMS) -> ClaimsView:
        """The claims of a session, newest first, with the edges between them."""
        session, texts = await self._session(name)
        told = await session.claims()

        def look() -> ClaimsView:
            shown = told[::-1][:limit]
            return ClaimsView(
                claims=tuple(map(texts.claim, shown)),
                total=len(told),
                standing=sum(one.status == "standing" for one in told),
                edges=tuple(edges_of(shown[::-1])),
            )

        return await asyncio.to_thread(look)

    # --- pages ----------------------------------------------------------------------------------

    async def browser(self, name: str) -> Browser:
        """The page browser of a session."""
        return Browser(self._memory, *await self._session(name))

    async def page(self, name: str, page_id: str) -> PageView | None:
        """A page with its text; None if there is none that can be read."""
        return await (await self.browser(name)).page(page_id)

    async def work(self, name: str) -> WorkView:
        """The work done in a session: what was changed, shipped, failed."""
        session, texts = await self._session(name)
        return await work_of(self._memory, session.session_id, texts.shown)

    async def handoff(self, name: str) -> ContextPack:
        """The pack for somebody who continues a session. Its texts are not cleaned yet."""
        return await (await self._session(name))[0].handoff()

    async def found(self, query: PageQuery, name: str = "", *, limit: int = HITS) -> FoundView:
        """The pages that match a query, best first, or without words the latest first; of one
        session, or of all without a name, sources before answers that cite them (`sources.py`).
        Raises `BadInput`.
        """
        asked = (await self._session(name))[0] if name else self._memory
        if query.is_listing:
            result = await asked.recent(limit, query.wanted)
        else:
            result = await asked.recall(
                query.words or query.page_id,
                limit=limit,
                wanted=query.wanted,
                topic=query.topic,
                task=query.task,
            )
        ordered = result.hits if name else await sources_first(self._memory, result.hits)
        rows = {row.session_id: row for row in await self._memory.sessions()}

        def look(hit: SearchHit) -> HitView:
            row = rows.get(hit.session_id)
            return HitView(
                page_id=hit.page.page_id,
                session_id=hit.session_id,
                session=self._title(row) if row is not None else self._clean(hit.source),
                who=self._clean(who_said(hit.page, hit.speaker)),
                at_ms=hit.page.said_ms,
                tokens=hit.page.tokens,
                relevance=hit.relevance,
                pieces=tuple(self._pieces(hit)),
                why=WHY_FOUND.get(hit.why, ""),
            )

        hits = await asyncio.to_thread(lambda: tuple(map(look, ordered)))
        return FoundView(hits=hits, total=result.total)

    async def search(self, words: str, *, limit: int = HITS) -> list[HitView]:
        """Search all sessions, ordered as `found`, without hits whose relevance rounds to 0.00 if
        there are others. `words` may include filters (`filters.HELP`). Raises `BadInput`.
        """
        query = parsed(words)
        hits = [] if query is None else list((await self.found(query, limit=limit)).hits)
        return list(worth_showing(hits))

    # --- the whole memory -----------------------------------------------------------------------

    async def bill(self, spell: Spell, name: str = "") -> Bill:
        """The cost of requests: of the session `name`, of all since midnight, or of all. Totals
        over several sessions may lag a little: see `SHARE`.
        """
        if spell is Spell.SESSION:
            kept = await self._kept(name)
            return await self._look(kept, kept.summed)
        told = self._bills.get(spell)
        if told is not None and told.is_good(self._memory.records):
            return told.bill
        began = time.monotonic()
        midnight = self._now().replace(hour=0, minute=0, second=0, microsecond=0)
        bill = await self._memory.bill(since=midnight if spell is Spell.TODAY else "")
        bill = replace(bill, rows=[replace(row, of=self._clean(row.of)) for row in bill.rows])
        self._bills[spell] = Summed(bill, self._memory.records, began, time.monotonic())
        return bill

    async def control(self, name: str) -> str:
        """The session's current control mode, whichever process set it."""
        return await self._memory.control_of((await self._row(name)).session_id)

    async def keeping(self, name: str) -> KeepingView:
        """A memory's imports, retention rules and control modes, with the mode of one session."""
        row = await self._row(name)
        rows = await self._memory.sessions()
        imports = [
            replace(
                one,
                name=self._clean(one.name),
                title=self._clean(one.title),
                conversation=self._clean(one.conversation),
                project=self._clean(one.project),
            )
            for one in await self._memory.imports()
        ]
        return KeepingView(
            imports=tuple(imports),
            rules=await self._memory.retention(),
            control=await self.control(row.session_id),
            control_of_all=await self._memory.control(),
            names={one.session_id: self._clean(one.called) for one in rows},
        )

    async def concerns(self, name: str) -> list[Concern]:
        """The current concerns of a session and of its memory."""
        found = list((await self.session(name)).concerns)
        found += [
            Concern(what=one, why="Found when the memory was opened.", do="`pagefault doctor`")
            for one in (await self.health()).notices
        ]
        waiting = (await self.keeping(name)).waiting
        if waiting:
            found.append(
                Concern(
                    what=f"{counted(waiting, 'imported session')} not approved yet.",
                    why="You can find them by search; the model sees them only once approved.",
                    do="Approve them under Keeping, or leave them as they are.",
                    figure="imports",
                )
            )
        return found

    async def health(self) -> Health:
        """The health of a memory, as far as it is known without reading all of it."""
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
        """The last record that is readable by now."""
        await self._runtime.journal.look()
        return await asyncio.to_thread(self._runtime.index.applied_seq)

    async def changes(self, after: int = 0, *, limit: int = CHANGES) -> list[NewRecord]:
        """The records after `after`, oldest first, at most `limit`."""
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
        """Yields new records as they are written, from `after` or now on, and an empty list now and
        then if there are none. Runs until its reader stops.
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
        """Call `callback(session_id, before, now)` when a session is read again and its pressure
        has changed, whichever process packs its requests. Returns a function that unsubscribes.
        """
        return subscribed(self._callbacks, callback)

    # --- how it is found out --------------------------------------------------------------------

    async def _row(self, name: str) -> SessionRow:
        await self._runtime.journal.look()
        row = await asyncio.to_thread(self._runtime.index.find_session, name) if name else None
        if row is None or row.name.startswith(REGION_PREFIX):
            rows = [
                one for one in await self._memory.sessions() if self._clean(one.name) == one.name
            ]
            briefs = brief_names(rows)
            row = next((one for one in rows if name and briefs[one.session_id] == name), None)
            if row is None:
                raise not_found(name, rows, listed="")
        return row

    async def _session(self, name: str) -> tuple[Session, SessionTexts]:
        """The session and the texts of its pages, without folding its log."""
        row = await self._row(name)
        session = await self._memory.session(row.session_id, create=False)
        await session.owned.caught_up()
        return session, SessionTexts(self._runtime, row, self._clean)

    async def _kept(self, name: str) -> KeptSession:
        """The session, folded up to its last record."""
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
            made = KeptSession(session, fold, SessionTexts(self._runtime, row, self._clean))
            kept = self._folds.setdefault(row.session, made)  # unless another caller was faster
            while len(self._folds) > _FOLDS:
                self._folds.popitem(last=False)
        self._folds.move_to_end(row.session)
        if kept.reading is None and kept.fold.upto < row.last_seq:
            kept.reading = asyncio.create_task(self._read(kept, row))
        reading = kept.reading  # shared with other callers
        if reading is not None:
            await asyncio.wait([reading], timeout=self._patience_s)
            if not reading.done():
                share = (kept.fold.upto - row.session) / max(1, row.last_seq - row.session)
                raise StillReading(row.session_id, max(0.0, min(share, 1.0)))
            if kept.reading is reading:
                kept.reading = None
            if reading.exception() is not None:  # how far each fold got is unknown
                self._folds.pop(row.session, None)
            reading.result()
        return kept

    async def _read(self, kept: KeptSession, row: SessionRow) -> None:
        """Fold a session's new records, and report a change of its pressure."""
        async with kept.lock:
            await kept.session.owned.caught_up()
            before, is_first = kept.fold.pressure, not kept.fold.upto
            await asyncio.to_thread(self._advance, kept, row)
            now = kept.fold.pressure
        if now is not before and not is_first:
            for callback in list(self._callbacks):
                callback(row.session_id, before, now)

    def _advance(self, kept: KeptSession, row: SessionRow) -> None:
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
        """Stop reading. The feed must not be used afterwards."""
        self._is_closed = True
        reading = [kept.reading for kept in self._folds.values() if kept.reading is not None]
        await asyncio.gather(*reading, return_exceptions=True)

    async def _look(self, kept: KeptSession, look: Callable[[], T]) -> T:
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
            client=client_of(row.name),
            requests=requests,
            turns=row.turns,
            pages=row.pages,
            last_used_ms=row.last_used_ms,
            parent=parent.session_id if parent is not None else "",
        )

    def _title(self, row: SessionRow) -> str:
        found = self._titles.get(row.session)
        if found is None:
            found = title_of(SessionTexts(self._runtime, row, self._clean))
            if found:
                self._titles[row.session] = found
        return found or row.session_id

    def _pieces(self, hit: SearchHit) -> Iterator[tuple[str, bool]]:
        at = 0
        for first, last in hit.marks:
            yield self._clean(hit.excerpt[at:first]), False
            yield self._clean(hit.excerpt[first:last]), True
            at = last
        yield self._clean(hit.excerpt[at:]), False


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
