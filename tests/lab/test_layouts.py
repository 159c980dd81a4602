"""Layouts beside each other: all carry the same, each does what its users do, and the sums are
those of the formulas.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pagefault.engine.scripted import passages_of
from pagefault.lab.compare import PRICES, Remembering, Seen, measure, priced
from pagefault.lab.layouts import (
    Developer,
    FlushWhenFull,
    FullHistory,
    RequestLayout,
    Shot,
    SlidingWindow,
    Stable,
)
from pagefault.lab.rules import RULES, play
from pagefault.lab.transcripts import Conversation, Line
from pagefault.lab.turns import Call, calls_of
from pagefault.model.kinds import Role
from pagefault.model.request import Message
from pagefault.pack.count import O200k
from pagefault.service.limits import Limits

pytestmark = pytest.mark.slow

WINDOW = 2_500
LIMITS = Limits(recall_tokens_max=150)
ONE = PRICES[0]
BIRDS = "heron magpie swift bittern plover wren siskin".split()


def talk(turns: int, *, days_every: int = 0) -> Conversation:
    lines: list[Line] = []
    for number in range(turns):
        day = 1 + number // days_every if days_every else 1
        when = f"2026-03-{day:02}T09:00:00"
        words = " ".join(f"w{number}x{k}" for k in range(12))
        lines.append(
            Line(
                role=Role.USER,
                text=f"Tell me of the {BIRDS[number % 7]} once more.",
                speaker="Ana",
                occurred_at=when,
            )
        )
        lines.append(
            Line(
                role=Role.ASSISTANT,
                text=f"The {BIRDS[number % 7]}: {words} {words}",
                occurred_at=when,
            )
        )
    return Conversation(name="talk", lines=tuple(lines), system="Be brief.")


@pytest.fixture(scope="module")
def counter() -> Remembering:
    return Remembering(O200k())


@pytest.fixture(scope="module")
def calls() -> list[Call]:
    """Made once: nothing that reads them changes them."""
    return asyncio.run(calls_of(talk(60, days_every=20), window=WINDOW, limits=LIMITS))


def others(counter: Remembering) -> dict[str, RequestLayout]:
    more: dict[str, Any] = {"window": WINDOW, "limits": LIMITS}
    return {
        "full": FullHistory(counter, "Be brief."),
        "sliding": SlidingWindow(counter, "Be brief.", window=WINDOW),
        "flush": FlushWhenFull(counter, "Be brief.", **more),
        "developer": Developer(counter, "Be brief.", **more),
    }


def text_of(messages: Sequence[Message]) -> str:
    return "\n".join(message.content for message in messages)


async def test_every_layout_shows_the_newest_message_and_keeps_to_its_window(
    calls: list[Call], counter: Remembering
) -> None:
    for name, layout in others(counter).items():
        for seen in measure(layout, calls, counter):
            assert seen.tokens <= WINDOW or name == "full", name
        shot = layout.next(replace(calls[-1], new=calls[-1].new[-1:]))
        assert calls[-1].new[-1].text in text_of(shot.messages), name
    assert all(len(call.new) == (1 if not n else 2) for n, call in enumerate(calls))
    assert sum(bool(call.recalled_tokens) for call in calls) > 10  # or nothing is shown by it


async def test_no_page_is_shown_twice(calls: list[Call], counter: Remembering) -> None:
    for name, layout in {**others(counter), "stable": Stable()}.items():
        for call in calls:
            shown = [p.page_id for m in layout.next(call).messages for p in passages_of(m)]
            assert len(shown) == len(set(shown)), name


async def test_a_full_history_never_breaks_and_a_rebuilt_message_always_does(
    calls: list[Call], counter: Remembering
) -> None:
    seen = {name: measure(one, calls, counter) for name, one in others(counter).items()}
    assert not any(one.breaks for one in seen["full"])
    assert all(one.breaks for one in seen["developer"][1:])
    broken = {name: sum(one.breaks for one in all_of) for name, all_of in seen.items()}
    assert broken["full"] < broken["flush"] < broken["sliding"] < broken["developer"]
    stable = measure(Stable(), calls, counter)
    assert 0 < sum(one.breaks for one in stable) < broken["sliding"]
    costs = {name: priced(ONE, all_of).cost for name, all_of in seen.items()}
    assert priced(ONE, stable).cost < costs["sliding"] < costs["developer"] * 1.5


async def test_a_layout_that_is_rendered_anew_would_be_seen(
    calls: list[Call], counter: Remembering
) -> None:
    """The control of what is measured: one word at the top, and nothing survives."""

    class Restless(FullHistory):
        number = 0

        def next(self, call: Call) -> Shot:
            shot = super().next(call)
            self.number += 1
            head = replace(shot.messages[0], content=f"{self.number} turns so far")
            return Shot(shot.tools, (head, *shot.messages[1:]))

    steady = priced(ONE, measure(FullHistory(counter, ""), calls, counter))
    restless = priced(ONE, measure(Restless(counter, ""), calls, counter))
    assert steady.prefix_survival == 1.0
    assert restless.prefix_survival < 0.1
    assert restless.cost > 3 * steady.cost


def test_what_is_shared_is_found_to_the_last_character(counter: Remembering) -> None:
    class Growing:
        text = "one two three"

        def next(self, call: Call) -> Shot:
            self.text += " four"
            return Shot((), (Message(role=Role.SYSTEM, content=self.text),))

    call = Call(
        new=(),
        hits=(),
        recall_room=0,
        recalled_pages=0,
        idle_s=30.0,
        request=None,  # type: ignore[arg-type]
        recalled_tokens=0,
    )
    _, second = measure(Growing(), [call, call], counter)
    assert second.shared == counter.count("one two three four")
    assert second.before is not None
    assert second.breaks == (second.shared < second.before)


async def test_a_gap_longer_than_the_lifetime_makes_the_cache_cold(counter: Remembering) -> None:
    calls = await calls_of(talk(40, days_every=10), window=WINDOW, limits=LIMITS)
    cold = [number for number, call in enumerate(calls) if ONE.is_cold(call.idle_s)]
    assert cold == [10, 20, 30]
    seen = measure(FullHistory(counter, ""), calls, counter)
    warm = [replace(one, idle_s=30.0) for one in seen]
    extra = sum((ONE.write - ONE.read) * seen[number].shared for number in cold)
    assert priced(ONE, seen).cost == pytest.approx(priced(ONE, warm).cost + extra)


def test_the_cost_of_measured_requests_by_hand() -> None:
    seen = [
        Seen(1_000, 0, None, 0.0, 100),
        Seen(1_300, 1_000, 1_000, 30.0, 100),
        Seen(1_000, 200, 1_300, 30.0, 100),
        Seen(1_100, 1_000, 1_000, 301.0, 100),
    ]
    account = priced(ONE, seen)
    warm = (1_250) + (100 + 375) + (20 + 1_000)
    assert account.cost == pytest.approx(warm + 1.25 * 1_100)
    assert account.prefix_survival == pytest.approx((1 + 200 / 1_300 + 1) / 3)


async def test_rules_differ_in_timing_alone(counter: Remembering) -> None:
    """And in what it costs: one that knows prices is near the optimum at any window, one that waits
    for a full window pays the more for it the larger it is.
    """
    limits = Limits(recall_tokens_max=0)
    calls = await calls_of(talk(80), window=WINDOW, limits=limits)
    costs: dict[tuple[str, int], float] = {}
    said: dict[int, set[tuple[int, ...]]] = {4_000: set(), 64_000: set()}
    for name, make in RULES.items():
        for window in (4_000, 64_000):
            run = play(calls, make(ONE), system="", window=window, counter=counter, limits=limits)
            assert run.optimum <= run.cost * (1 + 1e-9), name
            said[window].add(tuple(call.appended for call in run.calls))
            assert run.cost / run.optimum <= (1.10 if name == "break_even" else 5.0), name
            costs[name, window] = run.cost
    assert costs["break_even", 64_000] < 1.3 * costs["break_even", 4_000]
    assert costs["only_when_full", 64_000] > 1.3 * costs["only_when_full", 4_000]
    assert all(len(told) == 1 for told in said.values())  # the same was appended by all
