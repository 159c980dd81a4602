"""The local state of a proxied conversation: a fold of its session's records.

A restart, or another process, rebuilds it from the log: the tree of histories, what was quoted and
where epochs began. Records refer to pages by id, so the same bytes are sent again, and what was
forgotten stays away.

Invariants:
 (1) Only this class replaces its parts, and it replaces all of them together.
 (2) Nothing is logged to a session that was forgotten as a whole: what is said next begins another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from pagefault.model.errors import PagefaultError, SessionNotFound
from pagefault.model.events import Event, Relayed
from pagefault.model.kinds import ControlMode
from pagefault.pack.count import TokenCounter
from pagefault.proxy.conversation.first_sent import FirstSent
from pagefault.proxy.conversation.item_drafts import ItemDrafts
from pagefault.proxy.conversation.node_pages import NodePages
from pagefault.proxy.conversation.restored import compacted, logged, sent_before
from pagefault.proxy.conversation.write_health import WriteHealth
from pagefault.proxy.history.trie import Node, Trie
from pagefault.proxy.layout.faults import Faults
from pagefault.proxy.layout.prefix import Prefix
from pagefault.proxy.layout.quotes import Quotes
from pagefault.proxy.layout.verbatim import Verbatim
from pagefault.proxy.wires.wire import Wire
from pagefault.service.inspection.received import messages_of
from pagefault.service.inspection.relayed_window import window_of
from pagefault.service.memory import Memory
from pagefault.service.ownership import Owned
from pagefault.service.session import Session
from pagefault.store.controls import nothing_kept


class ConversationState:
    """For one conversation, under its lock."""

    def __init__(
        self,
        memory: Memory,
        name: str,
        *,
        wire: Wire,
        counter: TokenCounter,
        window_tokens: int,
        is_named: bool,
        faults: Faults,
        drafts: ItemDrafts,
        health: WriteHealth,
    ) -> None:
        self.memory = memory
        self.name = name
        self.session: Session | None = None
        self._owned: Owned | None = None  # the session's state that the parts were folded from
        self.faults = faults
        self.requests = 0  # that the log has
        self.changes = 0  # times that memory changed what it says of something already sent
        self._wire = wire
        self._counter = counter
        self._window_tokens = window_tokens
        self._is_named = is_named
        self._drafts = drafts
        self._health = health
        self._forgettings = memory.forgettings  # when quotes were put in
        self._begin()

    def _begin(self) -> None:
        self.trie = Trie(self._drafts.words_of)
        self.pages = NodePages()
        self.verbatim = Verbatim(
            self._wire, self._counter, self._window_tokens, keeps=self._is_named
        )
        self.prefix = Prefix(self._wire, self.verbatim.weights)
        self.client_prefix = Prefix(self._wire, self.verbatim.weights)
        self.quotes = Quotes(
            self.memory,
            self._counter,
            self.verbatim,
            session=self.known,
            said_in=self.pages.of,
            problem=self._health.fails,
        )
        self.first_sent = FirstSent(self.pages.written)

    async def known(self) -> Session:
        """The session, which may be in the middle of being restored. Raises `SessionNotFound`."""
        return self.session or await self.memory.session(self.name, create=False)

    async def opened(self) -> Session:
        """The session, begun if there is none. Raises `StoreReadOnly` if nothing of it would be
        kept: a session that begins unkept stays so, and later requests may be kept.
        """
        if self.session is None:
            session = await self.memory.session(self.name, mode="passive")
            if session.kept_as is None:  # paused since the request was received
                await self.memory._abandon(session)
                raise nothing_kept(ControlMode(session.control))
            self.session, self._owned = session, session.owned
        return self.session

    async def control(self) -> ControlMode:
        """The control mode of the session. While no other process writes to the session, the folded
        state has it, once the modes that others set have been read; otherwise the index is asked.
        """
        session = self.session
        if session is not None:
            if (heeding := session.owned.runtime.journal.ready()) is not None:
                await heeding
            if session.overlay is None and session.owned.is_certain:
                return session.owned.state.control
        return ControlMode(await self.memory.control_of(self.name))

    def pins(self) -> frozenset[str]:
        """The pages that somebody pinned."""
        if self.session is None:
            return frozenset()
        return frozenset(self.session.owned.state.pins_there())

    def pinned_now(self) -> Callable[[Node], bool]:
        """Whether a node says something that is pinned now."""
        pins = self.pins()
        return lambda node: bool(pins) and not pins.isdisjoint(self.pages.of(node))

    async def catch_up(self) -> None:
        """Fold what an earlier run or another process wrote, or that somebody forgot the session as
        a whole.
        """
        try:
            session = self.session
            if session is None:
                session = await self.memory.session(self.name, mode="passive", create=False)
                await self._restore(session)
                self.session = session
                return
            await session.owned.refresh()
            session.owned.check_there()
            # What was said while nothing was kept is gone when keeping resumes.
            is_resumed = session.overlay is None and session.owned is not self._owned
            if is_resumed or session.owned.state.order_next != self.pages.order_next:
                await self._restore(session)
        except SessionNotFound:
            if self.session is not None:
                self.session, self.requests = None, 0
                self.pages.forget()
                self.changes += 1
                self.first_sent = FirstSent(self.pages.written)
                self.faults.kept.clear()
                self.quotes.unquote()
        except PagefaultError as error:
            self._health.fails(error.message)

    async def unquote_forgotten(self) -> None:
        """Stop quoting pages that were forgotten, here or by another process."""
        if self._forgettings == self.memory.forgettings or self.session is None:
            return
        self._forgettings = self.memory.forgettings
        self.quotes.unquote()
        try:
            await self._quote_again(await self.memory.passed_on(self.session), self.session)
        except PagefaultError as error:
            self._health.fails(error.message)

    async def _restore(self, session: Session) -> None:
        events = await self.memory.passed_on(session)
        factor = self.verbatim.factor
        self._owned = session.owned
        self._begin()
        self.verbatim.factor = factor
        said, orders = logged(events)
        nodes = self.trie.restore([one for one, _ in said], orders, compacted(events))
        order_next = session.owned.state.order_next
        self.pages.restore(nodes, [pages for _, pages in said], order_next)
        parts: dict[str, Sequence[str]] = {one.page_id: pages for one, pages in said}
        for one, pages in said:
            self.quotes.note_edit(parts.get(one.supersedes, ()), pages)
        told = [event.body.request for event in events if isinstance(event.body, Relayed)]
        self.requests = max(told, default=-1) + 1
        await self._quote_again(events, session)
        if self._is_named and self._window_tokens:
            await self._send_again(events, session)

    async def _send_again(self, events: Sequence[Event], session: Session) -> None:
        """Let the next request send earlier messages in the form in which they were sent."""
        runtime = session.owned.runtime
        scope = runtime.scope(session.session)
        messages = await asyncio.to_thread(messages_of, runtime, scope)
        before = sent_before(messages, events, self.pages.key_of, self.faults.kept)
        self.verbatim.resume(*before)

    async def _quote_again(self, events: Sequence[Event], session: Session) -> None:
        """Restore quotes, epochs and the calls that were served, less what was forgotten."""
        key_of = self.pages.key_of
        for event in events:
            told = event.body
            if not isinstance(told, Relayed):
                continue
            at = key_of(told.epoch_at)
            if at:
                self.verbatim.windows.begin(window_of(told, at, key_of))
            opening = key_of(told.opening)
            await self.quotes.again(told, seq=event.seq, epoch=at or None, opening=opening or None)
        await self.faults.restore(events, key_of, session)
