"""A memory to look at, and an environment with nothing of the developer's in it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pagefault import Limits, ScriptedEngine
from pagefault.cli import background
from pagefault.cli.outcome import run
from pagefault.service.bootstrap import open_memory
from tests import warm
from tests.adopted import copied


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """What stdout says, which must be JSON and nothing else."""
        return json.loads(self.out)


Cli = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def _in_an_empty_home(empty_home: Path) -> None: ...


@pytest.fixture(scope="session", autouse=True)
def _proxies_are_forked() -> Iterator[None]:
    """Those in the background, which `doctor` starts at each call; see `started_anew`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(background, "Popen", warm.Forked)
        yield


@pytest.fixture
def started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """What starts in the background is a Python of its own, as for a user."""
    monkeypatch.setattr(background, "Popen", subprocess.Popen)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run a command line in this process."""

    def call(*argv: str | Path) -> Outcome:
        code = run([str(word) for word in argv])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


def start(
    *argv: str | Path, popen: type[subprocess.Popen[Any]] = warm.Forked, **more: Any
) -> subprocess.Popen[str]:
    """Run a command line as a process of its own, which can be interrupted."""
    return popen(
        [sys.executable, "-m", "pagefault.cli", *map(str, argv)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


async def make_memory(path: Path, fillers: int = 25) -> None:
    """Two sessions; the older has a fork with faults, and is the one most recently used."""
    limits = Limits(recall_tokens_max=0)  # so that an answer takes a fault
    async with open_memory(path, window=2_000, limits=limits) as memory:
        other = await memory.session("other")
        await other.user("An empty talk about nothing.")
        talk = await memory.session("talk")
        await talk.user("The red wheel has thirty-six spokes.", speaker="Mira")
        await talk.request()
        await talk.assistant("Thirty-six spokes, noted.")
        for number in range(fillers):
            await talk.user(f"Filler number {number}, about the weather in the valley. " * 3)
            await talk.request()
            await talk.assistant("I see. " * 10)
        fork = await talk.fork("aside")
        await fork.user("How many spokes has the red wheel?")
        await fork.run(ScriptedEngine())
        await talk.user("That was all.")


@pytest.fixture(scope="session")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "memory"
    asyncio.run(make_memory(path))
    return path


@pytest.fixture
def memory_root(_made: Path, tmp_path: Path) -> Path:
    """A memory of the test's own."""
    return copied(_made, tmp_path / "memory")
