"""The next request of the developer-message layout, as records to be written.

The message is new in each request, so keeping what was sent saves nothing: pages leave when room is
needed, and only about as many as needed. They leave in runs of a few turns, so that a run gets one
summary. A manifest lists the pages that are not shown, in the room that is left, up to its share of
the window.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from pagefault.model.events import Draft, Packed
from pagefault.model.ids import PageId, SessionNo
from pagefault.model.page import Page
from pagefault.pack import render
from pagefault.pack.developer import DeveloperLayout
from pagefault.pack.envelope import dump
from pagefault.pack.layout import Entry, pages_of, with_recalled
from pagefault.pack.manifest import ENTRIES_MAX, Listed, listed_entry
from pagefault.service.window import exchanges
from pagefault.service.window.claim_pages import is_claim
from pagefault.service.window.eviction import Leaving, PagesByPolicy, Round
from pagefault.service.window.plan import draft, to_bring
from pagefault.service.window.state import SessionState, paged_in
from pagefault.service.window.view import LAW, View
from pagefault.window.engine import WINDOW_FULL, Offers, step
from pagefault.window.slots import Item, Window

_TRIES = 4  # at evicting just enough, before evicting all that is needed


def plan_developer(
    state: SessionState,
    session: SessionNo,
    recalled: Sequence[Page],
    bearing: Sequence[PageId],
    recent: Sequence[PageId],
    *,
    is_cold: bool = False,
) -> list[Draft]:
    """The records of the next request: a `Packed`, after an `EpochBegun` if something leaves.

    `recalled` are the pages that recall would bring in, best first. The manifest lists, in this
    order, pages relevant to the newest message (`bearing`, best first), and near ones: those that
    leave now, those listed before, and the newest (`recent`). Raises `WindowTooSmall`.
    """
    layout = state.layout
    assert isinstance(layout, DeveloperLayout)
    pages = to_bring(state, recalled)
    near = [item.row.page_id for item in layout.listed]
    is_anew = bool(bearing or recent or state.epoch_due)  # within a turn the listing stays
    share = int(state.window_room * state.limits.manifest_window_share)
    # A listing that stays is counted: a repeated request has the same bytes.
    listing = (
        min(share, len({*near, *bearing, *recent}) * layout.row_tokens)
        if is_anew
        else layout.tokens_listing(layout.listed, pages) - layout.tokens_listing((), pages)
    )
    view = View(state, pages)
    schedule = Rebuilt(state, listing)
    choice = JustEnough(state, session, view, pages, schedule)
    _, plan = step(
        view.window, view.items, law=LAW, renderer=view, schedule=schedule, choice=choice
    )
    drafts: list[Draft] = []
    entries: list[Entry] = with_recalled(layout.entries(), pages)
    if plan.offer is not None:
        epoch, front, pages = plan.offer.epoch, plan.offer.front, plan.offer.bring
        entries = with_recalled(layout.survivors(front, epoch.verbatim_from), pages)
        drafts = [*plan.offer.summaries, draft(state, session, epoch)]
        headers = [page.page_id for page, _ in front.summaries]
        near = [*headers, *reversed(epoch.evicted), *near]
    shown = {page.page_id for entry in entries for page in pages_of(entry)}
    near = [page_id for page_id in dict.fromkeys([*near, *recent]) if page_id not in shown]
    bears = [page_id for page_id in bearing if page_id not in shown]
    told = list(dict.fromkeys(_in_turn(bears, near) if is_anew else near))
    free = min(share, state.window_room - plan.tokens)
    listed = list(_that_fit(state, _listing(state, told), free))
    tail = state.tail_tokens(pages)
    pack = layout.pack(entries, listed)
    while pack.tokens + tail > state.window_room and listed:
        listed.pop()
        pack = layout.pack(entries, listed)
    shared = pack.tokens if pack.messages == layout.messages() else layout.fixed_tokens
    if state.epoch_due == "tools":  # they come before the messages
        shared = 0
    packed = Packed(
        request=state.request_next,
        renderer=render.RENDERER,
        tokens=pack.tokens + tail,
        factor=state.factor,
        recalled=paged_in(pages),
        listed=tuple(item.row.page_id for item in listed),
        tokens_without_epoch=schedule.tokens if plan.epoch else 0,
        shared=shared,
        tail=tail,
        is_cold=is_cold,
        called_for=tuple(sorted(state.called_for)),
    )
    return [*drafts, draft(state, session, packed)]


class Rebuilt:
    """The schedule of a message that is new in each request: whatever must leave, leaves."""

    def __init__(self, state: SessionState, listing_tokens: int) -> None:
        self._state = state
        self._listing_tokens = listing_tokens
        self.tokens = 0  # of the request, if nothing left

    @property
    def room_tokens(self) -> int:
        return self._state.window_room

    @property
    def over_tokens(self) -> int:
        """By how much the request, with its listing, exceeds its room."""
        return self.tokens + self._listing_tokens - self._state.window_room

    def due(self, tokens: int) -> str:
        self.tokens = tokens
        return self._state.epoch_due or (WINDOW_FULL if self.over_tokens > 0 else "")


class JustEnough(PagesByPolicy):
    """Evicts the excess, or a little more; whatever is needed, if that is not enough."""

    def __init__(
        self,
        state: SessionState,
        session: SessionNo,
        view: View,
        pages: list[Page],
        schedule: Rebuilt,
    ) -> None:
        super().__init__(state, session, view, pages)
        self._schedule = schedule

    def offers(self, window: Window, items: Sequence[Item], reason: str) -> Offers[Leaving]:
        state, over = self._state, self._schedule.over_tokens
        layout = state.layout
        state.relearn_factor()
        stay = exchanges.latest(state, state.window_room // 2) or exchanges.unsent(state)
        more = int(state.window_room * state.limits.repack_window_share)
        weight = layout.head_tokens + state.working_set.tokens_used
        weight += sum(page.row.tokens for page in self._pages)
        # A page takes its row of the manifest with it, which its weight does not include.
        mean = state.working_set.tokens_used / max(1, len(state.working_set))
        told = mean / (mean + layout.row_tokens / 2) if mean else 1.0
        for last_turns in (state.limits.last_turns_kept, 0):
            needed = over + more if over > 0 else 0
            for _ in range(_TRIES):
                down_to = max(1.0, weight - needed * told)
                tokens = yield self.offer(reason, Round(last_turns, down_to, self._pages, stay))
                needed += tokens - state.window_room + more
        yield from self.whatever_it_takes(reason)


def _in_turn(first: Sequence[PageId], second: Sequence[PageId]) -> Iterator[PageId]:
    for pair in zip_longest(first, second):
        yield from (page_id for page_id in pair if page_id is not None)


def _listing(state: SessionState, page_ids: Sequence[PageId]) -> Iterator[Listed]:
    """The pages for a manifest, read one by one on demand; no lapsed claim."""
    for page_id in page_ids[:ENTRIES_MAX]:
        if not (is_claim(page_id) and state.closures.lapse_of(page_id)):
            yield from state.listing([page_id])


def _that_fit(state: SessionState, told: Iterable[Listed], free_tokens: int) -> Iterator[Listed]:
    for item in told:
        free_tokens -= math.ceil(state.counter.count(dump(listed_entry(item))) + 1)
        if free_tokens < 0:
            return
        yield item
