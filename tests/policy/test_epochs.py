"""When each rule begins an epoch, and what every rule owes."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.model.prices import PriceList
from pagefault.pack.cost import effective_input_cost
from pagefault.policy import epochs
from pagefault.policy.epochs import (
    LEEWAY,
    BreakEven,
    CallFacts,
    ColdOrFull,
    Decision,
    EpochRule,
    EveryCalls,
    OnlyWhenFull,
    premium,
    tokens_to_leave,
)

PRICES = PriceList(name="t", as_of="2026-11", read=0.1, write=1.25, output=5.0, ttl_s=300.0)
UNCAPPED = BreakEven(prices=PRICES, dead_share_max=1.0)
RULES: list[EpochRule] = [
    BreakEven(prices=PRICES),
    BreakEven(prices=PRICES, beta=8.0),
    UNCAPPED,
    OnlyWhenFull(prices=PRICES),
    ColdOrFull(prices=PRICES),
    EveryCalls(prices=PRICES),
]
CALL = CallFacts(prompt_tokens=5_000, room_tokens=8_000, dead_tokens=400, surviving_tokens=1_000)
FACTS = st.builds(
    CallFacts,
    prompt_tokens=st.integers(1_000, 9_000),
    room_tokens=st.just(8_000),
    dead_tokens=st.integers(0, 1_000),
    surviving_tokens=st.integers(0, 5_000),
    is_cold=st.booleans(),
    calls_since=st.integers(0, 10),
    accrued=st.floats(0, 5_000),
)


@pytest.mark.parametrize("rule", RULES, ids=repr)
@given(FACTS)
def test_every_rule_fires_when_the_window_is_full_and_never_for_nothing(
    rule: EpochRule, call: CallFacts
) -> None:
    decision = rule.decide(call)
    assert decision == rule.decide(call)  # a plan made twice pays once
    if call.prompt_tokens > call.room_tokens:
        assert decision.reason == epochs.WINDOW_FULL
    elif not call.dead_tokens:
        assert not decision.fire
    assert decision.fire == bool(decision.reason)
    paid = (PRICES.write if call.is_cold else PRICES.read) * call.dead_tokens
    assert decision.accrued == (0.0 if decision.fire else call.accrued + paid)


@given(FACTS)
def test_the_premium_is_what_the_call_costs_more_with_an_epoch(call: CallFacts) -> None:
    """By hand: a frozen prefix of `kept`, then what is dead, then what survives, then the new."""
    kept, new = 700, 90
    frozen = kept + call.dead_tokens + call.surviving_tokens
    if call.is_cold:
        without = PRICES.write * (frozen + new)
        with_it = PRICES.write * (frozen + new - call.dead_tokens)
    else:
        without = PRICES.read * frozen + PRICES.write * new
        with_it = PRICES.read * kept + PRICES.write * (call.surviving_tokens + new)
    assert premium(PRICES, call) == pytest.approx(with_it - without)


def calls_until_it_fires(rule: EpochRule, *, dead_a_call: int, surviving: int) -> int:
    """Steady growth: every call adds as much that is dead."""
    decision = Decision(fire=False, reason="", accrued=0.0, premium=0.0)
    for number in range(1, 10_000):
        facts = CallFacts(
            prompt_tokens=10_000_000,
            room_tokens=10_000_000,
            dead_tokens=number * dead_a_call,
            surviving_tokens=surviving,
            accrued=decision.accrued,
        )
        decision = rule.decide(facts)
        if decision.fire:
            assert decision.reason == epochs.BREAK_EVEN
            return number
    raise AssertionError("never")


@pytest.mark.parametrize(
    ("read", "write", "calls"), [(0.10, 1.25, 21), (0.05, 1.25, 30), (0.02, 1.0, 43)]
)
def test_in_steady_growth_it_fires_at_the_optimum_without_knowing_the_growth(
    read: float, write: float, calls: int
) -> None:
    """n = sqrt(2 (w - r) S / (r f g)) of the economic order quantity."""
    prices = replace(PRICES, read=read, write=write)
    surviving, dead = 15_000, 808  # 950 tokens a call, 85 % of them dead
    assert round(sqrt(2 * (write - read) * surviving / (read * dead))) == calls
    rule = BreakEven(prices=prices, dead_share_max=1.0)
    assert abs(calls_until_it_fires(rule, dead_a_call=dead, surviving=surviving) - calls) <= 1


def test_cheaper_reading_means_rarer_epochs_and_beta_means_patience() -> None:
    at = {
        read: calls_until_it_fires(
            BreakEven(prices=replace(PRICES, read=read), dead_share_max=1.0),
            dead_a_call=100,
            surviving=5_000,
        )
        for read in (0.02, 0.05, 0.1, 0.5)
    }
    assert sorted(at.values(), reverse=True) == list(at.values())
    assert len(set(at.values())) == 4  # the price list is used, not one figure for all
    patient = calls_until_it_fires(replace(UNCAPPED, beta=8.0), dead_a_call=100, surviving=5_000)
    assert patient > 2 * at[0.1]


def test_a_cold_cache_is_used_at_once_however_little_is_dead() -> None:
    little = replace(CALL, dead_tokens=1, is_cold=True)
    assert UNCAPPED.decide(little).reason == epochs.CACHE_COLD
    assert UNCAPPED.decide(little).premium < 0
    assert ColdOrFull(prices=PRICES).decide(little).reason == epochs.CACHE_COLD
    assert not OnlyWhenFull(prices=PRICES).decide(little).fire
    assert not UNCAPPED.decide(replace(little, is_cold=False)).fire


def test_when_nothing_survives_behind_the_dead_they_go_at_once() -> None:
    free = replace(CALL, surviving_tokens=0)
    assert UNCAPPED.decide(free).reason == epochs.BREAK_EVEN


def test_what_is_dead_may_not_take_more_than_its_share() -> None:
    full_of_it = replace(CALL, dead_tokens=2_100, surviving_tokens=2_500)
    assert (
        BreakEven(prices=PRICES, dead_share_max=0.4).decide(full_of_it).reason == epochs.DEAD_SHARE
    )
    assert (
        not BreakEven(prices=PRICES, dead_share_max=0.4)
        .decide(replace(full_of_it, dead_tokens=1_900))
        .fire
    )
    assert not UNCAPPED.decide(full_of_it).fire


def test_a_timer_counts_calls() -> None:
    rule = EveryCalls(prices=PRICES, calls=4)
    assert [rule.decide(replace(CALL, calls_since=n)).fire for n in range(6)] == [False] * 4 + [
        True,
        True,
    ]


def test_rent_that_was_accrued_before_a_restart_counts_after_it() -> None:
    """The rule has no memory: the number in the record of the call is all of it."""
    decision = UNCAPPED.decide(CALL)
    restored = BreakEven(prices=PRICES, dead_share_max=1.0)
    for _ in range(100):
        assert not decision.fire
        here = UNCAPPED.decide(replace(CALL, accrued=decision.accrued))
        assert restored.decide(replace(CALL, accrued=decision.accrued)) == here
        decision = here
        if here.fire:
            return
    raise AssertionError("never fired")


@given(
    st.sampled_from([0.02, 0.1, 0.5]),
    st.sampled_from([1.0, 1.25]),
    st.integers(1, 60).map(lambda n: 100 * n),
    st.integers(200, 9_000),
    st.integers(1, 32),
    st.data(),
)
def test_what_an_epoch_leaves_is_the_cheaper_of_its_share_and_what_the_provider_caches(
    read: float, write: float, least: int, tokens: int, calls: int, data: st.DataObject
) -> None:
    """By the cost of requests, over calls of which some find no cache."""
    anew = data.draw(st.integers(0, calls))
    prices = replace(PRICES, read=read, write=write, min_tokens=least)
    enough = round(LEEWAY * least)

    def cost(length: int) -> float:
        found = effective_input_cost(prices, length, prices.cacheable(length))
        return anew * effective_input_cost(prices, length, 0) + (calls - anew) * found

    left = tokens_to_leave(prices, tokens, miss_share=anew / calls)
    assert round(left) in {tokens, enough}
    assert left >= tokens
    if tokens < least:
        assert cost(round(left)) <= min(cost(tokens), cost(enough)) + 1e-6
    elif tokens >= enough:
        assert left == tokens  # cached already
    assert tokens_to_leave(replace(prices, min_tokens=0), tokens, miss_share=0.0) == tokens
