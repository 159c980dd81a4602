"""A memory for the studio to look at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pagefault.service.bootstrap import open_memory
from tests.adopted import copied
from tests.service.memories import fault, words

HOSTILE = "[bold red]not markup[/] \x1b[31m\u202egnp"
WORK: tuple[tuple[str, dict[str, Any]], ...] = (
    ("file_change", {"path": "src/shelf.py", "change": "edited"}),
    ("command_run", {"argv": ["git", "commit", "-m", "Shelves"], "exit_code": 0}),
    ("test_result", {"runner": "pytest", "passed": 3, "failed": 1, "failing": ["test_oak"]}),
)


@pytest.fixture(autouse=True)
def _in_an_empty_home_at_utc(empty_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as here:
        here.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


async def _filled(root: Path) -> None:
    """Twelve turns of which the first have left the window, one of them asked about; a decision of
    the user's and one that a model proposes; work that was done; an import that waits.
    """
    async with open_memory(root, window=1_600, seed=1, sync="os") as memory:
        session = await memory.session("workshop")
        for number in range(12):
            at = f"2026-03-{number + 1:02}T09:00:00"
            said = "We decided on oak for the shelves (#42). " if number == 0 else HOSTILE
            await session.user(
                f"{said} Point {number}: {words(50, f'w{number}')}", speaker="Mira", occurred_at=at
            )
            await session.request()
            await session.assistant(f"Noted {number}.", occurred_at=at)
        for event_type, facts in WORK:
            await session.record_event(event_type, facts=facts)
        await session.user("Which wood was first? The lamp shall be brass.", speaker="Mira")
        await session.request()
        await session.call(fault("msg_1"))
        await session.request()
        await session.assistant("Oak [ref: msg_1].")
        await session.claim("oak", evidence=["We decided on oak for the shelves"], subject="wood")
        await session.claim(
            "a brass lamp",
            evidence=["The lamp shall be brass"],
            subject="lamp",
            origin="model_generated",
        )
        notes = root.parent / "notes.md"
        notes.write_text("# Notes\n\nThe kettle is red.\n")
        await memory.import_history([notes])
        await memory.session("another", window=1_600)
        await (await memory.session("workshop")).user("And goodbye.", speaker="Mira")
        await session.request()


@pytest.fixture(scope="session")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("studio") / "memory"
    asyncio.run(_filled(root))
    return root


@pytest.fixture
def root(_made: Path, tmp_path: Path) -> Path:
    """A copy of the memory, whose own index goes with it."""
    return copied(_made, tmp_path / "memory")
