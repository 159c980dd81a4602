"""A conversation of a client: the path of a request, and of its answer.

    read → match the tree of histories → log what is new → lay out → log the request → send
    answer → serve calls of memory's tools, ask again → log the answer, and the provider's count

What is said is logged before the client reads anything of the answer. It is logged before it is
sent on, too, if what is sent depends on that: if something leaves the window, or is quoted. What
was forgotten is not quoted from the next request on. Nothing here stops a request: if memory fails,
`problem` says why, and the request goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pagefault.model.clock import Clock
from pagefault.model.events import Relayed
from pagefault.model.ids import Seq
from pagefault.model.kinds import ControlMode
from pagefault.pack.count import TokenCounter
from pagefault.proxy.conversation.forming import Fork, RelayedFormation
from pagefault.proxy.conversation.history_log import HistoryLog
from pagefault.proxy.conversation.item_drafts import ItemDrafts
from pagefault.proxy.conversation.passed import Logged, Passed, Window
from pagefault.proxy.conversation.request_layout import (
    PagedLayout,
    RequestPlan,
    lay_out,
    planned,
)
from pagefault.proxy.conversation.request_log import RequestLog
from pagefault.proxy.conversation.state import ConversationState
from pagefault.proxy.conversation.write_health import WriteHealth
from pagefault.proxy.history.history import History, Item, Json
from pagefault.proxy.history.trie import Match
from pagefault.proxy.layout.faults import Faults
from pagefault.proxy.layout.outgoing import Composed
from pagefault.proxy.layout.own_marks import marked, may_be_marked
from pagefault.proxy.wires.pairs import Round
from pagefault.proxy.wires.wire import Answered, Unreadable, Wire
from pagefault.service.memory import Memory
from pagefault.service.recovery import check_writable
from pagefault.service.turn.formation import Told
from pagefault.service.window.room import hot_utilisation

_Record = Callable[[], Awaitable[tuple[Relayed | None, Seq]]]


class Conversation:
    """For one event loop."""

    def __init__(
        self,
        *,
        memory: Memory,
        name: str,
        wire: Wire,
        counter: TokenCounter,
        clock: Clock,
        window_tokens: int,
        is_named: bool = True,
        faults: bool | None = False,
    ) -> None:
        """Without a name of the client's own (`is_named` off), what is sent on is made of what the
        client sends now, and nothing of what it sent before. `faults`: whether the model is offered
        memory's tools; None offers them beside a client's own.
        """
        self.name = name
        self.window: Window | None = None  # of the newest request
        self._memory = memory
        self._wire = wire
        self._lock = asyncio.Lock()
        self._logging: asyncio.Task[None] | None = None  # of the newest request; holds the lock
        self._health = WriteHealth(clock)
        self._drafts = ItemDrafts(memory)
        limits = memory.limits.fault_limits(window_tokens) if window_tokens else None
        self._faults = Faults(
            wire, wanted=faults, limits=limits, keeps_memory=memory.limits.core_tools
        )
        self._state = ConversationState(
            memory,
            name,
            wire=wire,
            counter=counter,
            window_tokens=window_tokens,
            is_named=is_named,
            faults=self._faults,
            drafts=self._drafts,
            health=self._health,
        )
        self._requests = RequestLog(self._state, wire=wire, clock=clock, health=self._health)
        self._history = HistoryLog(self._state, self._drafts, self._requests, self._health)
        self._formation = RelayedFormation(self._state, wire=wire, counter=counter)

    @property
    def problem(self) -> str:
        """Why the newest request could not be logged, or "" """
        return self._health.problem

    @property
    def full(self) -> str:
        """The quota that had no room, if that is the problem."""
        return self._health.full

    @property
    def chars(self) -> int:
        """What was said here, as `Trie.chars` counts it: it takes memory for that."""
        return self._state.trie.chars

    @property
    def hot_percent(self) -> float | None:
        """How much of hot memory the session uses; None without a session."""
        session = self._state.session
        return None if session is None else hot_utilisation(session.owned.state)

    async def control(self) -> ControlMode:
        """The control mode of its session."""
        return await self._state.control()

    def written(self, body: Json) -> bytes:
        """A body as it is sent. Raises ValueError for numbers that JSON does not have."""
        return self._state.verbatim.weights.known.written(body)

    # --- a request ----------------------------------------------------------------------------

    async def receive(
        self,
        body: Json,
        history: History,
        *,
        pages: bool = True,
        marks: bool = False,
        will_end: bool = False,
    ) -> Passed:
        """Log a request and return what to send: the client's own bytes, unless it `pages`, or
        `marks` where to cache for a client that does not.

        A caller that promises `will_end` calls `answered` or `ended` later, so that the record of
        the request may be written with its answer; and it passes on nothing of the answer before
        `Passed.logging` is done. So if nothing that is sent depends on what is new in the log, this
        returns, and the request is sent, while that is written.
        """
        await self._lock.acquire()
        logging: asyncio.Task[None] | None = None  # it releases the lock
        try:
            state = self._state
            self._formation.stop()
            await self._requests.flush()
            match = await self._match(history)
            await state.unquote_forgotten()
            known = state.verbatim.weights.known
            marks = marks and not known.is_marked(body) and may_be_marked(self._wire, body)
            may_log_later = will_end and not (marks or self.problem)
            is_aside = bool(history.placed) and history.placed[-1].asks_for_summary
            plan: Callable[[], RequestPlan] | None = None
            if pages and state.verbatim.window_tokens:
                plan = partial(planned, state, body, history, match, is_aside=is_aside)
            layout, logs_later = await self._lay_out(plan, match, history, may_log_later)
            put = layout.put(self._wire, body) if layout is not None else None
            self._faults.is_begun = True
            model = self._drafts.model_name(self._wire.model(body))
            record = partial(
                self._requests.record,
                put or body,
                history,
                match,
                layout,
                model=model,
                is_marked_here=marks,
                may_wait=will_end and bool(match.new),
            )
            logged = Logged()
            if not logs_later:
                await self._note_logged(logged, record)
            passed = Passed(
                match=match,
                body=put,
                sent=put or body,
                aside=is_aside,
                logged=logged,
                model=model,
            )
            if marks:
                sent = marked(passed.sent, state.prefix.again)
                passed = replace(passed, body=sent, sent=sent, plain=passed.sent)
            if layout is not None:
                passed = replace(
                    passed,
                    composed=layout.composed,
                    recalled=len(layout.quotes.pages),
                    brought_back=layout.quotes.brought_back,
                    evicted=self._note_window(match, layout.composed),
                    offer=layout.offer,
                    history=layout.history if layout.offer is not None else None,
                    serving=layout.serving(state),
                )
            if logs_later:
                work = self._log_later(match, history, logged, record)
                logging = self._logging = asyncio.create_task(work)
                # Also if it is cancelled before it begins.
                logging.add_done_callback(lambda _: self._lock.release())
            return replace(passed, logging=logging)
        finally:
            if logging is None:
                self._lock.release()

    async def _lay_out(
        self,
        plan: Callable[[], RequestPlan] | None,
        match: Match,
        history: History,
        may_log_later: bool,
    ) -> tuple[PagedLayout | None, bool]:
        """The layout of a request, if it is paged, and whether its new messages are still to be
        logged. They may be if the layout does not depend on them; otherwise they are logged first,
        because only a logged message can leave the window.
        """
        if may_log_later:
            if plan is None:
                return None, True
            first = plan()
            if await first.quotes_nothing(self._state):
                return await lay_out(self._state, first, quotes_nothing=True), True
        await self._history.write(match.path, history.placed)
        return None if plan is None else await lay_out(self._state, plan()), False

    async def _log_later(
        self, match: Match, history: History, logged: Logged, record: _Record
    ) -> None:
        """Log what is new in a request that is being sent, then the request."""
        await self._history.write(match.path, history.placed)
        await self._note_logged(logged, record)

    async def _note_logged(self, logged: Logged, record: _Record) -> None:
        logged.relayed, logged.record = await record()
        logged.problem, logged.full = self.problem, self.full

    async def keep(self, history: History) -> str:
        """Log what was said and no request brings: a program hands it in. Returns the problem, or
        "".
        """
        async with self._lock:
            match = await self._match(history)
            await self._history.write(match.path, history.placed)
            return self.problem

    async def _match(self, history: History) -> Match:
        """Match a history with the tree, once what others wrote is folded."""
        state, placed = self._state, history.placed
        self._health.reset()
        state.verbatim.weights.known.turn()
        await state.catch_up()
        self._drafts.learn_names(placed)
        match = state.trie.match(placed)
        self._drafts.drop_words()
        state.pages.edit(match.path[at] for at in match.edited)
        state.changes += bool(match.edited)
        self._unpair_edited(match, placed)
        return match

    def _unpair_edited(self, match: Match, placed: Sequence[Item]) -> None:
        """Drop the calls of memory's tools in answers that the client edited, and their results,
        which are in the message behind.
        """
        for at in match.edited:
            if not self._faults.drop(match.path[at].key):
                continue
            message = placed[at].message
            behind = [n for n, item in enumerate(placed) if item.message > message]
            if behind:
                number = placed[behind[0]].message
                last = max(n for n in behind if placed[n].message == number)
                self._state.verbatim.unsend([match.path[last].key])

    def _note_window(self, match: Match, composed: Composed) -> int:
        """Note the window of a request; returns how many items left it with this one."""
        before, path = self.window, len(match.path)
        gone = len(set(composed.hidden).intersection(match.path))
        self.window = Window(
            tokens=composed.tokens,
            window_tokens=self._state.verbatim.window_tokens,
            left_tokens=composed.left_tokens,
            shown=path - gone,
            hidden=gone,
        )
        return max(0, gone - (before.hidden if before else 0)) if composed.epoch else 0

    async def look_again(self) -> None:
        """Check whether the problem of the newest request is still there. What was not logged is
        logged when the client sends it again; in a mode that keeps nothing, nothing is missing.
        """

        async def check() -> None:
            if (await self.control()).captures:
                await self._state.catch_up()
                await check_writable(self._memory, self._state.session)

        if not self._lock.locked() and not self._health.is_full:
            async with self._lock:
                await self._health.look_again(check)

    # --- its answer ---------------------------------------------------------------------------

    async def served(
        self, passed: Passed, reply: Round, so_far: Sequence[Any], *, is_last: bool
    ) -> Passed | None:
        """Serve the calls of memory's tools in a reply, and return what to ask next; None if it
        calls the client's tools, too, whose results the client will bring. `so_far` is the answer
        until here, in the client's form. The calls of the last reply of a turn are refused.
        """
        serving, offer, composed = passed.serving, passed.offer, passed.composed
        assert serving is not None
        assert offer is not None
        assert composed is not None
        async with self._lock:
            state, weights = self._state, self._state.verbatim.weights
            record = await self._requests.flush()
            passed.logged.record = passed.logged.record or record
            if reply.usage is not None and passed.request >= 0 and not reply.has_others:
                await self._requests.report(passed.request, reply.usage)
            serving.room -= weights.of_all(so_far) - serving.weighed
            serving.weighed = weights.of_all(so_far)
            await serving.serve(reply, state.session, cause=passed.logged.record, is_last=is_last)
            self._health.problem = self.problem or serving.problem
            if reply.has_others or passed.body is None or passed.history is None:
                return None
            said = offer.form.taken_apart(so_far, serving.pairs)
            if said is None:
                raise Unreadable("what the model said cannot be put beside its calls")
            serving.sent = said.asked
            messages = [*composed.messages, *said.asked]
            more = weights.of_all(messages) - weights.of_all(composed.messages)
            tokens = composed.tokens + int(more * composed.factor)
            body = self._wire.put(passed.plain or passed.body, messages)
            history = replace(passed.history, messages=messages)
            logged = Logged(*await self._requests.record_again(body, history, passed, tokens))
            body = marked(body, state.prefix.again) if passed.plain else body
            return replace(passed, body=body, sent=body, logged=logged, asked_tokens=tokens)

    async def answered(self, passed: Passed, answered: Answered, *, is_next: bool = True) -> None:
        """Log an answer that came to its end, and the provider's count. Unless it `is_next`,
        something else was said there since, and the answer is not logged.

        If the question could not be logged (another process had the session, the disk was full),
        its answer waits for the next request, which brings both: by itself it would follow an older
        page, and the log would have a history that nobody sent. So does the answer to a request
        matched with a tree that was replaced since: another process wrote to the session.
        """
        async with self._lock:
            state = self._state
            if passed.composed is not None:
                tokens = passed.asked_tokens or passed.composed.tokens
                asked = replace(passed.composed, tokens=tokens)
                state.verbatim.observe(asked, answered.input_tokens)
            if answered.usage is not None and passed.request >= 0:
                self._requests.report_later(passed.request, answered.usage)
            is_here = is_next and state.trie.has(passed.match.path)
            if answered.complete and not passed.aside and is_here:
                await self._log_answer(passed, answered)
            await self._requests.flush()

    async def _log_answer(self, passed: Passed, answered: Answered) -> None:
        state, path = self._state, passed.match.path
        placed = [item for item in answered.items if item.place]
        self._drafts.learn_names(placed)
        nodes = state.trie.follow(path, placed)
        if nodes and passed.pairs and not state.pages.is_logged(nodes[0]):
            assert passed.serving is not None
            self._faults.keep(nodes[0].key, passed.serving)  # else the same was said before
        if state.pages.kept_upto(path) == len(path):
            await self._history.write(nodes, placed, model=passed.model, under=answered.under)
            self._formation.note_answer(passed, nodes, is_logged=not self.problem)

    async def ended(self) -> None:
        """A request ended without an answer."""
        async with self._lock:
            await self._requests.flush()

    def form(self, passed: Passed, answered: Answered, fork: Fork | None, told: Told) -> None:
        """Form memory of what is closed by now, in the background: `RelayedFormation.begin`."""
        self._formation.begin(passed, answered, fork, self.written, told)

    def withdraw_consent(self) -> None:
        """Form nothing more: `RelayedFormation.withdraw`."""
        self._formation.withdraw()
