"""Providers cache no prefix below a least length, so an epoch that leaves less may cost more."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from pagefault import Session
from pagefault.model.prices import PriceList
from pagefault.service.bootstrap import open_memory
from pagefault.service.window import eviction
from tests.service.memories import words

pytestmark = pytest.mark.slow

LEAST = 1_500
PRICES = PriceList(
    name="t", as_of="2026-11", read=0.1, write=1.25, output=5.0, ttl_s=300.0, min_tokens=LEAST
)
WINDOW = 2_500
RESTART = 30
DAY_S = 86_400.0


async def talked(
    root: Path | str = ":memory:", *, calls_a_day: int, restart_at: int = -1
) -> tuple[list[int], float]:
    """The tokens of a talk's requests, and their cost by the session's ledger."""
    tokens: list[int] = []
    now_s = 0.0
    async with AsyncExitStack() as stack:

        async def opened() -> Session:
            memory = open_memory(
                root,
                sync="os",
                window=WINDOW,
                mode="passive",
                prices=PRICES,
                cache_s=lambda: now_s,
            )
            return await (await stack.enter_async_context(memory)).session("talk")

        session = await opened()
        for number in range(36):
            now_s += DAY_S if number % calls_a_day == 0 else 10.0
            if number == restart_at:
                await stack.aclose()
                session = await opened()
            await session.user(f"We saw {words(12, f'w{number}x')}.")
            tokens.append((await session.request()).tokens)
            await session.assistant(f"Noted {words(12, f'n{number}x')}.")
        cost = sum(entry.line(PRICES).predicted_cost for entry in await session.ledger())
    return tokens, cost


async def test_an_epoch_leaves_what_the_cache_takes_if_calls_find_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tokens, cost = await talked(calls_a_day=6)
    reached = next(at for at, one in enumerate(tokens) if one >= LEAST)
    assert min(tokens[reached:]) >= LEAST
    assert max(tokens) < WINDOW
    # The control: a build that leaves its share, whatever the provider caches.
    monkeypatch.setattr(eviction, "tokens_to_leave", lambda prices, tokens, miss_share: tokens)
    shares, dearer = await talked(calls_a_day=6)
    assert min(shares[reached:]) < 0.6 * LEAST
    assert dearer > 1.5 * cost


async def test_who_pauses_before_every_call_gets_the_shorter_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tokens, cost = await talked(calls_a_day=1)
    assert max(tokens) < LEAST
    # The control: a build that always leaves what the provider caches.
    monkeypatch.setattr(eviction, "tokens_to_leave", lambda prices, tokens, miss_share: LEAST)
    _, dearer = await talked(calls_a_day=1)
    assert dearer > 1.5 * cost


async def test_a_restart_in_a_pause_changes_no_request(tmp_path: Path) -> None:
    """The records of requests say which of them found no cache."""
    there, _ = await talked(calls_a_day=6)
    back, _ = await talked(tmp_path / "m", calls_a_day=6, restart_at=RESTART)
    assert back == there
    assert there[RESTART - 1] > there[RESTART] > LEAST  # who knows of no call leaves the share
