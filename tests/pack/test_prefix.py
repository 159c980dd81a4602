"""Rolling hashes find what two requests share, and what that costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.engine.breakpoints import marks
from pagefault.model.kinds import Role
from pagefault.model.prices import PriceList
from pagefault.model.request import Message, ToolCall, ToolSpec
from pagefault.pack.breakpoints import worth_marking
from pagefault.pack.cost import Account, effective_input_cost, ratio
from pagefault.pack.prefix import Prefix

TOOLS = (ToolSpec("find", "Finds.", {"type": "object"}),)
PRICES = PriceList(name="t", as_of="2026-11", read=0.1, write=1.25, output=5.0, ttl_s=300.0)
MARKED = replace(PRICES, takes_marks=True)


class Words:
    """One token a word."""

    def count(self, text: str) -> int:
        return len(text.split())

    def count_all(self, texts: Any) -> list[int]:
        return [self.count(text) for text in texts]


def said(text: str, role: Role = Role.USER) -> Message:
    return Message(role=role, content=text)


def prefix(*messages: Message, tools: tuple[ToolSpec, ...] = TOOLS, **more: Any) -> Prefix:
    return Prefix.of(tools, messages, Words(), **more)


TEXTS = st.lists(st.sampled_from(["a", "a b", "c", "d e f", ""]), max_size=12)


@given(TEXTS, TEXTS)
def test_the_common_prefix_is_the_one_found_by_looking(ours: list[str], theirs: list[str]) -> None:
    one, other = prefix(*map(said, ours)), prefix(*map(said, theirs))
    shared = 1  # the tools
    for mine, yours in zip(ours, theirs, strict=False):
        if mine != yours:
            break
        shared += 1
    assert one.shared_blocks(other) == other.shared_blocks(one) == shared
    assert one.shared_tokens(other) == one.ends[shared - 1] == other.ends[shared - 1]


@given(TEXTS, TEXTS)
def test_a_request_hashed_after_another_is_as_if_hashed_alone(
    ours: list[str], more: list[str]
) -> None:
    messages = [said(text) for text in ours]
    before = prefix(*messages)
    grown = [*messages, *map(said, more)]
    assert prefix(*grown, after=before) == prefix(*grown)
    cut = messages[: len(messages) // 2]
    assert prefix(*cut, *map(said, more), after=before) == prefix(*cut, *map(said, more))
    assert prefix(*grown, tools=(), after=before) == prefix(*grown, tools=())


@pytest.mark.parametrize(
    "changed",
    [
        said("Hello", Role.ASSISTANT),
        said("hello"),
        Message(role=Role.USER, content="Hello", call_id="c1"),
        Message(role=Role.USER, content="Hello", tool_calls=(ToolCall("c", "find", "{}"),)),
    ],
)
def test_anything_about_a_message_breaks_the_prefix(changed: Message) -> None:
    after = said("later")
    assert prefix(said("Hello"), after).shared_blocks(prefix(changed, after)) == 1


def test_tools_come_before_all_messages() -> None:
    other = (ToolSpec("find", "Finds more.", {"type": "object"}),)
    one, two = prefix(said("a")), prefix(said("a"), tools=other)
    assert one.shared_blocks(two) == 0


def test_half_of_a_surrogate_pair_in_a_call_is_hashed_too() -> None:
    call = Message(role=Role.ASSISTANT, content="", tool_calls=(ToolCall("c", "find", "\ud800"),))
    assert prefix(call).blocks == 2


# --- cost -----------------------------------------------------------------------------------------


def test_the_cost_of_a_call_is_that_of_the_formula() -> None:
    cost = effective_input_cost(PRICES, 1_000, 700, volatile_tokens=50)
    assert cost == pytest.approx(0.1 * 700 + 1.25 * 250 + 50)


def test_a_prompt_too_short_to_be_cached_pays_no_surcharge() -> None:
    short = replace(PRICES, min_tokens=2_000)
    assert effective_input_cost(short, 1_000, 0) == 1_000


def test_over_the_cliff_everything_costs_more() -> None:
    cliff = replace(PRICES, cliff_tokens=1_000, cliff_factor=2.0)
    assert effective_input_cost(cliff, 1_000, 0) == 1_250
    assert effective_input_cost(cliff, 1_001, 0) == pytest.approx(2 * 1.25 * 1_001)


def test_an_account_adds_up() -> None:
    account = Account(PRICES)
    account.add(1_000, 0)
    account.add(1_200, 1_000, survival=1.0)
    account.add(900, 300, volatile_tokens=20, survival=0.25)
    assert account.cost == pytest.approx(1_250 + 100 + 250 + 30 + 1.25 * 580 + 20)
    assert account.prefill_tokens == 1_000 + 200 + 600
    assert account.prefix_reuse == 1_300 / 3_100
    assert account.prefix_survival == 0.625
    assert account.rewrite_factor == (1_000 + 200 + 580) / 1_200
    double = Account(PRICES)
    double.add(2_000, 0)
    assert ratio([account], [double]) == account.cost / 2_500


# --- marks ----------------------------------------------------------------------------------------


class MarkedCache:
    """A provider that writes at marks, and reads from each mark's last `lookback` blocks."""

    def __init__(self, lookback: int) -> None:
        self._lookback = lookback
        self._entries: set[bytes] = set()

    def send(self, request: Prefix, marks: tuple[int, ...]) -> int:
        cached = 0
        for mark in marks:
            for blocks in range(mark, max(0, mark - self._lookback), -1):
                if request.hashes[blocks - 1] in self._entries:
                    cached = max(cached, request.end(blocks))
                    break
        self._entries |= {request.hashes[mark - 1] for mark in marks}
        return cached


STEPS = st.lists(st.tuples(st.integers(1, 45), st.booleans()), min_size=1, max_size=12)


def conversation(steps: list[tuple[int, bool]]) -> list[tuple[list[Message], int, int]]:
    """Requests of a stable layout: messages, the epoch's boundary, what stays of the one before."""
    messages = [said("head of it all", Role.SYSTEM)]
    requests = []
    boundary, number = 2, 0
    sent = 0
    for grown, epoch in steps:
        if epoch:
            number += 1
            messages = [messages[0], said(f"summary {number}")]
            boundary, sent = 3, 2
        messages = [*messages, *(said(f"{number} {len(messages)} {k}") for k in range(grown))]
        requests.append((messages, boundary, sent))
        sent = len(messages) + 1
    return requests


def marked(now: Prefix, *, boundary: int, previous: int) -> tuple[int, ...]:
    """The marks of a request whose messages are a block each."""
    wished = worth_marking(MARKED, now, boundary=boundary, previous=previous)
    return tuple(one + 1 for one in marks([place - 1 for place in wished], now.blocks))


@given(STEPS)
def test_marks_find_all_that_the_request_before_shares_however_long_a_turn_is(
    steps: list[tuple[int, bool]],
) -> None:
    cache, before = MarkedCache(lookback=20), None
    for messages, boundary, sent in conversation(steps):
        now = prefix(*messages)
        places = marked(now, boundary=boundary, previous=sent)
        assert len(places) <= 4
        assert places[-1] == now.blocks
        cached = cache.send(now, places)
        assert cached == (now.end(now.shared_blocks(before)) if before is not None else 0)
        before = now


def test_without_the_mark_at_the_previous_end_a_long_turn_misses_in_silence() -> None:
    """The control of the test above."""
    cache = MarkedCache(lookback=20)
    (first, *_), (second, boundary, sent) = conversation([(3, False), (45, False)])
    cache.send(prefix(*first), (2, len(first) + 1))
    now = prefix(*second)
    wished = worth_marking(MARKED, now, boundary=boundary, previous=sent)
    careless = tuple(place for place in wished if place != sent)
    assert cache.send(now, careless) == now.end(2) < now.end(sent)


def test_what_is_too_short_to_be_cached_is_not_worth_a_mark() -> None:
    now = prefix(said("head"), said("a"))
    assert worth_marking(MARKED, now, boundary=2, previous=2) == (3, 2)
    large = replace(MARKED, min_tokens=10_000)
    assert worth_marking(large, now, boundary=2, previous=2) == ()
