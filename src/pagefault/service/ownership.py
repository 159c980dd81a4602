"""Local session state and its write lease.

One process at a time writes to a session: the first record that a verb appends leases it. What
another process wrote or forgot meanwhile is folded first, and then the verb plans again.

Invariants, true whenever a verb begins:
 (1) The state is the fold of every record up to `folded` that the session sees, and of calls that
     are queued to be written.
 (2) Where that may not be so, the session is outdated, and is folded anew before the verb.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, TypeVar

from pagefault.model.errors import (
    PagefaultError,
    PlanOutdated,
    SessionBusy,
    SessionNotFound,
    StoreBusy,
)
from pagefault.model.events import (
    Body,
    CallRefused,
    Draft,
    Event,
    Faulted,
    PageBody,
    Reported,
    Searched,
    expected,
)
from pagefault.model.ids import NOTHING, Seq, SessionNo
from pagefault.model.kinds import MODEL_GENERATED, RUNTIME, Actor, Origin
from pagefault.service.restore import restore
from pagefault.service.runtime import Runtime
from pagefault.service.verbs import within
from pagefault.service.window.derived_drafts import Made, with_causes, write_derived
from pagefault.service.window.state import SessionState, turn_now

T = TypeVar("T")

_PLANS_MAX: Final = 10  # of one verb, while others forget what it rests on


class Owned:
    """The state of a session, and the only way to change it. For one event loop."""

    def __init__(
        self,
        *,
        session: SessionNo,
        called: str,
        state: SessionState,
        folded: Seq,
        runtime: Runtime,
        is_leased: bool = False,
    ) -> None:
        self.session = session
        self.state = state
        self.folded = folded
        self.scope = runtime.scope(session)
        self.called = called  # its name
        self._runtime = runtime
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._queued: list[asyncio.Future[list[Event]]] = []  # records of calls being written
        self._dirty: list[Draft] = []  # derived pages that were folded, and not yet written
        self._dirty_planned = 0  # the value of `forgets` when the first of them was made
        self._ended: PagefaultError | None = None  # why no verb works any more
        self._is_leased = is_leased  # as far as we know: the log is asked at each append
        self._is_outdated = False  # by another process's forget, or by a failed write

    @property
    def runtime(self) -> Runtime:
        return self._runtime

    async def whole(self, verb: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a verb to its end under the lock, even if its caller gives up."""
        task = self._begin(verb)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_retrieve)
            raise

    async def carry_out(
        self, plan: Callable[[], tuple[list[Draft], T]], *, dry_run: bool = False
    ) -> T:
        """Compute a plan in a thread and write its drafts as one batch, unless it is a `dry_run`.
        Returns the plan's result.
        """

        async def verb() -> T:
            planned = self._runtime.journal.forgets
            await self.written()  # the log decides the origin of a page
            drafts, told = await asyncio.to_thread(plan)
            if not dry_run:
                await self.commit(drafts, planned=planned)
            return told

        return await self.whole(verb)

    def afterwards(self, verb: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a verb that nobody awaits, after those under way and before the next. If it fails,
        its effect is simply missing.
        """
        self._begin(verb).add_done_callback(_retrieve)

    def _begin(self, verb: Callable[[], Coroutine[Any, Any, T]]) -> asyncio.Task[T]:
        async def locked() -> T:
            async with self._lock:
                with within():
                    return await self._planned(verb)

        task = asyncio.ensure_future(locked())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _planned(self, verb: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of a verb on the current state; it is planned again whenever that changes."""
        self.check_there()
        await self._see()
        for _ in range(_PLANS_MAX):
            try:
                return await verb()
            except PlanOutdated:  # so nothing was written
                if self._is_outdated:
                    await self._restore()
        raise StoreBusy("others forget what this rests on, again and again")

    @asynccontextmanager
    async def quiet(self) -> AsyncIterator[None]:
        """Within this block no verb runs, and every record of earlier verbs is written."""
        async with self._lock:
            await self.written()
            yield

    def replace(self, state: SessionState, folded: Seq) -> None:
        """Continue from a newly folded state: something the session sees was forgotten. In
        `quiet`.
        """
        self.state, self.folded = state, folded
        self._dirty = []  # can be made again, from what is still there
        self.scope = self._runtime.scope(self.session)

    def outdate(self) -> None:
        """Fold again before the next verb: another process forgot something. From any thread."""
        self._is_outdated = True

    async def renew(self) -> None:
        """Fold again: the session's visible records have changed. Within a verb."""
        self._is_outdated = True
        await self._restore()

    async def see_changes(self) -> None:
        """Fold again if another process changed what the session may see; for readers."""
        if self._is_outdated:
            async with self._lock:
                await self._see()

    async def refresh(self) -> None:
        """Read what other processes did, unless we hold the lease: then nobody else writes."""
        if not self._is_leased:
            async with self._lock:
                await self._see()

    async def caught_up(self) -> None:
        """Before records are read: all of ours are written, and those of others are known."""
        self.check_there()
        await self.written()
        await self.refresh()

    async def _see(self) -> None:
        """Read what other processes did to this session."""
        await self._runtime.journal.look()
        if self._is_outdated:
            await self._restore()
        elif not self._is_leased:
            row = await asyncio.to_thread(self._runtime.index.session, self.session)
            if row is None or row.last_seq > self.folded:
                await self._restore()

    @property
    def is_certain(self) -> bool:
        """Whether nobody else can have changed the session since it was folded, as far as we
        know.
        """
        return self._is_leased and not self._is_outdated and self._ended is None

    async def lease(self) -> bool:
        """Lease this session for writing. Returns whether others had changed it, so that it was
        folded again.
        """
        changed = self._is_outdated
        if not self._is_leased:
            leased = await self._runtime.journal.lease(self.session)
            self._is_leased = True
            changed = changed or leased.before > self.folded
            if not changed:
                self.folded = max(self.folded, leased.seq)
        if changed:
            await self._restore()
        return changed

    async def give_up(self) -> None:
        """Let other processes write to this session; the next verb that writes leases it again."""

        async def verb() -> None:
            await self.flush()
            given_up = await self._runtime.journal.give_up(self.session)
            self._is_leased = False
            if given_up is not None and given_up.before <= self.folded:
                self.folded = given_up.seq

        await self.whole(verb)

    async def _restore(self) -> None:
        """Fold this session again, from the log."""
        await self.drain()
        self._is_outdated = False  # before we read: what comes then sets it again
        try:
            row = await asyncio.to_thread(self._runtime.index.session, self.session)
            if row is None:
                self.end()
                self.check_there()
            else:
                self.replace(*await asyncio.to_thread(restore, self._runtime, row))
        except BaseException:
            self._is_outdated = True
            raise

    def end(self, why: PagefaultError | None = None) -> None:
        """No verb works from here on: the session was forgotten, or `why` says otherwise."""
        self._ended = why or SessionNotFound(self.called)

    def check_there(self) -> None:
        if self._ended is not None:
            raise self._ended

    async def settled(self) -> None:
        """Wait until every verb under way has ended."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        await self.written()

    async def written(self) -> None:
        """Wait until the record of every call so far was written, or failed."""
        if self._queued:
            await asyncio.wait(self._queued)

    def note_call(self, body: CallRefused | Faulted | Searched, *, cause: Seq | None = None) -> str:
        """Fold a call at once and queue its record, ahead of the next append. `cause` is the last
        request, unless it is given.
        """
        event = self._note(body, Actor.MODEL, MODEL_GENERATED, cause)
        with self._doubting():
            return self.state.fold_call(event)

    def note(self, body: Reported) -> None:
        """The same for a provider's report."""
        event = self._note(body, Actor.SYSTEM, RUNTIME)
        with self._doubting():
            self.state.fold(event)

    def keep(self, drafts: Sequence[Draft]) -> None:
        """Fold derived pages at once. They are dirty until they are written, at the latest with the
        next append.
        """
        if not self._dirty:
            self._dirty_planned = self._runtime.journal.forgets
        with self._doubting():
            for draft in drafts:
                self.state.fold(expected(draft))
                self._dirty.append(draft)

    def draft(
        self,
        body: Body,
        actor: Actor = Actor.SYSTEM,
        origin: Origin = RUNTIME,
        *,
        cause: Seq = NOTHING,
        model: str = "",
    ) -> Draft:
        """A record of the current turn."""
        return Draft(
            session=self.session,
            turn=turn_now(self.state),
            actor=actor,
            origin=origin,
            body=body,
            cause=cause,
            model=model,
        )

    def derive(self, items: Sequence[Made], *, before: Sequence[Draft] = ()) -> list[Draft]:
        """Records of derived pages in the current turn, to be written after those of `before`."""
        clean = self._runtime.journal.clean
        return write_derived(
            items, session=self.session, state=self.state, clean=clean, before=before
        )

    def _note(self, body: Body, actor: Actor, origin: Origin, cause: Seq | None = None) -> Event:
        led_to = self.state.packed_seq if cause is None else cause
        model = self._runtime.model if actor is Actor.MODEL else ""
        draft = self.draft(body, actor, origin, cause=led_to, model=model)
        dirty, self._dirty = self._dirty, []
        planned = self._dirty_planned if dirty else None
        batch = with_causes([*dirty, draft])
        append = self._runtime.journal.append(batch, planned=planned)
        record = asyncio.ensure_future(append)
        self._queued.append(record)
        self._runtime.under_way.add(record)
        record.add_done_callback(self._runtime.under_way.discard)
        return expected(draft)

    async def record(
        self, *bodies: Body, actor: Actor = Actor.SYSTEM, planned: int | None = None
    ) -> None:
        """Commit these as records of the current turn."""
        drafts = [self.draft(body, actor) for body in bodies]
        await self.commit(drafts, planned=planned)

    async def commit(self, drafts: Sequence[Draft], *, planned: int | None = None) -> list[Event]:
        """Write these, after what is dirty, and fold them. Raises `PlanOutdated`, with nothing
        written, if the session has changed since they were planned.

        After an unexpected failure, the next verb asks the log what was written.
        """
        if (drafts or self._dirty) and await self.lease():
            raise PlanOutdated("another process changed this session")
        dirty = len(self._dirty)
        if dirty and planned is None:
            planned = self._dirty_planned
        try:
            with self._runtime.timed("append"):
                batch = with_causes([*self._dirty, *drafts])
                events = await self._runtime.journal.append(batch, planned=planned)
                self._dirty = []
                await self.drain()  # written before these: only the outcome is open
            for event in events:
                self.state.fold(event)
                self.folded = event.seq
        except PagefaultError as refused:  # nothing was written, or nothing can be from now on
            if isinstance(refused, SessionBusy):
                self._doubt()
            raise
        except BaseException:  # e.g. no memory: it may be written all the same
            self._doubt()
            raise
        return events[dirty:]

    @contextmanager
    def _doubting(self) -> Iterator[None]:
        """A fold that fails half-way leaves an unknown state, so the session is folded again."""
        try:
            yield
        except BaseException:
            self._doubt()
            raise

    def _doubt(self) -> None:
        """The folded state may not be the written one, ours or another's: ask the log again."""
        self._is_leased, self._is_outdated = False, True

    @property
    def is_dirty(self) -> bool:
        """Whether derived pages wait to be written."""
        return bool(self._dirty)

    async def flush(self) -> None:
        """Write what is dirty, and wait for what is queued. Within a verb."""
        await self.commit([])
        await self.drain()

    async def drain(self) -> None:
        """Wait for the records of calls. If one could not be written, it was folded all the same,
        so this session must be folded again.
        """
        if not self._queued:
            return
        outcomes = await asyncio.gather(*self._queued, return_exceptions=True)
        self._queued.clear()
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                self._doubt()
                raise outcome
            self.folded = max([self.folded, *(event.seq for event in outcome)])
            for event in outcome:
                if isinstance(event.body, PageBody):  # a derived page that was dirty until now
                    self.state.fold(event)


def _retrieve(task: asyncio.Task[Any]) -> None:
    """Retrieve the outcome of a verb nobody awaits any more, or asyncio complains."""
    if not task.cancelled():
        task.exception()
