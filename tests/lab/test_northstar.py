"""The north star holds in small, and its judge sees what is wrong."""

from __future__ import annotations

import asyncio

import pytest

from pagefault.lab import northstar
from pagefault.lab.northstar import FAULTS_MAX, TURNS_MIN, Run, figures, run_script
from pagefault.lab.phrasings import SHIPPED

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def small() -> Run:
    return asyncio.run(run_script(1, window=4_000))


@pytest.fixture(scope="module")
def large() -> Run:
    return asyncio.run(run_script(1, window=32_000))


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Conversations of fewer turns."""
    monkeypatch.setattr(northstar, "DECIDING_TURNS", 15)
    monkeypatch.setattr(northstar, "OTHER_TURNS", 20)
    monkeypatch.setattr(northstar, "TURNS_MIN", 50)


@pytest.mark.parametrize("which", [pytest.param("large", marks=pytest.mark.torture), "small"])
def test_two_hundred_turns_keep_to_their_window_and_their_faults(
    which: str, request: pytest.FixtureRequest
) -> None:
    run: Run = request.getfixturevalue(which)
    assert run.recalls_right + len(run.wrong) == run.recalls > 0
    assert run.recalls_right > 0, run.wrong
    assert run.turns >= TURNS_MIN
    assert run.faults_max <= FAULTS_MAX
    assert run.thrash_index == 0
    assert run.requests_over_window == 0


@pytest.mark.usefixtures("short")
async def test_without_claims_a_small_window_forgets_what_was_decided() -> None:
    run = await run_script(1, window=2_000, claims="off")
    assert not run.succeeded
    assert run.wrong


@pytest.mark.usefixtures("short")
async def test_the_same_seed_is_the_same_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(northstar, "RECALLS", 3)
    monkeypatch.setattr(northstar, "TURNS_MIN", 0)
    once, again, other = [await run_script(seed, window=2_000) for seed in (1, 1, 2)]
    assert figures([once], 2_000) == figures([again], 2_000) != figures([other], 2_000)


@pytest.mark.usefixtures("short")
async def test_what_never_left_the_window_is_visible_and_so_is_what_it_replaced() -> None:
    run = await run_script(2, window=128_000, phrasing="talk")
    assert run.visible == run.visible_at_once == run.recalls > 0
    assert run.both == run.changed > 0
    assert run.outdated == 0
    assert run.both_marked == 0, "no rule reads how people change their minds"


def test_what_is_visible_and_what_is_read_of_it_are_told_apart() -> None:
    seen = Run(seed=0, turns=200, recalls=10, recalls_right=3, visible=10, visible_at_once=8)
    lost = Run(seed=1, turns=200, recalls=10, recalls_right=1, visible=8, changed=4, outdated=1)
    told = figures([seen, lost], 4_000)
    assert (told["visible_frac"], told["visible_reached"]) == (0.9, False)
    assert (told["visible_at_once_frac"], told["read_frac"]) == (0.4, round(4 / 18, 4))
    assert (told["recall_rate"], told["outdated_alone_frac"]) == (0.2, 0.25)
    assert figures([seen], 4_000)["visible_reached"]


def test_the_phrasings_have_the_same_parts_and_no_sentence_in_common() -> None:
    (script, _), (talk, _) = SHIPPED["script"], SHIPPED["talk"]
    for part in ("decide", "agree", "ask", "recall", "chatter"):
        ours, theirs = set(getattr(script, part)), set(getattr(talk, part))
        assert len(ours) == len(getattr(script, part))
        assert len(theirs) == len(getattr(talk, part))
        assert ours.isdisjoint(theirs)
    for values, names in talk.topics.values():
        assert len(set(values)) >= 3 <= len(set(names)), "a value to change to, and other words"
