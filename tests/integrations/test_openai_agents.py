"""The session and its filter, in runs of the real Agents SDK."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pagefault
from tests.integrations.frameworks import WINDOW, check_paged, check_whole, needs, notes

if TYPE_CHECKING:
    from agents.testing import ScriptedModel

pytestmark = needs("agents", "OpenAI's Agents SDK")


def _texts(model: ScriptedModel) -> list[str]:
    return [str(call.input) for call in model.calls]


def _said(*items: Any) -> list[Any]:
    """Items as they are told apart: whose, and what."""
    return [
        (
            one.get("role") or one["type"],
            one.get("content") or one.get("arguments") or one["output"],
        )
        for one in items
    ]


@pytest.mark.parametrize("pages", [True, False], ids=["paged", "control"])
async def test_a_session_outgrows_its_window_and_stays_whole(pages: bool) -> None:
    from agents import Agent, RunConfig, Runner
    from agents.memory import Session
    from agents.testing import ScriptedModel, assistant_message

    from pagefault.integrations.openai_agents import PagefaultSession

    model = ScriptedModel([[assistant_message("Understood.", item_id=f"m{n}")] for n in range(26)])
    agent = Agent(name="notes", instructions="You keep notes.", model=model)
    async with pagefault.open(":memory:") as memory:
        session = PagefaultSession("ana", memory=memory, window_tokens=WINDOW)
        assert isinstance(session, Session)
        config = session.paging if pages else RunConfig()
        config.tracing_disabled = True
        for note in notes():
            run = await Runner.run(agent, note, session=session, run_config=config)
            assert run.final_output == "Understood."
        items: list[Any] = await session.get_items()
        asked = [one["content"] for one in items if one["role"] == "user"]
        assert asked == notes()
        assert await PagefaultSession("ana", memory=memory).get_items() == items
        assert await session.get_items(limit=2) == items[-2:]
        rows = await memory.pages(await memory.session("ana", create=False), limit=100)
        assert len(rows) == 52
        assert [str(row.origin) for row in rows[:2]] == ["user_typed", "model_generated"]
    assert all(call.system_instructions == "You keep notes." for call in model.calls)
    if pages:
        check_paged(_texts(model))
    else:
        check_whole(_texts(model))


async def test_calls_results_and_reasoning_come_back_as_they_were(tmp_path: Path) -> None:
    from agents import Agent, Runner, function_tool
    from agents.testing import ScriptedModel, assistant_message, function_call

    from pagefault.integrations.openai_agents import PagefaultSession

    @function_tool
    def clock(zone: str) -> str:
        return f"It is noon in {zone}."

    call = function_call("clock", {"zone": "Oslo"}, call_id="call_1")
    model = ScriptedModel([[call], [assistant_message("Noon.")]])
    session = PagefaultSession("ana", memory=tmp_path / "m")
    config = session.paging
    config.tracing_disabled = True
    run = await Runner.run(
        Agent(name="a", model=model, tools=[clock]), "The time?", session=session, run_config=config
    )
    assert run.final_output == "Noon."
    reasoning: Any = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "xyz"}
    answer: Any = {"role": "assistant", "content": "Well."}
    await session.add_items([{"role": "user", "content": "And now?"}, reasoning, answer])
    items = await session.get_items()
    again = PagefaultSession("ana", memory=tmp_path / "m")
    assert await again.get_items() == items
    kinds = [one.get("type") or one["role"] for one in items]  # type: ignore[typeddict-item]
    assert kinds == [
        "user",
        "function_call",
        "function_call_output",
        "message",
        "user",
        "reasoning",
        "assistant",
    ]
    session.close()


async def test_the_newest_item_is_taken_back_for_good() -> None:
    from pagefault.integrations.openai_agents import PagefaultSession

    one, two, three = ({"role": "user", "content": word} for word in ("one", "two", "three"))
    async with pagefault.open(":memory:") as memory:
        session = PagefaultSession("ana", memory=memory)
        assert await session.pop_item() is None
        await session.add_items([one, two, three])  # type: ignore[list-item]
        assert await session.pop_item() == three
        other = PagefaultSession("ana", memory=memory)
        assert await other.get_items() == [one, two]
        assert await other.pop_item() == two
        await other.add_items([three, two])  # type: ignore[list-item]
        assert await session.get_items() == [one, three, two]
        assert await PagefaultSession("ana", memory=memory).get_items() == [one, three, two]


async def test_the_same_words_again_are_another_item() -> None:
    from pagefault.integrations.openai_agents import PagefaultSession

    yes: Any = {"role": "user", "content": "Yes."}
    async with pagefault.open(":memory:") as memory:
        session = PagefaultSession("ana", memory=memory)
        for _ in range(3):
            await session.add_items([yes])
        assert await session.pop_item() == yes
        await session.add_items([yes, yes])
        assert await session.get_items() == [yes] * 4
        assert await PagefaultSession("ana", memory=memory).get_items() == [yes] * 4


async def test_a_session_that_is_cleared_is_forgotten_and_begins_anew() -> None:
    from pagefault.integrations.openai_agents import PagefaultSession

    hello: Any = {"role": "user", "content": "Hello, xylophonist."}
    async with pagefault.open(":memory:") as memory:
        session = PagefaultSession("ana", memory=memory)
        await session.clear_session()
        await session.add_items([hello])
        await session.clear_session()
        assert await session.get_items() == []
        assert not (await memory.recall("xylophonist")).hits
        await session.add_items([hello])
        assert await session.get_items() == [hello]
        assert await PagefaultSession("ana", memory=memory).get_items() == [hello]


async def test_sessions_are_apart_and_a_setting_limits_what_is_read() -> None:
    from agents.memory import SessionSettings

    from pagefault.integrations.openai_agents import PagefaultSession

    async with pagefault.open(":memory:") as memory:
        ana, ben = (PagefaultSession(name, memory=memory) for name in ("ana", "ben"))
        await ana.add_items([{"role": "user", "content": f"{n}"} for n in range(4)])
        await ben.add_items([{"role": "user", "content": "Ben's."}])
        ana.session_settings = SessionSettings(limit=2)
        assert _said(*await ana.get_items()) == [("user", "2"), ("user", "3")]
        assert _said(*await ben.get_items()) == [("user", "Ben's.")]


async def test_where_memory_is_off_items_end_with_the_process(tmp_path: Path) -> None:
    from agents import Agent, Runner
    from agents.testing import ScriptedModel, assistant_message

    from pagefault.integrations.openai_agents import PagefaultSession

    hello: Any = {"role": "user", "content": "Hello, xylophonist."}
    async with pagefault.open(tmp_path / "m") as memory:
        await memory.session("ana")
        await memory.set_control("off", session="ana")
        session = PagefaultSession("ana", memory=memory, window_tokens=WINDOW)
        model = ScriptedModel([[assistant_message("Noted.")]])
        config = session.paging
        config.tracing_disabled = True
        agent = Agent(name="notes", model=model)
        await Runner.run(agent, "Hello, xylophonist.", session=session, run_config=config)
        assert len(await session.get_items()) == 2
        assert model.calls[0].input == [hello]
    kept = b"".join(path.read_bytes() for path in (tmp_path / "m").rglob("*") if path.is_file())
    assert b"xylophonist" not in kept
