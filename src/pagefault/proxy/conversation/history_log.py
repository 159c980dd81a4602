"""The log of a client's history: each item is logged once, however often it is sent.

Each record names the page that it follows in the client's history and the one that it replaces, so
the tree of histories can be rebuilt from the log. Items are logged in the order of the history. If
one cannot be, it and those after it are logged when the client sends them again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pagefault.model.errors import MessageTooLarge, PagefaultError, QuotaExceeded, RecordGone
from pagefault.model.ids import PageId
from pagefault.model.kinds import USER_TYPED, EventType, Role
from pagefault.proxy.conversation.item_drafts import ItemDrafts
from pagefault.proxy.conversation.request_log import RequestLog
from pagefault.proxy.conversation.state import ConversationState
from pagefault.proxy.conversation.write_health import WriteHealth
from pagefault.proxy.history.history import Item, Part
from pagefault.proxy.history.trie import Node
from pagefault.service.session import Session
from pagefault.service.turn.drafts import PREVIOUS, Incoming

RUN_MAX: Final = 100  # items that are written in one batch


class HistoryLog:
    """For one conversation, under its lock."""

    def __init__(
        self,
        state: ConversationState,
        drafts: ItemDrafts,
        requests: RequestLog,
        health: WriteHealth,
    ) -> None:
        self._state = state
        self._drafts = drafts
        self._requests = requests
        self._health = health

    async def write(
        self, nodes: Sequence[Node], items: Sequence[Item], *, model: str = "", under: str = ""
    ) -> None:
        """Log the items at these nodes that are not kept yet. An answer is by `model`, and `under`
        is the tool of its provider's that it cites. Never raises: a failure is noted.
        """
        pages = self._state.pages
        first = pages.kept_upto(nodes)
        if first == len(nodes):
            return
        number = items[first].message
        first = bisect_left(items, number, hi=first, key=lambda item: item.message)
        nodes, items = nodes[first:], items[first:]  # all of the messages before are written
        blocks = Counter(item.message for item in items)
        run = _HistoryDrafts(self._state, self._drafts, blocks, model, under)
        try:
            await self._write_new(run, nodes, items)
            run.begun.clear()
            for node, item in zip(nodes, items, strict=True):
                await self._write_one(run, node, item)
                if pages.is_said(node):
                    run.note_begun(item)
        except QuotaExceeded as full:
            self._health.exceeds(full)
        except PagefaultError as error:
            self._health.fails(error.message)

    async def _write_new(
        self, run: _HistoryDrafts, nodes: Sequence[Node], items: Sequence[Item]
    ) -> None:
        """Log the end of a history, all of it new, in few batches. What cannot be logged so is left
        to be logged one by one, and so is a single new item behind edited ones, which come first.
        """
        pages, at = self._state.pages, len(nodes)
        while at and pages.is_new(nodes[at - 1]) and not items[at - 1].asks_for_summary:
            at -= 1
        for node, item in zip(nodes[:at], items, strict=False):
            if pages.is_said(node):
                run.note_begun(item)
        for first in range(at, len(nodes), RUN_MAX):
            drafts: list[tuple[Node, Incoming | None]] = []
            follows = pages.before(nodes[first])
            for node, item in zip(nodes[first:], items[first : first + RUN_MAX], strict=False):
                draft = run.draft(node, item, follows)
                drafts.append((node, draft))
                if draft is not None:
                    follows = PREVIOUS
                    run.note_begun(item)
            said = [draft for _, draft in drafts if draft is not None]
            is_alone = len(said) == 1 and pages.kept_upto(nodes[:at]) < at
            if not said or is_alone:
                return
            session = await self._state.opened()
            try:
                written = iter(await self._requests.append(session, said))
            except QuotaExceeded:
                raise
            except PagefaultError:
                return
            for node, draft in drafts:
                pages.note(node, next(written) if draft is not None else ())

    async def _write_one(self, run: _HistoryDrafts, node: Node, item: Item) -> None:
        pages = self._state.pages
        if pages.is_kept(node):
            return
        is_edited, source = pages.is_edited(node), pages.find(node)
        if source is None and node.is_bare:
            source = ()  # it was forgotten, or nothing of it can be written
        if source is not None and not is_edited:
            pages.adopt(node, source)
            return
        draft = run.draft(node, item, pages.before(node), old=str(source[0]) if source else "")
        now: Sequence[PageId] = source or ()
        if draft is not None:
            session = await self._state.opened()
            try:
                [now] = await self._append(session, draft)
            except RecordGone:
                now = ()  # it was forgotten since it was said, and is not said anew
        if is_edited:
            self._state.quotes.note_edit(source or (), now)
            node.origin = None  # these words are said here, wherever the old ones were
        pages.note(node, now)

    async def _append(self, session: Session, draft: Incoming) -> list[list[PageId]]:
        try:
            return await self._requests.append(session, [draft])
        except MessageTooLarge:  # larger than a window: kept as a document, to be found in parts
            document = replace(
                draft, role=Role.USER, event_type=EventType.DOCUMENT, title="a long message"
            )
            return await session._say_each([document], USER_TYPED)


@dataclass(slots=True)
class _HistoryDrafts:
    """The drafts of one call of `write`: how many items each message has, and in which messages a
    text of the user's was logged.
    """

    state: ConversationState
    drafts: ItemDrafts
    blocks: Mapping[int, int]
    model: str
    under: str
    begun: set[int] = field(default_factory=set)

    def note_begun(self, item: Item) -> None:
        """An item was logged."""
        if item.part is Part.TEXT and item.role is Role.USER:
            self.begun.add(item.message)

    def draft(self, node: Node, item: Item, follows: str, old: str = "") -> Incoming | None:
        """The draft of an item that follows one page and replaces `old`; None if it has none."""
        if item.asks_for_summary:
            return None
        return self.drafts.draft(
            item,
            follows,
            old,
            model=self.model,
            under=self.under or item.under,
            is_whole=self.blocks[item.message] == 1,
            goes_on=item.message in self.begun,
            spliced=() if old else self.state.faults.spliced(node.key),
        )
