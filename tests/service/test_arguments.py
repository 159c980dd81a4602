"""What is handed in where something else belongs is refused, and nothing is written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault import BadInput, Memory, Session

CALLS: dict[str, Callable[[Any, Any], Awaitable[object]]] = {
    "a speaker that is none": lambda _, s: s.user("x", speaker=None),
    "a speaker that is a number": lambda _, s: s.assistant("x", speaker=5),
    "a speaker that no file could hold": lambda _, s: s.user("x", speaker="\ud800"),
    "a title that is none": lambda _, s: s.document("x", title=None),
    "a time that is none": lambda _, s: s.user("x", occurred_at=None),
    "a time that is a number": lambda _, s: s.user("x", occurred_at=5),
    "a key that is a number": lambda _, s: s.user("x", key=5),
    "bytes for a text": lambda _, s: s.user(b"x"),
    "a tool without a name": lambda _, s: s.tool_result("x", name=None),
    "an artifact without a name": lambda _, s: s.artifact(b"x", name=None),
    "a page that is a number": lambda _, s: s.page(5),
    "a pin that is none": lambda _, s: s.pin(None),
    "a goal that is a number": lambda _, s: s.goal(5),
    "a checkpoint that is a number": lambda _, s: s.checkpoint(5),
    "a query that is a number": lambda _, s: s.recall(5),
    "a limit that is a text": lambda _, s: s.recall("x", limit="5"),
    "a session that is a number": lambda m, _: m.session(5),
    "a page to forget that is a number": lambda m, _: m.forget("work", 5),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_it_is_refused_and_the_memory_goes_on_as_before(
    tmp_path: Path, call: Callable[[Memory, Session], Awaitable[object]]
) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("work")
        await session.user("Said before.")
        with pytest.raises(BadInput):
            await call(memory, session)
        assert await session.user("Said after.") == "msg_2"
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        assert (await memory.verify()).problems == ()
        session = await memory.session("work", create=False)
        assert (await session.status()).pages == 2


async def test_a_time_may_be_given_as_one(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("work")
        page_id = await session.user("Hello", occurred_at=datetime(2026, 3, 2, 8, tzinfo=UTC))
        assert (await session.page(page_id)).occurred_at == "2026-03-02T08:00:00+00:00"
