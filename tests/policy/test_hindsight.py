"""The hindsight optimum: no choice of epochs is cheaper, and the break-even rule stays near it."""

from __future__ import annotations

import random
from itertools import chain, combinations
from math import inf, isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.model.prices import PriceList
from pagefault.policy.epochs import BreakEven, CallFacts, ColdOrFull, EpochRule, OnlyWhenFull
from pagefault.policy.hindsight import Call, Edit, Sent, aimed, cost_of, optimum, regret


def prices(read: float = 0.1, write: float = 1.25) -> PriceList:
    return PriceList(name="t", as_of="2026-11", read=read, write=write, output=5.0, ttl_s=300.0)


LISTS = [
    prices(0.1, 1.25),
    prices(0.1, 1.0),
    prices(0.05, 1.25),
    prices(0.02, 1.0),
    prices(0.5, 1.0),
]


@st.composite
def logs(draw: st.DrawFn, calls_max: int = 7) -> list[Call]:
    """Short logs: every appended stretch may die later, whole or in part, in any order."""
    count = draw(st.integers(1, calls_max))
    appended = [draw(st.integers(1, 60)) for _ in range(count)]
    edits: list[list[Edit]] = [[] for _ in range(count)]
    offset = 0
    for place, tokens in enumerate(appended[:-1]):
        born = draw(st.integers(place + 1, count + 1))
        if born < count:
            edits[born].append(Edit(offset, draw(st.integers(1, tokens))))
        offset += tokens
    room = draw(st.sampled_from([inf, 40.0, 80.0, 150.0]))
    return [
        Call(
            appended=tokens,
            edits=tuple(edits[place]),
            is_cold=draw(st.booleans()) and draw(st.booleans()),
            volatile=draw(st.integers(0, 5)),
            room=room,
        )
        for place, tokens in enumerate(appended)
    ]


def rendered(calls: list[Call], epochs: set[int]) -> tuple[list[list[int]], list[bool]]:
    """Each call's prompt, as the very tokens it is made of, each its place in the history; and
    whether it is over its room although an epoch would help.
    """
    history = 0
    removed: set[int] = set()
    pending: list[Edit] = []
    prompts, over = [], []
    for number, call in enumerate(calls):
        history += call.appended
        pending += call.edits
        if number in epochs:
            removed |= {e.offset + k for e in pending for k in range(e.saves)}
            pending = []
        prompt = [place for place in range(history) if place not in removed]
        prompts.append(prompt)
        over.append(len(prompt) + call.volatile > call.room and bool(pending))
    return prompts, over


def cost_by_tokens(prices: PriceList, calls: list[Call], epochs: set[int]) -> tuple[float, bool]:
    """The cost of a run, by comparing each prompt with the one before, token by token."""
    prompts, over = rendered(calls, epochs)
    total = 0.0
    before: list[int] = []
    for call, prompt in zip(calls, prompts, strict=True):
        shared = 0
        if not call.is_cold:
            for mine, theirs in zip(prompt, before, strict=False):
                if mine != theirs:
                    break
                shared += 1
        total += prices.read * shared + prices.write * (len(prompt) - shared) + call.volatile
        before = prompt
    return total, not any(over)


def choices(count: int) -> list[set[int]]:
    every = range(count)
    return [set(c) for c in chain.from_iterable(combinations(every, n) for n in range(count + 1))]


@given(logs(), st.sampled_from(LISTS))
def test_no_choice_of_epochs_is_cheaper(calls: list[Call], prices: PriceList) -> None:
    costs = []
    for epochs in choices(len(calls)):
        cost, fits = cost_by_tokens(prices, calls, epochs)
        assert isclose(cost_of(prices, calls, epochs), cost)
        if fits:
            costs.append(cost)
    best = optimum(prices, calls)
    assert isclose(best.cost, min(costs))
    assert isclose(cost_of(prices, calls, best.epochs), best.cost)
    assert cost_by_tokens(prices, calls, set(best.epochs))[1]


@given(logs(), st.sampled_from(LISTS), st.data())
def test_epochs_that_were_forced_are_in_the_optimum_too(
    calls: list[Call], prices: PriceList, data: st.DataObject
) -> None:
    forced = data.draw(st.sets(st.integers(0, len(calls) - 1)))
    costs = [
        cost_of(prices, calls, epochs)
        for epochs in choices(len(calls))
        if epochs >= forced and cost_by_tokens(prices, calls, epochs)[1]
    ]
    best = optimum(prices, calls, forced=forced)
    assert set(best.epochs) >= forced
    assert isclose(best.cost, min(costs))


def conversation(seed: int, calls: int, *, cold: float = 0.0, room: float = inf) -> list[Call]:
    """Turns of a few sizes; what is three turns old can be summed up to a tenth."""
    chance = random.Random(seed)
    made: list[Call] = []
    offsets = [0]
    for number in range(calls):
        appended = 800 if number == 0 else chance.choice([40, 80, 120, 600])
        edits = []
        if number > 3:
            old = number - 3
            edits = [Edit(offsets[old], (offsets[old + 1] - offsets[old]) * 9 // 10)]
        made.append(
            Call(
                appended=appended,
                edits=tuple(edits),
                is_cold=number == 0 or chance.random() < cold,
                room=room,
            )
        )
        offsets.append(offsets[-1] + appended)
    return made


def played(rule: EpochRule, calls: list[Call]) -> list[int]:
    """The epochs that a rule begins over a log, when it is told the facts call by call."""
    epochs: list[int] = []
    full = saved = accrued = 0.0
    pending: list[Edit] = []
    since = 0
    for number, call in enumerate(calls):
        full += call.appended
        pending += call.edits
        dead = sum(edit.saves for edit in pending)
        first = min((edit.offset for edit in pending), default=0)
        # Edits come oldest first here, so what was saved before stands before the first of them.
        surviving = full - call.appended - first - dead if pending else 0
        decision = rule.decide(
            CallFacts(
                prompt_tokens=int(full - saved),
                room_tokens=int(min(call.room, 10**9)),
                dead_tokens=dead,
                surviving_tokens=int(surviving),
                is_cold=call.is_cold,
                calls_since=since,
                accrued=accrued,
            )
        )
        accrued, since = decision.accrued, since + 1
        if decision.fire:
            epochs.append(number)
            saved += dead
            pending, since = [], 0
    return epochs


@pytest.mark.parametrize("prices", LISTS, ids=lambda p: f"{p.read}/{p.write}")
@pytest.mark.parametrize("cold", [0.0, 0.1])
def test_break_even_is_within_a_tenth_of_hindsight(prices: PriceList, cold: float) -> None:
    rule = BreakEven(prices=prices, dead_share_max=1.0)
    regrets = []
    for seed in range(3):
        calls = conversation(seed, 200, cold=cold)
        regrets.append(regret(prices, calls, played(rule, calls)))
    assert min(regrets) >= 1.0
    assert sum(regrets) / len(regrets) <= 1.10


@given(
    st.lists(st.tuples(st.integers(1, 500), st.integers(0, 9)), min_size=3, max_size=25),
    st.sampled_from(LISTS),
    st.integers(0, 5_000),
)
def test_break_even_never_pays_three_times_the_optimum(
    grown: list[tuple[int, int]], prices: PriceList, head: int
) -> None:
    """Edits oldest first, whatever their sizes: the bound of the theorem, plus one call's rent."""
    calls = [Call(appended=head + 1, is_cold=True)]
    offset = head + 1
    for tokens, tenths in grown:
        edits = (Edit(offset - calls[-1].appended, calls[-1].appended * tenths // 10),)
        alive = edits[0].saves > 0 and len(calls) > 1
        calls.append(Call(appended=tokens, edits=edits if alive else ()))
        offset += tokens
    epochs = played(BreakEven(prices=prices, dead_share_max=1.0), calls)
    assert regret(prices, calls, epochs) <= 3.0


def test_waiting_for_the_window_costs_more_the_larger_it_is() -> None:
    """The rent on a whole window, which a rule that knows no prices pays."""
    one = prices()
    regrets = []
    for room in (4_000, 12_000, 48_000):
        calls = conversation(1, 300, room=room)
        waiting = regret(one, calls, played(OnlyWhenFull(prices=one), calls))
        knowing = regret(one, calls, played(BreakEven(prices=one), calls))
        assert 1.0 <= knowing <= min(waiting, 1.10)
        regrets.append(waiting)
    assert regrets == sorted(regrets)
    assert regrets[-1] > 1.5


def test_a_cold_cache_is_the_moment_to_rewrite() -> None:
    one = prices()
    calls = conversation(2, 400, cold=0.08, room=16_000)
    cold = {number for number, call in enumerate(calls) if call.is_cold and number > 4}
    assert set(played(BreakEven(prices=one), calls)) >= cold
    assert set(played(ColdOrFull(prices=one), calls)) >= cold
    without = played(OnlyWhenFull(prices=one), calls)
    with_it = played(ColdOrFull(prices=one), calls)
    assert cost_of(one, calls, with_it) < cost_of(one, calls, without)


def test_a_run_of_no_calls_regrets_nothing() -> None:
    assert regret(prices(), [], []) == 1.0
    assert optimum(prices(), []).epochs == ()


def test_epochs_that_aim_at_a_size_leave_that_size() -> None:
    one = prices()
    sent = [Sent(appended=500, is_cold=number == 0) for number in range(20)]
    log = aimed(sent, head=1_000, aim=3_000, room=6_000)
    assert [edit.saves for call in log for edit in call.edits] == [500] * 15
    # At call 12: 1,000 + 12 * 500 were sent; 3,000 stay, of which the head is read.
    without, with_it = cost_of(one, log[:13], []), cost_of(one, log[:13], [12])
    assert with_it - without == pytest.approx(1.25 * 2_000 - 0.1 * (7_000 - 1_000))
    assert optimum(one, log).epochs
    assert regret(one, log, optimum(one, log).epochs) == 1.0
