"""Eviction at an epoch: which pages leave the window, by a policy, down to a target.

A policy says which pages are wanted least. From the last of these on, everything stays in its place
word for word; pages before that which stay move to the front, as lines; pages that lose their place
are summarised.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Final

from pagefault.model.errors import WindowTooSmall
from pagefault.model.events import Draft, EpochBegun, PagedIn
from pagefault.model.ids import NOTHING, PageId, Seq, SessionNo
from pagefault.model.page import Page, is_shared
from pagefault.pack.layout import Exchange, Front, Shown, pages_of, said_in
from pagefault.policy.epochs import tokens_to_leave
from pagefault.service.window import exchanges
from pagefault.service.window.room import core_pins
from pagefault.service.window.state import SessionState, paged_in
from pagefault.service.window.summaries import plan_summaries
from pagefault.service.window.view import View
from pagefault.window.engine import Offer, Offers
from pagefault.window.slots import Item, Window

_TARGET_SHARE_MAX: Final = 0.75
"""Of the window. If an epoch left more, to reach the least length that is cached, another would
soon follow.
"""


@dataclass(frozen=True, slots=True)
class Round:
    """How much an epoch spares. The first round whose result fits is taken."""

    last_turns: int
    down_to: float  # tokens
    bring: list[Page]
    unsent: Sequence[Exchange]
    in_place: bool = True  # whether messages stay in their places, or become recalled lines
    at_least: bool = False  # whether no less than `down_to` should be left, rather than no more


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving(Offer):
    """An epoch, with its summaries."""

    epoch: EpochBegun
    front: Front
    summaries: list[Draft]  # to be written before it
    bring: list[Page]


class PagesByPolicy:
    """The choice for sessions: first the policy's victims, then whatever is needed to fit.

    Offers raise `WindowTooSmall` if the request's required contents do not fit.
    """

    def __init__(self, state: SessionState, session: SessionNo, view: View, pages: list[Page]):
        self._state = state
        self._session = session
        self._view = view
        self._pages = pages  # that the request would bring

    def offers(self, window: Window, items: Sequence[Item], reason: str) -> Offers[Leaving]:
        state = self._state
        state.relearn_factor()
        target, share = page_target_tokens(state), _share_tokens(state)
        stay = exchanges.latest(state, state.window_room // 2) or exchanges.unsent(state)
        for last_turns in (state.limits.last_turns_kept, 0):
            spared = Round(last_turns, target, self._pages, stay, at_least=target > share)
            yield self.offer(reason, spared)
        yield from self.whatever_it_takes(reason)

    def whatever_it_takes(self, reason: str) -> Offers[Leaving]:
        """Epochs that spare less and less of what may leave."""
        state, pages = self._state, self._pages
        pinned = [page for page in pages if state.table.is_pinned(page.page_id)]
        unsent = exchanges.unsent(state)
        # Of a long turn, the last calls.
        latest = [exchanges.latest(state, state.window_room // share) for share in (2, 4)]
        target = page_target_tokens(state)
        for spared in (
            *(Round(0, target, pages, one, in_place=False) for one in latest if one),
            Round(0, 0.0, pages, unsent),
            Round(0, 0.0, pinned, unsent),
            Round(0, 0.0, pinned, unsent, in_place=False),
            Round(0, 0.0, pinned, [], in_place=False),
        ):
            yield self.offer(reason, spared)
        raise WindowTooSmall(
            f"the parts that every request needs exceed the window of {state.window_tokens:,} "
            "tokens",
            hint="unpin pages, shorten the system prompt, or open the session with a larger window",
        )

    def offer(self, reason: str, spared: Round) -> Leaving:
        """Plan one epoch that spares so much.

        Pages fall into four sets: in front (core and summaries), in place (verbatim, from
        `verbatim_from` on), kept (lines in front), and evicted (the rest of the working set). Pins,
        the newest user message and exchanges that were not sent are never victims. With `down_to` 0
        everything that may leave does, and no policy is asked.
        """
        state = self._state
        entries = state.layout.entries()
        shown = [entry for entry in entries if isinstance(entry, Shown)]
        core, claims_left_out = _core(state) if spared.down_to else ([], len(state.core))
        in_front = {page.page_id for page in core} | {page.page_id for page, _ in state.summaries}
        bring = [page for page in spared.bring if page.page_id not in in_front]
        must_stay = [page.page_id for page in state.newest_user] + state.table.pins()
        must_stay += [page.page_id for entry in spared.unsent for page in pages_of(entry)]
        victims = self._victims(spared, shown, bring, in_front=in_front, must_stay=must_stay)
        verbatim_from = _verbatim_from(
            state, shown if spared.in_place else [], victims, spared.unsent
        )
        run = [page for entry in entries if entry.seq < verbatim_from for page in said_in(entry)]
        summaries = plan_summaries(state, self._session, run, quotes=reason != "backlog")
        if not spared.down_to or not state.control.recalls:
            summaries = summaries.untold()
        in_place = {
            page.page_id
            for entry in entries
            if isinstance(entry, Shown | Exchange) and entry.seq >= verbatim_from
            for page in pages_of(entry)
        }
        leaving = victims - state.shorter if spared.down_to else victims
        kept = self._kept(
            leaving, elsewhere=in_place | in_front, brought={page.page_id for page in bring}
        )
        told = {one.page_id: one for one in paged_in(state.out_of_place())}
        stays = {*kept, *in_place, *(page.page_id for page in core), *summaries.told}
        epoch = EpochBegun(
            epoch=state.epoch + 1,
            reason=reason,
            core=tuple(page.page_id for page in core),
            claims_left_out=claims_left_out,
            summaries=summaries.paged_in,
            older=summaries.older,
            kept=tuple(
                now
                if is_shared(one)  # another session's claims closed its words
                else replace(now, lapse=state.closures.lapse_of(one))
                for one in kept
                for now in [told.get(one, PagedIn(page_id=one))]
            ),
            verbatim_from=verbatim_from,
            evicted=tuple(p for p in state.working_set if p not in stays),
        )
        front = Front(
            seq=verbatim_from,
            core=tuple(core),
            claims_left_out=claims_left_out,
            summaries=tuple(summaries.shown),
            older=summaries.older,
            kept=tuple(state.load_all(epoch.kept)),
        )
        brought = {page.page_id for page in bring}
        return Leaving(
            window=self._view.begin(epoch.epoch, front, verbatim_from),
            without={page.page_id for page in self._pages if page.page_id not in brought},
            epoch=epoch,
            front=front,
            summaries=summaries.drafts,
            bring=bring,
        )

    def _victims(
        self,
        spared: Round,
        shown: Sequence[Shown],
        bring: Sequence[Page],
        *,
        in_front: Set[PageId],
        must_stay: Sequence[PageId],
    ) -> set[PageId]:
        """The pages that lose their places, or leave."""
        state = self._state
        last_turns = _last_turns(state, shown, spared.last_turns)
        if spared.last_turns:
            last_turns |= state.recalled_now | state.called_for
        weight = state.working_set.tokens_used + sum(page.row.tokens for page in bring)
        needed = math.ceil(state.layout.head_tokens + weight - spared.down_to)
        with state.working_set.hold(*must_stay):
            evictable = [p for p in state.working_set if p not in last_turns and p not in in_front]
            if spared.down_to:
                chosen = state.working_set.victims(evictable, needed)
                # A policy frees what is asked for or more.
                victims = set(chosen[:-1] if spared.at_least else chosen)
            else:  # all that may leave does: no policy is asked
                victims = {p for p in evictable if not state.working_set.is_held(p)}
        moved = {page.page_id for page in state.out_of_place()}
        gone = {
            *state.claims.closed_by,
            *state.closures.lapsed_in(state.layout.entries()),
            *(state.leaving & moved),
        }
        return victims | {p for p in gone if p in evictable and p not in must_stay}

    def _kept(
        self, leaving: Set[PageId], *, elsewhere: Set[PageId], brought: Set[PageId]
    ) -> list[PageId]:
        """The pages that stay without their place: lines in front, each at its requested level, and
        for each closed claim among them the one that closed it.
        """
        state = self._state
        staying = [p for p in state.working_set if p not in leaving and p not in elsewhere]
        kept = dict.fromkeys(map(state.stays_as, staying))
        shown = elsewhere | brought
        found = dict.fromkeys([*shown, *kept])
        for closed, closer in state.claims.closed_by.items():
            if closed in found:
                found.setdefault(closer)
        return [page_id for page_id in found if page_id not in shown]


def page_target_tokens(state: SessionState) -> float:
    """The tokens that an epoch leaves, of rules, tools and the pages' text: what
    `request_target_tokens` comes to without labels and framing, but no less than the share.
    """
    share, target = _share_tokens(state), request_target_tokens(state)
    if target <= share:
        return share  # without composing what is pending: in an ingest, all of a window
    head = state.layout.head_tokens
    shown = state.layout.tokens() - head
    if shown <= 0:
        return share
    return max(share, head + (target - head) * min(state.working_set.tokens_used / shown, 1.0))


def request_target_tokens(state: SessionState) -> float:
    """The tokens that a request should have after an epoch: the share, or more if the provider
    would not cache so few.
    """
    share, prices, missed = _share_tokens(state), state.epochs.prices, state.cache_misses
    if prices.min_tokens > _TARGET_SHARE_MAX * state.window_room:
        return share
    return tokens_to_leave(prices, share, miss_share=sum(missed) / len(missed) if missed else 1.0)


def _share_tokens(state: SessionState) -> float:
    """Rules and tools, and a share of the room beside them."""
    head = state.layout.head_tokens
    return head + (state.window_room - head) * state.limits.epoch_target_share


def _core(state: SessionState) -> tuple[list[Page], int]:
    """The claims for the front, the latest first, and how many do not fit.

    Pins and claims share the core's room.
    """
    room = state.limits.core_tokens_max(state.window_tokens)
    room -= state.pin_tokens(core_pins(state))
    chosen: list[Page] = []
    for page in reversed(state.core.values()):
        room -= state.pin_tokens([page])
        if room < 0:
            break
        if not state.table.is_pinned(page.page_id):
            chosen.append(page)
    left_out = sum(page.page_id not in state.table.pins() for page in state.core.values())
    return chosen[::-1], left_out - len(chosen)


def _last_turns(state: SessionState, shown: Sequence[Shown], turns: int) -> set[PageId]:
    """The pages of the last turns, at most half of the window."""
    last: set[PageId] = set()
    tokens = 0
    for entry in reversed(shown):
        tokens += state.working_set.tokens(entry.page.page_id)
        if entry.page.row.turn <= state.turn - turns or tokens > state.window_room // 2:
            break
        last.add(entry.page.page_id)
    return last


def _verbatim_from(
    state: SessionState, shown: Sequence[Shown], victims: set[PageId], unsent: Sequence[Exchange]
) -> Seq:
    """The start of the unbroken run of messages that stay word for word in their places.

    It is at the first part of a text: a message stays in its place whole, or as recalled lines.
    """
    after_all = max((entry.seq for entry in state.layout.entries()), default=NOTHING) + 1
    start = unsent[0].seq if unsent else Seq(after_all)
    for entry in reversed(shown):
        if entry.page.page_id in victims:
            break
        if entry.page.row.part == 0:
            start = min(start, entry.seq)
    return start
