"""What a session tells about itself and its past: figures, calls, the window as it was.

No verb here writes. Most of it is folded from the log when it is asked for (`service/inspection`):
what other processes wrote is taken in first, and what is ours is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from pagefault.model.catalogue import UNKNOWN
from pagefault.model.errors import BadInput, SessionNotFound
from pagefault.model.events import Event
from pagefault.model.ids import PageId, Seq
from pagefault.model.page import Page, SessionRow
from pagefault.model.prices import PriceList
from pagefault.model.signatures import checked_verbs
from pagefault.pack.abi import MemoryABI
from pagefault.paging.pressure import Callback
from pagefault.service.arguments import a_time, an_actor
from pagefault.service.facades.parts import SessionParts, check_open
from pagefault.service.inspection.checkpoints import Checkpoint, checkpoints
from pagefault.service.inspection.ledger import Entries
from pagefault.service.inspection.memory_map import COLUMNS, ROWS, MemoryMap, memory_map
from pagefault.service.inspection.received import ConversationItem, client_json, items_of
from pagefault.service.inspection.recollections import Recollection, recollections
from pagefault.service.inspection.report import Folded, Metrics, fold_session, report
from pagefault.service.inspection.status import Status, status_of
from pagefault.service.inspection.timetravel import (
    Difference,
    Moment,
    Movement,
    Sent,
    difference,
    find_seq,
    history,
    moment,
    page_at,
    sent,
)
from pagefault.service.window.abi import abi_of

T = TypeVar("T")


@checked_verbs(usable=check_open)
class Inspector(SessionParts):
    """The verbs that look into a session: its state, its figures, its past."""

    async def status(self) -> Status:
        """What the session holds and what is left of its window and budgets, as of now."""
        self.owned.check_there()
        await self.owned.refresh()
        return status_of(
            self._state,
            self.pressure,
            self.prefetcher.status(),
            session_id=self.session_id,
            name=self.name,
        )

    def abi(self) -> MemoryABI:
        """What the window holds and could still take, for programs that weigh what memory costs."""
        self.owned.check_there()
        return abi_of(self._state)

    async def faults(self) -> list[Event]:
        """Every fault of this session, oldest first, served or refused."""
        self.owned.check_there()
        await self.owned.written()
        return await asyncio.to_thread(self._runtime.events_of, self.session, ("faulted",))

    async def metrics(self, *, per_turn: bool = False) -> Metrics:
        """What this session tells about itself, folded from its log; each figure is defined in
        `service/inspection/metrics.py`. A fork counts its own turns.
        """
        return report(await self._folded(), self._runtime, self._state, per_turn=per_turn)

    async def ledger(self) -> Entries:
        """Every request of this session: what it shared with the one before, what the provider
        reported. `Entry.line(prices)` tells what it should have cost.
        """
        return (await self._folded()).ledger.entries

    async def memory_map(self, *, rows: int = ROWS, columns: int = COLUMNS) -> MemoryMap:
        """Which messages each request showed: at most so many rows of messages, and columns of
        requests. Raises `BadInput` where one of them is less than 1.
        """
        if min(rows, columns) < 1:
            raise BadInput("a map needs at least one row and one column")
        await self.owned.caught_up()
        return await asyncio.to_thread(
            lambda: memory_map(self._runtime, self._row(), rows=rows, columns=columns)
        )

    async def recollections(self) -> list[Recollection]:
        """The turns for which pages were brought back, oldest first: which, and what the answer
        cites. A fork tells its own.
        """
        await self.owned.caught_up()
        return await asyncio.to_thread(lambda: recollections(self._runtime, self._row()))

    async def _folded(self) -> Folded:
        await self.owned.caught_up()
        return await asyncio.to_thread(fold_session, self._runtime, self.session)

    @property
    def prices(self) -> PriceList:
        """What the requests of this session are weighed by: the prices, or the model's, that this
        memory was opened with; else those that are written down with the last request.
        """
        prices, told = self._runtime.epochs.prices, self._state.priced
        return told.prices if told is not None and prices == UNKNOWN.prices else prices

    def fault_counts(self) -> tuple[int, int]:
        """Faults served and refused since this session was opened here."""
        return self._state.faults_served, self._state.faults_refused

    @property
    def paged_in_tokens(self) -> int:
        """What recall and faults have brought into the window in this turn."""
        return self._state.paged_in_tokens

    def on_pressure(self, callback: Callback) -> Callable[[], None]:
        """Call `callback(before, now)` whenever the pressure on the window changes, with the
        request that changes it. Returns what ends that.

        What it raises, whoever asked for that request gets; asked again, they get the request.
        """
        return self.pressure.on_change(callback)

    async def checkpoints(self) -> list[Checkpoint]:
        """Every checkpoint that this session can see, oldest first, its ancestors' included."""
        await self.owned.caught_up()
        scope = self._runtime.scope(self.session)
        return await asyncio.to_thread(checkpoints, self._runtime, scope)

    async def at(
        self,
        *,
        turn: int | None = None,
        seq: int | None = None,
        time: str | int | None = None,
        checkpoint: str | None = None,
    ) -> Moment:
        """What the window held at the end of a turn, after a record, at a checkpoint, or at a time
        (ISO 8601, UTC without a zone, the day's end without an hour; or milliseconds since 1970).

        Raises `BadInput` for a time before the session began and for a turn, record or checkpoint
        that has not been.
        """
        return await self._then(
            lambda upto: moment(self._runtime, self._row(), upto),
            turn=turn,
            seq=seq,
            time=time,
            checkpoint=checkpoint,
        )

    async def page_at(
        self,
        page_id: str,
        time: str | int | None = None,
        *,
        turn: int | None = None,
        seq: int | None = None,
        checkpoint: str | None = None,
    ) -> Page:
        """A page as it stood at one of the times that `at` takes: where a message was edited, or a
        claim took the place of another, the page of the words that stood then, whichever of them
        `page_id` is. Raises `NoSuchPage`; `RecordGone` if these words were forgotten; `BadInput` if
        none of them had been written by then.
        """
        await self._pages.get(page_id)  # or it says why there is none

        def look(upto: Seq) -> Page:
            scope = self._runtime.seen(self._runtime.scope(self.session))
            found = page_at(self._runtime, scope, PageId(page_id), upto)
            if found is None:
                raise BadInput(
                    f"{page_id} was not written by then",
                    hint="`Session.history` tells when it was",
                )
            return found

        return await self._then(look, turn=turn, seq=seq, time=time, checkpoint=checkpoint)

    async def _then(
        self,
        read: Callable[[Seq], T],
        *,
        turn: int | None,
        seq: int | None,
        time: str | int | None,
        checkpoint: str | None,
    ) -> T:
        """What `read`, in a thread, makes of the records up to the last one of that time."""
        time_ms = None if time is None else a_time(time)
        await self.owned.caught_up()

        def look() -> T:
            scope = self._runtime.scope(self.session)
            upto = find_seq(
                self._runtime, scope, turn=turn, seq=seq, time_ms=time_ms, checkpoint=checkpoint
            )
            return read(upto)

        return await asyncio.to_thread(look)

    def _row(self) -> SessionRow:
        row = self._runtime.index.session(self.session)
        if row is None:
            raise SessionNotFound(self.owned.called)
        return row

    async def sent(self, turn: int | None = None, *, request: int | None = None) -> Sent:
        """A past request, byte for byte as it was packed: the last of a turn, or the one of this
        number (`ledger` lists them). Where something of it was forgotten since, `missing` says so.

        Raises `BadInput` if there was none: a proxied client's requests are its own.
        """
        if (turn is None) == (request is None):
            raise BadInput("name one request", hint="sent(12), of turn 12, or sent(request=3)")
        await self.owned.caught_up()
        return await asyncio.to_thread(
            lambda: sent(self._runtime, self._row(), turn=turn, number=request)
        )

    async def items(self) -> list[ConversationItem]:
        """The conversation, item by item: messages, calls, results, and what no page holds of a
        proxied one, which is reasoning, media and what only its provider knows.
        """
        await self.owned.caught_up()
        scope = self._runtime.scope(self.session)
        return await asyncio.to_thread(items_of, self._runtime, scope)

    async def client_json(self, message_seq: int) -> str:
        """A message of a proxied session as its client sent it for the first time: the JSON that
        the client's own was, less secrets. `message_seq` is that of an item (`items`).

        Raises `BadInput` if this is no message of this session, and `RecordGone` if it was
        forgotten, with any page of its turn.
        """
        await self.owned.caught_up()
        scope = self._runtime.scope(self.session)
        return await asyncio.to_thread(client_json, self._runtime, scope, Seq(message_seq))

    async def diff(self, before: int, after: int) -> Difference:
        """What changed in the window from the end of one turn to the end of another."""
        return difference(await self.at(turn=before), await self.at(turn=after))

    async def history(self, page_id: str = "", *, actor: str = "") -> list[Movement]:
        """Everything that happened to a page, or without one to all pages, oldest first; of one
        actor (user, model, tool, system) alone, if one is named. Raises `NoSuchPage`.
        """
        who = an_actor(actor) if actor else None
        await self.owned.caught_up()
        named = PageId(page_id) if page_id else None
        if named is not None:
            await asyncio.to_thread(self._pages.row, named)
        return await asyncio.to_thread(history, self._runtime, self.session, named, actor=who)

    def check(self) -> None:
        """Every invariant of this session's state, slowly: for tests."""
        self._state.check()
