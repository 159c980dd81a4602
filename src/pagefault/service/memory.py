"""A memory: the sessions of one root, and the verbs about all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from pagefault.model.errors import (
    BadInput,
    PagefaultError,
    PlanOutdated,
    SessionNotFound,
)
from pagefault.model.events import (
    Event,
    SessionOpened,
)
from pagefault.model.kinds import REGION_PREFIX, Profile
from pagefault.model.page import Page, PageRow, Scope, SessionRow
from pagefault.model.reprs import counted
from pagefault.model.signatures import checked_verbs
from pagefault.model.wanted import SearchFilter
from pagefault.recall.search import SearchResult
from pagefault.service.arguments import (
    a_control,
    a_count,
    a_layout,
    a_mode,
    a_window,
    check_name,
)
from pagefault.service.control import given_control
from pagefault.service.inspection.relayed import (
    CALL_TYPES,
    SAID_TYPES,
    Proxied,
    find_said,
    proxied_of,
)
from pagefault.service.limits import Limits
from pagefault.service.lookup.imported import (
    IMPORT_PREFIX,
    places_from,
)
from pagefault.service.lookup.questions import parts_of
from pagefault.service.lookup.topics import pages_about
from pagefault.service.regions import joined
from pagefault.service.root.caretaker import Caretaker
from pagefault.service.root.controller import Controller
from pagefault.service.root.curator import Curator
from pagefault.service.root.eraser import Eraser
from pagefault.service.root.historian import Historian
from pagefault.service.root.librarian import Librarian
from pagefault.service.root.parts import check_open
from pagefault.service.root.warden import Warden
from pagefault.service.session import Session
from pagefault.service.turn.archival import ArchivalHit, ArchivalMemory
from pagefault.store.api import PageFilter


@checked_verbs(usable=check_open)
class Memory(Controller, Eraser, Historian, Librarian, Curator, Warden, Caretaker):
    """Made by `pagefault.open`. Use it from one event loop."""

    def __repr__(self) -> str:
        where = "in this process" if self._home is None else repr(str(self._home))
        return f"Memory {where} · {counted(self._store.log.head(), 'record')}"

    @property
    def notices(self) -> list[str]:
        """What opening repaired, and what it erased as past its time, one sentence each."""
        return [*self._store.notices, *self._notices]

    @property
    def is_adopted(self) -> bool:
        """Whether it was made here by this user, or adopted. If not it is read-only, and none of
        its claims has authority.
        """
        return self._store.is_adopted

    @property
    def records(self) -> int:
        """The number of records in its log, over all sessions."""
        return self._store.log.head()

    @property
    def limits(self) -> Limits:
        """The limits that this memory enforces."""
        return self._runtime.limits

    @property
    def forgettings(self) -> int:
        """A counter of forgets, and of changes to what sessions may see, here or elsewhere, as far
        as noticed: drop cached texts of pages when it changes.
        """
        return self._forgot + self._runtime.journal.forgets + self._runtime.journal.ruled

    async def session(
        self,
        name: str = "",
        *,
        window: int | None = None,
        mode: str | None = None,
        system: str | None = None,
        layout: str | None = None,
        control: str | None = None,
        create: bool = True,
    ) -> Session:
        """The session with that name or id; if there is none and `create` allows it, a new one.

        `window` (tokens of a request), `mode`, `system`, `layout` (stable, developer) and `control`
        (`Session.set_control`) are those of a new session; given for an existing one, they change
        it from its next request on. A session that begins "incognito" is never written. Any number
        of processes may have a session; writing to it while another does is `SessionBusy`. Raises
        `SessionNotFound`, `WindowTooSmall`, `BadInput`.
        """
        wanted_mode = self._mode if mode is None else a_mode(mode)
        wanted_layout = self._layout if layout is None else a_layout(layout)
        wanted_window = self._window_tokens if window is None else a_window(window)
        wanted_control = None if control is None else a_control(control)
        name = self._runtime.journal.clean(name)
        async with self._alone():
            await self._runtime.journal.look()
            row = await asyncio.to_thread(self._runtime.index.find_session, name) if name else None
            if name.startswith(REGION_PREFIX) or (row and row.name.startswith(REGION_PREFIX)):
                raise BadInput(
                    f"{name!r}: that is a region, not a session, and holds no conversation",
                    hint="`Session.mount` looks into it; give a session another name",
                )
            if row is not None:
                session = await self._open(row)
                await self._follow(session)
                await session.configure(window=window, mode=mode, system=system, layout=layout)
                if wanted_control is not None:
                    await self._give(session, wanted_control)
                return session
            for session in self._above:
                if name and session.kept_as is None and name in (session.name, session.session_id):
                    return session
            if not create:
                raise SessionNotFound(name)
            if name:
                check_name(name)
                if name.startswith(IMPORT_PREFIX):
                    raise BadInput(
                        f"{name!r}: that name is reserved for imported sessions",
                        hint="`Memory.import_history` does; give this one another name",
                    )
            while True:
                given, at = await asyncio.to_thread(given_control, self._runtime)
                opened = SessionOpened(
                    session_id=self._runtime.mint_session_id(),
                    name=name,
                    window_tokens=wanted_window,
                    mode=wanted_mode,
                    system=self._runtime.journal.clean(system or ""),
                    layout=wanted_layout,
                    control=wanted_control or given or self._control,
                )
                if not opened.control.captures:
                    return await self._begin_above(opened)
                with suppress(PlanOutdated):  # the memory's mode was changed: plan again with it
                    return await self._open_new(opened, at)

    async def sessions(self) -> list[SessionRow]:
        """Every session, the most recently used first. Regions are not sessions: `regions` lists
        them.
        """
        await self._look()
        rows = await asyncio.to_thread(self._runtime.index.sessions)
        return [row for row in rows if not row.name.startswith(REGION_PREFIX)]

    async def pages(
        self,
        session: Session,
        *,
        limit: int = 50,
        after: int = -1,
        newest_first: bool = False,
        topic: str = "",
        task: str = "",
    ) -> list[PageRow]:
        """Pages that a session can see, in order; only those of a topic or a task, if given."""
        self._check_own(session)
        a_count(limit, called="limit")
        if topic or task:
            scope = session._runtime.scope(session.session)
            found = await asyncio.to_thread(
                lambda: list(pages_about(session._runtime, scope, topic, task))
            )
            rows = [row for row in found if row.order > after]
            return (rows if newest_first else rows[::-1])[:limit]
        rows = await asyncio.to_thread(
            session._runtime.index.pages,
            session._runtime.scope(session.session),
            PageFilter(after_order=after),
            limit=limit,
            newest_first=newest_first,
        )
        return [row for row in rows if not row.is_note]

    async def passed_on(self, session: Session, *, texts: bool = True) -> list[Event]:
        """The records of a session's proxied requests and of the calls that the proxy served and,
        unless `texts` is off, of all messages; oldest first, without forgotten ones.
        """
        await session.owned.written()
        await session.owned.refresh()
        types = (*(map(str, SAID_TYPES) if texts else ()), "relayed", *CALL_TYPES)
        return await asyncio.to_thread(self._runtime.events_of, session.session, types)

    async def session_names(self, begins: str) -> list[str]:
        """The names of sessions that begin with a text, the most recently used first. Much cheaper
        than `sessions`, which reads whole rows.
        """
        await self._look()
        return await asyncio.to_thread(self._runtime.index.session_names, begins)

    async def find_said(self, names: Sequence[str], keys: Sequence[Callable[[str], str]]) -> str:
        """Which of these sessions consists of exactly the first of some texts, in order: the
        longest of several, or "". `keys` are the texts' idempotency keys, each from the page that
        its text follows.
        """
        await self._look()
        return await asyncio.to_thread(find_said, self._runtime, names, keys)

    def written(self, text: str) -> str:
        """The text with secrets redacted, as it would be written. Raises `BadInput`."""
        return self._runtime.journal.clean(text)

    def keyed(self, text: str) -> str:
        """A digest of a text, the same whenever this memory is opened: 16 letters and digits. It is
        keyed with the memory's secret, and useless without that.
        """
        return self._runtime.keyed(text)

    async def proxied(self, session: Session) -> Proxied | None:
        """What a proxy passed on under a session, and how large it was; None if nothing ever was.

        For such a session `status`, `at` and `resident` describe what it would pack itself, and not
        what its client sends.
        """
        self._check_own(session)
        await session.owned.written()
        await session.owned.refresh()
        types = ("relayed", "reported")
        events = await asyncio.to_thread(self._runtime.events_of, session.session, types)
        return proxied_of(event.body for event in events)

    async def _find(
        self, scope: Scope, query: str, limit: int, wanted: SearchFilter, profile: Profile | None
    ) -> SearchResult:
        search = self._runtime.search
        only = None
        if wanted.imported_from and scope.is_wide:
            only = await asyncio.to_thread(places_from, self._runtime, wanted.imported_from, wanted)
            if not wanted.kinds:
                wanted = SearchFilter(history=wanted.history)  # `only` has the rest of it
        found = [
            await search(part, query, limit=limit, wanted=wanted, only=only, profile=profile)
            for part in parts_of(scope, wanted)
        ]
        hits = tuple(hit for one in found for hit in one.hits)
        return SearchResult(hits[: max(limit, 0)], sum(one.total for one in found))

    async def _archival_search(
        self, query: str, session_ids: Sequence[str], *, limit: int, area: str
    ) -> list[ArchivalHit]:
        """The notes of these sessions only that are relevant to a query."""
        rows = [row for row in await self.sessions() if row.session_id in session_ids]
        if not rows:
            return []

        def scope() -> Scope:
            own, *others = (self._runtime.scope(row.session) for row in rows)
            return replace(joined(own, others), is_several=True) if others else own

        archive = ArchivalMemory(
            self._runtime, await asyncio.to_thread(scope), called="", is_shared=False
        )
        return await archive.search(query, limit=limit, area=area)

    async def read(self, row: PageRow) -> Page:
        """The page of a row, such as a hit's, at level 0. `RecordGone` if it was forgotten."""
        self._committer.check_open()
        unkept = (one._runtime for one in self._above if one.session == row.session)
        runtime = next(unkept, self._runtime)
        return await asyncio.to_thread(runtime.pages.read, row)

    async def close(self) -> None:
        """Finish what is under way, write what is queued, and release the root."""
        if self._embedding is not None:
            self._embedding.stop()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for timer in self._runtime.resting:  # of conversations at rest
            timer.cancel()
        for task in self._runtime.forming:  # a model may take its time: another opening asks it
            task.cancel()
        if self._runtime.forming:
            await asyncio.wait(self._runtime.forming)
        for session in self._live():
            session.prefetcher.cancel()
            await session.owned.settled()
            if session.owned.is_dirty:
                with suppress(PagefaultError):  # it can be made again
                    await session.flush()
        if self._runtime.under_way:
            await asyncio.wait(self._runtime.under_way)
        if self._embedding is not None:
            await asyncio.to_thread(self._embedding.close)
        if self._reranking is not None:
            await asyncio.to_thread(self._reranking.close)
        for session in self._above:
            if session.overlay is not None:
                await asyncio.to_thread(session.overlay.close)
        await asyncio.to_thread(self._runtime.searching.shutdown)
        await asyncio.to_thread(self._committer.close)
        self._store.close()
