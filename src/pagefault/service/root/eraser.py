"""Erasing from a memory: forgetting, retention, and redaction of secrets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from pagefault.model.errors import (
    BadInput,
    PagefaultError,
    SessionBusy,
    StoreBusy,
    StoreCorrupt,
)
from pagefault.model.events import RetentionRule, RetentionSet
from pagefault.model.ids import PageId, Seq, SessionNo
from pagefault.model.page import PageRow, is_derived
from pagefault.model.signatures import checked_verbs
from pagefault.model.wanted import ANY, SearchFilter
from pagefault.service.control import given_control
from pagefault.service.forget import (
    ForgetPlan,
    Forgetting,
    plan_page,
    plan_pages,
    plan_session,
    with_former,
)
from pagefault.service.lookup.selecting import select
from pagefault.service.restore import restore
from pagefault.service.retention import a_period_days, changed, find_expired, rules_of
from pagefault.service.root.parts import MemoryParts, check_open, written
from pagefault.service.scrub import Scrub, Scrubbing
from pagefault.service.session import Session
from pagefault.store.controls import nothing_kept
from pagefault.store.references import NAMING, References
from pagefault.store.soundness import blobs_of


def _whole(plans: Sequence[ForgetPlan]) -> list[ForgetPlan]:
    """These pages, and their copies in regions."""
    return [one for plan in plans for one in plan.whole()]


@checked_verbs(usable=check_open)
class Eraser(MemoryParts):
    """The verbs that erase."""

    async def forget(
        self, session: Session | str, page_id: str = "", *, dry_run: bool = False
    ) -> Forgetting:
        """Erase a page (all parts of its text), or a whole session, from everything under the root.

        `session` is a session, or its name or id. Afterwards no byte of it is in log or index, and
        sessions that showed it begin a new epoch. Irreversible. `dry_run` only returns what would
        be erased. Forks keep what was said in them.

        Raises `SessionBusy` if another process writes to the page's session, and `StoreBusy` if
        another process prevents the end: the page can no longer be found then, and the next opening
        finishes the erasure.
        """
        named = session.session_id if isinstance(session, Session) else session
        target = await self._find_session(named)
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
        """Erase every page that has all words of `query`, in any of their forms, and passes a
        filter: in one session (`wanted.session`) or in all. Returns a receipt for each session that
        loses pages.

        Otherwise as `forget`. Pages derived from these are erased too, and earlier versions of an
        edited message with it. Raises `BadInput` if neither filter nor query leaves anything out:
        to forget a whole session, use its name.
        """
        if not (wanted.is_some or wanted.imported_from or query.strip()):
            raise BadInput(
                "this would forget everything",
                hint="narrow it down: words, an origin, a kind, a time; or name a session to "
                "forget it whole",
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
        """Redact what is already written by the rules for new writes: the redaction rules and known
        values of this memory, and also these `values`, in every spelling; with `home_paths` user
        names in paths, too. Irreversible. `dry_run` only returns what would be redacted.

        Afterwards no byte of it is in log, index, vectors, blobs or archive, and sessions that
        showed it begin a new epoch. Claims that rest on redacted text become stale. Text that a
        client sends again is redacted only if it is a known value by then, or looks like a secret.

        Raises `BadInput` for a value too short to be told from ordinary text, `ScreenFailed` if a
        rule fails, with nothing changed, and otherwise as `forget` does.
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
                for owner in self._leasable(scrub.plan.owners):
                    self._store.lease(owner)
                scrub.read_on()
                if self._store.forgets != forgets:
                    raise StoreBusy(
                        "another process forgot something in the meantime", hint="try again"
                    )
                for owner in self._leasable(scrub.plan.owners):
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
        """How long pages are kept, as last set; without a rule, for ever."""
        await self._look()
        return await asyncio.to_thread(rules_of, self._runtime)

    async def set_retention(
        self, keep: str | None, *, kind: str = "", session: str = "", dry_run: bool = False
    ) -> tuple[RetentionRule, ...]:
        """Set how long pages are kept ("7d", "30d", "90d", any days, "forever"): those of a kind,
        of a session (its name or id), or all that no other rule covers; `None` removes the rule.
        Returns the rules in force; `dry_run` only returns them.

        Pages past their time are erased when the memory is opened for writing, within the hour
        while `serve` runs, and by `expire`. Raises `BadInput`, `SessionNotFound`.
        """
        days = None if keep is None else a_period_days(keep)
        session_id = await self._id_of(session)

        def set_() -> tuple[RetentionRule, ...]:
            rules = changed(rules_of(self._runtime), kind, session_id, days)
            if not dry_run:
                self._store.note(RetentionSet(rules=rules))
            return rules

        return await (asyncio.to_thread(set_) if dry_run else self._committer.run(set_))

    async def expire(
        self, *, dry_run: bool = False, rules: Sequence[RetentionRule] | None = None
    ) -> tuple[Forgetting, ...]:
        """Erase pages past their time, by the rules of `retention` unless others are given. Returns
        a receipt for each session that loses pages. One that another process writes to is left for
        the next time (`done` is false). `dry_run` only returns what would be erased.
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
            raise nothing_kept(given, so=what)

    async def keep_retention(self) -> str:
        """Runs `expire`, and returns a sentence that says what was erased, or why nothing could be;
        "" if nothing was due. In a mode that writes nothing, nothing is erased either.
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
        """Erase pages past their time before the memory is handed out: see `notices`."""
        if told := await self.keep_retention():
            self._notices.append(told)

    async def _erase(
        self, planned: Callable[[], list[ForgetPlan]], *, past_busy: bool = False
    ) -> tuple[Forgetting, ...]:
        """Carry out a plan, which is made again while nobody writes. `past_busy` leaves out
        sessions that another process writes to; their receipts say they are not done.
        """
        async with self._still():
            going: list[ForgetPlan] = []
            busy: set[SessionNo] = set()
            known = await asyncio.to_thread(lambda: self._references_for(_whole(planned())))

            def erase() -> list[ForgetPlan]:
                """Nobody writes meanwhile, here or elsewhere, so the plan is up to date."""
                self._store.check_writable()
                owners = {owner for plan in _whole(planned()) for owner in plan.owners}
                for owner in self._leasable(owners):
                    try:
                        self._store.lease(owner)
                    except SessionBusy:
                        if not past_busy:
                            raise
                        busy.add(owner)
                plans = planned()
                going.extend(
                    plan
                    for plan in plans
                    if all(busy.isdisjoint(one.owners) for one in plan.whole())
                )
                # Apart: a receipt that names sessions says nothing of turns (`Receipts`).
                for whole in (False, True):
                    self._forget(
                        [one for one in _whole(going) if bool(one.sessions) is whole], known
                    )
                return [plan for plan in plans if plan not in going]

            try:
                left = await self._committer.run(erase)
            except StoreBusy:
                if going:
                    await self._after_forgetting(_whole(going))
                raise
            if going:
                await self._after_forgetting(_whole(going))
        done = (plan.report(done=True) for plan in going)
        return (*done, *(plan.report(done=False) for plan in left))

    @asynccontextmanager
    async def _still(self) -> AsyncIterator[None]:
        """Within this block no session opens and no verb runs, and every record is written."""
        async with self._alone(), AsyncExitStack() as quiet:
            held: set[Session] = set()
            while waiting := [one for one in self._live() if one not in held]:  # a fork may join
                for session in waiting:
                    await quiet.enter_async_context(session.owned.quiet())
                    held.add(session)
            yield

    def _leasable(self, owners: Collection[SessionNo]) -> list[SessionNo]:
        """Those sessions that have a single writer: a region can have several."""
        return sorted(set(owners).difference(self._runtime.regions.policies()))

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
        """Which records refer to which blobs, if any record to be forgotten refers to one. Read
        before the block that makes others wait.
        """
        index = self._runtime.index
        owners = {owner for plan in plans for owner in (*plan.owners, *plan.sessions)}
        naming = {seq for owner in owners for seq in index.events(owner, types=NAMING)}
        return self._references_to(naming.intersection(s for plan in plans for s in plan.seqs))

    def _references_to(self, seqs: Collection[Seq]) -> References | None:
        """The same, for these records only."""
        return self._store.references() if any(map(self._names_blobs, seqs)) else None

    def _names_blobs(self, seq: Seq) -> bool:
        with suppress(StoreCorrupt):  # erased with the others
            return bool(blobs_of(self._runtime.log.get(seq).body))
        return False

    async def _after_forgetting(self, plans: Sequence[ForgetPlan]) -> None:
        """Refresh live sessions, so that none shows what was erased."""
        for session in (session for plan in plans for session in plan.sessions):
            gone = self._sessions.pop(session, None)
            if gone is not None:
                gone.owned.end()
        await self._after_changing({own for plan in plans for own in plan.owners}, "forgotten")

    async def _after_changing(self, owners: Collection[SessionNo], why: str) -> None:
        """Refresh live sessions after these records were rewritten."""
        self._forgot += 1
        self._flush()
        for live in self._live():
            seen = await asyncio.to_thread(live._runtime.could_see, live.session)
            if any(part in owners for part, _ in seen.parts):
                row = await asyncio.to_thread(live._runtime.index.session, live.session)
                assert row is not None
                state, folded = await asyncio.to_thread(restore, live._runtime, row)
                state.epoch_due = why
                live.owned.replace(state, folded)

    def _plan_forget(self, target: Session, page_id: str) -> ForgetPlan:
        if page_id:
            scope = self._runtime.scope(written(target))
            parts = with_former(self._runtime, scope, self._parts(target, PageId(page_id)))
            return plan_page(self._runtime, written(target), parts)
        return plan_session(self._runtime, written(target))

    def _parts(self, target: Session, page_id: PageId) -> list[PageRow]:
        """Every part of the text that a page is part of."""
        index, scope = self._runtime.index, self._runtime.scope(written(target))
        scope = scope.derived if is_derived(page_id) else scope
        row = index.find_page(scope, page_id)
        if row is None:
            raise target.no_such_page(page_id)
        return self._runtime.parts_of(scope, row)
