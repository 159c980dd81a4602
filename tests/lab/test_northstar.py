"""The north star holds in small, and its judge sees what is wrong."""

from __future__ import annotations

import asyncio

import pytest

from pagefault.lab.northstar import FAULTS_MAX, TURNS_MIN, Run, figures, run_script


@pytest.fixture(scope="module")
def small() -> Run:
    return asyncio.run(run_script(1, window=4_000))


@pytest.fixture(scope="module")
def large() -> Run:
    return asyncio.run(run_script(1, window=32_000))


@pytest.mark.parametrize("which", ["large", "small"])
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


async def test_without_claims_a_small_window_forgets_what_was_decided() -> None:
    run = await run_script(1, window=4_000, claims="off")
    assert not run.succeeded
    assert run.wrong


async def test_the_same_seed_is_the_same_conversation(small: Run) -> None:
    again = await run_script(1, window=4_000)
    assert figures([again], 4_000) == figures([small], 4_000)
