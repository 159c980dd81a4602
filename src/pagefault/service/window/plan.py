"""The next request and the next epoch of a session, as records to be written.

Nothing is folded here: a plan takes effect once its records were appended, and until then another
may replace it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from pagefault.model.errors import ArchiveMissing, RecordGone
from pagefault.model.events import Draft, EpochBegun, Packed
from pagefault.model.ids import PageId, SessionNo
from pagefault.model.kinds import RUNTIME, Actor
from pagefault.model.page import Page
from pagefault.pack import render
from pagefault.policy.epochs import CallFacts
from pagefault.service.window import exchanges
from pagefault.service.window.eviction import (
    PagesByPolicy,
    Round,
    page_target_tokens,
    request_target_tokens,
)
from pagefault.service.window.state import SessionState, paged_in, turn_now
from pagefault.service.window.view import LAW, View
from pagefault.window.engine import step


def plan_request(
    state: SessionState,
    session: SessionNo,
    recalled: Sequence[Page],
    *,
    is_cold: bool = False,
) -> list[Draft]:
    """The records of the next request: a `Packed`; before it, if an epoch is due, an `EpochBegun`
    and its summaries.

    `recalled` are the pages that recall would bring in, best first; they give way before the
    conversation does. `is_cold` means that the provider's cache has lapsed.
    """
    pages, named = to_bring(state, recalled), state.named
    shared = state.layout.frozen_tokens() if state.request_next else 0
    schedule = FrozenPrefix(state, is_cold=is_cold)
    tokens = state.layout.tokens_unlisted([*pages, *named]) + state.tail_tokens(pages)
    epoch = ""
    drafts: list[Draft] = []
    # Most requests only append, and then the window's history does not matter.
    if schedule.due(tokens):
        named = []  # staying pages are rendered again, with these lines
        view = View(state, pages)
        choice = PagesByPolicy(state, session, view, pages)
        _, plan = step(
            view.window, view.items, law=LAW, renderer=view, schedule=schedule, choice=choice
        )
        tokens, epoch = plan.tokens, plan.epoch
        if plan.offer is not None:
            pages = plan.offer.bring
            # A new head, or new rendering rules, leave nothing of what was sent.
            is_anew = epoch in ("configured", "renderer", "tools")
            shared = 0 if is_anew else state.layout.head_tokens
            drafts = [*plan.offer.summaries, draft(state, session, plan.offer.epoch)]
    facts = schedule.facts
    packed = Packed(
        request=state.request_next,
        renderer=render.RENDERER,
        tokens=tokens,
        factor=state.factor,
        recalled=paged_in(pages),
        named=paged_in(named),
        tokens_without_epoch=facts.prompt_tokens if epoch else 0,
        shared=shared,
        tail=state.tail_tokens(pages),
        dead=0 if epoch else facts.dead_tokens,
        accrued=0.0 if epoch else schedule.accrued,
        is_cold=is_cold,
        called_for=tuple(sorted(state.called_for)),
    )
    return [*drafts, draft(state, session, packed)]


def plan_backlog(state: SessionState, session: SessionNo) -> list[Draft]:
    """The epoch that drops what no request will show, so that a restart need not read it."""
    turns = state.limits.last_turns_kept
    choice = PagesByPolicy(state, session, View(state, []), [])
    plan = choice.offer(
        "backlog", Round(turns, page_target_tokens(state), [], exchanges.unsent(state))
    )
    return [*plan.summaries, draft(state, session, plan.epoch)]


def draft(state: SessionState, session: SessionNo, body: EpochBegun | Packed) -> Draft:
    """A record by the runtime, in the current turn."""
    return Draft(
        session=session, turn=turn_now(state), actor=Actor.SYSTEM, origin=RUNTIME, body=body
    )


class FrozenPrefix:
    """The schedule for a prefix that a provider caches: rewritten when that pays, or is
    unavoidable.

    An epoch that can wait comes with the next turn: within a turn the model is still working with
    what it sees, and a repeated request has the same bytes.
    """

    def __init__(self, state: SessionState, *, is_cold: bool) -> None:
        self._state = state
        self._is_cold = is_cold
        self.facts = CallFacts(
            prompt_tokens=0, room_tokens=state.window_room, dead_tokens=0, surviving_tokens=0
        )
        self.accrued = 0.0  # the rent paid with this request, by the rule

    @property
    def room_tokens(self) -> int:
        return self._state.window_room

    def due(self, tokens: int) -> str:
        state = self._state
        self.facts = self._told(tokens)
        decision = state.epochs.decide(self.facts)
        self.accrued = decision.accrued
        fires = decision.fire and (state.awaits_request or tokens > state.window_room)
        return state.epoch_due or (decision.reason if fires else "")

    def _told(self, tokens: int) -> CallFacts:
        """The input of the epoch rule.

        An epoch now would leave about its target, and new messages in any case; what leaves is
        summarised in a tenth.
        """
        state = self._state
        floor = state.floor_tokens() + state.working_set.spared_tokens()
        target = max(request_target_tokens(state), floor)
        dead = math.floor(0.9 * (state.layout.frozen_tokens() - target))
        if dead < state.window_room * state.limits.dead_window_share:
            dead = 0  # not worth a rewrite, whatever it costs
        return CallFacts(
            prompt_tokens=tokens,
            room_tokens=state.window_room,
            dead_tokens=dead,
            surviving_tokens=max(0, math.ceil(target) - state.layout.head_tokens),
            is_cold=self._is_cold,
            calls_since=state.requests_since,
            accrued=state.accrued,
        )


def unseen_pins(state: SessionState) -> list[Page]:
    """Pages that were pinned, or became hot, while they were not in the window; in a mode without
    recall, only the pinned ones.
    """
    ours = set() if state.control.recalls else state.hot.union(state.sections.values())
    return [
        _beside_the_former(state, page)
        for page in state.pinned_pages()
        if page.page_id not in state.working_set and page.page_id not in ours
    ]


def _beside_the_former(state: SessionState, page: Page) -> Page:
    """A version of a section, marked as newer than its predecessor if that is still shown."""
    before = state.replaced.get(page.page_id)
    if before is None or before not in state.working_set:
        return page
    return replace(page, newer_than=(before,))


def unseen_claims(state: SessionState) -> list[Page]:
    """Claims made since the last epoch, except in this very turn: a change of the core is a line of
    its own until the next epoch.
    """
    return [
        page
        for page in state.core.values()
        if page.row.seq > state.epoch_seq
        and page.row.turn < state.turn
        and page.page_id not in state.working_set
    ]


def to_bring(state: SessionState, recalled: Sequence[Page]) -> list[Page]:
    """What the next request brings: pins and claims that it does not show yet, recalled pages, and
    for each closed claim, or words of one, that it would show, the claim that closed it.
    """
    wanted = (*unseen_pins(state), *unseen_claims(state), *recalled)
    fresh = {page.page_id: page for page in wanted if page.page_id not in state.working_set}
    # In order: a closing claim may have been closed by a later one.
    for closed, closer in state.claims.closed_by.items():
        is_shown = closed in state.working_set or closed in fresh
        if is_shown and closer not in state.working_set and closer not in fresh:
            with suppress(RecordGone, ArchiveMissing, KeyError):
                fresh[closer] = state.closures.as_it_holds(state.read_page(closer))
    due: dict[PageId, tuple[PageId, ...]] = {}
    if state.control.recalls:
        due = state.closures.closers_due(state.layout.entries(), state.working_set, list(fresh))
    for closer, sent in due.items():
        with suppress(RecordGone, ArchiveMissing, KeyError):
            page = fresh.get(closer) or state.closures.as_it_holds(state.read_page(closer))
            fresh[closer] = replace(page, newer_than=(*page.newer_than, *sent))
    return list(fresh.values())
