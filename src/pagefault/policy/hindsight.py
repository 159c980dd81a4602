"""The best epochs in hindsight, and regret: how much dearer a run was than they would have been.

A session's calls are told as what each appended and which edits became possible with it. The
operator is that of the layout: an epoch applies every edit that is possible by then, and rewrites
what stands behind the first of them. So the prompt of a call depends on its own number and that of
the last epoch alone, and the cheapest choice of epochs is found by looking at every pair, O(n^2).

The same operator prices the run's own epochs, so that `regret` compares like with like: it is at
least 1, and exactly 1 for the best choice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf

from pagefault.model.prices import PriceList


@dataclass(frozen=True, slots=True)
class Edit:
    """Something an epoch would do: at an offset, make the prompt shorter by `saves` tokens.

    `offset` counts the tokens before it, in the history as it would be had nothing ever been
    removed (the first prompt's fixed part included). Edits do not overlap. Where one puts new text
    in the place of old, `saves` is the difference.
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
    """What is known of a request that was sent. `appended` is new text, the head apart."""

    appended: int
    is_cold: bool = False
    volatile: int = 0


@dataclass(frozen=True, slots=True)
class Optimum:
    cost: float  # effective input tokens
    epochs: tuple[int, ...]  # the calls that begin one, ascending


def aimed(sent: Sequence[Sent], *, head: int, aim: int, room: float) -> list[Call]:
    """The calls of a layout whose epochs keep the `head` and leave `aim` tokens of what was sent.

    Dead is whatever was sent beyond these. Everything behind the head is written anew.
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


def cost_of(prices: PriceList, calls: Sequence[Call], epochs: Collection[int]) -> float:
    """What the calls cost with epochs before exactly those of them, feasible or not.

    In effective input tokens, by the prices of reading and writing alone: least sizes, steps and
    cliffs are left out, here and in `optimum`.
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

    `forced` are calls that begin one whatever it costs: something was forgotten, say.
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

    REQUIRES: the run kept to the rooms, and began the `forced` epochs: the optimum has to.
    """
    best = optimum(prices, calls, forced=forced).cost
    return cost_of(prices, calls, epochs) / best if best else 1.0


class _Trace:
    """The calls, with what is summed over them. Asked about ever later last epochs."""

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
        """For each later call k up to `upto`: k, and what the calls after `last` cost if the next
        epoch is before k, that of k included. For k behind the end: what all the rest cost.
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
            if self._first[k] < first:  # the prefix that an epoch here would keep ends earlier
                first = self._first[k]
                cut = first - self._applied.before(first)
            cached = 0.0 if call.is_cold else self._full[k] - saved
            kept = min(cached, cut)
            prompt = self._full[k + 1] - self._saved[k + 1]
            yield k, spent + self._cost(kept, prompt) + call.volatile
            spent += self._cost(cached, self._full[k + 1] - saved) + call.volatile

    def overflows(self, last: int, k: int) -> bool:
        """Whether call k, without an epoch since `last`, exceeds its room and one would help."""
        saved, call = self._saved[last + 1], self._calls[k]
        over = self._full[k + 1] - saved + call.volatile > call.room
        return over and self._saved[k + 1] > saved

    def _cost(self, cached: float, prompt: float) -> float:
        return self._read * cached + self._write * (prompt - cached)


class _Sums:
    """Sums over a prefix of sorted offsets, as they are added to (a Fenwick tree)."""

    def __init__(self, offsets: Sequence[int]) -> None:
        self._rank = {offset: rank for rank, offset in enumerate(offsets, 1)}
        self._tree = [0] * (len(offsets) + 1)

    def add(self, offset: int, amount: int) -> None:
        at = self._rank[offset]
        while at < len(self._tree):
            self._tree[at] += amount
            at += at & -at

    def before(self, offset: float) -> int:
        """Over all smaller offsets. `offset` is one of them."""
        at, total = self._rank[int(offset)] - 1, 0
        while at:
            total += self._tree[at]
            at -= at & -at
        return total
