"""Page traces: what a conversation wanted of its pages, and what policies make of that."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pagefault.lab.page_traces import PageTrace, record
from pagefault.lab.policies import MARGIN, OPTIMUM, bench_windows
from pagefault.lab.transcripts import Conversation, Line, Question
from pagefault.model import defaults
from pagefault.model.kinds import Role
from pagefault.service.bootstrap import POLICIES

BIRDS = ("heron", "magpie", "swift", "bittern", "plover", "dunlin")


def talk(name: str, lines: int = 60) -> Conversation:
    """About one bird after another; asked about each in the end."""
    said = []
    for number in range(lines):
        bird = BIRDS[number * len(BIRDS) // lines]
        filler = " ".join(f"{name}{number}x{k}" for k in range(25))
        role = Role.ASSISTANT if number % 2 else Role.USER
        said.append(
            Line(role=role, text=f"The {bird} of the {number}th: {filler}.", ref=f"{number}")
        )
    asked = tuple(
        Question(text=f"What did we say of the {bird}?", evidence=(), category="1", answerable=True)
        for bird in BIRDS
    )
    return Conversation(name=name, lines=tuple(said), questions=asked)


@pytest.fixture(scope="module")
def trace() -> PageTrace:
    return asyncio.run(record(talk("a"), window=2_000))


def test_a_page_is_said_once_and_wanted_whenever_a_message_calls_for_it(trace: PageTrace) -> None:
    said = [page_id for step in trace.steps for page_id in step.said]
    assert len(said) == len(set(said)), "a page is said once"
    questions = trace.steps[-len(BIRDS) :]
    assert all(step.called_for for step in questions), "each calls for what was said of its bird"
    references = trace.references
    assert set(references) == trace.pages.keys()
    assert all(page.tokens > 0 for page in trace.pages.values())
    assert trace.room_tokens + trace.head_tokens == trace.window_tokens == 2_000
    assert 0 < trace.target_tokens < trace.room_tokens
    assert any(step.epoch for step in trace.steps)


async def test_the_same_conversation_gives_the_same_trace_and_more_room_fewer_epochs(
    trace: PageTrace,
) -> None:
    def epochs(trace: PageTrace) -> int:
        return sum(step.epoch for step in trace.steps)

    def weighed(trace: PageTrace) -> list[tuple[str, int, tuple[str, ...]]]:
        return [(p.page_id, p.tokens, tuple(p.about.topic_tags)) for p in trace.pages.values()]

    small, again = trace, await record(talk("a"), window=2_000)
    assert small.steps == again.steps
    assert weighed(small) == weighed(again)
    large = await record(talk("a"), window=4_000)
    assert epochs(large) < epochs(small)
    calls = [step.called_for for step in small.steps]
    assert calls != [step.called_for for step in large.steps], "more may be called for"


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    return asyncio.run(
        bench_windows(
            [talk(name) for name in ("a", "b", "c")],
            windows=(2_000,),
            progress=lambda label, done, total: None,
        )
    )


def test_every_policy_stands_beside_the_bound_and_who_knows_the_future(
    told: dict[str, Any],
) -> None:
    for one in told["recorded"]:
        for how in ("in_batches", "each_time"):
            rows = one[how]["policies"]
            assert rows.keys() > set(POLICIES)
            for row in rows.values():
                assert row["misses"] >= one[how]["bound_misses"] >= one["pages"]
                assert row["returns"] == row["misses"] - one["pages"]


def test_the_default_is_chosen_on_every_other_conversation_and_judged_on_the_rest(
    told: dict[str, Any],
) -> None:
    assert told["chosen_on"] == ["a", "c"]
    by_name = {one["name"]: one["in_batches"]["policies"] for one in told["recorded"]}
    for name, score in told["scores"].items():
        chosen_on = [by_name[one][name]["over_bound"] for one in ("a", "c")]
        assert score == pytest.approx(sum(chosen_on) / 2, abs=1e-4)
    assert told["scores_of_the_others"]["lru"] == by_name["b"]["lru"]["over_bound"]
    default, best = told["scores"][defaults.EVICTION_POLICY], told["scores"][told["best"]]
    assert best <= default
    assert (told["chosen"] == defaults.EVICTION_POLICY) == (best >= (1 - MARGIN) * default)


def test_costs_tell_when_from_which(told: dict[str, Any]) -> None:
    rules = told["when_and_which"]["rules"]
    for row in rules.values():
        assert row[OPTIMUM]["returns"] <= row["lru"]["returns"]
        for one in row.values():
            assert 0 <= one["returns_cost_share"] < 1
    assert rules["only_when_full"]["lru"]["epochs"] <= rules["every_4_calls"]["lru"]["epochs"]
