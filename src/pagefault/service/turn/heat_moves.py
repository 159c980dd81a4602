"""Plans moves between hot, warm, cold and archived memory. Nothing is written here.

Hot items are in every request, so they are bounded twice: by `Limits.hot_limit`, in tokens of their
texts, and by what the window can hold beside its newest message. An item that becomes hot makes
room first: the least relevant leave, the oldest first among equals, so many at a time, until it
fits. They go to warm memory if they were recalled more than `warm_accesses` times, else to cold. Of
cold items `cold_items_max` are kept; the least relevant beyond that are archived, never erased.

Untrusted text (`model/trust.py`) may take half of hot memory, as it may of recall, and text that
reads like an order never becomes hot. It is always shown as data.

Invariant, after every plan: hot items take no more than the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pagefault.model.defaults import UNTRUSTED_RECALL_SHARE
from pagefault.model.errors import BadInput, HotFull, NoSuchPage, WindowTooSmall
from pagefault.model.events import HeatMove, HeatMoved
from pagefault.model.ids import PageId, told_near
from pagefault.model.kinds import Heat
from pagefault.model.page import Page
from pagefault.service.derived.heat import HeatBook, HeatItem
from pagefault.service.window.room import check_window
from pagefault.service.window.state import SessionState

NEAR_FULL: Final = 0.8  # of a limit: from there on there is a suggestion


@dataclass(slots=True)
class HeatPlan:
    """The moves of one action, over a copy of the items. `records` are the ones to write."""

    state: SessionState
    book: HeatBook
    called: str  # the session's name
    records: list[HeatMoved] = field(default_factory=list)

    @property
    def limit(self) -> int:
        return self.state.limits.hot_limit(self.state.window_tokens)

    @property
    def hot_tokens(self) -> int:
        return sum(item.tokens for item in self.book.of(Heat.HOT))

    def item(self, page_id: str) -> HeatItem:
        found = self.book.items.get(PageId(page_id))
        if found is None:
            near = told_near(page_id, self.state.numbers)
            raise NoSuchPage(page_id, self.called, near, "item")
        return found

    def spill(self, page_ids: Sequence[str] = (), count: int = 0) -> list[HeatItem]:
        """Move items out of hot memory: these, or the `count` with the lowest relevance. Items that
        are not hot stay where they are.
        """
        named = [self.item(page_id) for page_id in dict.fromkeys(page_ids)]
        victims = [item for item in named if item.tier == Heat.HOT]
        if not page_ids:
            victims = sorted(self.book.of(Heat.HOT), key=lambda item: item.leaves_first)[:count]
        return self._out(victims, why="asked")

    def heat(self, page: Page, *, why: str, at_once: int) -> None:
        """Make an item hot; others leave, `at_once` at a time. Raises `HotFull`."""
        item = self.item(page.page_id)
        if item.is_quarantined:
            raise BadInput(
                f"{item.id} reads like an instruction and has not been approved",
                hint="rewrite it in your own words, or leave it for searches",
            )
        if item.tier == Heat.HOT or self.state.table.is_pinned(page.page_id):
            return
        rooms = [(self.limit, self.book.of(Heat.HOT), "")]
        if item.is_untrusted:
            share = int(self.limit * UNTRUSTED_RECALL_SHARE)
            theirs = [one for one in self.book.of(Heat.HOT) if one.is_untrusted]
            rooms.insert(0, (share, theirs, ", of which strangers may take half,"))
        for room, those, share_of in rooms:
            if item.tokens > room:
                raise HotFull(
                    f"{item.id} has {item.tokens:,} tokens; hot memory{share_of} holds {room:,}",
                    hint="keep it cold (`Session.archival_insert`), or raise limits.hot_tokens_max",
                )
            self._make_room(item.tokens, room, [one.id for one in those], at_once)
        self._check_window(page)
        self._move([(item.id, Heat.HOT)], why=why)

    def try_to_heat(self, page: Page, *, at_once: int) -> bool:
        """Make a recalled item hot; if it does not fit, nothing moves."""
        before = self.book.copy(), list(self.records)
        try:
            self.heat(page, why="recalled", at_once=at_once)
        except HotFull:
            self.book, self.records = before
            return False
        return True

    def archive(self, page_ids: Sequence[str] = (), count: int = 0) -> list[HeatItem]:
        """Archive these cold or warm items, or the `count` cold ones with the lowest relevance."""
        named = [self.item(page_id) for page_id in dict.fromkeys(page_ids)]
        for item in named:
            if item.tier == Heat.HOT:
                raise BadInput(f"{item.id} is hot", hint="spill it first")
        if not page_ids:
            cold = sorted(self.book.of(Heat.COLD), key=lambda item: item.leaves_first)
            named = cold[: count or self._beyond_the_cap()]
        named = [item for item in named if item.tier != Heat.ARCHIVED]
        self._move([(item.id, Heat.ARCHIVED) for item in named], why="asked")
        return named

    def keep_the_cap(self) -> None:
        """Archive cold items beyond the limit."""
        cold = sorted(self.book.of(Heat.COLD), key=lambda item: item.leaves_first)
        beyond = cold[: self._beyond_the_cap()]
        self._move([(item.id, Heat.ARCHIVED) for item in beyond], why="cold_full")

    def _beyond_the_cap(self) -> int:
        return max(0, len(self.book.of(Heat.COLD)) - self.state.limits.cold_items_max)

    def _make_room(self, tokens: int, room: int, those: Sequence[PageId], at_once: int) -> None:
        while True:
            hot = [self.book.items[one] for one in those if self.book.items[one].tier == Heat.HOT]
            if sum(item.tokens for item in hot) + tokens <= room:
                return
            if not self.state.limits.auto_spill:
                raise HotFull(
                    f"hot memory holds {self.hot_tokens:,} of {room:,} tokens, and this takes "
                    f"{tokens:,}; automatic spilling is off (limits.auto_spill)",
                    hint="make room with `Session.heat_spill`",
                )
            leaving = sorted(hot, key=lambda item: item.leaves_first)[: max(1, at_once)]
            self._out(leaving, why="room")

    def _out(self, items: Sequence[HeatItem], *, why: str) -> list[HeatItem]:
        often = self.state.limits.warm_accesses
        self._move(
            [(one.id, Heat.WARM if one.access_count > often else Heat.COLD) for one in items],
            why=why,
        )
        return [self.book.items[item.id] for item in items]

    def _move(self, moves: Sequence[tuple[PageId, Heat]], *, why: str) -> None:
        for page_id, to in moves:
            self.book.move(page_id, to)
        if moves:
            told = tuple(HeatMove(page_id=page_id, to=to) for page_id, to in moves)
            self.records.append(HeatMoved(moves=told, why=why))

    def _check_window(self, page: Page) -> None:
        cooled = {item.id for item in self.book if item.tier != Heat.HOT}
        stays = [
            one
            for one in self.state.must_show()
            if not (one.page_id in self.state.hot and one.page_id in cooled)
        ]
        try:
            check_window(self.state, [*stays, page])
        except WindowTooSmall as full:
            raise HotFull(
                f"{page.page_id} does not fit beside the newest message: {full}",
                hint="make it hot after the next message, or open a larger window",
            ) from None


def suggestions(plan: HeatPlan) -> list[dict[str, object]]:
    """What to do now, in the terms of requirement 002: spill, recall or prune."""
    limits, book = plan.state.limits, plan.book
    found: list[dict[str, object]] = []

    def suggest(what: str, reason: str, items: Sequence[HeatItem]) -> None:
        found.append({"type": what, "reason": reason, "itemIds": [item.id for item in items]})

    share = plan.hot_tokens / plan.limit if plan.limit else 0.0
    if share >= NEAR_FULL:
        hot = sorted(book.of(Heat.HOT), key=lambda item: item.leaves_first)
        reason = f"Hot memory at {share:.0%} capacity"
        suggest("spill", reason, hot[: limits.spill_items])
    used = [
        item for item in book.of(Heat.WARM, Heat.COLD) if item.access_count > limits.warm_accesses
    ]
    if used:
        used.sort(key=lambda item: (-item.access_count, item.created_at_ms))
        reason = f"Recalled more than {limits.warm_accesses} times, and not hot"
        suggest("recall", reason, used[: limits.spill_items])
    cold = sorted(book.of(Heat.COLD), key=lambda item: item.leaves_first)
    if len(cold) > limits.cold_items_max * NEAR_FULL:
        reason = f"Cold storage holds {len(cold):,} of {limits.cold_items_max:,} items"
        suggest("prune", reason, cold[: max(1, len(cold) - limits.cold_items_max)])
    return found


def promotes(item: HeatItem, relevance: float, state: SessionState) -> bool:
    """Whether recall makes an item hot: it is relevant enough, or was recalled often enough."""
    limits = state.limits
    return relevance > limits.promote_relevance or item.access_count > limits.warm_accesses
