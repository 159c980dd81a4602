"""One conversation of a client: its tree of histories, its session in the memory, its windows.

What is said is logged before it is sent on, once, whatever the client resends: each record tells
which page of the client's history it follows, and which it takes the place of, by their ids. So a
restart, or another process, finds the history again in the log. What was recalled and where epochs
began is part of the `relayed` record of its request, by ids too, so that a restart puts the same
bytes back and what was forgotten stays away. What is forgotten while this runs is quoted from the
next request on no more; of a session that was forgotten whole nothing is logged again, and what is
said from then on is a new one's.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from pagefault.model.catalogue import find_model
from pagefault.model.clock import Clock
from pagefault.model.errors import (
    MessageTooLarge,
    PagefaultError,
    QuotaExceeded,
    RecordGone,
    SessionNotFound,
)
from pagefault.model.events import (
    HISTORY_START,
    Event,
    Relayed,
)
from pagefault.model.ids import NOTHING, PageId, Seq
from pagefault.model.kinds import (
    MODEL_GENERATED,
    USER_TYPED,
    ControlMode,
    EventType,
    Origin,
    Role,
)
from pagefault.model.request import Usage
from pagefault.pack.count import TokenCounter
from pagefault.proxy.faults import FORMS, Faults, Offer, Serving
from pagefault.proxy.first_sent import FirstSent, News
from pagefault.proxy.forming import (
    Fork,
    RelayedFormer,
    RelayedTurns,
    is_all_there,
    not_formed,
    said_by,
)
from pagefault.proxy.history import History, Item, Json, Part, digest, essence
from pagefault.proxy.item_keys import key_of, text_of, tool_name
from pagefault.proxy.outgoing import Composed, Outgoing
from pagefault.proxy.own_marks import marked, may_be_marked
from pagefault.proxy.pairs import Round, TakenApart
from pagefault.proxy.passed import Passed, Window
from pagefault.proxy.prefix import Prefix, Weighed
from pagefault.proxy.quotes import Chosen, Quotes
from pagefault.proxy.restored import compacted, logged
from pagefault.proxy.trie import Change, Match, Node, Trie
from pagefault.proxy.verbatim import Verbatim
from pagefault.proxy.wire import Answered, Unreadable, Wire
from pagefault.service.inspection.relayed import SERVED, Telling, reported, tell
from pagefault.service.inspection.relayed_window import window_of
from pagefault.service.memory import Memory
from pagefault.service.recovery import check_writable
from pagefault.service.session import Session
from pagefault.service.turn.drafts import PREVIOUS, Incoming
from pagefault.service.turn.formation import Told
from pagefault.service.turn.relayed_calls import View
from pagefault.service.turn.turn import encodable
from pagefault.service.window.state import SessionState

ROOM_TOKENS: Final = 64  # of the window that no call of memory's may fill: counting is not exact
CALL_CHARS_MAX: Final = 4_000  # of a call's arguments that are kept: an edit quotes whole files
MODEL_CHARS_MAX: Final = 200
RUN_MAX: Final = 100  # items that are written in one batch


class Conversation:
    """For one event loop. `problem` is why the latest logging failed, or ""."""

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
        memory's tools, None where that is as the client has tools.
        """
        self.name = name
        self.problem = ""
        self.full = ""  # the quota that had no room, where that is the problem
        self._full_until_s = 0.0  # it has none
        self._wire = wire
        self._counter = counter
        self._memory = memory
        self._window_tokens = window_tokens
        self._is_named = is_named
        self._session: Session | None = None
        self._order = 0  # of the session's next page, were all of them ours
        limits = memory.limits.fault_limits(window_tokens) if window_tokens else None
        self._faults = Faults(
            wire, wanted=faults, limits=limits, keeps_memory=memory.limits.core_tools
        )
        self._clear()
        self._names: dict[str, str] = {}  # of tools, by the id of a call
        self._clock = clock
        self._asked_s: float | None = None  # when the provider was asked last
        self._requests = 0  # that the log tells of
        self._late: Telling | None = None  # what of the newest request is to be written yet
        self._late_news: News | None = None  # what the client sent first with it
        self._has_told_offers = False  # that memory's tools are offered
        self._changes = 0  # times that it became another what memory says of what was sent
        self._lived: tuple[PageId, ...] = ()  # that the newest request showed, once it is answered
        self.window: Window | None = None  # of the newest request
        self._forgettings = memory.forgettings  # when quotes were put in
        self._lock = asyncio.Lock()

    def _clear(self) -> None:
        self.trie = Trie(self._words_of)
        self.verbatim = Verbatim(
            self._wire, self._counter, self._window_tokens, keeps=self._is_named
        )
        self._prefix = Prefix(self._wire, self.verbatim.weights)
        self._clients = Prefix(self._wire, self.verbatim.weights)
        self._quotes = Quotes(
            self._memory,
            self._counter,
            self.verbatim,
            session=self._known,
            said_in=self._said_in,
            problem=self._fails,
        )
        self._pages: dict[str, Sequence[PageId]] = {}  # by the key of the node that says it
        self._keys: dict[str, str] = {}  # of nodes, by every page that they ever were
        self._edited: set[str] = set()  # keys of nodes whose present words are not logged yet
        self._words: dict[bytes, str] = {}
        self._first_sent = FirstSent(self._written_in)

    async def receive(
        self,
        body: Json,
        history: History,
        *,
        pages: bool = True,
        marks: bool = False,
        will_end: bool = False,
    ) -> Passed:
        """Take a request in, and say what to send on: as it came, unless it `pages`, or `marks`
        where to cache for a client that does not.

        Who says that it `will_end`, calls `answered` or `ended`. Then that it was passed on may be
        written with its answer: nothing that was sent rests on it.
        """
        async with self._lock:
            self._lived = ()
            if self._session is not None:
                self._session._formation.goes_on()
            await self._tell_late()
            match = await self._said_so_far(history)
            aside = bool(history.placed) and history.placed[-1].asks_for_summary
            await self._unquote_forgotten()
            quotes = Chosen()
            outgoing: Outgoing | None = None
            composed: Composed | None = None
            offer: Offer | None = None
            received, apart = history, TakenApart(history, {})
            if self.verbatim.window_tokens and pages:
                offer = self._faults.offer(body, history, is_aside=aside)
                if offer is not None:
                    apart = self._faults.taken_apart(history, match)
                    history = replace(apart.history, tools=offer.tools)
                is_plain = offer is None and self._faults.has_them
                outgoing = (self.verbatim.plain() if is_plain else self.verbatim).outgoing(
                    body,
                    history,
                    match,
                    is_kept=self._is_kept,
                    is_said=lambda node: bool(self._said_in(node)),
                    is_pinned=self._pinned_now(),
                    pages_of=self._said_in if offer is not None else None,
                    state=(self._changes, self._pins()),
                )
                is_compacted = match.change is Change.COMPACTED
                if not aside:  # a summary is made of what the model has seen: nothing leaves
                    here = {n.key for n in outgoing.shown()} if apart.pairs else ()
                    loaded = self._faults.loaded(apart, here)
                    quotes = await self._quotes.choose(
                        outgoing, _newest(history), is_compacted=is_compacted, loaded=loaded
                    )
                if outgoing.has_new_front and not self._faults.has_them:
                    offer = self._faults.could_offer(body, history, is_aside=aside)
                if offer is not None and not self._faults.has_them:
                    self._faults.has_them = True
                    outgoing.offer(offer.tools, self._said_in)
                    history = replace(history, tools=offer.tools)
                composed = outgoing.compose()
            put: Json | None = None
            if composed is not None and (composed.changed or offer is not None):
                put = self._wire.put(body, composed.messages)
                put = put | {"tools": offer.tools} if offer is not None else put
            known = self.verbatim.weights.known
            marks = marks and not known.is_marked(body) and may_be_marked(self._wire, body)
            relayed, record = await self._tell(
                put or body, history, received, match, composed, outgoing, quotes, offer, marks,
                may_wait=will_end and bool(match.new),
            )  # fmt: skip
            self._faults.is_begun = True
            sent = marked(put or body, self._prefix.again) if marks else put or body
            return Passed(
                match=match,
                composed=composed,
                body=sent if marks else put,
                sent=sent,
                plain=(put or body) if marks else None,
                recalled=len(quotes.pages),
                aside=aside,
                relayed=relayed,
                record=record,
                evicted=self._evicted(match, composed),
                model=self._model(body),
                offer=offer,
                history=history if offer is not None else None,
                serving=self._serving(outgoing, composed, apart)
                if offer is not None and outgoing is not None and composed is not None
                else None,
            )

    def written(self, body: Json) -> bytes:
        """A body that is sent on. Raises ValueError for numbers that JSON does not have."""
        return self.verbatim.weights.known.written(body)

    def _unpair_edited(self, match: Match, placed: Sequence[Item]) -> None:
        """Answers that the client has in other words have no calls of memory's any more, nor has
        the message behind such an answer their results.
        """
        for at in match.edited:
            if not self._faults.drop(match.path[at].key):
                continue
            message = placed[at].message
            behind = [n for n, item in enumerate(placed) if item.message > message]
            if behind:
                number = placed[behind[0]].message
                last = max(n for n in behind if placed[n].message == number)
                self.verbatim.unsend([match.path[last].key])

    def _serving(self, outgoing: Outgoing, composed: Composed, apart: TakenApart) -> Serving:
        """What serves the calls of the answer to a request."""

        def look() -> View:
            nodes = outgoing.shown()
            shown = {PageId(page) for node in nodes for page in self._said_in(node)}
            hidden = {PageId(page) for node in outgoing.hidden() for page in self._said_in(node)}
            shown |= self._quotes.quoted_whole(outgoing)
            served = self._faults.loaded(apart, {node.key for node in nodes})
            return View(shown=shown, hidden=hidden - shown, served=served)

        room = int((self._window_tokens - composed.tokens) / composed.factor) - ROOM_TOKENS
        return Serving(look, room)

    async def served(
        self, passed: Passed, reply: Round, so_far: Sequence[Any], *, is_last: bool
    ) -> Passed | None:
        """Serve the calls of memory's tools that a reply makes, and say what to ask next: None
        where it calls the client's tools, too, whose results the client will bring. `so_far` is the
        answer until here, in the client's form; with the last reply that a turn may have, no call
        is served any more.
        """
        serving, offer, composed = passed.serving, passed.offer, passed.composed
        assert serving is not None
        assert offer is not None
        assert composed is not None
        async with self._lock:
            late = await self._tell_late()
            passed = replace(passed, record=passed.record or late)
            if reply.usage is not None and passed.request >= 0 and not reply.has_others:
                await self._report(passed.request, reply.usage)
            serving.room -= self.verbatim.weights.of_all(so_far) - serving.weighed
            serving.weighed = self.verbatim.weights.of_all(so_far)
            await serving.serve(reply, self._session, cause=passed.record, is_last=is_last)
            self.problem = self.problem or serving.problem
            if reply.has_others or passed.body is None or passed.history is None:
                return None
            said = offer.form.taken_apart(so_far, serving.pairs)
            if said is None:
                raise Unreadable("what the model said cannot be put beside its calls")
            serving.sent = said.asked
            messages = [*composed.messages, *said.asked]
            weights = self.verbatim.weights
            more = weights.of_all(messages) - weights.of_all(composed.messages)
            tokens = composed.tokens + int(more * composed.factor)
            body = self._wire.put(passed.plain or passed.body, messages)
            told = replace(passed.history, messages=messages)
            relayed, record = await self._tell_again(body, told, passed, tokens)
            body = marked(body, self._prefix.again) if passed.plain else body
            return replace(
                passed, body=body, sent=body, relayed=relayed, record=record, asked_tokens=tokens
            )

    async def keep(self, history: History) -> str:
        """Take in what was said, which no request brings: a program hands it in. Returns what is in
        the way of keeping it, or "".
        """
        async with self._lock:
            await self._said_so_far(history)
            return self.problem

    async def _said_so_far(self, history: History) -> Match:
        """Take in what a history says, and write down what of it is new."""
        self.problem = self.full = ""
        self._full_until_s = 0.0
        self.verbatim.weights.known.turn()
        await self._take_up()
        placed = history.placed
        self._learn_names(placed)
        match = self.trie.match(placed)
        self._words.clear()
        self._edited.update(match.path[at].key for at in match.edited)
        self._changes += bool(match.edited)
        self._unpair_edited(match, placed)
        await self._log(match.path, placed)
        return match

    async def look_again(self) -> None:
        """See whether what was in the way of writing the newest request down still is. It is taken
        up when the client sends it again; in a mode that keeps nothing, nothing is missing.
        """
        if self._lock.locked() or self._clock.monotonic_s() < self._full_until_s:
            return
        async with self._lock:
            before, self.problem, self.full = (self.problem, self.full), "", ""
            try:
                control = ControlMode(await self._memory.control_of(self.name))
                if control.captures:
                    await self._take_up()
                    await check_writable(self._memory, self._session)
            except PagefaultError as error:
                self.problem = error.message
            except asyncio.CancelledError:  # it took too long: nothing was found out
                self.problem, self.full = before
                raise

    def _evicted(self, match: Match, composed: Composed | None) -> int:
        """How many pages left the window with a request, which is the newest from now on."""
        if composed is None:
            return 0
        before, path = self.window, len(match.path)
        gone = len(set(composed.hidden).intersection(match.path))
        self.window = Window(
            tokens=composed.tokens,
            window_tokens=self.verbatim.window_tokens,
            left_tokens=composed.left_tokens,
            shown=path - gone,
            hidden=gone,
        )
        return max(0, gone - (before.hidden if before else 0)) if composed.epoch else 0

    async def _take_up(self) -> None:
        """Look what the log has of this conversation, where that may not be what we know: an
        earlier run, or another process, wrote it, or somebody forgot it whole.
        """
        try:
            session = self._session
            if session is None:
                session = await self._memory.session(self.name, mode="passive", create=False)
                await self._restore(session)
                self._session = session
                return
            await session.owned.refresh()
            session.owned.check_there()
            if session.owned.state.order_next != self._order:
                await self._restore(session)
        except SessionNotFound:
            if self._session is not None:  # what is new begins another
                self._session, self._requests, self._order = None, 0, 0
                self._pages = dict.fromkeys(self._pages, ())  # said, and nowhere any more
                self._changes += 1
                self._first_sent = FirstSent(self._written_in)
                self._keys.clear()
                self._faults.kept.clear()
                self._quotes.unquote()
        except PagefaultError as error:
            self.problem = error.message

    async def _unquote_forgotten(self) -> None:
        """Quote no page any more that was forgotten, here or by another process."""
        if self._forgettings == self._memory.forgettings or self._session is None:
            return
        self._forgettings = self._memory.forgettings
        self._quotes.unquote()
        try:
            events = await self._memory.passed_on(self._session)
            await self._quote_again(events)
            await self._faults.restore(events, self._key, self._session)
        except PagefaultError as error:
            self.problem = error.message

    async def answered(self, passed: Passed, answered: Answered, *, is_next: bool = True) -> None:
        """Take in what the model answered, if it came to its end, and what the provider counted.
        Unless it `is_next`, something else was said there since, and the answer is not taken in.

        Where the question could not be written down (another process had the session, the disk
        was full), its answer waits for the next request, which brings both: by itself it would
        stand behind an older page, and the log would tell of a history that nobody sent.
        """
        async with self._lock:
            if passed.composed is not None:
                tokens = passed.asked_tokens or passed.composed.tokens
                asked = replace(passed.composed, tokens=tokens)
                self.verbatim.observe(asked, answered.input_tokens)
            if answered.usage is not None and passed.request >= 0:
                report = reported(passed.request, answered.usage)
                self._late = replace(self._late or Telling(), reported=report)
            if not answered.complete or passed.aside or not is_next:
                await self._tell_late()
                return
            placed = [item for item in answered.items if item.place]
            self._learn_names(placed)
            nodes = self.trie.follow(passed.match.path, placed)
            if nodes and passed.pairs and nodes[0].key not in self._pages:
                assert passed.serving is not None
                self._faults.keep(nodes[0].key, passed.serving)  # else the same was said before
            if self._written_upto(passed.match.path) == len(passed.match.path):
                await self._log(nodes, placed, model=passed.model, under=answered.under)
                self._lived = self._pages_lived(passed, nodes)
            await self._tell_late()

    def _pages_lived(self, passed: Passed, answer: Sequence[Node]) -> tuple[PageId, ...]:
        """What the model has before it now; nothing where not all of it is written down, or some
        of it was forgotten.
        """
        hidden = set(passed.composed.hidden) if passed.composed is not None else set()
        shown = [one for one in (*passed.match.path, *answer) if one not in hidden]
        is_lost = any(one.is_lost for one in shown)
        if self.problem or is_lost or not all(map(self._is_kept, shown)):
            return ()
        return tuple(PageId(page) for node in shown for page in self._said_in(node))

    def form(self, passed: Passed, answered: Answered, fork: Fork, told: Told) -> None:
        """Have what is closed by now formed into memory, with nobody waiting, by the model that
        `answered`. For a user who agreed. Nothing where the turn is not over, where the client
        left the model no free word, or where something else was said since.
        """
        session, form, answer = self._session, FORMS.get(self._wire.name), said_by(answered)
        sent, relayed, lived = passed.sent, passed.relayed, self._lived
        if form is None or session is None or relayed is None or not (answer and lived):
            return
        if passed.aside or not form.takes(sent):
            return
        tokens = relayed.tokens + self._counter.count(answer)
        former = RelayedFormer(
            fork=fork,
            wire=self._wire,
            form_of=form,
            body=sent,
            answer=answer,
            tokens_sent=tokens,
            model=passed.model,
            counter=self._counter,
            written=self.written,
        )

        async def now(state: SessionState) -> RelayedTurns | None:
            if self._memory.forgettings and not await asyncio.to_thread(
                is_all_there, session.owned, lived
            ):
                return None
            return RelayedTurns(
                pages=await asyncio.to_thread(not_formed, session.owned, lived, state.ranges),
                response=answer,
                model=passed.model,
                tokens=tokens,
                factor=relayed.factor,
                window_tokens=self._window_tokens,
                range_tokens=state.limits.summarised_tokens_max,
            )

        session._formation.begin(former, now, told)

    async def ended(self) -> None:
        """A request has come to its end, and no answer."""
        async with self._lock:
            await self._tell_late()

    # --- what is told of requests -------------------------------------------------------------

    async def _tell(
        self,
        body: Json,
        history: History,
        received: History,
        match: Match,
        composed: Composed | None,
        outgoing: Outgoing | None,
        quotes: Chosen,
        offer: Offer | None,
        marks: bool,
        *,
        may_wait: bool,
    ) -> tuple[Relayed | None, Seq]:
        """Write down what is sent; returns what was written and where, None and NOTHING where there
        is no session. `received` is the history as the client has it. If it `may_wait`, it is
        written with what comes next, unless what is sent later depends on it.

        Counting an unpaged request takes a thread: nothing of it was counted before.
        """
        messages = history.messages if composed is None else composed.messages
        if composed is None:
            weighed = await asyncio.to_thread(self._prefix.weigh, body, history, messages)
        else:
            weighed = self._prefix.weigh(body, history, messages)
        clients = weighed
        if self.verbatim.window_tokens:
            clients = self._clients.weigh(body, received, received.messages)
        if self._session is None or self.full:  # nothing has been said yet, or could be written
            return None, NOTHING
        model = self._model(body)
        hidden = (
            {page for node in composed.hidden for page in self._said_in(node)} if composed else ()
        )
        told = Relayed(
            request=self._requests,
            wire=self._wire.name,
            model=model,
            change=_change(match, weighed),
            tokens=weighed.tokens,
            window_tokens=self.verbatim.window_tokens,
            factor=self.verbatim.factor,
            messages=len(messages),
            client_messages=len(received.messages),
            left_tokens=composed.left_tokens if composed else 0,
            client_tokens=clients.tokens,
            client_shared=clients.shared,
            added_tokens=self._added(composed, received, offer) if composed else 0,
            hidden=len(hidden),
            before=weighed.before,
            shared=weighed.shared,
            recalled=tuple(page.page_id for page in quotes.pages),
            passages=tuple(quotes.passages.values()),
            epoch=composed.epoch if composed else "",
            is_over=composed.over if composed else False,
            is_cold=self._is_cold(model),
            is_marked=self.verbatim.weights.known.is_marked(body),
            is_marked_here=marks,
            opening=self._page_of(quotes.opening),
            upto=self._page_in(reversed(match.path)),
            core=tuple(page.page_id for page in quotes.core),
            offers=offer is not None,
            **(self._epoch_of(outgoing) if outgoing and composed and composed.epoch else {}),
        )
        first = self._first_sent.find(received, match)
        may_wait = may_wait and not self.problem
        record = NOTHING
        if may_wait and self._is_plain(told):
            self._late, self._late_news = Telling(relayed=told, messages=first.messages), first
        else:
            self._late_news = None if may_wait else first
            messages = () if may_wait else first.messages
            record = await self._tell_now(Telling(relayed=told, messages=messages))
            if record == NOTHING:
                return None, NOTHING
            if may_wait:
                self._late, self._late_news = Telling(messages=first.messages), first
        self._requests += 1
        return told, record

    def _is_plain(self, told: Relayed) -> bool:
        """Whether no later request rests on what the log tells of this one: it neither decided nor
        quoted anything.
        """
        decides = told.epoch or told.recalled or told.change == Change.COMPACTED
        is_first_offer = told.offers and not self._has_told_offers
        self._has_told_offers = self._has_told_offers or told.offers
        return not decides and not is_first_offer

    async def _tell_late(self) -> Seq:
        """Write down what is left to be told of a request; returns where it is."""
        telling, self._late = self._late, None
        return NOTHING if telling is None else await self._tell_now(telling)

    async def _tell_now(self, telling: Telling) -> Seq:
        if self._session is None:
            return NOTHING
        try:
            await tell(self._session.owned, telling)
        except PagefaultError as error:
            self.problem = error.message
            return NOTHING
        self._has_told(telling)
        return telling.kept.request

    def _has_told(self, telling: Telling) -> None:
        """It is written."""
        news, self._late_news = self._late_news, None
        if news is not None and not telling.kept.is_to_repeat:
            self._first_sent.keep(news)
        self.problem = self.problem or telling.kept.problem

    def _added(self, composed: Composed, received: History, offer: Offer | None) -> int:
        """The tokens of what the client did not send: quotes, notices, memory's tools."""
        if offer is None:
            return composed.added_tokens
        tools = map(self.verbatim.weights.of, (offer.tools, received.tools))
        return composed.added_tokens + max(0, next(tools) - next(tools))

    async def _tell_again(
        self, body: Json, history: History, passed: Passed, tokens: int
    ) -> tuple[Relayed | None, Seq]:
        """The same of what is asked once the model's calls were answered."""
        weighed = self._prefix.weigh(body, history, history.messages)
        if self._session is None or passed.relayed is None:
            return None, NOTHING
        told = Relayed(
            request=self._requests,
            wire=self._wire.name,
            model=passed.model,
            change=SERVED,
            tokens=weighed.tokens,
            window_tokens=self._window_tokens,
            factor=passed.relayed.factor,
            messages=len(history.messages),
            client_messages=passed.relayed.client_messages,
            left_tokens=passed.relayed.left_tokens,
            hidden=passed.relayed.hidden,
            before=weighed.before,
            shared=weighed.shared,
            is_over=tokens > self._window_tokens,
            is_cold=self._is_cold(passed.model),
            is_marked=passed.relayed.is_marked,
            is_marked_here=passed.plain is not None,
            upto=passed.relayed.upto,
            offers=True,
        )
        try:
            kept = await tell(self._session.owned, Telling(relayed=told))
        except PagefaultError as error:
            self.problem = error.message
            return None, NOTHING
        self._requests += 1
        return told, kept.request

    def _epoch_of(self, outgoing: Outgoing) -> dict[str, Any]:
        """The epoch that begins with a request, by pages."""
        path, window = outgoing.path, outgoing.window
        keys = [node.key for node in path]
        told: dict[str, Any] = {"epoch_at": self._page_in(reversed(path))}
        if window.first:
            told["epoch_first"] = self._page_in(path[keys.index(window.first) :])
        fronts = (path[keys.index(one) :: -1] for one in window.front)
        told["epoch_front"] = self._page_in(chain.from_iterable(fronts))
        return told | {"stubs": tuple(filter(None, map(self._page_of, outgoing.stubs)))}

    @property
    def hot_percent(self) -> float | None:
        """How much of hot memory its session has in use; None where there is no session."""
        return None if self._session is None else self._session.owned.state.hot_utilisation()

    def _key(self, page_id: PageId) -> str:
        return self._keys.get(page_id, "")

    def _page_in(self, nodes: Iterable[Node]) -> PageId:
        """Of the first of these nodes that has one."""
        return next(filter(None, map(self._page_of, nodes)), PageId(""))

    async def _report(self, request: int, usage: Usage) -> None:
        assert self._session is not None, "it was told of"
        try:
            await tell(self._session.owned, Telling(reported=reported(request, usage)))
        except PagefaultError as error:
            self.problem = error.message

    def _is_cold(self, model: str) -> bool:
        """Whether the provider has forgotten the prefix, as far as anybody can tell; after a
        restart nobody can.
        """
        before, self._asked_s = self._asked_s, self._clock.monotonic_s()
        return before is None or find_model(model).prices.is_cold(self._asked_s - before)

    def _is_kept(self, node: Node) -> bool:
        """Whether what a node says now was written down, or need not be."""
        return node.key in self._pages and node.key not in self._edited

    def _written_upto(self, nodes: Sequence[Node]) -> int:
        """How many of these, from the first on, are kept. Asked of whole histories, of which nearly
        always all are but the last: so nothing is called for each.
        """
        keys = [node.key for node in nodes]
        if not self._edited and all(map(self._pages.__contains__, keys)):
            return len(keys)
        missing = (n for n, key in enumerate(keys) if key not in self._pages or key in self._edited)
        return next(missing, len(keys))

    def _pinned_now(self) -> Callable[[Node], bool]:
        """Whether somebody pinned what a node says."""
        pins = self._pins()
        return lambda node: not pins.isdisjoint(self._said_in(node))

    def _pins(self) -> frozenset[str]:
        if self._session is None:
            return frozenset()
        return frozenset(self._session.owned.state.pins_there())

    def _said_in(self, node: Node) -> Sequence[str]:
        """The pages that hold what a node says."""
        return self._pages.get(node.source.key, ())

    def _written_in(self, node: Node) -> Sequence[str] | None:
        """The pages of its present words, or None where these are not written down yet."""
        return None if node.key in self._edited else self._pages.get(node.source.key)

    def _page_of(self, node: Node | None) -> PageId:
        """The first of these pages, or "" """
        pages = self._said_in(node) if node is not None else ()
        return PageId(pages[0] if pages else "")

    # --- the log ------------------------------------------------------------------------------

    def _learn_names(self, items: Iterable[Item]) -> None:
        for item in items:
            if item.part is Part.CALL:
                self._names[item.call_id] = item.name
            elif item.of_call:  # a call says its name, and the answer to it stands behind it
                self._names.setdefault(item.of_call.partition(" ")[2], item.name)

    async def _log(
        self, nodes: Sequence[Node], items: Sequence[Item], *, model: str = "", under: str = ""
    ) -> None:
        """Write down what is not written yet, of this model if it is an answer, and the word of the
        tool that this was given `under`. A failure is noted, and nothing waits for it.
        """
        first = self._written_upto(nodes)
        if first == len(nodes):
            return
        number = items[first].message
        first = bisect_left(items, number, hi=first, key=lambda item: item.message)
        nodes, items = nodes[first:], items[first:]  # all of the messages before are written
        try:
            blocks = Counter(item.message for item in items)
            await self._log_run(nodes, items, blocks, model=model, under=under)
            begun = set[int]()  # messages of which a text of the user's is written down
            for node, item in zip(nodes, items, strict=True):
                is_whole, goes_on = blocks[item.message] == 1, item.message in begun
                await self._log_one(
                    node, item, is_whole=is_whole, goes_on=goes_on, model=model, under=under
                )
                if item.part is Part.TEXT and item.role is Role.USER and self._said_in(node):
                    begun.add(item.message)
        except QuotaExceeded as full:
            self.problem, self.full = full.message, full.quota
            wait_s = full.retry_s or float("inf")  # or until something is said here again
            self._full_until_s = self._clock.monotonic_s() + wait_s
        except PagefaultError as error:
            self.problem = error.message

    async def _log_run(
        self,
        nodes: Sequence[Node],
        items: Sequence[Item],
        blocks: Mapping[int, int],
        *,
        model: str,
        under: str,
    ) -> None:
        """Write down in few batches what the end of a history says for the first time. What of it
        cannot be written so is left to be written one by one, and so is what alone is new behind
        other words for something before it: these are written first.
        """
        at = len(nodes)
        while at and self._is_new(nodes[at - 1], items[at - 1]):
            at -= 1
        begun = {
            item.message
            for node, item in zip(nodes[:at], items, strict=False)
            if item.part is Part.TEXT and item.role is Role.USER and self._said_in(node)
        }
        for first in range(at, len(nodes), RUN_MAX):
            run: list[tuple[Node, Incoming | None]] = []
            follows = self._before(nodes[first])
            for node, item in zip(nodes[first:], items[first : first + RUN_MAX], strict=False):
                said = self._incoming(
                    node, item, follows, is_whole=blocks[item.message] == 1,
                    goes_on=item.message in begun, model=model, under=under,
                )  # fmt: skip
                run.append((node, said))
                if said is not None:
                    follows = PREVIOUS
                    if item.part is Part.TEXT and item.role is Role.USER:
                        begun.add(item.message)
            said_here = [said for _, said in run if said is not None]
            is_alone = len(said_here) == 1 and self._written_upto(nodes[:at]) < at
            if not said_here or is_alone:
                return
            session = await self._opened()
            try:
                written = iter(await self._say_each(session, said_here))
            except QuotaExceeded:
                raise
            except PagefaultError:
                return
            for node, said in run:
                self._note(node, next(written) if said is not None else ())

    def _is_new(self, node: Node, item: Item) -> bool:
        """Whether a node says what neither it nor another in its place said before."""
        is_known = node.key in self._pages or node.source.key in self._pages or node.is_bare
        return not (is_known or node.key in self._edited or item.asks_for_summary)

    def _note(self, node: Node, pages: Sequence[PageId]) -> None:
        """These pages say what a node does."""
        if not any(page_id in self._keys for page_id in pages):
            self._order += len(pages)
        self._pages[node.key] = pages
        for page_id in pages:
            self._keys.setdefault(page_id, node.key)

    def _incoming(
        self,
        node: Node,
        item: Item,
        follows: str,
        *,
        is_whole: bool,
        goes_on: bool,
        model: str,
        under: str,
        old: str = "",
    ) -> Incoming | None:
        """What is written of a node, behind the page that it follows; None where nothing is."""
        if item.asks_for_summary:
            return None
        return self._said(
            item, follows, old, is_whole=is_whole, goes_on=goes_on, model=model,
            under=under or item.under, spliced=() if old else self._faults.spliced(node.key),
        )  # fmt: skip

    async def _log_one(
        self, node: Node, item: Item, *, is_whole: bool, goes_on: bool, model: str, under: str
    ) -> None:
        is_edited = node.key in self._edited
        if node.key in self._pages and not is_edited:
            return
        source = self._pages.get(node.source.key)
        if source is None and node.is_bare:
            source = ()  # it was forgotten, or nothing of it can be written
        if source is not None and not is_edited:
            self._pages[node.key] = source
            return
        said = self._incoming(
            node, item, self._before(node), is_whole=is_whole, goes_on=goes_on, model=model,
            under=under, old=str(source[0]) if source else "",
        )  # fmt: skip
        pages: Sequence[PageId] = source or ()
        if said is not None:
            session = await self._opened()
            try:
                pages = await self._write(session, said)
            except RecordGone:
                pages = ()  # it was forgotten since it was said, and is not said anew
        if is_edited:
            self._quotes.note_edit(source or (), pages)
            node.origin = None  # these words are said here, wherever the old ones were
            self._edited.discard(node.key)
        self._note(node, pages)

    def _before(self, node: Node) -> str:
        """The page that a node's own follows in the client's history."""
        parent = node.parent
        while parent is not None:
            pages = self._pages.get(parent.key)
            if pages and parent.origin is None:
                return pages[0]
            parent = parent.parent
        return HISTORY_START

    async def _say_each(self, session: Session, said: Sequence[Incoming]) -> list[list[PageId]]:
        """Write these down, with what is left to be told of a request before them."""
        telling = self._late
        pages = await session._say_each(said, USER_TYPED, telling)
        if telling is not None:
            self._late = None
            self._has_told(telling)
        return pages

    async def _write(self, session: Session, said: Incoming) -> list[PageId]:
        try:
            [pages] = await self._say_each(session, [said])
        except MessageTooLarge:  # larger than a window: kept as a document, to be found in parts
            document = replace(
                said, role=Role.USER, event_type=EventType.DOCUMENT, title="a long message"
            )
            [pages] = await session._say_each([document], USER_TYPED)
        return pages

    def _said(
        self,
        item: Item,
        follows: str,
        old: str,
        *,
        model: str = "",
        under: str = "",
        **more: Any,
    ) -> Incoming | None:
        """What is written of an item, and `more` about it; nothing where it says nothing that can
        be. What a model says is of this `model`, and where it cites a tool of its provider's, it is
        the word of the tool that it was given `under`. Raises `ScreenFailed` where secrets cannot
        be told.
        """
        text = text_of(item)
        call_id = encodable(item.call_id)
        more |= {"key": key_of(item, follows, old), "follows": follows, "supersedes": old}
        by_model: dict[str, Any] = {
            "model": model,
            "origin": Origin(f"tool:{under}") if under else MODEL_GENERATED,
        }
        match item.part:
            case Part.TEXT if text:
                users = USER_TYPED if item.role is Role.USER else MODEL_GENERATED
                by = by_model if item.role is Role.ASSISTANT else {"origin": users}
                return Incoming(text=text, role=item.role, **by, **more)
            case Part.CALL:
                return Incoming(
                    text=self._cut_call(text, item),
                    role=Role.ASSISTANT,
                    event_type=EventType.TOOL_CALL,
                    call_id=call_id,
                    **by_model,
                    **more,
                )
            case Part.RESULT | Part.SEALED if text:
                call = item.call_id or item.of_call.partition(" ")[2]
                tool = encodable(self._names.get(call, item.name))
                name = tool_name(self._memory.written(tool))
                return Incoming(
                    text=text,
                    role=Role.TOOL,
                    event_type=EventType.TOOL_RESULT,
                    title=name,
                    call_id=call_id,
                    origin=Origin(f"tool:{name}"),
                    **more,
                )
        return None

    def _cut_call(self, text: str, item: Item) -> str:
        """What is kept of a call. What is cut is clean before: half a secret is not recognised."""
        return self._memory.written(text)[: CALL_CHARS_MAX + len(item.name)]

    def _model(self, body: Json) -> str:
        try:
            model = self._memory.written(encodable(str(self._wire.model(body) or "")))
        except PagefaultError:
            return ""
        return model[:MODEL_CHARS_MAX]

    def _words_of(self, item: Item) -> str:
        """A digest of what would be written of an item, "" where nothing would."""
        if item.exact not in self._words:
            try:
                said = self._said(item, "", "")
                written = "" if said is None else self._memory.written(said.text)
            except PagefaultError:
                written = ""  # it cannot be written, and was not
            is_said = bool(written) and not item.asks_for_summary
            self._words[item.exact] = digest(written) if is_said else ""
        return self._words[item.exact]

    def _fails(self, why: str) -> None:
        self.problem = why

    async def _known(self) -> Session:
        """The session, where there is one: it may be in the middle of being restored."""
        return self._session or await self._memory.session(self.name, create=False)

    async def _opened(self) -> Session:
        if self._session is None:
            self._session = await self._memory.session(self.name, mode="passive")
        return self._session

    async def _restore(self, session: Session) -> None:
        """The history, what was quoted, where epochs began, and how much was asked, as the log has
        them.
        """
        events = await self._memory.passed_on(session)
        factor = self.verbatim.factor
        self._clear()
        self.verbatim.factor = factor
        said, orders = logged(events)
        restored = self.trie.restore([one for one, _ in said], orders, compacted(events))
        for page_id, node in restored.items():
            self._keys[page_id] = node.key
        parts = {one.page_id: pages for one, pages in said}
        for one, pages in said:
            self._pages[self._keys[one.page_id]] = pages
            self._quotes.note_edit(parts.get(PageId(one.supersedes), ()), pages)
        self._order = session.owned.state.order_next
        told = [event.body.request for event in events if isinstance(event.body, Relayed)]
        self._requests = max(told, default=-1) + 1
        await self._quote_again(events)
        await self._faults.restore(events, self._key, session)

    async def _quote_again(self, events: Sequence[Event]) -> None:
        """What was quoted where, and where epochs began, less what was forgotten."""
        for event in events:
            told = event.body
            if not isinstance(told, Relayed):
                continue
            at = self._keys.get(told.epoch_at)
            if at is not None:
                self.verbatim.windows.begin(window_of(told, at, self._key))
            opening = self._keys.get(told.opening)
            await self._quotes.again(told, seq=event.seq, epoch=at, opening=opening)


def _change(match: Match, weighed: Weighed) -> str:
    """How a request stands to the one before it, as `Relayed` names it."""
    if weighed.has_another_model:
        return "remodelled"
    if match.change in (Change.SAME, Change.EXTENDED) and weighed.shared < weighed.before:
        if weighed.has_another_head:
            return "reinstructed"
        if match.edited:
            return "edited"
    return str(match.change)


def _newest(history: History) -> str:
    """What the user said last, in however many messages that stand in a row."""
    said: list[str] = []
    for item in reversed(history.placed):
        if item.role is not Role.USER or item.part is not Part.TEXT:
            break
        said.append(essence(item.text))
    return "\n".join(reversed(said))
