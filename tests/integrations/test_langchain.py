"""The middleware, in agents of the real LangChain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pagefault
from tests.integrations.frameworks import WINDOW, check_paged, check_whole, needs, notes

pytestmark = needs("langchain", "LangChain")

THREAD: Any = {"configurable": {"thread_id": "ana"}}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[pagefault.sync.Memory]:
    with pagefault.sync.open(tmp_path / "m", sync="os") as memory:
        yield memory


def _says(text: str) -> Any:
    return {"messages": [{"role": "user", "content": text}]}


@pytest.mark.parametrize("pages", [True, False], ids=["paged", "control"])
def test_an_agents_thread_outgrows_its_window_and_the_state_stays_whole(
    pages: bool, memory: pagefault.sync.Memory
) -> None:
    from langchain.agents import create_agent
    from langgraph.checkpoint.memory import InMemorySaver

    from pagefault.integrations.langchain import PagefaultMiddleware
    from tests.integrations.scripted_langchain import Scripted

    model = Scripted()
    paging = [PagefaultMiddleware(memory=memory, window_tokens=WINDOW)] if pages else []
    agent: Any = create_agent(
        model, system_prompt="You keep notes.", middleware=paging, checkpointer=InMemorySaver()
    )
    for note in notes():
        state = agent.invoke(_says(note), THREAD)
    assert [str(one.content) for one in state["messages"][::2]] == notes()
    if not pages:
        return check_whole(model.texts())
    check_paged(model.texts())
    assert all(asked[0].content == "You keep notes." for asked in model.seen)
    assert all(asked[-1].type == "human" for asked in model.seen)
    session = memory.session("ana", create=False)
    proxied = memory.proxied(session)
    assert proxied is not None
    assert proxied.reported_tokens == 707
    origins = [str(row.origin) for row in memory.pages(session, limit=4)]
    assert origins == ["user_typed", "model_generated"] * 2
    return None


async def test_calls_stand_with_their_results_and_are_kept_as_the_tools(tmp_path: Path) -> None:
    from langchain.agents import create_agent
    from langchain_core.messages import AIMessage

    from pagefault.integrations.langchain import PagefaultMiddleware
    from tests.integrations.scripted_langchain import Scripted

    def clock(zone: str) -> str:
        """Tells the time."""
        return f"It is noon in {zone}."

    call = {"name": "clock", "args": {"zone": "Oslo"}, "id": "call_1"}
    model = Scripted(says=[AIMessage("Let me look.", tool_calls=[call]), AIMessage("Noon.")])
    async with pagefault.open(":memory:") as memory:
        paging = PagefaultMiddleware(session="ana", memory=memory, window_tokens=WINDOW)
        agent: Any = create_agent(model, [clock], middleware=[paging])
        state = await agent.ainvoke(_says("What time is it in Oslo?"))
        session = await memory.session("ana", create=False)
        rows = await memory.pages(session)
        texts = [(await memory.read(row)).text for row in rows]
    assert state["messages"][-1].content == "Noon."
    assert [one.type for one in model.seen[-1]] == ["human", "ai", "tool"]
    assert model.seen[-1][1].tool_calls[0]["id"] == "call_1"  # type: ignore[attr-defined]
    assert [str(row.origin) for row in rows] == [
        "user_typed",
        "model_generated",
        "model_generated",
        "tool:clock",
        "model_generated",
    ]
    assert texts[3] == "It is noon in Oslo."


def test_a_memory_that_cannot_be_opened_stops_no_agent(tmp_path: Path) -> None:
    from langchain.agents import create_agent

    from pagefault.integrations.langchain import PagefaultMiddleware
    from tests.integrations.scripted_langchain import Scripted

    (tmp_path / "m").write_text("no folder")
    model = Scripted()
    agent: Any = create_agent(
        model, middleware=[PagefaultMiddleware(session="ana", memory=tmp_path / "m")]
    )
    with pytest.warns(RuntimeWarning, match="is not kept"):
        state = agent.invoke(_says("Hello"))
    assert state["messages"][-1].content == "Understood."
