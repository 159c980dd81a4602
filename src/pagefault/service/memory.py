"""A memory: the sessions of one root, and the verbs that concern them all."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from weakref import WeakValueDictionary

from pagefault.model.errors import BadInput, PagefaultError, SessionNotFound, StoreBusy
from pagefault.model.events import (
    Descent,
    Draft,
    Event,
    ForgetDone,
    SessionOpened,
    Taken,
)
from pagefault.model.ids import PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import RUNTIME, Actor, EventType, Kind, LayoutName, Mode, Profile
from pagefault.model.page import EVERYTHING, Page, PageRow, Scope, SessionRow, is_derived
from pagefault.model.progress import Progress
from pagefault.model.wanted import SearchFilter
from pagefault.pack.citations import cited_pages
from pagefault.recall.search import SearchResult
from pagefault.service.arguments import a_layout, a_mode, a_page_id, a_window, check_name
from pagefault.service.derived.derivatives import derivatives
from pagefault.service.derived.embedders import FORMS
from pagefault.service.derived.embedding import Embedding, EmbeddingStatus
from pagefault.service.finding.questions import Asking, parts_of
from pagefault.service.finding.topics import pages_about
from pagefault.service.limits import Limits
from pagefault.service.ownership import Owned
from pagefault.service.runtime import Runtime
from pagefault.service.session import Session
from pagefault.service.telling.relaying import Proxied, proxied_of
from pagefault.service.window.restore import restore
from pagefault.store.api import PageFilter
from pagefault.store.backup import Copied, backup
from pagefault.store.commit import Committer
from pagefault.store.references import References
from pagefault.store.store import Store, Verification

RECENT_SESSIONS: Final = 8
"""Sessions that stay folded though nobody has them: their windows may come to a megabyte each."""

_MANY: Final = 1_000_000
_ARTIFACTS: Final = (str(EventType.ARTIFACT),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgetting:
    """What a forget would erase (`dry_run`), or did erase, and what is out of its reach."""

    session_id: str
    pages: tuple[PageId, ...]
    records: int
    seen_from: tuple[str, ...]  # forks that lose sight of these pages
    quoted_by: tuple[str, ...]  # answers that cite one of them; their own words stay
    done: bool
    beyond_reach: tuple[str, ...] = (
        "backups and copies of this directory made earlier",
        "requests already sent: providers' logs and prompt caches",
        "words of it that were repeated in other messages, or in the queries of searches",
    )


class Memory(Asking):
    """Made by `pagefault.open`. Use it from one event loop."""

    def __init__(
        self,
        *,
        store: Store,
        committer: Committer,
        runtime: Runtime,
        embedding: Embedding | None = None,
        window_tokens: int,
        mode: Mode,
        layout: LayoutName = LayoutName.STABLE,
    ) -> None:
        self._store = store
        self._committer = committer
        self._runtime = runtime
        self._embedding = embedding
        self._window_tokens = window_tokens
        self._mode = mode
        self._layout = layout
        # One object for a session as long as anybody has it; of the others the latest are kept.
        self._sessions: WeakValueDictionary[SessionNo, Session] = WeakValueDictionary()
        self._recent: deque[Session] = deque(maxlen=RECENT_SESSIONS)
        self._opening = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._forgot = 0  # times, by this memory
        store.on_forgotten = self._others_forgot

    @property
    def notices(self) -> list[str]:
        """What opening had to mend, one sentence each; empty after a clean close."""
        return self._store.notices

    @property
    def limits(self) -> Limits:
        return self._runtime.limits

    @property
    def forgettings(self) -> int:
        """How often something was forgotten since this was opened, here or elsewhere, as far as
        was noticed: who keeps texts of pages, keeps them until this changes.
        """
        return self._forgot + self._runtime.journal.forgets

    async def session(
        self,
        name: str = "",
        *,
        window: int | None = None,
        mode: str | None = None,
        system: str | None = None,
        layout: str | None = None,
        create: bool = True,
    ) -> Session:
        """The session of that name or id, opened anew if there is none and `create` allows it.

        `window` (tokens of a request), `mode`, `system` and `layout` (stable, developer) are those
        of a new session; given for one that exists, they change it from its next request on. Any
        number of processes may have a session; writing to it while another does is `SessionBusy`.
        Raises `SessionNotFound`, `WindowTooSmall`, `BadInput`.
        """
        if not isinstance(name, str):
            raise BadInput(
                f"a session's name is a text, not {type(name).__name__}",
                hint="give its name or id; without one, `session()` opens another session",
            )
        wanted_mode = self._mode if mode is None else a_mode(mode)
        wanted_layout = self._layout if layout is None else a_layout(layout)
        wanted_window = self._window_tokens if window is None else a_window(window)
        name = self._runtime.journal.clean(name)
        async with self._opening:
            await self._runtime.journal.look()
            row = await asyncio.to_thread(self._runtime.index.find_session, name) if name else None
            if row is not None:
                session = await self._open(row)
                await session.configure(window=window, mode=mode, system=system, layout=layout)
                return session
            if not create:
                raise SessionNotFound(name)
            if name:
                check_name(name)
            return await self._open_new(
                SessionOpened(
                    session_id=self._runtime.mint_session_id(),
                    name=name,
                    window_tokens=wanted_window,
                    mode=wanted_mode,
                    system=self._runtime.journal.clean(system or ""),
                    layout=wanted_layout,
                )
            )

    async def sessions(self) -> list[SessionRow]:
        """Every session, the most recently used first."""
        self._committer.check_open()
        await self._runtime.journal.look()
        return await asyncio.to_thread(self._runtime.index.sessions)

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
        """Pages that a session can see, by their order; those of a topic or a task, if named."""
        if topic or task:
            scope = self._runtime.scope(session.session)
            found = await asyncio.to_thread(
                lambda: list(pages_about(self._runtime, scope, topic, task))
            )
            rows = [row for row in found if row.order > after]
            return (rows if newest_first else rows[::-1])[:limit]
        return await asyncio.to_thread(
            self._runtime.index.pages,
            self._runtime.scope(session.session),
            PageFilter(after_order=after),
            limit=limit,
            newest_first=newest_first,
        )

    async def proxied(self, session: Session) -> Proxied | None:
        """What a proxy passed on under a session, and how large it was; None if nothing ever was.

        Of such a session `status`, `at` and `resident` tell what it would pack itself, and not
        what its client sends.
        """
        await session.owned.written()
        await session.owned.refresh()
        types = ("relayed", "reported")
        events = await asyncio.to_thread(self._runtime.events_of, session.session, types)
        return proxied_of(event.body for event in events)

    async def _find(
        self, scope: Scope, query: str, limit: int, wanted: SearchFilter, profile: Profile | None
    ) -> SearchResult:
        search = self._runtime.search
        found = [
            await search(part, query, limit=limit, wanted=wanted, profile=profile)
            for part in parts_of(scope, wanted)
        ]
        hits = tuple(hit for one in found for hit in one.hits)
        return SearchResult(hits[: max(limit, 0)], sum(one.total for one in found))

    async def _asked(self, wanted: SearchFilter) -> Scope:
        self._committer.check_open()
        await self._runtime.journal.look()
        if not wanted.session:
            return EVERYTHING
        row = await asyncio.to_thread(self._runtime.index.find_session, wanted.session)
        if row is None:
            raise SessionNotFound(wanted.session)
        return await asyncio.to_thread(self._runtime.scope, row.session)

    async def read(self, row: PageRow) -> Page:
        """The page of a row, such as a hit's, at level 0. `RecordGone` if it was forgotten."""
        self._committer.check_open()
        return await asyncio.to_thread(self._runtime.pages.read, row)

    async def forget(
        self, session: Session | str, page_id: str = "", *, dry_run: bool = False
    ) -> Forgetting:
        """Erase a page (all parts of its text), or a whole session, from everything under the root.

        `session` is it, or its name or id. Afterwards no byte of what goes is in log or index, and
        sessions that showed it begin a new epoch. Irreversible. `dry_run` only says what would go.
        Forks keep what was said in them.

        Raises `SessionBusy` if another process writes to the session that it is from, and
        `StoreBusy` if somebody keeps it from being finished: nobody can find the page any more
        then, and the next opening finishes it.
        """
        named = session.session_id if isinstance(session, Session) else session
        target = await self.session(named, create=False)
        if dry_run:
            plan = await asyncio.to_thread(self._plan_forget, target, page_id)
            return plan.report(done=False)
        task = asyncio.ensure_future(self._forget(target, page_id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)  # half of it would leave sessions with what is gone

    async def _forget(self, target: Session, page_id: str) -> Forgetting:
        async with self._opening, AsyncExitStack() as quiet:
            held: set[Session] = set()
            while waiting := [one for one in self._live() if one not in held]:  # a fork may join
                for session in waiting:
                    await quiet.enter_async_context(session.owned.quiet())
                    held.add(session)
            plans: list[_Plan] = []
            known = await asyncio.to_thread(self._references_for, target, page_id)

            def erase() -> Event:
                """Nobody writes meanwhile, here or elsewhere: what was planned is what there is."""
                self._store.check_writable()
                for owner in self._plan_forget(target, page_id).owners:
                    self._store.lease(owner)
                plans.append(self._plan_forget(target, page_id))
                plan = plans[0]
                return self._store.forget(plan.seqs, plan.sessions, plan.taken, plan.lineage, known)

            try:
                receipt = await self._committer.run(erase)
                assert isinstance(receipt.body, ForgetDone)
            except StoreBusy:
                if plans:
                    await self._after_forgetting(target, plans[0])
                raise
            await self._after_forgetting(target, plans[0])
        return plans[0].report(done=True)

    def _references_for(self, target: Session, page_id: str) -> References | None:
        """Which records name which blobs, where a forgetting takes one that names any. Read before
        anybody has to wait for it.
        """
        if page_id:
            is_to_know = any(
                row.kind is Kind.ARTIFACT for row in self._parts(target, PageId(page_id))
            )
        else:
            is_to_know = bool(self._runtime.index.events(target.session, types=_ARTIFACTS))
        return self._store.references() if is_to_know else None

    def _others_forgot(self) -> None:
        """Another process forgot something: let nothing that is kept in memory outlive it."""
        self._flush()
        for session in self._live():
            session.owned.outdate()

    def _flush(self) -> None:
        """Let go of every text that is kept to be at hand."""
        self._runtime.pages.flush()
        self._runtime.packs.drop()
        if self._embedding is not None:
            self._embedding.flush()

    async def _after_forgetting(self, target: Session, plan: _Plan) -> None:
        """Let no live session show what is gone."""
        self._forgot += 1
        self._flush()
        if plan.sessions:
            target.owned.end()
            self._sessions.pop(target.session, None)
        for live in self._live():
            if any(part in plan.owners for part, _ in live.owned.scope.parts):
                row = await asyncio.to_thread(self._runtime.index.session, live.session)
                assert row is not None
                live.owned.replace(*await asyncio.to_thread(restore, self._runtime, row))

    async def verify(self, progress: Progress | None = None) -> Verification:
        """Read everything and check it against itself, while others write, here and elsewhere.

        `progress` is told bytes, read and in all, in another thread. Closing this memory waits for
        its end.
        """
        self._committer.check_open()
        task = asyncio.ensure_future(asyncio.to_thread(self._store.verify, progress))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def embed(self, progress: Progress | None = None, *, prune: bool = False) -> int:
        """Give every page a vector that has none yet, now; how many these were.

        That happens by itself after each append: this is for catching up at once, after another
        embedder was chosen, say. `prune` then deletes the vectors of all others. `progress` is told
        pages, made and in all, in another thread. Raises `BadInput` without an embedder, and
        `EngineError` if it fails: what it made until then is kept.
        """
        embedding = self._embedding
        if embedding is None:
            raise BadInput("no embedder is configured", hint=f"set `embedder` to one of {FORMS}")
        self._committer.check_open()
        stop = threading.Event()
        tell = progress or (lambda done, total: None)
        task = asyncio.ensure_future(
            asyncio.to_thread(embedding.embed_all, tell, stop, prune=prune)
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            stop.set()
            raise

    async def embedding(self) -> EmbeddingStatus | None:
        """How far the vectors of pages are, and whether the embedder failed; nothing without one.

        Loads the embedder's model if that is not done.
        """
        if self._embedding is None:
            return None
        return await asyncio.to_thread(self._embedding.status)

    async def backup(self, target: str | Path, progress: Progress | None = None) -> Copied:
        """Copy this memory to a directory that does not exist yet, while it is in use.

        The copy is read back and verified before it gets that name. It holds everything that was
        acknowledged before this call; a later forget does not reach into it. `restore` (or
        `pagefault restore`) makes a memory of it again. Raises `BadInput`, `StoreError`.
        """
        source = self._store.path
        if source is None:
            raise BadInput("a memory at :memory: has no files", hint="open one in a directory")
        return await asyncio.to_thread(
            backup, source, Path(target), clock=self._runtime.clock, progress=progress
        )

    async def close(self) -> None:
        """Finish what is under way, write what is queued, and let go of the root."""
        if self._embedding is not None:
            self._embedding.stop()
        if self._tasks:
            await asyncio.wait(self._tasks)
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
        await asyncio.to_thread(self._runtime.searching.shutdown)
        await asyncio.to_thread(self._committer.close)
        self._store.close()

    async def _open(self, row: SessionRow, *, is_leased: bool = False) -> Session:
        session = self._sessions.get(row.session)
        if session is None:
            state, folded = await asyncio.to_thread(restore, self._runtime, row)
            session = Session(
                owned=Owned(
                    session=row.session,
                    called=row.name or row.session_id,
                    state=state,
                    folded=folded,
                    runtime=self._runtime,
                    is_leased=is_leased,
                ),
                session_id=row.session_id,
                name=row.name,
                runtime=self._runtime,
                open_new=self._open_new,
            )
            self._sessions[row.session] = session
            self._recent.append(session)
        return session

    def _live(self) -> list[Session]:
        return list(self._sessions.values())

    async def _open_new(self, opened: SessionOpened) -> Session:
        self._runtime.check_opened(opened)
        draft = Draft(
            session=SessionNo(0), turn=TurnNo(0), actor=Actor.USER, origin=RUNTIME, body=opened
        )
        if opened.name and not opened.parent:
            number = await self._runtime.journal.open_session(draft, opened.name)
        else:
            [event] = await self._runtime.journal.append([draft])
            number = event.session
        row = await asyncio.to_thread(self._runtime.index.session, number)
        if row is None:
            raise SessionNotFound(opened.name)  # another process forgot it at once
        return await self._open(row, is_leased=row.session_id == opened.session_id)

    def _plan_forget(self, target: Session, page_id: str) -> _Plan:
        index = self._runtime.index
        scope = self._runtime.scope(target.session)
        if page_id:
            rows = self._parts(target, PageId(page_id))
            seqs = [row.seq for row in rows]
            sessions: list[SessionNo] = []
        else:
            seqs = index.events(target.session)
            rows = [
                row
                for part in (scope, scope.derived)
                for row in index.pages(part, PageFilter(), limit=_MANY)
                if row.session == target.session
            ]
            sessions = [target.session]
        owners = {row.session for row in rows} or {target.session}
        forks = [
            other
            for other in index.sessions()
            if other.session != target.session
            and any(part in owners for part, _ in self._runtime.scope(other.session).parts)
        ]
        if page_id:  # what rests on it goes with it, in forks too
            family = owners | {fork.session for fork in forks}
            rows += derivatives(self._runtime, family, {row.page_id for row in rows})
            seqs = [row.seq for row in rows]
            owners = {row.session for row in rows}
        # Also of forks: what they inherited cannot be counted again once the records are gone.
        taken = [
            Taken(
                session=row.session,
                stem=stem,
                number=number,
                order=row.pages - 1,
                turns=row.turns,
            )
            for row in map(index.session, owners | {fork.session for fork in forks})
            if row is not None
            for stem, number in index.prefix_counts(self._runtime.scope(row.session)).items()
        ]
        return _Plan(
            session_id=target.session_id,
            rows=rows,
            seqs=list(seqs),
            sessions=sessions,
            lineage=[
                Descent(session=row.session, parent=row.parent, parent_seq=row.parent_seq)
                for row in map(index.session, sessions)
                if row is not None and row.parent
            ],
            owners=owners,
            taken=taken,
            forks=[fork.name or fork.session_id for fork in forks],
            quoted_by=self._quoting(target, forks, {row.page_id for row in rows})
            if page_id
            else [],
        )

    def _parts(self, target: Session, page_id: PageId) -> list[PageRow]:
        """Every part of the text that a page is part of."""
        index, scope = self._runtime.index, self._runtime.scope(target.session)
        page_id = a_page_id(page_id)
        scope = scope.derived if is_derived(page_id) else scope
        row = index.find_page(scope, page_id)
        if row is None:
            raise target.no_such_page(page_id)
        first = row.order - row.part
        wanted = PageFilter(after_order=first - 1, before_order=first + row.parts)
        return [r for r in index.pages(scope, wanted, limit=row.parts) if r.parts == row.parts]

    def _quoting(
        self, target: Session, forks: list[SessionRow], page_ids: set[PageId]
    ) -> list[str]:
        """Answers that cite one of these pages, here and in forks: their own words stay."""
        places = [("", target.session), *((f.name or f.session_id, f.session) for f in forks)]
        found: dict[str, None] = {}
        for page_id in sorted(page_ids):
            for name, session in places:
                scope = self._runtime.scope(session)
                for hit in self._runtime.searcher.search(scope, page_id, limit=20).hits:
                    other = hit.page
                    if other.page_id in page_ids or (name and other.session != session):
                        continue
                    if page_id in cited_pages(self._runtime.pages.read(other).text):
                        found[f"{name}: {other.page_id}" if name else other.page_id] = None
        return list(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    session_id: str
    rows: list[PageRow]
    seqs: list[Seq]
    sessions: list[SessionNo]
    lineage: list[Descent]
    owners: set[SessionNo]  # whose records go
    taken: list[Taken]
    forks: list[str]
    quoted_by: list[str]

    def report(self, *, done: bool) -> Forgetting:
        return Forgetting(
            session_id=self.session_id,
            pages=tuple(row.page_id for row in self.rows),
            records=len(self.seqs),
            seen_from=tuple(self.forks),
            quoted_by=tuple(self.quoted_by),
            done=done,
        )
