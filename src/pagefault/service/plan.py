"""What the next request and the next epoch of a session will be, as records yet to be written.

Nothing is folded here: a plan comes true once its records were appended, and until then another
may be made in its place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pagefault.model.errors import WindowTooSmall
from pagefault.model.events import Body, EpochBegun, Packed, PagedIn
from pagefault.model.ids import NOTHING, PageId, Seq
from pagefault.model.page import Page
from pagefault.pack import render
from pagefault.pack.layout import Exchange, Shown, pages_of
from pagefault.service.state import SessionState


def plan_request(state: SessionState, recalled: Sequence[Page]) -> list[Body]:
    """The records of the next request: a `Packed`, after an `EpochBegun` where one is due.

    `recalled` are pages that the runtime would bring in, best first; they give way before the
    conversation does.
    """
    fresh = {page.page_id: page for page in (*_unseen_pins(state), *recalled)}
    pages = [page for page in fresh.values() if page.page_id not in state.working_set]
    epoch: EpochBegun | None = None
    if state.epoch_due or state.layout.tokens(pages) > state.window_room:
        epoch, pages = _plan_epoch(state, state.epoch_due or "window_full", pages)
        tokens = _tokens_after(state, epoch, pages)
    else:
        tokens = state.layout.tokens(pages)
    packed = Packed(
        request=state.request_next,
        renderer=render.RENDERER,
        tokens=tokens,
        factor=state.factor,
        recalled=tuple(PagedIn(page_id=page.page_id) for page in pages),
    )
    return [packed] if epoch is None else [epoch, packed]


def plan_backlog(state: SessionState) -> EpochBegun:
    """The epoch that drops what no request will show, so that a restart need not read it."""
    target = state.window_room * state.limits.epoch_target_share
    turns = state.limits.last_turns_kept
    return _candidate_epoch(state, "backlog", turns, target, [], state.unsent(), True)


def _unseen_pins(state: SessionState) -> list[Page]:
    return [page for page in state.pinned_pages() if page.page_id not in state.working_set]


def _plan_epoch(
    state: SessionState, reason: str, pages: list[Page]
) -> tuple[EpochBegun, list[Page]]:
    """Choose what leaves: first by policy down to the target, then whatever it takes to fit."""
    state.relearn_factor()
    pinned = [page for page in pages if state.table.is_pinned(page.page_id)]
    target = state.window_room * state.limits.epoch_target_share
    unsent = state.unsent()
    for protect_turns, down_to, bring, results, in_place in (
        (state.limits.last_turns_kept, target, pages, unsent, True),
        (0, target, pages, unsent, True),
        (0, 0.0, pages, unsent, True),
        (0, 0.0, pinned, unsent, True),
        (0, 0.0, pinned, unsent, False),
        (0, 0.0, pinned, [], False),
    ):
        epoch = _candidate_epoch(state, reason, protect_turns, down_to, bring, results, in_place)
        if _tokens_after(state, epoch, bring) <= state.window_room:
            return epoch, bring
    raise WindowTooSmall(
        f"what must be in the request exceeds the window of {state.window_tokens:,} tokens",
        hint="unpin pages, shorten the system prompt, or open the session with a larger window",
    )


def _candidate_epoch(
    state: SessionState,
    reason: str,
    protect_turns: int,
    down_to: float,
    bring: Sequence[Page],
    unsent: Sequence[Exchange],
    in_place: bool,
) -> EpochBegun:
    """What an epoch would be that keeps so much. Unless `in_place`, no message stays in its
    place: those that stay are recalled lines, and notes between them go.
    """
    must_stay = [page.page_id for page in state.newest_user] + state.table.pins()
    must_stay += [page.page_id for entry in unsent for page in pages_of(entry)]
    entries = state.layout.entries()
    shown = [entry for entry in entries if isinstance(entry, Shown)]
    last_turns = _last_turns(state, shown, protect_turns)
    weight = state.working_set.tokens_used + sum(page.row.tokens for page in bring)
    needed = math.ceil(state.layout.head_tokens + weight - down_to)
    with state.working_set.hold(*must_stay):
        evictable = [p for p in state.working_set if p not in last_turns]
        victims = set(state.working_set.victims(evictable, needed))
    verbatim_from = _verbatim_from(state, shown if in_place else [], victims, unsent)
    stay_exchange = {
        page.page_id
        for entry in entries
        if isinstance(entry, Exchange) and entry.seq >= verbatim_from
        for page in pages_of(entry)
    }
    verbatim = {entry.page.page_id for entry in shown if entry.seq >= verbatim_from}
    in_place_still = verbatim | stay_exchange
    gone = victims - in_place_still
    kept = [p for p in state.working_set if p not in victims and p not in in_place_still]
    return EpochBegun(
        epoch=state.epoch + 1,
        reason=reason,
        kept=tuple(PagedIn(page_id=page_id) for page_id in kept),
        verbatim_from=verbatim_from,
        evicted=tuple(p for p in state.working_set if p in gone),
    )


def _last_turns(state: SessionState, shown: Sequence[Shown], turns: int) -> set[PageId]:
    """The pages of the last turns, but never more than half of the window."""
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
    """Where the unbroken run of messages begins that stay word for word in their places.

    At the first part of a text: a message is kept in its place whole, or as recalled lines.
    """
    after_all = max((entry.seq for entry in state.layout.entries()), default=NOTHING) + 1
    start = unsent[0].seq if unsent else Seq(after_all)
    for entry in reversed(shown):
        if entry.page.page_id in victims:
            break
        if entry.page.row.part == 0:
            start = min(start, entry.seq)
    return start


def _tokens_after(state: SessionState, epoch: EpochBegun, bring: Sequence[Page]) -> int:
    return state.layout.tokens_if_rewritten(state.load_all(epoch.kept), epoch.verbatim_from, bring)
