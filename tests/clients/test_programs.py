"""Coding clients keep what they were told through the proxy, far beyond their window, and show
their users the same as without it. Each is run as it is, where `make clients` installed it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.clients.programs import AIDER, PROGRAMS, Program, Session, is_installed, run_aider
from tests.clients.scenario import ANSWERS, ENDLESS, FACTS, PROMPTS, WINDOW_TOKENS, Model, breaks
from tests.proxy.standing import standing
from tests.proxy.strict import tokens_of
from tests.proxy.upstream import Upstream

pytestmark = pytest.mark.slow

MARGIN_TOKENS = 8_000
"""By how much the limit at which a client sums up is above the window, as `wrap` leaves it: more
than the results of one reply, which clients add to the tokens that were reported.
"""


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> Program:
    found = PROGRAMS[request.param]
    if not is_installed(found):
        pytest.skip("`make clients` installs the clients that this runs")
    return found


def _model(program: Program, folder: Path, window_tokens: int = ENDLESS) -> Model:
    return Model(program.reads(folder / "project"), program.is_main, window_tokens=window_tokens)


def _window(program: Program, folder: Path) -> int:
    """What the client sends before anybody said anything, and a bit."""
    model = _model(program, folder)
    with Upstream(model.script()) as upstream:
        Session(program, upstream.url, folder).ask(PROMPTS[0])
    return tokens_of(model.asked[0], model.counter) + WINDOW_TOKENS


async def test_facts_come_back_and_nobody_sees_a_difference(
    program: Program, tmp_path: Path
) -> None:
    window = await asyncio.to_thread(_window, program, tmp_path / "head")
    model = _model(program, tmp_path / "paged", window)
    with Upstream(model.script()) as upstream:
        async with standing(
            upstream, window=window, counter=model.counter, body_bytes_max=20_000_000
        ) as to:
            limit = window + MARGIN_TOKENS
            session = Session(program, to.url, tmp_path / "paged", sums_up_at=limit)
            said = await asyncio.to_thread(session.say)
            lines = await to.lines()
    assert model.refused == []
    assert [fact.code in one for fact, one in zip(FACTS, said[-4:], strict=True)] == [True] * 4
    assert model.summaries == 0
    epochs = sum("epoch: " in line for line in lines)
    assert epochs > 1
    assert breaks(model.asked) <= epochs
    free = _model(program, tmp_path / "free")
    with Upstream(free.script()) as upstream:
        session = Session(program, upstream.url, tmp_path / "free")
        assert said == await asyncio.to_thread(session.say)


def test_without_the_proxy_they_do_not(program: Program, tmp_path: Path) -> None:
    window = _window(program, tmp_path / "head")
    model = _model(program, tmp_path / "alone", window)
    with Upstream(model.script()) as upstream:
        limit = window + MARGIN_TOKENS
        said = Session(program, upstream.url, tmp_path / "alone", sums_up_at=limit).say()
    assert model.refused or model.summaries
    found = [fact.code in one for fact, one in zip(FACTS, said[-4:], strict=True)]
    assert not found[-1], "of the work itself"
    assert not all(found)


@pytest.mark.skipif(AIDER is None, reason="aider is not installed")
async def test_aider_finds_again_what_it_was_told(tmp_path: Path) -> None:
    free = Model(None)
    with Upstream(free.script()) as upstream:
        shown = await asyncio.to_thread(run_aider, upstream.url, tmp_path / "free")
    window = tokens_of(free.asked[0], free.counter) + WINDOW_TOKENS
    model = Model(None, window_tokens=window)
    with Upstream(model.script()) as upstream:
        async with standing(upstream, window=window, counter=model.counter) as to:
            assert shown == await asyncio.to_thread(run_aider, to.url, tmp_path / "paged")
    assert model.refused == []
    assert [answer in one for answer, one in zip(ANSWERS[-4:], shown[-4:], strict=True)] == [
        True
    ] * 4
    assert breaks(model.asked) <= breaks(free.asked), "it has the newest message end otherwise"
    alone = Model(None, window_tokens=window)
    with Upstream(alone.script()) as upstream:
        shown = await asyncio.to_thread(run_aider, upstream.url, tmp_path / "alone")
    assert alone.refused
    assert not any(answer in one for answer, one in zip(ANSWERS[-4:], shown[-4:], strict=True))
