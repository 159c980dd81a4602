"""The only way into the log: every text passes the screen, then the committer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from pagefault.guard.screen import Screen
from pagefault.model.errors import PlanOutdated, StoreClosed
from pagefault.model.events import (
    Body,
    Draft,
    Event,
    Ruling,
    SessionOpened,
)
from pagefault.model.ids import NOTHING, Seq, SessionNo
from pagefault.model.kinds import Origin
from pagefault.model.texts import check_text
from pagefault.service.verbs import is_within
from pagefault.store.commit import Committer
from pagefault.store.controls import control_of, given_control, nothing_kept
from pagefault.store.leases import Leased
from pagefault.store.store import Store

B = TypeVar("B", bound=Body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """How secrets are kept out of a memory, since it was opened."""

    layers: tuple[str, ...]  # that look for them, in order
    withheld: int  # texts that were not kept, because a layer failed on them
    failure: str = ""  # which layer failed last, and how; it quotes nothing


async def _nobody_follows() -> None:
    """The follower of control modes in a memory without sessions."""


class Journal:
    def __init__(
        self,
        store: Store,
        committer: Committer,
        screen: Screen,
        appended: Callable[[Sequence[Event]], None] = lambda events: None,
        below: Journal | None = None,
    ) -> None:
        """`appended` is called with each acknowledged batch; it must not wait. `below` is the
        journal of the store under an overlay: others write to that.
        """
        self._below = below
        self._store = store
        self._appended = appended
        self._committer = committer
        self._screen = screen
        self.ruled = 0  # rulings made here about who may see what
        self.heeded = NOTHING  # the last control mode of another process that sessions here follow
        self.heed: Callable[[], Awaitable[None]] = _nobody_follows

    def check_open(self) -> None:
        """Raise `StoreClosed` if the memory was closed."""
        if self._committer.is_closed:
            raise StoreClosed

    def ready(self) -> Awaitable[None] | None:
        """An awaitable that a verb awaits before it begins, if another process may have set a
        control mode. Raises `StoreClosed` if the memory was closed.
        """
        self.check_open()
        first = self._below or self
        store = first._store
        if (store.controlled == first.heeded and store.is_current()) or is_within():
            return None
        return first._take_in()

    async def _take_in(self) -> None:
        await self.look()
        if self._store.controlled != self.heeded:
            await self.heed()

    def followed(self, seen: Seq) -> None:
        """Sessions here are in the modes that were set up to this record."""
        self.heeded = seen

    @property
    def controlled(self) -> Seq:
        """The record of the last control mode that another process set, as far as is known."""
        return self._store.controlled

    def clean(self, text: str) -> str:
        """The text with secrets redacted, which happens before it is counted and split.

        Raises `BadInput` for a text that no file could hold.
        """
        check_text(text, called="a text")
        return self._screen.clean(text)

    def clean_value(self, name: str, value: str) -> str:
        """The same for a text under a name in JSON, which may show what it is."""
        check_text(value, called="a text")
        return self._screen.clean_value(name, value)

    def redaction(self) -> Redaction:
        """The layers that look for secrets, and whether one failed."""
        return Redaction(
            layers=("known values", *(layer.name for layer in self._screen.layers)),
            withheld=self._screen.withheld,
            failure=self._screen.failure,
        )

    def clean_body(self, body: B) -> B:
        """The body with secrets redacted; what is folded before the write must equal it."""
        return self._screen.clean_body(body)

    async def append(self, drafts: Sequence[Draft], *, planned: int | None = None) -> list[Event]:
        """Write these as one batch, and return them as events once they are acknowledged.

        Raises `ScreenFailed`, with nothing written, if the screen cannot vouch for them, and
        `SessionBusy` if another process took their session over. `planned` is the value of
        `forgets` when they were planned, if they show text that may be forgotten: `PlanOutdated` if
        it has changed.
        """
        events = await self._committer.append([self._clean(d) for d in drafts], planned=planned)
        self._appended(events)
        return events

    async def open_session(self, draft: Draft, given: Seq) -> SessionNo:
        """Open a session or a fork; of a session whose name exists by now, because another process
        was first, return that one. `given` is the record that set the memory's control mode when
        the session was planned. Writes nothing and raises `PlanOutdated` if another mode was set
        since, which the later session would override, and `StoreReadOnly` if nothing of a fork's
        parent is kept any more.
        """
        cleaned = self._clean(draft)
        body = cleaned.body
        assert isinstance(body, SessionOpened)

        def opened() -> SessionNo:
            log, index = self._store.log, self._store.index
            if body.parent:
                parent = index.session(body.parent)
                control = None if parent is None else control_of(log, index, parent)
                if control is not None and not control.captures:
                    raise nothing_kept(control, whose="session")
            else:
                row = index.find_session(body.name) if body.name else None
                if row is not None:
                    return row.session
                if given_control(log, index)[1] != given:
                    raise PlanOutdated("the memory's control mode was changed")
            events = self._store.append([cleaned])
            self._store.settle(events, sync=True)
            return events[0].session

        return await self._committer.run(opened)

    async def open_sessions(self, drafts: Sequence[Draft]) -> list[SessionNo]:
        """Open sessions with these names, in one batch. Raises `PlanOutdated`, with nothing
        written, if any of the names exists by now, and `StoreReadOnly` if the memory keeps nothing
        by now.
        """
        cleaned = [self._clean(draft) for draft in drafts]

        def opened() -> list[SessionNo]:
            given, _ = given_control(self._store.log, self._store.index)
            if given is not None and not given.captures:
                raise nothing_kept(given)
            for draft in cleaned:
                assert isinstance(draft.body, SessionOpened)
                if self._store.index.find_session(draft.body.name) is not None:
                    raise PlanOutdated(f"another process opened {draft.body.name!r}")
            events = self._store.append(cleaned)
            self._store.settle(events, sync=True)
            return [event.session for event in events]

        return await self._committer.run(opened)

    async def bring(self, drafts: Sequence[Draft], heads: Mapping[SessionNo, Seq]) -> list[Event]:
        """Write these as one batch into sessions that we lease. Raises `PlanOutdated`, with nothing
        written, unless the last record of each is still the one in `heads`: they were planned
        without the session's state.
        """
        cleaned = [self._clean(draft) for draft in drafts]

        def brought() -> list[Event]:
            for session, head in heads.items():
                row = self._store.index.session(session)
                if row is None or row.last_seq != head:
                    raise PlanOutdated("the session was written to since this was planned")
            events = self._store.append(cleaned)
            self._store.settle(events, sync=True)
            return events

        events = await self._committer.run(brought)
        self._appended(events)
        return events

    def expect(self, session: SessionNo, origin: str, size: int) -> None:
        """Raise `QuotaExceeded` if it is known that a file of so many bytes has no room."""
        if self._store.allowance is not None:
            self._store.allowance.expect(session, origin, size)

    async def share(self, plan: Callable[[Seq], Sequence[Draft]]) -> list[Event]:
        """Write into regions, which have no lease: `plan` is called while nobody else writes, with
        the seq of its first record, and may refuse.
        """

        def shared() -> list[Event]:
            drafts = [self._clean(draft) for draft in plan(Seq(self._store.log.head() + 1))]
            if not drafts:
                return []
            regions = {draft.session for draft in drafts}
            events = self._store.append(drafts, unfenced=regions)
            self._store.settle(events, sync=True)
            return events

        events = await self._committer.run(shared)
        self._appended(events)
        return events

    async def rule(self, plan: Callable[[], Ruling]) -> Event:
        """Record a ruling about a region. `plan` is called while nobody else writes, and may
        refuse.
        """
        event = await self._committer.run(lambda: self._store.note(self._screen.clean_body(plan())))
        self.ruled += 1
        return event

    async def lease(self, session: SessionNo) -> Leased:
        """Lease a session for writing. Raises `SessionBusy`, `SessionNotFound`, and `StoreBusy` if
        nothing of it is kept by now.
        """

        def leased() -> Leased:
            self._store.check_kept(session)
            return self._store.lease(session)

        return await self._committer.run(leased)

    async def give_up(self, session: SessionNo) -> Leased | None:
        """Give up the lease of a session, if it is ours: `Store.give_up`. Raises `StoreBusy` if
        nothing of it is kept by now.
        """

        def given_up() -> Leased | None:
            self._store.check_kept(session)
            return self._store.give_up(session)

        return await self._committer.run(given_up)

    async def look(self) -> None:
        """Notice what other processes wrote. Never waits for them."""
        if self._below is not None:
            await self._below.look()
        if not self._store.is_current():  # one `fstat`; reading happens in a thread
            await asyncio.to_thread(self._store.look)

    def is_going(self, seq: Seq) -> bool:
        """Whether a forget has begun that erases this record."""
        return self._store.is_going([seq])

    def was_forgotten(self, session: SessionNo, key: str) -> bool:
        """Whether the record with this (hashed) key was forgotten since this memory was opened. No
        file knows such a key any more.
        """
        return (session, key) in self._store.forgotten_keys

    @property
    def forgets(self) -> int:
        """How often another process was seen to forget something, or to rule on visibility."""
        return self._store.forgets

    def _clean(self, draft: Draft) -> Draft:
        body = self._screen.clean_body(draft.body)
        origin = Origin(self.clean(draft.origin))  # a tool's name is the caller's text
        is_clean = body is draft.body and origin == draft.origin
        return draft if is_clean else replace(draft, body=body, origin=origin)
