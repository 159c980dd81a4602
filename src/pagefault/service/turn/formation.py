"""Formation: ranges of a conversation become memory, in the background after a turn.

A range is begun under the session's lock (some milliseconds: the sent request is composed, and
`formation_begun` written), a former is asked in the background, and the admitted proposals are
written under the lock again, in one batch with `formation_ended`. So:

 (1) A range is formed once. Its pages are written with its end, or not at all; if two processes
     form one range, the second to end finds it ended, or begun again, and writes nothing.
 (2) A process killed in between leaves a range begun. It is begun again, with the same pages,
     `formation_tries_max` times in all; then it is given up, and quoted when it leaves.
 (3) What was read of the session must still exist when its pages are written: if a page was
     forgotten or withdrawn meanwhile, the answer may hold words of it, and is discarded.
 (4) No request changes by it. The next epoch may show a summary of it, after some turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pagefault.engine.api import Engine
from pagefault.engine.former import FormationRequest, Former, Proposals
from pagefault.model.errors import EngineUnreachable, PagefaultError
from pagefault.model.events import (
    Conflict,
    Draft,
    Dropped,
    Event,
    FormationBegun,
    FormationEnded,
)
from pagefault.model.ids import PageId, Seq
from pagefault.model.kinds import FormationOutcome, Origin
from pagefault.model.page import Page
from pagefault.model.quotas import tenant_of
from pagefault.pack.engine_former import EngineFormer
from pagefault.service.derived.claims import Claims
from pagefault.service.derived.labels import Labels
from pagefault.service.ownership import Owned
from pagefault.service.restore import records
from pagefault.service.turn.admission import Admission
from pagefault.service.turn.lived import Lived, OwnWindow, can_go_on, due, next_range
from pagefault.service.turn.reflection import Reflection
from pagefault.service.window.ranges import FormedRange
from pagefault.service.window.state import SessionState

TYPES: Final = ("formation_begun", "formation_ended")
_DAY_MS: Final = 86_400_000

LivedNow = Callable[[SessionState], Awaitable[Lived | None]]
"""The turns of a session before its model, in its current state; None if the model is not to be
asked about them.
"""
Told = Callable[["Formed | PagefaultError"], None]
"""Called with each range formed in the background, or with the reason that one was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Formed:
    """A range of a session, and its outcome.

    `outcome` is "formed", "nothing" (no proposal could be kept), "given_up", "begun" (a process is
    forming it, or was killed) or "due" (it is closed, and its forming has not begun). `is_active`
    means that an epoch may show its summary by now. `dropped` counts the proposals that were not
    taken, by reason; `conflicts` are claims that contradict existing ones. `tokens` are those of
    its requests, by our count, and `input_tokens`, `output_tokens` and `cached_tokens` the
    provider's report for the last.
    """

    first: PageId
    last: PageId
    pages: int
    outcome: str
    tries: int = 0
    former: str = ""
    made: tuple[PageId, ...] = ()
    is_active: bool = False
    dropped: tuple[Dropped, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    tokens: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class _TakenUp:
    """A range being formed, and the session's state when that began."""

    given: FormationRequest
    begun: FormationBegun
    seq: Seq  # of its record
    state: SessionState
    forgets: int
    ruled: Seq  # the last ruling on origins
    lowest: Origin | None  # the least trusted of the model's window, if it matters


class Formation:
    """The formation of one session. One range is formed at a time."""

    def __init__(self, owned: Owned, claims: Claims, labels: Labels) -> None:
        self._owned = owned
        self._runtime = owned.runtime
        self._labels = labels
        self._admission = Admission(owned, claims, labels)
        self._reflection = Reflection(owned, claims, labels)
        self._asking = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._resting: asyncio.TimerHandle | None = None

    # --- asynchronously -----------------------------------------------------------------------

    def after_turn(self, engine: Engine) -> None:
        """`begin` after a turn that this engine answered, if memory is to be formed."""
        state = self._owned.state
        if self._runtime.forms and state.control.captures:
            former = EngineFormer(engine, self._runtime.counter)
            # A range that was begun and left the window must be settled.
            is_due = state.ranges.begun or next_range(self._window(state), state.ranges)
            self.begin(former, self._own_window, is_due=bool(is_due))

    def begin(
        self,
        former: Former,
        lived: LivedNow,
        told: Told = lambda _: None,
        *,
        is_due: bool = True,
    ) -> None:
        """Form what is closed by now in the background, if anything may be formed, unless that is
        under way. Once the conversation rests (`limits.formation_rest_s`), form the remainder, too.
        """
        self.goes_on()
        if rest_s := self._runtime.limits.formation_rest_s:
            loop = asyncio.get_running_loop()
            self._resting = loop.call_later(rest_s, self._rest, former, lived, told)
            self._runtime.resting.add(self._resting)
        if is_due:
            self._start(former, lived, told, rests=False)

    def goes_on(self) -> None:
        """A message came in: the conversation does not rest."""
        if self._resting is not None:
            self._resting.cancel()
            self._runtime.resting.discard(self._resting)
            self._resting = None

    def withdrawn(self) -> None:
        """The user no longer agrees: nothing more is asked, and what a model still says is dropped.
        What is being written is written whole.
        """
        self.goes_on()
        if self._task is not None:
            self._task.cancel()

    def _rest(self, former: Former, lived: LivedNow, told: Told) -> None:
        self.goes_on()  # the timer has run out
        if self._owned.state.control.captures:
            self._start(former, lived, told, rests=True)

    def _start(self, former: Former, lived: LivedNow, told: Told, *, rests: bool) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._in_background(former, lived, told, rests))
            self._runtime.forming.add(self._task)
            self._task.add_done_callback(self._runtime.forming.discard)

    async def _in_background(
        self, former: Former, lived: LivedNow, told: Told, rests: bool
    ) -> None:
        try:
            await self.form(former, lived, rests=rests, told=told)
        except PagefaultError as error:  # begun again after a later turn
            told(error)

    # --- a range ------------------------------------------------------------------------------

    async def form(
        self,
        former: Former,
        lived: LivedNow | None = None,
        *,
        rests: bool = False,
        told: Told = lambda _: None,
    ) -> list[Formed]:
        """Form every closed range; `told` is called with each. If the conversation `rests`, form
        the last one, too, and propose lessons of finished work. Raises `EngineError` if the former
        failed: a later call begins that range again.
        """
        done: list[Formed] = []
        async with self._asking:
            while (ended := await self._form_next(former, lived, rests)) is not None:
                told(ended)
                done.append(ended)
            if rests:
                await self._reflection.rest()
        return done

    async def due(self, former: Former, *, rests: bool = False) -> list[Formed]:
        """The ranges that `form` would ask about, with the tokens of each request."""
        await self._owned.caught_up()
        state = self._owned.state
        lived = self._window(state)
        if not lived.is_answered:
            return []
        begun = state.ranges.begun
        tries_max = state.limits.formation_tries_max
        runs = due(lived, state.ranges, rests=rests)
        if begun is not None and can_go_on(lived, begun, tries_max=tries_max):
            runs.insert(0, next_range(lived, state.ranges))
        return [
            replace(_due(run), tokens=former.tokens(replace(lived.given(run), rests=rests)))
            for run in runs
        ]

    def _window(self, state: SessionState) -> Lived:
        return OwnWindow(state, marks=self._runtime.epochs.prices.takes_marks)

    async def _own_window(self, state: SessionState) -> Lived:
        return self._window(state)

    async def _form_next(
        self, former: Former, lived: LivedNow | None, rests: bool
    ) -> Formed | None:
        now = lived or self._own_window
        taken = await self._owned.whole(lambda: self._take_up(former, now, rests))
        if taken is None:
            return None
        told = await self._ask(former, taken)
        return await self._owned.whole(lambda: self._finish(taken, told, former))

    async def _ask(self, former: Former, taken: _TakenUp) -> Proposals:
        seconds = self._runtime.limits.formation_timeout_s or None
        try:
            async with asyncio.timeout(seconds):
                return await former.form(taken.given)
        except TimeoutError:
            raise EngineUnreachable(
                f"no memory was formed within {seconds:g} s",
                hint="the range will be tried again; `limits.formation_timeout_s` sets the time",
            ) from None

    async def _take_up(self, former: Former, lived: LivedNow, rests: bool) -> _TakenUp | None:
        """Begin the next range, and record that; None if none is closed, or the budget is spent, or
        the request would not fit.
        """
        owned = self._owned
        await owned.lease()
        while True:
            state, forgets = owned.state, self._runtime.journal.forgets
            begun, now = state.ranges.begun, await lived(state)
            if now is None:
                return None
            tries_max = state.limits.formation_tries_max
            if begun is not None and not can_go_on(now, begun, tries_max=tries_max):
                await owned.commit([self._gave_up(begun)])
                continue
            pages = next_range(now, state.ranges, rests=rests)
            if not pages or not now.is_answered:
                return None
            given = replace(now.given(pages), rests=rests)
            tokens = former.tokens(given)
            if not now.has_room(tokens) or not await self._affords(tokens):
                return None
            taken_up = FormationBegun(
                first=given.first,
                last=given.last,
                order_from=pages[0].row.order,
                order_to=pages[-1].row.order,
                tries=1 if begun is None else begun.tries + 1,
                former=former.kind,
                tokens=tokens,
                reads_window=former.reads_window,
            )
            lowest: Origin | None = None
            if former.reads_window:
                await owned.written()  # the log decides the origin of a page
                lowest = await asyncio.to_thread(self._labels.before_the_model)
            [*_, written] = await owned.commit([owned.draft(taken_up)], planned=forgets)
            ruled = await asyncio.to_thread(self._runtime.quarantine.read_on)
            return _TakenUp(given, taken_up, written.seq, state, forgets, ruled, lowest)

    async def _finish(self, taken: _TakenUp, told: Proposals, former: Former) -> Formed | None:
        """Write what is admitted, with the end of the range; None if it is no longer ours."""
        owned, begun = self._owned, taken.begun
        if await owned.lease():
            return None
        now = owned.state.ranges.begun
        ruled = await asyncio.to_thread(self._runtime.quarantine.read_on)
        is_same = owned.state is taken.state and self._runtime.journal.forgets == taken.forgets
        is_same = is_same and ruled == taken.ruled
        if now is None or (now.first, now.tries) != (begun.first, begun.tries) or not is_same:
            return None
        await owned.written()  # the log decides the origin of a page
        admitted = await asyncio.to_thread(
            lambda: self._admission.admit(
                taken.given,
                told,
                former=former.kind,
                model=str(getattr(former, "model", "")),
                lowest=taken.lowest,
                cause=taken.seq,
            )
        )
        outcome = FormationOutcome.FORMED if admitted.drafts else FormationOutcome.NOTHING
        usage = told.usage
        ended = FormationEnded(
            first=begun.first,
            last=begun.last,
            order_from=begun.order_from,
            order_to=begun.order_to,
            outcome=outcome,
            made=admitted.made,
            dropped=admitted.dropped,
            conflicts=tuple(admitted.conflicts),
            input_tokens=usage.input_tokens if usage else 0,
            output_tokens=usage.output_tokens if usage else 0,
            cached_tokens=usage.cached_tokens if usage else None,
        )
        await owned.commit([*admitted.drafts, owned.draft(ended)], planned=taken.forgets)
        return _told(begun, ended)

    def _gave_up(self, begun: FormedRange) -> Draft:
        return self._owned.draft(
            FormationEnded(
                first=begun.first,
                last=begun.last,
                order_from=begun.order_from,
                order_to=begun.order_to,
                outcome=FormationOutcome.GIVEN_UP,
            )
        )

    # --- budgets ------------------------------------------------------------------------------

    async def _affords(self, tokens: int) -> bool:
        """Whether the session, and its user today, have so many tokens left."""
        if not tokens:
            return True
        limits = self._runtime.limits
        spent, today = await asyncio.to_thread(self._spent)
        return (
            spent + tokens <= limits.formation_tokens_per_session
            and today + tokens <= limits.formation_tokens_per_day
        )

    def _spent(self) -> tuple[int, int]:
        """The tokens of this session's formation, and of all its user's sessions since the day
        began. Users are tenants (`model/quotas.py`); sessions without one count together.
        """
        runtime, midnight = self._runtime, self._runtime.clock.now_ms() // _DAY_MS * _DAY_MS
        own = sum(map(_cost, runtime.events_of(self._owned.session, TYPES)))
        user = tenant_of(self._owned.called)
        today = sum(
            _cost(event)
            for row in runtime.index.sessions()
            if row.last_used_ms >= midnight and tenant_of(row.name) == user
            for event in runtime.events_of(row.session, TYPES)
            if event.at_ms >= midnight
        )
        return own, today

    # --- results --------------------------------------------------------------------------------

    async def told(self) -> list[Formed]:
        """The ranges of this session, including its ancestors', oldest first; last those that are
        due.
        """
        await self._owned.caught_up()
        return await asyncio.to_thread(self._ranges, self._owned.state)

    def _ranges(self, state: SessionState) -> list[Formed]:
        begun: dict[int, FormationBegun] = {}
        spent: dict[int, int] = {}
        ended: dict[int, FormationEnded] = {}
        scope = self._runtime.scope(self._owned.session)
        for event in records(self._runtime, scope, types=TYPES):
            match event.body:
                case FormationBegun(order_from=at, tokens=tokens) as body:
                    begun[at], spent[at] = body, spent.get(at, 0) + tokens
                case FormationEnded(order_from=at) as last:
                    ended[at] = last
        active = {
            one.order_from
            for one in state.ranges.active(state.turn, after_turns=state.limits.formed_after_turns)
        }
        found = [
            _told(one, ended.get(at), tokens=spent[at], is_active=at in active)
            for at, one in sorted(begun.items())
        ]
        lived = self._window(state)
        return found + [_due(run) for run in due(lived, state.ranges)]


def _due(run: Sequence[Page]) -> Formed:
    pages = run[-1].row.order - run[0].row.order + 1
    return Formed(first=run[0].page_id, last=run[-1].page_id, pages=pages, outcome="due")


def _told(
    begun: FormationBegun,
    ended: FormationEnded | None,
    *,
    tokens: int | None = None,
    is_active: bool = False,
) -> Formed:
    known = Formed(
        first=begun.first,
        last=begun.last,
        pages=begun.order_to - begun.order_from + 1,
        outcome="begun" if ended is None else str(ended.outcome),
        tries=begun.tries,
        former=str(begun.former),
        tokens=begun.tokens if tokens is None else tokens,
        is_active=is_active,
    )
    if ended is None:
        return known
    return replace(
        known,
        made=ended.made,
        dropped=ended.dropped,
        conflicts=ended.conflicts,
        input_tokens=ended.input_tokens,
        output_tokens=ended.output_tokens,
        cached_tokens=ended.cached_tokens,
    )


def _cost(event: Event) -> int:
    match event.body:
        case FormationBegun(tokens=tokens) | FormationEnded(output_tokens=tokens):
            return tokens
        case _:
            return 0
