"""What is handed in where something else belongs is refused, and nothing is written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault import (
    BadInput,
    EventType,
    Incoming,
    Memory,
    Role,
    Session,
    ToolCall,
    Usage,
)
from tests.model.zones import LostZone

SMELL: Any = "smell"


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
    "a user who says nothing": lambda _, s: s.user(""),
    "a time whose zone fails": lambda _, s: s.user(
        "x", occurred_at=datetime(2026, 1, 1, tzinfo=LostZone())
    ),
    "a time that is none, in words": lambda _, s: s.user("x", occurred_at="tomorrowish"),
    "a summary as if it had been said": lambda _, s: s.say(
        [Incoming(text="x", role=Role.USER, event_type=EventType.SUMMARY)], origin="user_typed"
    ),
    "a modality there is none of": lambda _, s: s.say(
        [Incoming(text="x", role=Role.USER, modality=SMELL)], origin="user_typed"
    ),
    "a text where texts belong": lambda _, s: s.say("x", origin="user_typed"),
    "what was said by whom nobody knows": lambda _, s: s.say([], origin="hearsay"),
    "bytes that `say` does not keep": lambda _, s: s.say(
        [Incoming(text="x", role=Role.USER, blob="0" * 64)], origin="user_typed"
    ),
    "an engine that is a text": lambda _, s: s.run("engine"),
    "a call that is a dict": lambda _, s: s.call({"name": "page_fault"}),
    "tokens below nothing": lambda _, s: s.observe(Usage(input_tokens=-1, output_tokens=0)),
    "tokens that are no number": lambda _, s: s.observe(
        Usage(input_tokens=float("nan"), output_tokens=0)  # type: ignore[arg-type]
    ),
    "a window that is true": lambda _, s: s.configure(window=True),
    "a limit that no index can have": lambda _, s: s.recent(limit=10**40),
    "pages of what is no session": lambda m, _: m.pages("work"),
    "a backup at no place": lambda m, _: m.backup("\0"),
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


FACE: Any = pagefault  # as somebody has it who checks no types


@pytest.mark.parametrize(
    "make",
    [
        lambda: FACE.RemoteEngine("http://localhost:1", None),
        lambda: FACE.open(":memory:", window="wide"),
        lambda: FACE.SearchFilter(kinds=5),
        lambda: FACE.PriceList(name="x", as_of="y", read="0", write=1, output=1, ttl_s=None),
        lambda: FACE.ToolCall("c", "page_fault", 5),
        lambda: FACE.ToolCall(1, "page_fault", ""),
        lambda: FACE.find_prices(5),
    ],
)
def test_what_is_made_of_the_wrong_values_says_so(make: Callable[[], object]) -> None:
    with pytest.raises(BadInput, match="not") as refused:
        make()
    assert refused.value.hint


async def test_a_session_of_another_memory_is_refused(tmp_path: Path) -> None:
    async with pagefault.open(":memory:") as one, pagefault.open(":memory:") as other:
        stranger = await other.session("stranger")
        with pytest.raises(BadInput, match="another memory"):
            await one.pages(stranger)


async def test_what_was_closed_says_so_at_every_verb() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        await session.user("Incoming.")
    for call in (
        session.user("More."),
        session.page("msg_1"),
        session.request(),
        session.recall("said"),
        session.status(),
        memory.sessions(),
        memory.pages(session),
    ):
        with pytest.raises(pagefault.StoreClosed):
            await call
    await memory.close()


async def test_a_call_may_be_given_as_a_client_parsed_it() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        await session.document("The rent is 180 euros.")
        await session.user("What is the rent?")
        await session.request()
        call = ToolCall("call_1", "page_fault", {"page_id": "art_1", "target_level": 0})
        assert call.arguments == '{"page_id": "art_1", "target_level": 0}'
        assert '"error"' not in await session.call(call)
