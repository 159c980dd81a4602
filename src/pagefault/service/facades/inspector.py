"""Inspection of a session and its past: figures, calls, earlier windows.

No verb here writes. Most results are folded from the log on demand (`service/inspection`), after
reading what other processes wrote and writing what is queued here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from pagefault.model.catalogue import UNKNOWN
from pagefault.model.errors import BadInput, SessionNotFound
from pagefault.model.events import Event
from pagefault.model.ids import PageId, Seq
from pagefault.model.kinds import Actor
from pagefault.model.page import Page, SessionRow
from pagefault.model.prices import PriceList
from pagefault.model.signatures import checked_verbs
from pagefault.pack.abi import MemoryABI
from pagefault.paging.pressure import Callback
from pagefault.service.arguments import a_time, one_of
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
    """The verbs that inspect a session: its state, its figures, its past."""

    async def status(self) -> Status:
        """What the session holds, and what is left of its window and budgets, now."""
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
        """What the window holds and how much more fits, for programs that weigh the cost of
        memory.
        """
        self.owned.check_there()
        return abi_of(self._state)

    async def faults(self) -> list[Event]:
        """Every fault of this session, served or refused, oldest first."""
        self.owned.check_there()
        await self.owned.written()
        return await asyncio.to_thread(self._runtime.events_of, self.session, ("faulted",))

    async def metrics(self, *, per_turn: bool = False) -> Metrics:
        """The figures of this session, folded from its log; `service/inspection/metrics.py` defines
        each. A fork counts its own turns.
        """
        return report(await self._folded(), self._runtime, self._state, per_turn=per_turn)

    async def ledger(self) -> Entries:
        """Every request of this session: what it shared with the one before, and what the provider
        reported. `Entry.line(prices)` gives what it should have cost.
        """
        return (await self._folded()).ledger.entries

    async def memory_map(self, *, rows: int = ROWS, columns: int = COLUMNS) -> MemoryMap:
        """Which messages each request showed, in at most so many rows (of messages) and columns (of
        requests). Raises `BadInput` if either is less than 1.
        """
        if min(rows, columns) < 1:
            raise BadInput("a map needs at least one row and one column")
        await self.owned.caught_up()
        return await asyncio.to_thread(
            lambda: memory_map(self._runtime, self._row(), rows=rows, columns=columns)
        )

    async def recollections(self) -> list[Recollection]:
        """The turns that had pages recalled, oldest first: which pages, and which of them the
        answer cites. A fork lists its own turns.
        """
        await self.owned.caught_up()
        return await asyncio.to_thread(lambda: recollections(self._runtime, self._row()))

    async def _folded(self) -> Folded:
        await self.owned.caught_up()
        return await asyncio.to_thread(fold_session, self._runtime, self.session)

    @property
    def prices(self) -> PriceList:
        """The prices for the requests of this session: those, or those of the model, that this
        memory was opened with; else those recorded with the last request.
        """
        prices, told = self._runtime.epochs.prices, self._state.priced
        return told.prices if told is not None and prices == UNKNOWN.prices else prices

    def fault_counts(self) -> tuple[int, int]:
        """Faults served and refused since this session was opened here."""
        return self._state.calls.served, self._state.calls.refused

    @property
    def paged_in_tokens(self) -> int:
        """Tokens that recall and faults have brought into the window in this turn."""
        return self._state.paged_in_tokens

    def on_pressure(self, callback: Callback) -> Callable[[], None]:
        """Call `callback(before, now)` whenever the pressure on the window changes, during the
        request that changes it. Returns a function that unsubscribes.

        An exception from the callback is raised to the caller of that request; a retry returns the
        request.
        """
        return self.pressure.on_change(callback)

    async def checkpoints(self) -> list[Checkpoint]:
        """Every checkpoint that this session can see, oldest first, including its ancestors'."""
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
        """The window as it was at the end of a turn, after a record, at a checkpoint, or at a time
        (ISO 8601, UTC if it has no zone, the end of the day if it has no hour; or milliseconds
        since 1970).

        Raises `BadInput` for a time before the session began, and for a turn, record or checkpoint
        that does not exist.
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
        """A page as it was at one of the times that `at` takes: if a message was edited, or a claim
        replaced by another, the page with the words of that time, whichever of them `page_id` is.
        Raises `NoSuchPage`; `RecordGone` if these words were forgotten; `BadInput` if none of them
        had been written by then.
        """
        await self._pages.get(page_id)  # raises if there is none

        def look(upto: Seq) -> Page:
            scope = self._runtime.seen(self._runtime.scope(self.session))
            found = page_at(self._runtime, scope, PageId(page_id), upto)
            if found is None:
                raise BadInput(
                    f"{page_id} was not written by then",
                    hint="`Session.history` shows when it was",
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
        """The result of `read`, run in a thread, over the records up to the last one of
        that time.
        """
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
        """A past request, byte for byte as it was packed: the last of a turn, or the one with this
        number (`ledger` lists them). `missing` is set if something in it was forgotten since.

        Raises `BadInput` if there was none: a proxied client's requests are its own.
        """
        if (turn is None) == (request is None):
            raise BadInput("name one request", hint="sent(12), of turn 12, or sent(request=3)")
        await self.owned.caught_up()
        return await asyncio.to_thread(
            lambda: sent(self._runtime, self._row(), turn=turn, number=request)
        )

    async def items(self) -> list[ConversationItem]:
        """The conversation, item by item: messages, calls, results, and the parts of a proxied one
        that no page holds (reasoning, media, and what only its provider understands).
        """
        await self.owned.caught_up()
        scope = self._runtime.scope(self.session)
        return await asyncio.to_thread(items_of, self._runtime, scope)

    async def client_json(self, message_seq: int) -> str:
        """A message of a proxied session as its client first sent it: the client's own JSON,
        without secrets. `message_seq` is that of an item (`items`).

        Raises `BadInput` if it is not a message of this session, and `RecordGone` if it was
        forgotten, with any page of its turn.
        """
        await self.owned.caught_up()
        scope = self._runtime.scope(self.session)
        return await asyncio.to_thread(client_json, self._runtime, scope, Seq(message_seq))

    async def diff(self, before: int, after: int) -> Difference:
        """What changed in the window from the end of one turn to the end of another."""
        return difference(await self.at(turn=before), await self.at(turn=after))

    async def history(self, page_id: str = "", *, actor: str = "") -> list[Movement]:
        """The history of a page, or without one of all pages, oldest first; only by one actor
        (user, model, tool, system), if one is given. Raises `NoSuchPage`.
        """
        who = one_of(Actor, actor, "actor") if actor else None
        await self.owned.caught_up()
        named = PageId(page_id) if page_id else None
        if named is not None:
            await asyncio.to_thread(self._pages.row, named)
        return await asyncio.to_thread(history, self._runtime, self.session, named, actor=who)

    def check(self) -> None:
        """Check every invariant of this session's state; slow, for tests."""
        self._state.check()
