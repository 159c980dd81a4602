"""A memory: the sessions of one root, and the verbs that concern them all."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from weakref import WeakValueDictionary

from pagefault.model.errors import (
    BadInput,
    PagefaultError,
    SessionNotFound,
    StoreBusy,
    StoreCorrupt,
)
from pagefault.model.events import (
    Draft,
    Event,
    ForgetDone,
    SessionOpened,
)
from pagefault.model.ids import PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import RUNTIME, Actor, LayoutName, Mode, Profile
from pagefault.model.page import EVERYTHING, Page, PageRow, Scope, SessionRow, is_derived
from pagefault.model.progress import Progress
from pagefault.model.signatures import checked_verbs
from pagefault.model.wanted import SearchFilter
from pagefault.recall.search import SearchResult
from pagefault.service.arguments import (
    a_count,
    a_layout,
    a_mode,
    a_path,
    a_window,
    check_name,
)
from pagefault.service.derived.embedders import FORMS
from pagefault.service.derived.embedding import Embedding, EmbeddingStatus
from pagefault.service.derived.reranking import Reranking, RerankingStatus
from pagefault.service.forget import ForgetPlan, Forgetting, plan_page, plan_session
from pagefault.service.inspection.relayed import SAID_TYPES, Proxied, find_said, proxied_of
from pagefault.service.journal import Redaction
from pagefault.service.limits import Limits
from pagefault.service.lookup.questions import Asking, parts_of
from pagefault.service.lookup.topics import pages_about
from pagefault.service.needs import records_to_open
from pagefault.service.ownership import Owned
from pagefault.service.restore import restore, unopenable
from pagefault.service.runtime import Runtime
from pagefault.service.session import Session
from pagefault.store.api import Copied, PageFilter
from pagefault.store.commit import Committer
from pagefault.store.references import NAMING, References
from pagefault.store.soundness import blobs_of
from pagefault.store.store import Store, Verification

RECENT_SESSIONS: Final = 8
"""Sessions that stay folded though nobody has them: their windows may come to a megabyte each."""

_MANY: Final = 1_000_000


@checked_verbs(usable=lambda memory: memory._runtime.journal.check_open())
class Memory(Asking):
    """Made by `pagefault.open`. Use it from one event loop."""

    def __init__(
        self,
        *,
        store: Store,
        committer: Committer,
        runtime: Runtime,
        embedding: Embedding | None = None,
        reranking: Reranking | None = None,
        copy: Callable[[Path, Progress | None], Copied] | None = None,
        window_tokens: int,
        mode: Mode,
        layout: LayoutName = LayoutName.STABLE,
    ) -> None:
        self._store = store
        self._committer = committer
        self._runtime = runtime
        self._embedding = embedding
        self._reranking = reranking
        self._copy = copy  # what copies its files, if it has any
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
    def is_adopted(self) -> bool:
        """Whether it was made here by this user, or adopted. Else it is only read, and none of its
        claims has authority.
        """
        return self._store.is_adopted

    @property
    def records(self) -> int:
        """How many records its log has, of every session."""
        return self._store.log.head()

    @property
    def limits(self) -> Limits:
        """What this memory refuses to go beyond."""
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
        self._check_own(session)
        a_count(limit, called="limit")
        if topic or task:
            scope = self._runtime.scope(session.session)
            found = await asyncio.to_thread(
                lambda: list(pages_about(self._runtime, scope, topic, task))
            )
            rows = [row for row in found if row.order > after]
            return (rows if newest_first else rows[::-1])[:limit]
        rows = await asyncio.to_thread(
            self._runtime.index.pages,
            self._runtime.scope(session.session),
            PageFilter(after_order=after),
            limit=limit,
            newest_first=newest_first,
        )
        return [row for row in rows if not row.is_note]

    async def passed_on(self, session: Session, *, texts: bool = True) -> list[Event]:
        """What a proxy wrote down of a session's requests and, unless `texts` is off, all that was
        said there; oldest first, less what was forgotten.
        """
        await session.owned.written()
        await session.owned.refresh()
        types = (*(map(str, SAID_TYPES) if texts else ()), "relayed")
        return await asyncio.to_thread(self._runtime.events_of, session.session, types)

    async def find_said(self, names: Sequence[str], keys: Sequence[Callable[[str], str]]) -> str:
        """Which of these sessions says nothing but the first of some texts, in order: of several
        the one that says most, or "". `keys` are the texts' idempotency keys, each told by the page
        that its text follows.
        """
        self._committer.check_open()
        await self._runtime.journal.look()
        return await asyncio.to_thread(find_said, self._runtime, names, keys)

    def written(self, text: str) -> str:
        """What would be written of a text: the same, less secrets. Raises `BadInput`."""
        return self._runtime.journal.clean(text)

    def keyed(self, text: str) -> str:
        """A digest of a text, the same whenever this memory is opened: 16 letters and digits. It
        is keyed with the memory's secret, so it tells nothing to who has not got that.
        """
        hashed = self._runtime.hash_key(SessionNo(0), f"keyed {text}")
        return hashlib.sha256(hashed.encode()).hexdigest()[:16]

    async def proxied(self, session: Session) -> Proxied | None:
        """What a proxy passed on under a session, and how large it was; None if nothing ever was.

        Of such a session `status`, `at` and `resident` tell what it would pack itself, and not
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
            await target.owned.written()
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
            plans: list[ForgetPlan] = []
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
        runtime = self._runtime
        if page_id:
            seqs = self._plan_forget(target, page_id).seqs
        else:
            seqs = runtime.index.events(target.session, types=NAMING)
        return self._store.references() if any(map(self._names_blobs, seqs)) else None

    def _names_blobs(self, seq: Seq) -> bool:
        with suppress(StoreCorrupt):  # erased with the others
            return bool(blobs_of(self._runtime.log.get(seq).body))
        return False

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

    async def _after_forgetting(self, target: Session, plan: ForgetPlan) -> None:
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

        Every session is folded as opening it does: what would keep one from opening is a problem.
        A record that no fold can take keeps nothing from opening, and is named in `set_aside`.

        `progress` is told bytes, read and in all, in another thread. Closing this memory waits for
        its end.
        """
        self._committer.check_open()
        task = asyncio.ensure_future(asyncio.to_thread(self._verify, progress))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    def _verify(self, progress: Progress | None) -> Verification:
        found = self._store.verify(progress)
        problems, aside = unopenable(self._runtime)
        return replace(found, problems=found.problems + problems, set_aside=found.set_aside + aside)

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

    async def reranking(self) -> RerankingStatus | None:
        """How often the reranker was asked, and whether it failed; nothing without one."""
        if self._reranking is None:
            return None
        return await asyncio.to_thread(self._reranking.status)

    async def redaction(self) -> Redaction:
        """Which layers look for secrets in what is written, and whether one failed."""
        return self._runtime.journal.redaction()

    async def backup(self, target: str | Path, progress: Progress | None = None) -> Copied:
        """Copy this memory to a directory that does not exist yet, while it is in use.

        The copy is read back and verified before it gets that name. It holds everything that was
        acknowledged before this call; a later forget does not reach into it. `restore` (or
        `pagefault restore`) makes a memory of it again. Raises `BadInput`, `StoreError`.
        """
        place = a_path(target, called="target")
        if self._copy is None:
            raise BadInput("a memory at :memory: has no files", hint="open one in a directory")
        return await asyncio.to_thread(self._copy, place, progress)

    async def records_to_open(self) -> set[Seq]:
        """The records that opening its sessions takes: those that stay here when their segments
        are archived.
        """
        self._committer.check_open()
        return await asyncio.to_thread(records_to_open, self._runtime)

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
        if self._reranking is not None:
            await asyncio.to_thread(self._reranking.close)
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

    def _check_own(self, session: Session) -> None:
        if session._runtime is not self._runtime:
            raise BadInput(
                f"{session!r} is of another memory", hint="get it from this one: `session(name)`"
            )

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

    def _plan_forget(self, target: Session, page_id: str) -> ForgetPlan:
        if page_id:
            scope = self._runtime.scope(target.session)
            parts = self._with_former(scope, self._parts(target, PageId(page_id)))
            return plan_page(self._runtime, target.session, parts)
        return plan_session(self._runtime, target.session)

    def _with_former(self, scope: Scope, rows: list[PageRow]) -> list[PageRow]:
        """These pages, and those in whose place they stand: the same message, in other words."""
        index = self._runtime.index
        former = index.pages_at(scope, index.history(scope))
        found = {row.seq: row for row in rows}
        for row in sorted(former, key=lambda one: -one.superseded):
            if row.superseded in found:
                found[row.seq] = row
        return list(found.values())

    def _parts(self, target: Session, page_id: PageId) -> list[PageRow]:
        """Every part of the text that a page is part of."""
        index, scope = self._runtime.index, self._runtime.scope(target.session)
        scope = scope.derived if is_derived(page_id) else scope
        row = index.find_page(scope, page_id)
        if row is None:
            raise target.no_such_page(page_id)
        first = row.order - row.part
        wanted = PageFilter(after_order=first - 1, before_order=first + row.parts)
        return [r for r in index.pages(scope, wanted, limit=row.parts) if r.parts == row.parts]
