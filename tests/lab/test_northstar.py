"""The north star holds in small, and its judge sees what is wrong."""

from __future__ import annotations

import pytest

from pagefault.lab.northstar import FAULTS_MAX, TURNS_MIN, figures, run_script


@pytest.mark.parametrize("window", [32_000, 4_000])
async def test_two_hundred_turns_keep_to_their_window_and_their_faults(window: int) -> None:
    run = await run_script(1, window=window)
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


async def test_the_same_seed_is_the_same_conversation() -> None:
    first, second = [figures([await run_script(2, window=4_000)], 4_000) for _ in range(2)]
    assert first == second
