"""Agents in Python keep what they were told through the proxy, far beyond their window."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import cache

import pytest

from tests.clients.drivers import DRIVERS, Driver
from tests.clients.scenario import ANSWERS, ENDLESS, PROMPTS, WINDOW_TOKENS, WORK, Model, breaks
from tests.proxy.standing import standing
from tests.proxy.strict import tokens_of
from tests.proxy.upstream import Upstream

pytestmark = [  # frameworks leave connections to the collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

Begins = Callable[[str], Driver]


@pytest.fixture(params=DRIVERS)
def begins(request: pytest.FixtureRequest) -> Begins:
    package, begins = DRIVERS[request.param]
    pytest.importorskip(package, reason=f"{package} is not installed")
    return begins


def _model(window_tokens: int) -> Model:
    return Model(lambda name: ("read_file", {"name": name}), window_tokens=window_tokens)


def _said(begins: Begins, url: str) -> list[str]:
    """What a session says to each prompt; "" where it fails."""
    said = []
    with contextlib.closing(begins(url)) as driver:
        for prompt in PROMPTS:
            said.append("")
            with contextlib.suppress(Exception):  # each has its own for what a provider refuses
                said[-1] = driver.ask(prompt)
    return said


@cache
def _window(begins: Begins) -> int:
    """What the client sends before anybody said anything, and a bit."""
    model = _model(ENDLESS)
    with Upstream(model.script()) as upstream, contextlib.closing(begins(upstream.url)) as driver:
        driver.ask(PROMPTS[0])
    return tokens_of(upstream.seen[0], model.counter) + WINDOW_TOKENS


async def test_facts_come_back_and_no_request_is_refused(begins: Begins) -> None:
    window = await asyncio.to_thread(_window, begins)
    model = _model(window)
    with Upstream(model.script()) as upstream:
        async with standing(
            upstream, window=window, counter=model.counter, body_bytes_max=20_000_000
        ) as to:
            said = await asyncio.to_thread(_said, begins, to.url)
            lines = await to.lines()
    assert model.refused == []
    assert said == list(ANSWERS)
    epochs = sum("epoch: " in line for line in lines)
    assert epochs > 1
    assert breaks(model.asked) <= epochs


def test_without_the_proxy_they_do_not(begins: Begins) -> None:
    model = _model(_window(begins))
    with Upstream(model.script()) as upstream:
        said = _said(begins, upstream.url)
    assert model.refused
    assert said[PROMPTS.index(WORK)] == "", "who keeps what was said before a failure cannot go on"
    assert said[-1] != ANSWERS[-1], "of the work itself"
