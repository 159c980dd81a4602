"""A session looked back on: its figures, its calls, its window in the past. Reads, changes nothing.

What other processes wrote is taken in first, and what is ours is written.
"""

from __future__ import annotations

import asyncio
from functools import partial

from pagefault.model.errors import BadInput, NoSuchPage, SessionNotFound
from pagefault.model.events import Event
from pagefault.model.ids import PageId, Seq
from pagefault.model.kinds import Actor
from pagefault.model.page import Page, SessionRow
from pagefault.service.ownership import Owned
from pagefault.service.restore import restore_at
from pagefault.service.runtime import Runtime
from pagefault.service.telling.checkpoints import Checkpoint, checkpoints
from pagefault.service.telling.ledger import Entry
from pagefault.service.telling.received import ConversationItem, client_json, items_of
from pagefault.service.telling.reporting import Folded, Metrics, fold_session, report
from pagefault.service.telling.timetravel import (
    Moment,
    Movement,
    Sent,
    find_seq,
    history,
    moment,
    page_at,
    sent,
)
from pagefault.service.window.state import SessionState


class Looking:
    def __init__(self, owned: Owned, runtime: Runtime, called: str) -> None:
        self._owned = owned
        self._runtime = runtime
        self._called = called  # by a person

    async def faults(self) -> list[Event]:
        self._owned.check_there()
        await self._owned.written()
        return await asyncio.to_thread(self._runtime.events_of, self._owned.session, ("faulted",))

    async def metrics(self, *, per_turn: bool) -> Metrics:
        folded = await self._folded()
        return report(folded, self._runtime, self._owned.state, per_turn=per_turn)

    async def ledger(self) -> list[Entry]:
        return (await self._folded()).ledger.entries

    async def _folded(self) -> Folded:
        await self._look()
        return await asyncio.to_thread(fold_session, self._runtime, self._owned.session)

    async def at(
        self,
        *,
        turn: int | None,
        seq: int | None,
        time_ms: int | None,
        checkpoint: str | None,
    ) -> Moment:
        await self._look()

        def look() -> Moment:
            row, scope = self._row(), self._runtime.scope(self._owned.session)
            upto = find_seq(
                self._runtime, scope, turn=turn, seq=seq, time_ms=time_ms, checkpoint=checkpoint
            )
            return moment(self._runtime, row, upto)

        return await asyncio.to_thread(look)

    async def page_at(
        self,
        page_id: PageId,
        *,
        turn: int | None,
        seq: int | None,
        time_ms: int | None,
        checkpoint: str | None,
    ) -> Page:
        await self._look()

        def look() -> Page:
            scope = self._runtime.scope(self._owned.session)
            upto = find_seq(
                self._runtime, scope, turn=turn, seq=seq, time_ms=time_ms, checkpoint=checkpoint
            )
            found = page_at(self._runtime, scope, page_id, upto)
            if found is None:
                raise BadInput(
                    f"{page_id} was not written by then",
                    hint="`Session.history` tells when it was",
                )
            return found

        return await asyncio.to_thread(look)

    async def sent(self, *, turn: int | None, number: int | None) -> Sent:
        await self._look()
        return await asyncio.to_thread(
            lambda: sent(self._runtime, self._row(), turn=turn, number=number)
        )

    async def items(self) -> list[ConversationItem]:
        await self._look()
        scope = self._runtime.scope(self._owned.session)
        return await asyncio.to_thread(items_of, self._runtime, scope)

    async def client_json(self, message: Seq) -> str:
        await self._look()
        scope = self._runtime.scope(self._owned.session)
        return await asyncio.to_thread(client_json, self._runtime, scope, message)

    async def state_at(
        self,
        *,
        turn: int | None,
        seq: int | None,
        time_ms: int | None,
        checkpoint: str | None,
    ) -> tuple[SessionState, Event]:
        """The session as it was then, and the last record that is of it."""
        await self._look()

        def look() -> tuple[SessionState, Event]:
            row, scope = self._row(), self._runtime.scope(self._owned.session)
            upto = find_seq(
                self._runtime, scope, turn=turn, seq=seq, time_ms=time_ms, checkpoint=checkpoint
            )
            return restore_at(self._runtime, row, upto), self._runtime.log.get(upto)

        return await asyncio.to_thread(look)

    def _row(self) -> SessionRow:
        row = self._runtime.index.session(self._owned.session)
        if row is None:
            raise SessionNotFound(self._called)
        return row

    async def checkpoints(self) -> list[Checkpoint]:
        await self._look()
        scope = self._runtime.scope(self._owned.session)
        return await asyncio.to_thread(checkpoints, self._runtime, scope)

    async def history(self, page_id: str, actor: Actor | None) -> list[Movement]:
        await self._look()
        named = PageId(page_id) if page_id else None
        state = self._owned.state
        is_held = named is None or state.l1.find_row(named) is not None
        if not is_held and await asyncio.to_thread(state.find_row, PageId(page_id)) is None:
            raise NoSuchPage(page_id, self._called)
        session = self._owned.session
        return await asyncio.to_thread(partial(history, self._runtime, session, named, actor=actor))

    async def _look(self) -> None:
        """Before the records are read: all of ours are written, those of others are known."""
        self._owned.check_there()
        await self._owned.written()
        await self._owned.refresh()
