"""A session's window in tokens alone, run over a page trace: which pages a policy keeps, and which
are missed.

In batches, as in a session: pages are added and nothing leaves until an epoch; then the policy is
asked once, for as many tokens as exceed the target. The last turns, and what the newest message
called for, stay. `each_time` is the other extreme: room is made for every page as it comes, as in a
cache.

A *return* is a miss of a page that was in the window before; the first reference of a page is a
miss in every cache. Other pages that a session shows (claims, summaries) are left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pagefault.lab.bounds import Belady, Interval, hits_at_most
from pagefault.lab.page_traces import PageTrace, Step
from pagefault.model.ids import PageId, TurnNo
from pagefault.model.prices import PriceList
from pagefault.paging.questions import EvictionPolicy
from pagefault.paging.working_set import WorkingSet
from pagefault.policy.epochs import CallFacts, EpochRule

OUTPUT_TOKENS = 40
"""Tokens that a model writes to fault a page: not priced as output, but read again as input."""


@dataclass(slots=True, kw_only=True)
class Played:
    """The results of a trace. Costs are in uncached input tokens; `epochs` are the steps that began
    one.

    `cost` covers all requests, `returns_cost` what was paid for returning pages: their tokens,
    written and then read until the next epoch, and the model's requests for what the runtime did
    not bring.
    """

    misses: int = 0
    returns: int = 0
    cost: float = 0.0
    returns_cost: float = 0.0
    epochs: tuple[int, ...] = ()


class _Window:
    """The resident pages, and those that must stay."""

    def __init__(self, trace: PageTrace, policy: EvictionPolicy) -> None:
        self.trace, self.policy = trace, policy
        self.pages = WorkingSet(policy)
        self.seen: set[PageId] = set()
        self.played = Played()
        self.at = 0  # references served
        self._recent: deque[set[PageId]] = deque(maxlen=trace.last_turns)

    def begin(self, turn: int) -> None:
        self.pages.turn_began(TurnNo(turn))
        self._recent.append(set())

    def refer(self, page_id: PageId, *, faulted: bool = False) -> int:
        """Serve a reference. Returns the tokens that came back, if it is a return; else 0."""
        if isinstance(self.policy, Belady):
            self.policy.now = self.at
        self.at += 1
        is_new = page_id not in self.seen
        is_miss = page_id not in self.pages
        self.seen.add(page_id)
        self.pages.admit(self.trace.pages[page_id])
        if is_miss and faulted:
            self.pages.faulted(page_id)
        self.played.misses += is_miss
        if is_new:
            self._recent[-1].add(page_id)
        if is_miss and not is_new:
            self.played.returns += 1
            return self.trace.pages[page_id].tokens
        return 0

    def leaving(self, among: list[PageId], needed: int) -> list[PageId]:
        """The policy's victims and, if it spares too much, the coldest of the spared pages: all
        policies get the same room, so that the bounds hold for all.
        """
        leaving = dict.fromkeys(self.pages.victims(among, needed))
        needed -= sum(map(self.pages.tokens, leaving))
        for page_id in among:
            if needed > 0 and page_id not in leaving:
                leaving[page_id] = None
                needed -= self.pages.tokens(page_id)
        return list(leaving)

    def epoch(self, spared: Sequence[PageId] = ()) -> None:
        """Evict in one batch, then readmit the pages that stay to the policy, as a session does."""
        stay = set().union(*self._recent, spared)
        needed = self.pages.tokens_used - self.trace.target_tokens
        leaving = self.leaving([p for p in self.pages if p not in stay], needed)
        kept = [p for p in self.pages if p not in set(leaving)]
        self.pages.evicted(leaving)
        self.pages.clear()
        for page_id in kept:
            self.pages.admit(self.trace.pages[page_id])


def each_time(trace: PageTrace, policy: EvictionPolicy) -> Played:
    """Make room for each page as it comes, with `room_tokens` for pages. Evicts no more than it
    must, so it shows what a cache of that size can do; costs are not counted.
    """
    window = _Window(trace, policy)
    for number, step in enumerate(trace.steps):
        window.begin(number)
        for page_id in step.references:
            window.refer(page_id, faulted=page_id in step.faulted)
            over = window.pages.tokens_used - trace.room_tokens
            if over > 0:
                for victim in window.leaving([p for p in window.pages if p != page_id], over):
                    window.pages.evicted([victim])
                    window.pages.evict(victim)
    return window.played


def in_batches(trace: PageTrace, policy: EvictionPolicy) -> Played:
    """Use the recorded session's epochs, whatever is resident, so that policies and the optimum
    differ only in which pages leave.
    """
    window = _Window(trace, policy)
    for number, step in enumerate(trace.steps):
        window.begin(number)
        _say(window, step)
        if step.epoch:
            window.epoch(step.called_for)
        for page_id in step.called_for:
            window.refer(page_id)
        for page_id in step.after:
            window.refer(page_id, faulted=page_id in step.faulted)
    window.played.epochs = tuple(n for n, step in enumerate(trace.steps) if step.epoch)
    return window.played


def by_rule(trace: PageTrace, policy: EvictionPolicy, rule: EpochRule) -> Played:
    """Begin epochs when `rule` says so, at the rule's prices; gives the cost of the requests."""
    window = _Window(trace, policy)
    played, prices = window.played, rule.prices
    accrued, since, sent, back = 0.0, 0, 0, 0  # back: tokens that returned since the last epoch
    epochs = []
    for number, step in enumerate(trace.steps):
        window.begin(number)
        _say(window, step)
        if not step.said:  # no message, so no request
            for page_id in step.after:
                window.refer(page_id)
            continue
        incoming = sum(
            trace.pages[p].tokens for p in dict.fromkeys(step.called_for) if p not in window.pages
        )
        tokens = trace.head_tokens + window.pages.tokens_used
        dead = max(0, int(0.9 * (window.pages.tokens_used - trace.target_tokens)))
        is_cold = not sent or prices.is_cold(step.idle_s)
        decision = rule.decide(
            CallFacts(
                prompt_tokens=tokens + incoming,
                room_tokens=trace.window_tokens,
                dead_tokens=dead,
                surviving_tokens=trace.target_tokens,
                is_cold=is_cold,
                calls_since=since,
                accrued=accrued,
            )
        )
        accrued, since = decision.accrued, since + 1
        shared = 0 if is_cold else sent
        if decision.fire:
            window.epoch(step.called_for)
            epochs.append(number)
            shared, since, back = min(shared, trace.head_tokens), 0, 0
        returned = sum(window.refer(page_id) for page_id in step.called_for)
        back += returned
        sent = trace.head_tokens + window.pages.tokens_used
        played.cost += _cost(prices, sent, shared)
        played.returns_cost += _cost(prices, back, 0 if is_cold else max(0, back - returned))
        for page_id in step.after:
            came = window.refer(page_id, faulted=page_id in step.faulted)
            if came and page_id in step.faulted:  # a further request, prefixed by the last
                asked = sent
                sent += came + OUTPUT_TOKENS
                back += came
                again = _cost(prices, sent, asked)
                played.cost += again
                played.returns_cost += again
    played.epochs = tuple(epochs)
    return played


def _say(window: _Window, step: Step) -> None:
    for page_id in step.said:
        window.refer(page_id)


def _cost(prices: PriceList, tokens: int, shared: int) -> float:
    return prices.read * min(tokens, shared) + prices.write * max(0, tokens - shared)


# --- bounds ---------------------------------------------------------------------------------------


def least_each_time(trace: PageTrace, *, reached: int) -> int:
    """A lower bound on misses in `each_time`; `reached` are the misses of some policy."""
    references = trace.references
    rooms = [trace.room_tokens - trace.pages[page_id].tokens for page_id in references]
    intervals = [Interval(a + 1, b, trace.pages[p].tokens) for p, a, b in _pairs(references)]
    return _fewest(references, intervals, rooms, reached)


def least_in_batches(trace: PageTrace, *, reached: int) -> int:
    """A lower bound on misses in `in_batches`, where room is scarce only at epochs, minus what has
    to stay.
    """
    references: list[PageId] = []
    seen: set[PageId] = set()
    before: list[int] = []  # by reference: number of epochs before it
    rooms: list[int] = []
    stay: list[set[PageId]] = []  # by epoch: pages that stay if resident
    recent: deque[list[PageId]] = deque(maxlen=trace.last_turns)
    for step in trace.steps:
        recent.append([])
        for place, group in enumerate((step.said, step.called_for, step.after)):
            if place == 1 and step.epoch:
                held = {p for turn in recent for p in turn}  # certainly resident, and must stay
                rooms.append(trace.target_tokens - sum(trace.pages[p].tokens for p in held))
                stay.append(held | set(step.called_for))
            for page_id in group:
                if page_id not in seen:
                    seen.add(page_id)
                    recent[-1].append(page_id)
                references.append(page_id)
                before.append(len(rooms))
    intervals = []
    for page_id, a, b in _pairs(references):
        # It stays during its first turns, and at the epoch right before it is called for.
        scarce = [m for m in range(before[a], before[b]) if page_id not in stay[m]]
        first, end = (scarce[0], scarce[-1] + 1) if scarce else (0, 0)
        intervals.append(Interval(first, end, trace.pages[page_id].tokens))
    return _fewest(references, intervals, rooms, reached)


def _fewest(
    references: Sequence[PageId], intervals: Sequence[Interval], rooms: Sequence[int], reached: int
) -> int:
    hits = hits_at_most(intervals, rooms, reached=len(references) - reached)
    return len(references) - hits


def _pairs(references: Sequence[PageId]) -> Iterator[tuple[PageId, int, int]]:
    """Each reference but a page's first, with the previous one."""
    last: dict[PageId, int] = {}
    for at, page_id in enumerate(references):
        if page_id in last:
            yield page_id, last[page_id], at
        last[page_id] = at
