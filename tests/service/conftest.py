"""Every test here runs in an empty home, and may have a memory with a session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import pagefault
from pagefault import Memory, Session
from tests.service.memories import WINDOW


@pytest.fixture(autouse=True)
def _in_an_empty_home(empty_home: Path) -> None: ...


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with pagefault.open(tmp_path / "m", window=WINDOW, sync="os") as memory:
        yield memory


@pytest.fixture
async def session(memory: Memory) -> Session:
    return await memory.session("talk")
