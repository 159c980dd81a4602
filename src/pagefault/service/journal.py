"""The one way into the log: every text passes the screen, then the committer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from pagefault.guard.screen import Screen
from pagefault.model.errors import PlanOutdated, StoreClosed
from pagefault.model.events import Body, Draft, Event, SessionOpened
from pagefault.model.ids import Seq, SessionNo
from pagefault.model.kinds import Origin
from pagefault.model.texts import check_text
from pagefault.store.commit import Committer
from pagefault.store.leases import Leased
from pagefault.store.store import Store

B = TypeVar("B", bound=Body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """How secrets are kept out of a memory, since it was opened."""

    layers: tuple[str, ...]  # what looks for them, in order
    withheld: int  # texts that were not kept, because a layer failed on them
    failure: str = ""  # which layer failed last, and how; it quotes nothing


class Journal:
    def __init__(
        self,
        store: Store,
        committer: Committer,
        screen: Screen,
        appended: Callable[[], None] = lambda: None,
    ) -> None:
        """`appended` is told of each append once it is acknowledged; it must not wait."""
        self._store = store
        self._appended = appended
        self._committer = committer
        self._screen = screen

    def check_open(self) -> None:
        """Raise `StoreClosed` if the memory was closed."""
        if self._committer.is_closed:
            raise StoreClosed

    def clean(self, text: str) -> str:
        """The text with secrets redacted. Text is redacted before it is counted and split.

        Raises `BadInput` for a text that no file could hold.
        """
        check_text(text, called="a text")
        return self._screen.clean(text)

    def clean_value(self, name: str, value: str) -> str:
        """The same of a text that stands under a name in JSON, which may tell what it is."""
        check_text(value, called="a text")
        return self._screen.clean_value(name, value)

    def redaction(self) -> Redaction:
        """Which layers look for secrets, and whether one failed."""
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

        Raises `ScreenFailed` with nothing written if the screen cannot vouch for them,
        `SessionBusy` if another process took their session over. `planned` is what `forgets` was
        when they were planned, where they show what may be forgotten: `PlanOutdated` if it changed.
        """
        events = await self._committer.append([self._clean(d) for d in drafts], planned=planned)
        self._appended()
        return events

    async def open_session(self, draft: Draft, name: str) -> SessionNo:
        """Open a session, unless there is one of this name: another process may have been first."""
        cleaned = self._clean(draft)

        def opened() -> SessionNo:
            row = self._store.index.find_session(name)
            if row is not None:
                return row.session
            events = self._store.append([cleaned])
            self._store.settle(events, sync=True)
            return events[0].session

        return await self._committer.run(opened)

    async def open_sessions(self, drafts: Sequence[Draft]) -> list[SessionNo]:
        """Open sessions of these names, in one batch. `PlanOutdated`, with nothing written, if
        there is one of any of them by now.
        """
        cleaned = [self._clean(draft) for draft in drafts]

        def opened() -> list[SessionNo]:
            for draft in cleaned:
                assert isinstance(draft.body, SessionOpened)
                if self._store.index.find_session(draft.body.name) is not None:
                    raise PlanOutdated(f"another process opened {draft.body.name!r}")
            events = self._store.append(cleaned)
            self._store.settle(events, sync=True)
            return [event.session for event in events]

        return await self._committer.run(opened)

    async def bring(self, drafts: Sequence[Draft], heads: Mapping[SessionNo, Seq]) -> list[Event]:
        """Write these as one batch into sessions that are ours. `PlanOutdated`, with nothing
        written, unless each has still the last record that `heads` tells: what they say was planned
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
        self._appended()
        return events

    def expect(self, session: SessionNo, origin: str, size: int) -> None:
        """Raise `QuotaExceeded` where a file of so many bytes is known to have no room."""
        if self._store.allowance is not None:
            self._store.allowance.expect(session, origin, size)

    async def lease(self, session: SessionNo) -> Leased:
        """Make a session ours to write to. `SessionBusy`, `SessionNotFound`."""
        return await self._committer.run(lambda: self._store.lease(session))

    async def look(self) -> None:
        """Notice what other processes wrote. Never waits for them."""
        if not self._store.is_current():  # one `fstat`; what is to be read is read in a thread
            await asyncio.to_thread(self._store.look)

    def is_going(self, seq: Seq) -> bool:
        """Whether a forgetting was begun that takes this record."""
        return self._store.is_going([seq])

    def was_forgotten(self, session: SessionNo, key: str) -> bool:
        """Whether what this (hashed) key was written with was forgotten since this was opened. By
        then no file knows that there was such a key.
        """
        return (session, key) in self._store.forgotten_keys

    @property
    def forgets(self) -> int:
        """How often another process was seen to forget something."""
        return self._store.forgets

    def _clean(self, draft: Draft) -> Draft:
        body = self._screen.clean_body(draft.body)
        origin = Origin(self.clean(draft.origin))  # a tool's name is the caller's text
        is_clean = body is draft.body and origin == draft.origin
        return draft if is_clean else replace(draft, body=body, origin=origin)
