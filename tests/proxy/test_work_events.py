"""What real clients' calls did, from the requests that they sent (`recordings/`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.proxy.histories import body, call, model, result, user
from tests.proxy.recorded import recorded
from tests.proxy.standing import SESSION, standing
from tests.proxy.upstream import Upstream, always


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always("Hello.")) as up:
        yield up


@pytest.mark.parametrize(
    ("name", "command", "code", "edited"),
    [
        ("claude-task", "ls", None, "/home/user/project/notes.txt"),
        ("codex-task", "cat notes.txt", 0, ""),
        ("opencode-task", "ls", None, "/home/user/project/notes.txt"),
    ],
)
async def test_recorded_clients(
    upstream: Upstream, tmp_path: Path, name: str, command: str, code: int | None, edited: str
) -> None:
    async with standing(upstream, root=tmp_path / "m") as to:
        for one in recorded(name):
            await to.http.post(one.path, content=json.dumps(one.body), headers=one.headers)
        await to.proxy.settled()
        ran = await to.memory.events(command=command)
        assert (ran[0].script, ran[0].exit_code, ran[0].is_over) == (command, code, True)
        assert ran[0].origin.startswith("tool:"), "who says so is the tool"
        changed = await to.memory.events(path="notes.txt")
        assert {one.path for one in changed} == ({edited} if edited else set())
        assert all(one.change == "edited" for one in changed)
        sessions = [one.session for one in changed]
        assert len(sessions) == len(set(sessions)), "what is resent is done once"


async def test_a_call_that_is_cut_and_its_tests(upstream: Upstream, tmp_path: Path) -> None:
    said = [
        user("Mend it."),
        model(
            call("c1", "Write", file_path="/home/user/tea.py", content="x = 1\n" * 2_000),
            call("c2", "Bash", command="pytest -q"),
        ),
        user(
            result("c1", "File created successfully at: /home/user/tea.py"),
            result("c2", "F\nFAILED tests/test_tea.py::test_boils - no\n1 failed in 0.10s"),
        ),
    ]
    async with standing(upstream, root=tmp_path / "m") as to:
        await to.http.post("/v1/messages", json=body(*said), headers=SESSION)
        await to.proxy.settled()
        [change] = await to.memory.events(path="tea.py")
        assert change.change == "written"
        assert change.hash, "its page was cut; the client's own JSON was not"
        [tests] = await to.memory.events(test="test_boils")
        assert (tests.outcome, tests.how) == ("failed", "named")
        [name] = await to.sessions()
        await to.memory.forget(name)
        assert await to.memory.events() == []
