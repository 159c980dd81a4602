"""What the next request and the next epoch of a session will be, as records yet to be written.

Nothing is folded here: a plan comes true once its records were appended, and until then another
may be made in its place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pagefault.model.errors import ArchiveMissing, RecordGone, WindowTooSmall
from pagefault.model.events import Draft, EpochBegun, Packed, PagedIn
from pagefault.model.ids import NOTHING, PageId, Seq, SessionNo
from pagefault.model.kinds import RUNTIME, Actor
from pagefault.model.page import Page
from pagefault.pack import render
from pagefault.pack.layout import Exchange, Front, Shown, pages_of, said_in
from pagefault.policy.epochs import CallFacts
from pagefault.service.window.state import SessionState, turn_now
from pagefault.service.window.summaries import plan_summaries


@dataclass(frozen=True, slots=True)
class Round:
    """How much an epoch spares. The first of the rounds whose result fits is taken."""

    last_turns: int
    down_to: float  # tokens
    bring: list[Page]
    unsent: Sequence[Exchange]
    in_place: bool = True  # whether messages stay in their places; else as recalled lines


def plan_request(
    state: SessionState,
    session: SessionNo,
    recalled: Sequence[Page],
    *,
    is_cold: bool = False,
) -> list[Draft]:
    """The records of the next request: a `Packed`; before it, where one is due, an `EpochBegun` and
    the summaries that the epoch needs.

    `recalled` are pages that the runtime would bring in, best first; they give way before the
    conversation does. `is_cold` says that the provider's cache has lapsed.

    An epoch that need not be waits for the next turn: within a turn the model is still at work with
    what it sees, and a request that is asked for again has the same bytes.
    """
    pages = to_bring(state, recalled)
    tokens = state.layout.tokens(pages) + state.tail_tokens(pages)
    facts = _facts(state, tokens, is_cold)
    decision = state.epochs.decide(facts)
    drafts: list[Draft] = []
    shared = state.layout.frozen_tokens() if state.request_next else 0
    fires = decision.fire and (state.awaits_request or tokens > state.window_room)
    reason = state.epoch_due or (decision.reason if fires else "")
    if reason:
        plan = _plan_epoch(state, session, reason, pages)
        pages = plan.bring
        tokens = plan.tokens
        # A new head, or new rules of rendering, leave nothing of what was sent.
        shared = 0 if reason in ("configured", "renderer", "tools") else state.layout.head_tokens
        drafts = [*plan.summaries, draft(state, session, plan.epoch)]
    packed = Packed(
        request=state.request_next,
        renderer=render.RENDERER,
        tokens=tokens,
        factor=state.factor,
        recalled=tuple(PagedIn(page_id=page.page_id) for page in pages),
        tokens_without_epoch=facts.prompt_tokens if reason else 0,
        shared=shared,
        tail=state.tail_tokens(pages),
        dead=0 if reason else facts.dead_tokens,
        accrued=0.0 if reason else decision.accrued,
        is_cold=is_cold,
    )
    return [*drafts, draft(state, session, packed)]


def plan_backlog(state: SessionState, session: SessionNo) -> list[Draft]:
    """The epoch that drops what no request will show, so that a restart need not read it."""
    target = _target(state)
    turns = state.limits.last_turns_kept
    plan = candidate(state, session, "backlog", Round(turns, target, [], state.unsent(), True))
    return [*plan.summaries, draft(state, session, plan.epoch)]


def draft(state: SessionState, session: SessionNo, body: EpochBegun | Packed) -> Draft:
    """A record of the runtime's, in the present turn."""
    return Draft(
        session=session, turn=turn_now(state), actor=Actor.SYSTEM, origin=RUNTIME, body=body
    )


def _facts(state: SessionState, tokens: int, is_cold: bool) -> CallFacts:
    """What the rule for epochs is told.

    An epoch now would leave about what it aims at, and what is new in any case; what leaves is
    summed up in a tenth.
    """
    floor = state.floor_tokens() + state.working_set.spared_tokens()
    aim = max(_target(state), floor)
    dead = math.floor(0.9 * (state.layout.frozen_tokens() - aim))
    if dead < state.window_room * state.limits.dead_window_share:
        dead = 0  # not worth a rewrite, whatever it costs
    return CallFacts(
        prompt_tokens=tokens,
        room_tokens=state.window_room,
        dead_tokens=dead,
        surviving_tokens=max(0, math.ceil(aim) - state.layout.head_tokens),
        is_cold=is_cold,
        calls_since=state.requests_since,
        accrued=state.accrued,
    )


def _target(state: SessionState) -> float:
    """How many tokens an epoch leaves: rules and tools, and a share of the room beside them."""
    head = state.layout.head_tokens
    return head + (state.window_room - head) * state.limits.epoch_target_share


def unseen_pins(state: SessionState) -> list[Page]:
    """Pages that were pinned while they were not in the window."""
    return [page for page in state.pinned_pages() if page.page_id not in state.working_set]


def unseen_claims(state: SessionState) -> list[Page]:
    """Claims that came to stand since the last epoch, and not in this very turn: a change of the
    core is a line of its own until the next epoch.
    """
    return [
        page
        for page in state.core.values()
        if page.row.seq > state.epoch_seq
        and page.row.turn < state.turn
        and page.page_id not in state.working_set
    ]


def to_bring(state: SessionState, recalled: Sequence[Page]) -> list[Page]:
    """What the next request brings: pins and claims that it does not show yet, what is recalled,
    and for each claim that it would show and that holds no more, the claim that closed it.
    """
    wanted = (*unseen_pins(state), *unseen_claims(state), *recalled)
    fresh = {page.page_id: page for page in wanted if page.page_id not in state.working_set}
    # In their order, as what closed a claim may have been closed by a later one.
    for closed, closer in state.closed_by.items():
        is_shown = closed in state.working_set or closed in fresh
        if is_shown and closer not in state.working_set and closer not in fresh:
            with suppress(RecordGone, ArchiveMissing, KeyError):
                fresh[closer] = state.read_page(closer)
    return list(fresh.values())


def _with_closers(state: SessionState, stay: Iterable[PageId]) -> list[PageId]:
    """These pages, and what closed those of them that are claims and hold no more."""
    found = dict.fromkeys(stay)
    for closed, closer in state.closed_by.items():
        if closed in found:
            found.setdefault(closer)
    return list(found)


@dataclass(frozen=True, slots=True)
class Plan:
    """An epoch, and what comes with it."""

    epoch: EpochBegun
    front: Front
    summaries: list[Draft]  # to be written before it
    bring: list[Page]
    tokens: int  # of the request after it


def _plan_epoch(state: SessionState, session: SessionNo, reason: str, pages: list[Page]) -> Plan:
    """Choose what leaves: first by policy down to the target, then whatever it takes to fit."""
    state.relearn_factor()
    target = _target(state)
    stay = state.latest_exchanges(state.window_room // 2) or state.unsent()
    for last_turns in (state.limits.last_turns_kept, 0):
        plan = candidate(state, session, reason, Round(last_turns, target, pages, stay))
        if plan.tokens <= state.window_room:
            return plan
    return plan_whatever_it_takes(state, session, reason, pages)


def plan_whatever_it_takes(
    state: SessionState, session: SessionNo, reason: str, pages: list[Page]
) -> Plan:
    """The epoch that spares most of what need not stay, and fits; `WindowTooSmall` if none does."""
    pinned = [page for page in pages if state.table.is_pinned(page.page_id)]
    unsent = state.unsent()
    # Of a long turn, what was called last.
    latest = [state.latest_exchanges(state.window_room // share) for share in (2, 4)]
    for spared in (
        *(Round(0, _target(state), pages, one, in_place=False) for one in latest if one),
        Round(0, 0.0, pages, unsent),
        Round(0, 0.0, pinned, unsent),
        Round(0, 0.0, pinned, unsent, in_place=False),
        Round(0, 0.0, pinned, [], in_place=False),
    ):
        plan = candidate(state, session, reason, spared)
        if plan.tokens <= state.window_room:
            return plan
    raise WindowTooSmall(
        f"what must be in the request exceeds the window of {state.window_tokens:,} tokens",
        hint="unpin pages, shorten the system prompt, or open the session with a larger window",
    )


def candidate(state: SessionState, session: SessionNo, reason: str, spared: Round) -> Plan:
    """What an epoch would be that spares so much."""
    must_stay = [page.page_id for page in state.newest_user] + state.table.pins()
    must_stay += [page.page_id for entry in spared.unsent for page in pages_of(entry)]
    entries = state.layout.entries()
    shown = [entry for entry in entries if isinstance(entry, Shown)]
    core, claims_left_out = _core(state) if spared.down_to else ([], len(state.core))
    in_front = {page.page_id for page in core} | {page.page_id for page, _ in state.summaries}
    last_turns = _last_turns(state, shown, spared.last_turns)
    if spared.last_turns:
        last_turns |= state.recalled_now | state.called_for
    bring = [page for page in spared.bring if page.page_id not in in_front]
    weight = state.working_set.tokens_used + sum(page.row.tokens for page in bring)
    needed = math.ceil(state.layout.head_tokens + weight - spared.down_to)
    with state.working_set.hold(*must_stay):
        evictable = [p for p in state.working_set if p not in last_turns and p not in in_front]
        if spared.down_to:
            victims = set(state.working_set.victims(evictable, needed))
        else:  # where all must go that may, no policy is asked whom it would protect
            victims = {p for p in evictable if not state.working_set.is_held(p)}
        victims |= {p for p in state.closed_by if p in evictable and p not in must_stay}
    verbatim_from = _verbatim_from(state, shown if spared.in_place else [], victims, spared.unsent)
    run = [page for entry in entries if entry.seq < verbatim_from for page in said_in(entry)]
    summaries = plan_summaries(state, session, run, quotes=reason != "backlog")
    if not spared.down_to:
        summaries = summaries.untold()
    stay_exchange = {
        page.page_id
        for entry in entries
        if isinstance(entry, Exchange) and entry.seq >= verbatim_from
        for page in pages_of(entry)
    }
    verbatim = {entry.page.page_id for entry in shown if entry.seq >= verbatim_from}
    in_place_still = verbatim | stay_exchange | in_front
    leaving = victims - state.shorter if spared.down_to else victims
    staying = [p for p in state.working_set if p not in leaving and p not in in_place_still]
    kept = list(dict.fromkeys(map(state.stays_as, staying)))
    shown_elsewhere = in_place_still | {page.page_id for page in bring}
    kept = [p for p in _with_closers(state, [*shown_elsewhere, *kept]) if p not in shown_elsewhere]
    in_front_still = {page.page_id for page in core} | summaries.told
    stays = {*kept, *verbatim, *stay_exchange, *in_front_still}
    epoch = EpochBegun(
        epoch=state.epoch + 1,
        reason=reason,
        core=tuple(page.page_id for page in core),
        claims_left_out=claims_left_out,
        summaries=summaries.paged_in,
        older=summaries.older,
        kept=tuple(PagedIn(page_id=page_id) for page_id in kept),
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
    tokens = state.layout.tokens_if_rewritten(front, verbatim_from, bring)
    tokens += state.tail_tokens(bring)
    return Plan(epoch, front, summaries.drafts, bring, tokens)


def _core(state: SessionState) -> tuple[list[Page], int]:
    """The claims that go in front, and how many have no room there: the latest come first.

    Pins and claims share the core's room.
    """
    room = state.limits.core_tokens_max(state.window_tokens)
    room -= state.pin_tokens(state.pinned_pages())
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
