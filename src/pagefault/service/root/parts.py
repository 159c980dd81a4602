"""The state of a memory: its store, its open sessions, and how one is opened.

The façades beside this module add verbs to it and no field, and none knows another.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from pagefault.model.errors import BadInput, SessionNotFound
from pagefault.model.events import RecallRuling, SessionOpened
from pagefault.model.ids import NOTHING, Seq, SessionNo
from pagefault.model.kinds import ControlMode, LayoutName, Mode
from pagefault.model.page import EVERYTHING, Scope, SessionRow
from pagefault.model.progress import Progress
from pagefault.model.wanted import SearchFilter
from pagefault.service.control import Overlay, given_control
from pagefault.service.derived.embedding import Embedding
from pagefault.service.derived.reranking import Reranking
from pagefault.service.lookup.questions import Asking
from pagefault.service.ownership import Owned
from pagefault.service.regions import joined
from pagefault.service.restore import restore
from pagefault.service.runtime import Runtime
from pagefault.service.scrub import CountingScreen
from pagefault.service.session import Session
from pagefault.service.verbs import within
from pagefault.store.api import Copied
from pagefault.store.commit import Committer
from pagefault.store.store import Store, about_store

T = TypeVar("T")

RECENT_SESSIONS: Final = 8
"""Sessions that stay folded after their last user is gone: their windows may take a megabyte each.
"""


def check_open(memory: MemoryParts) -> None:
    """Raise `StoreClosed` once the memory is closed."""
    memory._runtime.journal.check_open()


def written(session: Session) -> SessionNo:
    """What is written of a session, by its number."""
    if session.kept_as is None:
        raise BadInput(
            f"nothing of {session.called!r} is written",
            hint="it lasts only as long as this process",
        )
    return session.kept_as


class MemoryParts(Asking):
    """The one state of a memory, for all of its façades."""

    def __init__(
        self,
        *,
        store: Store,
        committer: Committer,
        runtime: Runtime,
        embedding: Embedding | None = None,
        reranking: Reranking | None = None,
        home: Path | None = None,
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
        self._home = home  # its folder, if it has one
        self._copy = copy  # copies its files, if it has any
        self._window_tokens = window_tokens
        self._mode = mode
        self._layout = layout
        self._control = control
        self._overlay = overlay  # makes one, given a number that is used once
        self._screen_for = screen_for  # also redacts these values, and paths
        self._above: list[Session] = []  # sessions in overlays: kept, as only they hold their text
        self._overlays = 0  # made so far
        # One object for a session as long as anybody uses it; of unused ones, the latest are kept.
        self._sessions: WeakValueDictionary[SessionNo, Session] = WeakValueDictionary()
        self._recent: deque[Session] = deque(maxlen=RECENT_SESSIONS)
        self._opening = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._forgot = 0  # times, by this memory
        self._notices: list[str] = []
        store.on_forgotten = self._others_forgot
        runtime.journal.heed = self._heed

    async def _switch(self, session: Session, mode: ControlMode) -> None:
        """Switch a session of this memory to a requested mode."""
        raise NotImplementedError

    async def _heed(self) -> None:
        """Switch every session to the mode that another process gave it."""
        raise NotImplementedError

    async def _look(self) -> None:
        """Notice what other processes wrote. Raises `StoreClosed`, and `StoreLatched`."""
        self._committer.check_open()
        await self._runtime.journal.look()

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Within this block nobody else here opens a session or changes a mode."""
        async with self._opening:
            with within():
                yield

    async def _find_session(self, name: str) -> Session:
        """The session with that name or id, in the mode that it has here."""
        async with self._alone():
            await self._runtime.journal.look()
            row = await asyncio.to_thread(self._runtime.index.find_session, name)
            if row is not None:
                return await self._open(row)
            for session in self._above:
                if name in (session.name, session.session_id):
                    return session
        raise SessionNotFound(name)

    def _live(self) -> list[Session]:
        return list(self._sessions.values())

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
            called=row.called,
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

    async def _open_new(self, opened: SessionOpened, given: Seq = NOTHING) -> Session:
        """Open a new session or fork; raises as `Journal.open_session` does."""
        self._runtime.check_opened(opened)
        number = await self._runtime.journal.open_session(about_store(opened), given)
        row = await asyncio.to_thread(self._runtime.index.session, number)
        if row is None:
            raise SessionNotFound(opened.name)  # another process forgot it meanwhile
        return await self._open(row, is_leased=row.session_id == opened.session_id)

    async def _write_ruling(self, ruling: RecallRuling) -> None:
        await self._runtime.journal.append([about_store(ruling)])
        self._runtime.quarantine.read_on(anew=True)

    async def _given_control(self) -> ControlMode:
        """The control mode last set for the whole memory, or else the default for new sessions."""
        given, _ = await asyncio.to_thread(given_control, self._runtime)
        return given or self._control

    async def _stoppable(self, work: Callable[[], T], stop: threading.Event) -> T:
        """Run it in a thread, and set `stop` if the caller gives up. Closing waits for its end."""
        task = asyncio.ensure_future(asyncio.to_thread(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            stop.set()
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            raise

    async def _whole(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it to its end, even if the caller gives up: half a forget would leave sessions with
        erased pages.
        """
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _asked(self, wanted: SearchFilter) -> Scope:
        await self._look()
        if wanted.sessions is not None:
            return await asyncio.to_thread(self._seen_by, wanted.sessions)
        if not wanted.session:
            return EVERYTHING
        return await asyncio.to_thread(lambda: self._runtime.scope(self._number(wanted.session)))

    def _seen_by(self, names: Collection[str]) -> Scope:
        """All that these sessions see. Blocks on the store."""
        runtime = self._runtime
        with runtime.index.moment():
            scopes = [runtime.seen(runtime.scope(self._number(name))) for name in names]
        return replace(joined(Scope(()), scopes), is_several=True)

    def _row(self, session: str) -> SessionRow:
        """The session of this name or id. Raises `SessionNotFound`. Blocks on the store."""
        row = self._runtime.index.find_session(session)
        if row is None:
            raise SessionNotFound(session)
        return row

    def _rows(self, session: str) -> list[SessionRow]:
        """The session of this name or id, or all for "". Raises `SessionNotFound`. Blocks on the
        store.
        """
        return [self._row(session)] if session else self._runtime.index.sessions()

    async def _id_of(self, session: str) -> str:
        """The id of the session of this name or id; "" for "". Raises `SessionNotFound`."""
        return (await asyncio.to_thread(self._row, session)).session_id if session else ""

    def _number(self, session: str) -> SessionNo:
        return self._row(session).session

    def _check_own(self, session: Session) -> None:
        if session._runtime is not self._runtime and session not in self._above:
            raise BadInput(
                f"session {session.called!r} belongs to another memory",
                hint="get it from this one: `session(name)`",
            )

    def _others_forgot(self) -> None:
        """Another process forgot or withdrew something: drop every cache that may still have it."""
        self._runtime.quarantine.read_on(anew=True)
        self._flush()
        for session in self._live():
            session.owned.outdate()

    def _flush(self) -> None:
        """Drop every cached text."""
        for runtime in (self._runtime, *(session._runtime for session in self._above)):
            runtime.pages.flush()
            runtime.packs.drop()
        if self._embedding is not None:
            self._embedding.flush()
