"""The best epochs in hindsight, and regret: the cost of a run over theirs.

A session's calls are given as the tokens that each appended and the edits that became possible with
it. The cost model is that of the layout: an epoch applies every edit possible by then, and rewrites
everything behind the first of them. So the prompt of a call depends only on its own number and that
of the last epoch, and looking at every pair finds the cheapest epochs, in O(n^2).

The same model prices the run's own epochs, so that `regret` compares like with like: it is at least
1, and exactly 1 for the best choice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf

from pagefault.model.prices import PriceList


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit that an epoch would apply: it shortens the prompt by `saves` tokens at an offset.

    `offset` counts the tokens before it in the full history, as if nothing had ever been removed
    (the first prompt's fixed part included). Edits do not overlap. If an edit replaces text,
    `saves` is the difference.
    """

    offset: int
    saves: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a session's log. `appended` is new text since the call before (of the first call:
    the whole prompt), less the `volatile` tail. `edits` became possible since the call before.
    """

    appended: int
    edits: tuple[Edit, ...] = ()
    is_cold: bool = False
    volatile: int = 0
    room: float = inf  # a longer prompt must have an epoch before it, if one would shorten it


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A request that was sent. `appended` is new text, without the head."""

    appended: int
    is_cold: bool = False
    volatile: int = 0


@dataclass(frozen=True, slots=True)
class Optimum:
    cost: float  # effective input tokens
    epochs: tuple[int, ...]  # the calls that begin one, ascending


def aimed(sent: Sequence[Sent], *, head: int, aim: int, room: float) -> list[Call]:
    """The calls of a layout whose epochs keep the `head` and leave `aim` tokens of what was sent.

    Tokens beyond these are dead. Everything behind the head is rewritten.
    """
    calls: list[Call] = []
    full, dead = head, 0
    for one in sent:
        dead_now = max(0, full - aim)
        calls.append(
            Call(
                appended=one.appended + (0 if calls else head),
                edits=(Edit(head, dead_now - dead),) if calls and dead_now > dead else (),
                is_cold=one.is_cold,
                volatile=one.volatile,
                room=room,
            )
        )
        full, dead = full + one.appended, dead_now
    return calls


def room_kept(
    sent: Sequence[Sent], epochs: Collection[int], *, head: int, aim: int, window: int
) -> int:
    """The longest prompt of a run with these epochs by the measure of `aimed`, or the window: the
    room of the best choice, which must not be stricter than that of the run.
    """
    room, full, saved = window, head, 0
    for number, one in enumerate(sent):
        if number in epochs:
            saved = max(0, full - aim)
        full += one.appended
        room = max(room, full - saved + one.volatile)
    return room


def cost_of(prices: PriceList, calls: Sequence[Call], epochs: Collection[int]) -> float:
    """The cost of the calls with epochs before exactly those in `epochs`, feasible or not.

    In effective input tokens, by the prices of reading and writing alone. Minimum sizes, steps and
    price cliffs are ignored, here and in `optimum`.
    """
    trace, total, last = _Trace(prices, calls), 0.0, -1
    for epoch in [*sorted(set(epochs)), len(calls)]:
        *_, (reached, cost) = trace.since(last, upto=epoch)
        assert reached == epoch
        total += cost
        last = epoch
    return total


def optimum(prices: PriceList, calls: Sequence[Call], *, forced: Collection[int] = ()) -> Optimum:
    """The cheapest choice of epochs that keeps every prompt within its room as far as edits can.

    The calls in `forced` begin an epoch at any cost: something was forgotten, say.
    """
    count, must, trace = len(calls), frozenset(forced), _Trace(prices, calls)
    best = [inf] * (count + 1)  # of all calls up to k, which begins an epoch; at `count`, of all
    came = [-1] * (count + 1)
    for last in range(-1, count):
        before = 0.0 if last < 0 else best[last]
        if before == inf:
            continue
        for k, cost in trace.since(last, upto=count):
            if before + cost < best[k]:
                best[k], came[k] = before + cost, last
            if k in must or (k < count and trace.overflows(last, k)):
                break
    epochs: list[int] = []
    at = came[count]
    while at >= 0:
        epochs.append(at)
        at = came[at]
    return Optimum(cost=best[count], epochs=tuple(reversed(epochs)))


def regret(
    prices: PriceList,
    calls: Sequence[Call],
    epochs: Collection[int],
    *,
    forced: Collection[int] = (),
) -> float:
    """The cost of a run over that of its optimum, 1.0 or more. A run of no calls has 1.0.

    REQUIRES: the run kept to the rooms and began the `forced` epochs, as the optimum must.
    """
    best = optimum(prices, calls, forced=forced).cost
    return cost_of(prices, calls, epochs) / best if best else 1.0


class _Trace:
    """The calls and their running sums. `since` is called with ever later last epochs."""

    def __init__(self, prices: PriceList, calls: Sequence[Call]) -> None:
        self._read, self._write = prices.read, prices.write
        self._calls = calls
        self._full = [0, *accumulate(call.appended for call in calls)]  # [t]: before call t
        saves = (sum(edit.saves for edit in call.edits) for call in calls)
        self._saved = [0, *accumulate(saves)]  # [t + 1]: by an epoch before call t
        self._first = [min((e.offset for e in call.edits), default=inf) for call in calls]
        self._applied = _Sums(sorted({edit.offset for call in calls for edit in call.edits}))
        self._applied_upto = 0

    def since(self, last: int, *, upto: int) -> Iterator[tuple[int, float]]:
        """For each later call k up to `upto`: k, and the cost of the calls after `last` through k
        if the next epoch is before k. For k behind the end: the cost of all the rest.
        """
        for call in self._calls[self._applied_upto : last + 1]:
            for edit in call.edits:
                self._applied.add(edit.offset, edit.saves)
        self._applied_upto = max(self._applied_upto, last + 1)
        saved = self._saved[last + 1]
        spent, first, cut = 0.0, inf, inf
        for k in range(last + 1, upto + 1):
            if k == len(self._calls):
                yield k, spent
                return
            call = self._calls[k]
            if self._first[k] < first:  # an epoch here would keep a shorter prefix
                first = self._first[k]
                cut = first - self._applied.before(first)
            cached = 0.0 if call.is_cold else self._full[k] - saved
            kept = min(cached, cut)
            prompt = self._full[k + 1] - self._saved[k + 1]
            yield k, spent + self._cost(kept, prompt) + call.volatile
            spent += self._cost(cached, self._full[k + 1] - saved) + call.volatile

    def overflows(self, last: int, k: int) -> bool:
        """Whether call k, without an epoch since `last`, exceeds its room and an epoch helps."""
        saved, call = self._saved[last + 1], self._calls[k]
        over = self._full[k + 1] - saved + call.volatile > call.room
        return over and self._saved[k + 1] > saved

    def _cost(self, cached: float, prompt: float) -> float:
        return self._read * cached + self._write * (prompt - cached)


class _Sums:
    """Prefix sums over sorted offsets, with updates (a Fenwick tree)."""

    def __init__(self, offsets: Sequence[int]) -> None:
        self._rank = {offset: rank for rank, offset in enumerate(offsets, 1)}
        self._tree = [0] * (len(offsets) + 1)

    def add(self, offset: int, amount: int) -> None:
        at = self._rank[offset]
        while at < len(self._tree):
            self._tree[at] += amount
            at += at & -at

    def before(self, offset: float) -> int:
        """The sum over all smaller offsets. `offset` must be one of the tree's."""
        at, total = self._rank[int(offset)] - 1, 0
        while at:
            total += self._tree[at]
            at -= at & -at
        return total
