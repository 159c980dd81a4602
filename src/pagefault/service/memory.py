"""A memory: the sessions of one root, and the verbs that concern them all."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from pagefault.model.errors import (
    BadInput,
    PagefaultError,
    SessionBusy,
    SessionNotFound,
    StoreBusy,
    StoreCorrupt,
    StoreReadOnly,
)
from pagefault.model.events import (
    ControlSet,
    Draft,
    Event,
    ImportApproved,
    ImportRevoked,
    RetentionRule,
    RetentionSet,
    SessionOpened,
)
from pagefault.model.ids import PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import RUNTIME, Actor, ControlMode, LayoutName, Mode, Profile
from pagefault.model.page import EVERYTHING, Page, PageRow, Scope, SessionRow, is_derived
from pagefault.model.progress import Progress
from pagefault.model.signatures import checked_verbs
from pagefault.model.wanted import ANY, SearchFilter
from pagefault.recall.search import SearchResult
from pagefault.service.arguments import (
    a_control,
    a_count,
    a_layout,
    a_mode,
    a_path,
    a_window,
    check_name,
)
from pagefault.service.configure import configure
from pagefault.service.control import Overlay, continued, controls, given_control, open_above
from pagefault.service.derived.embedders import EmbedderSpec
from pagefault.service.derived.embedding import Embedding, EmbeddingStatus
from pagefault.service.derived.reranking import Reranking, RerankingStatus
from pagefault.service.forget import (
    ForgetPlan,
    Forgetting,
    plan_page,
    plan_pages,
    plan_session,
    with_former,
)
from pagefault.service.inspection.relayed import SAID_TYPES, Proxied, find_said, proxied_of
from pagefault.service.journal import Redaction
from pagefault.service.limits import Limits
from pagefault.service.lookup.imported import (
    IMPORT_PREFIX,
    ImportedSession,
    ImportReport,
    imported_sessions,
    places_from,
)
from pagefault.service.lookup.questions import Asking, parts_of
from pagefault.service.lookup.selecting import select
from pagefault.service.lookup.topics import pages_about
from pagefault.service.needs import records_to_open
from pagefault.service.ownership import Owned
from pagefault.service.restore import restore, unopenable
from pagefault.service.retention import a_period_days, changed, find_expired, rules_of
from pagefault.service.runtime import Runtime
from pagefault.service.scrub import CountingScreen, Scrub, Scrubbing
from pagefault.service.session import Session
from pagefault.store.api import Copied, PageFilter
from pagefault.store.commit import Committer
from pagefault.store.references import NAMING, References
from pagefault.store.soundness import blobs_of
from pagefault.store.store import STORE, Store, Verification

T = TypeVar("T")

RECENT_SESSIONS: Final = 8
"""Sessions that stay folded though nobody has them: their windows may come to a megabyte each."""

_MANY: Final = 1_000_000


def _switched() -> PagefaultError:
    return StoreBusy(
        "the session was given another control mode meanwhile", hint="say it once more"
    )


def _written(session: Session) -> SessionNo:
    """What is written of a session, by its number."""
    if session.kept_as is None:
        raise BadInput(f"nothing of {session!r} is written", hint="it ends with this process")
    return session.kept_as


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
        control: ControlMode = ControlMode.ASSIST,
        overlay: Callable[[int], Overlay],
        screen_for: Callable[[Sequence[str], bool], CountingScreen],
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
        self._control = control
        self._overlay = overlay  # makes one, by a number that no other has
        self._screen_for = screen_for  # what redacts these values besides, and paths
        self._above: list[Session] = []  # those that go on in one, of which nothing else is left
        self._overlays = 0  # that were made
        # One object for a session as long as anybody has it; of the others the latest are kept.
        self._sessions: WeakValueDictionary[SessionNo, Session] = WeakValueDictionary()
        self._recent: deque[Session] = deque(maxlen=RECENT_SESSIONS)
        self._opening = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._forgot = 0  # times, by this memory
        self._notices: list[str] = []
        store.on_forgotten = self._others_forgot

    @property
    def notices(self) -> list[str]:
        """What opening had to mend, and what it forgot as past its time, one sentence each."""
        return [*self._store.notices, *self._notices]

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
        control: str | None = None,
        create: bool = True,
    ) -> Session:
        """The session of that name or id, opened anew if there is none and `create` allows it.

        `window` (tokens of a request), `mode`, `system`, `layout` (stable, developer) and `control`
        (`Session.set_control`) are those of a new session; given for one that exists, they change
        it from its next request on. Of one that begins "incognito" nothing is ever written. Any
        number of processes may have a session; writing to it while another does is `SessionBusy`.
        Raises `SessionNotFound`, `WindowTooSmall`, `BadInput`.
        """
        wanted_mode = self._mode if mode is None else a_mode(mode)
        wanted_layout = self._layout if layout is None else a_layout(layout)
        wanted_window = self._window_tokens if window is None else a_window(window)
        wanted_control = None if control is None else a_control(control)
        name = self._runtime.journal.clean(name)
        async with self._opening:
            await self._runtime.journal.look()
            row = await asyncio.to_thread(self._runtime.index.find_session, name) if name else None
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
                        f"{name!r}: only an import opens a session that is called so",
                        hint="`Memory.import_history` does; give this one another name",
                    )
            if wanted_control is None:
                given, _ = await asyncio.to_thread(given_control, self._runtime)
                wanted_control = given or self._control
            opened = SessionOpened(
                session_id=self._runtime.mint_session_id(),
                name=name,
                window_tokens=wanted_window,
                mode=wanted_mode,
                system=self._runtime.journal.clean(system or ""),
                layout=wanted_layout,
                control=wanted_control,
            )
            if wanted_control.captures:
                return await self._open_new(opened)
            return await self._begin_above(opened)

    async def control(self) -> str:
        """The control mode that was given to the whole memory last, or that new sessions have."""
        self._committer.check_open()
        await self._runtime.journal.look()
        given, _ = await asyncio.to_thread(given_control, self._runtime)
        return str(given or self._control)

    async def set_control(self, mode: str, *, session: str = "") -> None:
        """Give a session (its name or id) this control mode (`Session.set_control`), or every one,
        and each that is opened later, until it is given another. In other processes a session has
        it once it is asked for again (`Memory.session`), and in `serve` with its next request,
        whoever writes to it meanwhile. Raises `BadInput`, `SessionNotFound`.
        """
        control, session_id = a_control(mode), ""
        if session:
            row = await asyncio.to_thread(self._runtime.index.find_session, session)
            if row is None:
                raise SessionNotFound(session)
            session_id = row.session_id
        await self._note_control(control, session_id)
        async with self._opening:
            for one in self._live():
                await self._follow(one)

    async def _note_control(self, control: ControlMode, session_id: str) -> None:
        body = ControlSet(control=control, session_id=session_id)
        await self._committer.run(lambda: self._store.note(body))

    async def control_of(self, session: str) -> str:
        """The control mode of a session, by its name or id; of one that is not written, that which
        a new one has.
        """
        self._committer.check_open()
        await self._runtime.journal.look()

        def told() -> str | None:
            row = self._runtime.index.find_session(session)
            return (
                None if row is None else next(iter(controls(self._runtime, row.session).values()))
            )

        return await asyncio.to_thread(told) or await self.control()

    async def controls(self) -> dict[str, str]:
        """The control mode of each session that is written, by its id."""
        self._committer.check_open()
        await self._runtime.journal.look()
        return await asyncio.to_thread(controls, self._runtime)

    async def _follow(self, session: Session) -> None:
        """Have a session in the mode that was given last, to it or to the memory. Who only reads
        has it as it is written.
        """
        if session.kept_as is None or self._store.reads_only:
            return
        told = await asyncio.to_thread(controls, self._runtime, session.kept_as)
        for mode in map(ControlMode, told.values()):
            await self._have(session, mode)

    async def _switch(self, session: Session, mode: ControlMode) -> None:
        async with self._opening:
            await self._give(session, mode)

    async def _give(self, session: Session, mode: ControlMode) -> None:
        """Have a session in a mode, and say so in the log, if it is in that at all."""
        if session.kept_as is not None:
            await self._note_control(mode, session.session_id)
        await self._have(session, mode)

    async def _have(self, session: Session, mode: ControlMode) -> None:
        if mode.captures and session.kept_as is None:
            raise BadInput(
                f"the conversation began {session.control}, so nothing of it is written",
                hint="begin a new one that is kept",
            )
        if mode.captures and session.overlay is not None:
            await self._come_down(session)
        if not mode.captures and session.overlay is None:
            await self._go_above(session, mode)
        elif session.owned.state.control is not mode:
            await self._tell(session.owned, mode, session.name)

    async def _tell(self, owned: Owned, mode: ControlMode, name: str) -> None:
        await owned.whole(lambda: configure(owned, owned.runtime, name=name, control=mode))

    async def _go_above(self, session: Session, mode: ControlMode) -> None:
        overlay = self._new_overlay()
        async with session.owned.quiet():
            below = session.owned
            owned = await open_above(overlay, continued(below, mode, name=session.name))
            session._stand_on(owned, overlay.runtime)
            session.overlay = overlay
            self._above.append(session)
            below.end(_switched())

    async def _come_down(self, session: Session) -> None:
        assert session.kept_as is not None
        overlay = session.overlay
        assert overlay is not None
        async with session.owned.quiet():
            above, owned = session.owned, await self._owned(session.kept_as)
            session._stand_on(owned, self._runtime)
            session.overlay = None
            self._above.remove(session)
            above.end(_switched())
        await asyncio.to_thread(overlay.close)

    async def _begin_above(self, opened: SessionOpened) -> Session:
        """A session of which nothing is written."""
        self._runtime.check_opened(opened)
        overlay = self._new_overlay()
        owned = await open_above(overlay, opened)
        session = self._session(owned, opened.session_id, opened.name, overlay.runtime, overlay)
        self._sessions[owned.session] = session
        self._above.append(session)
        return session

    def _new_overlay(self) -> Overlay:
        self._overlays += 1
        return self._overlay(self._overlays)

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
        only = None
        if wanted.imported_from and scope.is_everything:
            only = await asyncio.to_thread(places_from, self._runtime, wanted.imported_from, wanted)
            if not wanted.kinds:
                wanted = SearchFilter(history=wanted.history)  # `only` has the rest of it
        found = [
            await search(part, query, limit=limit, wanted=wanted, only=only, profile=profile)
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
        unkept = (one._runtime for one in self._above if one.session == row.session)
        runtime = next(unkept, self._runtime)
        return await asyncio.to_thread(runtime.pages.read, row)

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
        [done] = await self._whole(self._erase(lambda: [self._plan_forget(target, page_id)]))
        return done

    async def forget_matching(
        self,
        query: str = "",
        *,
        wanted: SearchFilter = ANY,
        dry_run: bool = False,
    ) -> tuple[Forgetting, ...]:
        """Erase every page that holds every word of `query`, in any of its forms, and that a filter
        wants: of one session (`wanted.session`) or of all. Each that loses pages is told apart.

        As `forget` otherwise. What was made of these pages goes too, and earlier words of an edited
        message with it. Raises `BadInput` where neither filter nor query leave anything out: a
        session is forgotten whole by its name.
        """
        if not (wanted.is_some or wanted.imported_from or query.strip()):
            raise BadInput(
                "that would forget everything",
                hint="say what: words, an origin, a kind, a time; a session whole by its name",
            )
        scope = await self._asked(wanted)

        def plans() -> list[ForgetPlan]:
            return plan_pages(self._runtime, select(self._runtime, scope, wanted, query.strip()))

        if dry_run:
            for session in self._live():
                await session.owned.written()
            return tuple(plan.report(done=False) for plan in await asyncio.to_thread(plans))
        return await self._whole(self._erase(plans))

    async def scrub(
        self, values: Sequence[str] = (), *, home_paths: bool = False, dry_run: bool = False
    ) -> Scrubbing:
        """Redact what is written already as what is written from now on is: by the rules and the
        known values of this memory, and besides these `values`, in every spelling; with
        `home_paths` the names of users in paths, too. Irreversible. `dry_run` only says what would
        be redacted.

        Afterwards no byte of it is in log, index, vectors, blobs or archive, and sessions that
        showed it begin a new epoch. A claim is stale that rests on what went. What a client sends
        again is redacted only if it is a known value by then, or looks like a secret.

        Raises `BadInput` for a value that is too short to be told from ordinary text,
        `ScreenFailed` where a rule fails, with nothing changed, and otherwise as `forget` does.
        """
        self._committer.check_open()
        screen = self._screen_for(values, home_paths)
        if dry_run:
            for session in self._live():
                await session.owned.written()
            scrub = Scrub(self._runtime, screen)
            await asyncio.to_thread(scrub.read_on)
            return await asyncio.to_thread(scrub.told, done=False)
        await self._check_kept("nothing scrubbed")
        self._store.check_writable()
        return await self._whole(self._scrub(Scrub(self._runtime, screen, self._store.blobs.put)))

    async def _scrub(self, scrub: Scrub) -> Scrubbing:
        async with self._still():
            forgets, begun = self._store.forgets, False
            await asyncio.to_thread(scrub.read_on)
            known = await asyncio.to_thread(self._references_to, scrub.plan.events)

            def redact() -> None:
                nonlocal begun
                for owner in sorted(scrub.plan.owners):
                    self._store.lease(owner)
                scrub.read_on()
                if self._store.forgets != forgets:
                    raise StoreBusy("another process forgot something meanwhile", hint="try again")
                for owner in sorted(scrub.plan.owners):
                    self._store.lease(owner)
                begun = bool(scrub.plan.events)
                if begun:
                    self._store.scrub(scrub.plan.in_order, scrub.marks, known)

            try:
                await self._committer.run(redact)
            finally:
                if begun:
                    await self._after_changing(scrub.plan.owners, "scrubbed")
            return await asyncio.to_thread(scrub.told, done=True)

    async def retention(self) -> tuple[RetentionRule, ...]:
        """How long pages are kept, as it was set last; without a rule, for ever."""
        self._committer.check_open()
        await self._runtime.journal.look()
        return await asyncio.to_thread(rules_of, self._runtime)

    async def set_retention(
        self, keep: str | None, *, kind: str = "", session: str = "", dry_run: bool = False
    ) -> tuple[RetentionRule, ...]:
        """Keep pages for so long from now on ("7d", "30d", "90d", any days, "forever"): those of a
        kind, of a session (its name or id), or all that no other rule names; `None` takes the rule
        for these away. The rules that hold then; `dry_run` only tells them.

        What is past its time goes when the memory is opened to be written, within the hour where
        `serve` runs, and with `expire`. Raises `BadInput`, `SessionNotFound`.
        """
        days = None if keep is None else a_period_days(keep)
        session_id = ""
        if session:
            row = await asyncio.to_thread(self._runtime.index.find_session, session)
            if row is None:
                raise SessionNotFound(session)
            session_id = row.session_id

        def set_() -> tuple[RetentionRule, ...]:
            rules = changed(rules_of(self._runtime), kind, session_id, days)
            if not dry_run:
                self._store.note(RetentionSet(rules=rules))
            return rules

        return await (asyncio.to_thread(set_) if dry_run else self._committer.run(set_))

    async def expire(
        self, *, dry_run: bool = False, rules: Sequence[RetentionRule] | None = None
    ) -> tuple[Forgetting, ...]:
        """Forget what is past its time, by the rules of `retention` unless others are given; each
        session that loses pages is told apart. One that another process writes to is left for the
        next time (`done` is false). `dry_run` only says what would go.
        """
        self._committer.check_open()
        now_ms = self._runtime.clock.now_ms()
        if not dry_run:
            await self._check_kept("nothing forgotten by its age")
        by = await self.retention() if rules is None else tuple(rules)
        if not by:
            return ()

        def plans() -> list[ForgetPlan]:
            found = find_expired(self._runtime, by, now_ms)
            whole = [plan_session(self._runtime, session) for session in found.sessions]
            return [*plan_pages(self._runtime, found.pages), *whole]

        if dry_run or not await asyncio.to_thread(plans):
            return tuple(plan.report(done=False) for plan in await asyncio.to_thread(plans))
        return await self._whole(self._erase(plans, past_busy=True))

    async def _check_kept(self, what: str) -> None:
        """Raise `StoreReadOnly` in a mode in which nothing is written."""
        given, _ = await asyncio.to_thread(given_control, self._runtime)
        if given is not None and not given.captures:
            raise StoreReadOnly(
                f"the memory is {given}: nothing is written, and {what}",
                hint="`Memory.set_control` has it written to again",
            )

    async def keep_retention(self) -> str:
        """As `expire`, for who does not wait for it: what went, in a sentence, or why nothing could
        go; "" where nothing was to. While nothing is written, nothing goes either.
        """
        try:
            given, _ = await asyncio.to_thread(given_control, self._runtime)
            if given is not None and not given.captures:
                return ""
            found = await self.expire()
        except PagefaultError as refused:
            return f"what is past its time could not be forgotten yet: {refused.message}"
        if not found:
            return ""
        done = [one for one in found if one.done]
        pages = sum(len(one.pages) for one in done)
        told = f"forgot what was past its time: {pages:,} pages of {len(done):,} sessions"
        busy = len(found) - len(done)
        return f"{told}; {busy:,} others are being written to" if busy else told

    async def begin(self) -> None:
        """Forget what is past its time, before anybody has this memory: see `notices`."""
        if told := await self.keep_retention():
            self._notices.append(told)

    async def _whole(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it to its end, even if whoever awaits it gives up: half of a forgetting would leave
        sessions with what is gone.
        """
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _erase(
        self, planned: Callable[[], list[ForgetPlan]], *, past_busy: bool = False
    ) -> tuple[Forgetting, ...]:
        """Carry out what is planned: planned anew while nobody writes. `past_busy` leaves what is
        of a session that another process writes to, which is told as not done.
        """
        async with self._still():
            going: list[ForgetPlan] = []
            busy: set[SessionNo] = set()
            known = await asyncio.to_thread(lambda: self._references_for(planned()))

            def erase() -> list[ForgetPlan]:
                """Nobody writes meanwhile, here or elsewhere: what was planned is what there is."""
                self._store.check_writable()
                for owner in sorted({owner for plan in planned() for owner in plan.owners}):
                    try:
                        self._store.lease(owner)
                    except SessionBusy:
                        if not past_busy:
                            raise
                        busy.add(owner)
                plans = planned()
                going.extend(plan for plan in plans if busy.isdisjoint(plan.owners))
                # Apart: a receipt that names sessions tells nothing of turns (`Receipts`).
                for whole in (False, True):
                    self._forget([plan for plan in going if bool(plan.sessions) is whole], known)
                return [plan for plan in plans if plan not in going]

            try:
                left = await self._committer.run(erase)
            except StoreBusy:
                if going:
                    await self._after_forgetting(going)
                raise
            if going:
                await self._after_forgetting(going)
        done = (plan.report(done=True) for plan in going)
        return (*done, *(plan.report(done=False) for plan in left))

    @asynccontextmanager
    async def _still(self) -> AsyncIterator[None]:
        """Within this block no session opens and no verb runs, and every record is written."""
        async with self._opening, AsyncExitStack() as quiet:
            held: set[Session] = set()
            while waiting := [one for one in self._live() if one not in held]:  # a fork may join
                for session in waiting:
                    await quiet.enter_async_context(session.owned.quiet())
                    held.add(session)
            yield

    def _forget(self, plans: Sequence[ForgetPlan], known: References | None) -> None:
        if plans:
            self._store.forget(
                sorted({seq for plan in plans for seq in plan.seqs}),
                [session for plan in plans for session in plan.sessions],
                list(dict.fromkeys(taken for plan in plans for taken in plan.taken)),
                [descent for plan in plans for descent in plan.lineage],
                known,
            )

    def _references_for(self, plans: Sequence[ForgetPlan]) -> References | None:
        """Which records name which blobs, where a forgetting takes one that names any. Read before
        anybody has to wait for it.
        """
        index = self._runtime.index
        owners = {owner for plan in plans for owner in (*plan.owners, *plan.sessions)}
        naming = {seq for owner in owners for seq in index.events(owner, types=NAMING)}
        return self._references_to(naming.intersection(s for plan in plans for s in plan.seqs))

    def _references_to(self, seqs: Collection[Seq]) -> References | None:
        """Likewise, of these records."""
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
        for runtime in (self._runtime, *(session._runtime for session in self._above)):
            runtime.pages.flush()
            runtime.packs.drop()
        if self._embedding is not None:
            self._embedding.flush()

    async def _after_forgetting(self, plans: Sequence[ForgetPlan]) -> None:
        """Let no live session show what is gone."""
        for session in (session for plan in plans for session in plan.sessions):
            gone = self._sessions.pop(session, None)
            if gone is not None:
                gone.owned.end()
        await self._after_changing({own for plan in plans for own in plan.owners}, "forgotten")

    async def _after_changing(self, owners: Collection[SessionNo], why: str) -> None:
        """Let no live session go on with what records of these said before."""
        self._forgot += 1
        self._flush()
        for live in self._live():
            if any(part in owners for part, _ in live.owned.scope.parts):
                row = await asyncio.to_thread(live._runtime.index.session, live.session)
                assert row is not None
                state, folded = await asyncio.to_thread(restore, live._runtime, row)
                state.epoch_due = why
                live.owned.replace(state, folded)

    # --- imports ------------------------------------------------------------------------------

    async def import_history(
        self,
        paths: Sequence[str | Path],
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Read what other programs kept of one's conversations, in files and folders, and write it
        down: every conversation as a session `import:SOURCE:ID`, in quarantine. `docs/import.md`
        lists the formats, which are recognised by what stands in a file.

        Found by who asks, and never recalled by the runtime itself until `approve_import`. What is
        there already is not written again, so it may be repeated, and goes on after a kill. With
        `dry_run` nothing is written, and the same is told. `progress` is told bytes, read and in
        all, in another thread. Raises `StoreBusy` if an imported session is used meanwhile, and
        `BadInput` if the memory's control mode keeps nothing.
        """
        from pagefault.service.imports import Importer  # and what reads files, for who imports

        self._committer.check_open()
        places = [a_path(path, called="paths") for path in paths]
        if not dry_run:
            self._store.check_writable()
        await self._runtime.journal.look()
        control = ControlMode(await self.control())
        if not (control.captures or dry_run):
            raise BadInput(
                f"this memory is {control}: nothing is written to it",
                hint="`Memory.set_control` gives it another mode",
            )
        stop = threading.Event()
        importer = Importer(
            self._runtime,
            window_tokens=self._window_tokens,
            mode=self._mode,
            layout=self._layout,
            control=control,
            live=lambda: {one.session: one.owned for one in self._live() if one.overlay is None},
            is_kept=lambda session: all(
                ControlMode(one).captures for one in controls(self._runtime, session).values()
            ),
            dry_run=dry_run,
            stop=stop,
            progress=progress,
        )
        task = asyncio.ensure_future(asyncio.to_thread(importer.run, places))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            stop.set()
            raise

    async def imports(self, source: str = "") -> list[ImportedSession]:
        """Every session that was imported, the latest first; those of a source, if one is named:
        "claude" is Claude's export and Claude Code's sessions.
        """
        self._committer.check_open()
        await self._runtime.journal.look()
        return await asyncio.to_thread(imported_sessions, self._runtime, source)

    async def approve_import(
        self, *, run: str = "", session: str = "", source: str = ""
    ) -> list[ImportedSession]:
        """Let the runtime recall by itself what was imported by now: by one import, into one
        session, or from one source. It is written down, and `revoke_import` takes it back.

        What was imported keeps its origin: no claim is made of it, and it has nobody's authority.
        Returns the sessions. Raises `BadInput` unless exactly one is named, `SessionNotFound` if
        nothing was imported so.
        """
        return await self._rule(ImportApproved, run=run, session=session, source=source)

    async def revoke_import(
        self, *, run: str = "", session: str = "", source: str = ""
    ) -> list[ImportedSession]:
        """Take an approval back: from the next request on nothing of these sessions is recalled.
        What requests showed before stays in their windows until an epoch. Raises as
        `approve_import` does.
        """
        return await self._rule(ImportRevoked, run=run, session=session, source=source)

    async def _rule(
        self,
        ruling: type[ImportApproved | ImportRevoked],
        *,
        run: str,
        session: str,
        source: str,
    ) -> list[ImportedSession]:
        if sum(map(bool, (run, session, source))) != 1:
            raise BadInput("one of `run`, `session` and `source` says what is meant")
        found = [
            one
            for one in await self.imports(source)
            if (not run or run in one.runs)
            and (not session or session in (one.session_id, one.name))
        ]
        if not found:
            raise SessionNotFound(run or session or source)
        index = self._runtime.index
        rows = [await asyncio.to_thread(index.find_session, one.session_id) for one in found]
        numbers = tuple(row.session for row in rows if row is not None)
        draft = Draft(
            session=STORE,
            turn=TurnNo(0),
            actor=Actor.USER,
            origin=RUNTIME,
            body=ruling(sessions=numbers),
        )
        await self._runtime.journal.append([draft])
        named = {one.session_id for one in found}
        return [one for one in await self.imports(source) if one.session_id in named]

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
            raise BadInput(
                "no embedder is configured",
                hint=f"set `embedder` to one of {EmbedderSpec.forms()}",
            )
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
        for session in self._above:
            if session.overlay is not None:
                await asyncio.to_thread(session.overlay.close)
        await asyncio.to_thread(self._runtime.searching.shutdown)
        await asyncio.to_thread(self._committer.close)
        self._store.close()

    async def _open(self, row: SessionRow, *, is_leased: bool = False) -> Session:
        session = self._sessions.get(row.session)
        if session is None:
            owned = await self._owned(row.session, is_leased=is_leased)
            session = self._session(owned, row.session_id, row.name, self._runtime)
            self._sessions[row.session] = session
            self._recent.append(session)
        return session

    async def _owned(self, number: SessionNo, *, is_leased: bool = False) -> Owned:
        """What is written of a session, folded."""
        row = await asyncio.to_thread(self._runtime.index.session, number)
        if row is None:
            raise SessionNotFound(str(number))
        state, folded = await asyncio.to_thread(restore, self._runtime, row)
        return Owned(
            session=row.session,
            called=row.name or row.session_id,
            state=state,
            folded=folded,
            runtime=self._runtime,
            is_leased=is_leased,
        )

    def _session(
        self,
        owned: Owned,
        session_id: str,
        name: str,
        runtime: Runtime,
        overlay: Overlay | None = None,
    ) -> Session:
        return Session(
            owned=owned,
            session_id=session_id,
            name=name,
            runtime=runtime,
            open_new=self._open_new,
            switch=self._switch,
            overlay=overlay,
        )

    def _check_own(self, session: Session) -> None:
        if session._runtime is not self._runtime and session not in self._above:
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
            scope = self._runtime.scope(_written(target))
            parts = with_former(self._runtime, scope, self._parts(target, PageId(page_id)))
            return plan_page(self._runtime, _written(target), parts)
        return plan_session(self._runtime, _written(target))

    def _parts(self, target: Session, page_id: PageId) -> list[PageRow]:
        """Every part of the text that a page is part of."""
        index, scope = self._runtime.index, self._runtime.scope(_written(target))
        scope = scope.derived if is_derived(page_id) else scope
        row = index.find_page(scope, page_id)
        if row is None:
            raise target.no_such_page(page_id)
        first = row.order - row.part
        wanted = PageFilter(after_order=first - 1, before_order=first + row.parts)
        return [r for r in index.pages(scope, wanted, limit=row.parts) if r.parts == row.parts]
