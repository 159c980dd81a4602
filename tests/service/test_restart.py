"""kill -9 in the middle of a conversation: what was acknowledged is there, and packs the same."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault import Session
from pagefault.model.events import Pinned
from pagefault.service import restore
from tests.adopted import copied
from tests.service.memories import fault, search, without_numbers, words
from tests.warm import python

WINDOW = 2_500


async def step(session: Session, number: int) -> None:
    """The same for the same number: one verb of a conversation that has everything."""
    match number % 10:
        case 0 | 5:
            before = max(0, number - 35)  # which the runtime brings back for it
            old = f"topic{before} t{before}w3 t{before}w4"
            await session.user(f"Topic{number} came up as {old} had: {words(18, f't{number}w')}")
        case 1 | 4 | 6:
            await session.request()
        case 2:
            await session.call(fault(f"msg_{number // 5 + 1}", call_id=f"c{number}"))
        case 3:
            await session.call(search(f"topic{number - 13}", call_id=f"c{number}"), said="Hm.")
        case 7:
            await session.assistant(f"Answer {number}: {words(18, f'a{number}w')}")
        case 8 if number in (8, 18):
            await session.pin("msg_1" if number == 8 else "msg_3")
        case 8:
            await session.document(words(150, f"d{number}w"), title=f"d{number}")
        case 9:
            await session.tool_result(words(80, f"r{number}w"), name="sql")


_CHILD = """
import asyncio, os, sys
import pagefault
from tests.service.test_restart import WINDOW, step

async def talk(root, first, acknowledge_first):
    async with pagefault.open(root, window=WINDOW) as memory:
        session = await memory.session("s")
        print("open", os.getpid(), flush=True)
        for number in range(first, 100_000):
            if acknowledge_first:
                print(number, flush=True)
                await asyncio.sleep(0.01)
            await step(session, number)
            if not acknowledge_first:
                print(number, flush=True)

asyncio.run(talk(sys.argv[1], int(sys.argv[2]), sys.argv[3] == "acks_first"))
"""


def _talk_until_killed(root: Path, first: int, lines: int, order: str = "acks_last") -> int:
    """The last step that was acknowledged before the process was killed."""
    talker = subprocess.Popen(
        [*python(), "-c", _CHILD, str(root), str(first), order], stdout=subprocess.PIPE, text=True
    )
    assert talker.stdout is not None
    said, pid = talker.stdout.readline().split()
    assert said == "open"
    told = [talker.stdout.readline() for _ in range(lines)]
    assert talker.poll() is None, "it ended by itself"
    os.kill(int(pid), signal.SIGKILL)
    rest, _ = talker.communicate()
    whole = [line for line in (*told, *rest.splitlines(keepends=True)) if line.endswith("\n")]
    return int(whole[-1])


@asynccontextmanager
async def _twin(steps: int) -> AsyncIterator[Session]:
    """The same conversation where nothing was interrupted."""
    async with pagefault.open(":memory:", window=WINDOW) as memory:
        session = await memory.session("s")
        for number in range(steps):
            await step(session, number)
        session._requests.asked_s = None  # whoever is restarted finds the provider's cache cold
        yield session


async def _seen(session: Session) -> dict[str, Any]:
    """All that a session is, seen from the outside; its next request last."""
    status = await session.status()
    pages = [await session.page(f"{stem}_{n}") for stem, n in await _ids(session)]
    request = await session.request(format="openai")
    return {
        "pages": [(page.page_id, page.text, page.row.turn) for page in pages],
        "pins": status.pinned,
        "turns": status.turns,
        "faults_left": status.faults_left,
        "request": without_numbers(_WHEN.sub("then", json.dumps(request))),
    }


_WHEN = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
"""A page tells when it was written, and the twin wrote it at another time."""


async def _ids(session: Session) -> list[tuple[str, int]]:
    found = []
    for stem in ("msg", "art", "tool"):
        number = 1
        while True:
            try:
                await session.page(f"{stem}_{number}")
            except pagefault.CallerError:
                break
            found.append((stem, number))
            number += 1
    return found


async def _check_like_a_twin(root: Path, acknowledged: int) -> None:
    """What is under `root` is the state after the last acknowledged step, or the one after it.

    Calls are durable once the next request is: those at the end may be missing.
    """
    async with pagefault.open(root) as memory:
        assert (await memory.verify()).problems == ()
        restored = await _seen(await memory.session("s", create=False))
    earliest = acknowledged + 1
    while (earliest - 1) % 10 in (2, 3):
        earliest -= 1
    for steps in range(earliest, acknowledged + 3):
        async with _twin(steps) as twin:
            expected = await _seen(twin)
        if restored == expected:
            return
    async with _twin(acknowledged + 1) as twin:
        expected = await _seen(twin)
    for name, value in expected.items():
        assert restored[name] == value, f"{name} is not what was acknowledged"


@pytest.mark.parametrize("steps", [24, pytest.param(63, marks=pytest.mark.torture), 95])
async def test_what_was_acknowledged_survives_a_kill(tmp_path: Path, steps: int, seed: int) -> None:
    root = tmp_path / "m"
    steps += random.Random(seed).randrange(10)
    acknowledged = _talk_until_killed(root, 0, steps)
    copied(root, tmp_path / "without index")
    for path in (tmp_path / "without index").glob("index.db*"):
        path.unlink()
    await _check_like_a_twin(root, acknowledged)
    await _check_like_a_twin(tmp_path / "without index", acknowledged)


async def test_control_a_build_that_acknowledges_first_is_caught(tmp_path: Path) -> None:
    acknowledged = _talk_until_killed(tmp_path / "m", 0, 21, "acks_first")
    with pytest.raises(AssertionError, match="is not what was acknowledged"):
        await _check_like_a_twin(tmp_path / "m", acknowledged + 1)


async def test_what_leaves_after_a_restart_is_what_would_have_left_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request after it begins an epoch: its choice rests on what came back before the last."""
    async with pagefault.open(tmp_path / "m", sync="os", window=WINDOW) as memory:
        session = await memory.session("s")
        for number in range(101):
            await step(session, number)
    copied(tmp_path / "m", tmp_path / "control")
    await _check_like_a_twin(tmp_path / "m", 100)
    monkeypatch.setattr(restore, "REACH_TURNS", 0)
    with pytest.raises(AssertionError, match="request is not what was acknowledged"):
        await _check_like_a_twin(tmp_path / "control", 100)


async def test_control_a_restart_that_forgets_pins_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=WINDOW) as memory:
        session = await memory.session("s")
        for number in range(60):
            await step(session, number)
        assert (await session.status()).epoch > 0
    await _check_like_a_twin(tmp_path / "m", 59)
    lineage = restore._lineage

    def without_pins(*args: Any, **options: Any) -> Any:
        return (one for one in lineage(*args, **options) if not isinstance(one.body, Pinned))

    monkeypatch.setattr(restore, "_lineage", without_pins)
    with pytest.raises(AssertionError, match="pins is not what was acknowledged"):
        await _check_like_a_twin(tmp_path / "m", 59)


@pytest.mark.slow
@pytest.mark.torture
@pytest.mark.timeout(1_800)
async def test_a_conversation_survives_kill_after_kill(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(20):
        root = tmp_path / str(number)
        acknowledged = _talk_until_killed(root, 0, chance.randrange(1, 150))
        await _check_like_a_twin(root, acknowledged)


@pytest.mark.parametrize("chance", [1, 2, 3])
async def test_a_restart_within_a_turn_changes_no_request_after_it(
    tmp_path: Path, chance: int
) -> None:
    """An epoch spares what the turn's message calls for, also where the window had it already."""
    told = (
        "alpha server ferry Lisbon pigeon budget Tokyo python cache queue lantern garden Wedel "
        "harbour onion"
    ).split()
    day = "2026-01-01T00:00:00Z"

    async def requests(root: Path, *, reopens: bool) -> list[str]:
        drawn = random.Random(chance)
        found: list[str] = []

        def words_of(count: int) -> str:
            return " ".join(drawn.choice(told) for _ in range(count)) + "."

        opening = pagefault.open(root, window=2_500, epochs="window_full")
        session = await (await opening.__aenter__()).session("talk")
        for turn in range(6):
            await session.user(words_of(drawn.randrange(8, 50)), occurred_at=day)
            found.append(without_numbers(json.dumps(await session.request(format="openai"))))
            if reopens and turn == 5:
                await opening.__aexit__(None, None, None)
                opening = pagefault.open(root, window=2_500, epochs="window_full")
                session = await (await opening.__aenter__()).session("talk")
            call = pagefault.ToolCall(f"c{turn}", "logs", "{}")
            await session.assistant("", calls=[call])
            await session.tool_result(call.call_id, words_of(drawn.randrange(50, 300)))
            found.append(without_numbers(json.dumps(await session.request(format="openai"))))
            await session.assistant(words_of(20), occurred_at=day)
        await opening.__aexit__(None, None, None)
        return found

    whole = await requests(tmp_path / "whole", reopens=False)
    assert await requests(tmp_path / "reopened", reopens=True) == whole
