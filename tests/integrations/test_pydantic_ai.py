"""The capability, in agents of the real Pydantic AI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pagefault
from tests.integrations.frameworks import WINDOW, check_paged, check_whole, needs, notes

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models.function import AgentInfo

pytestmark = needs("pydantic_ai", "Pydantic AI")


@pytest.mark.parametrize("pages", [True, False], ids=["paged", "control"])
async def test_a_history_outgrows_its_window_and_stays_whole(pages: bool) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelRequest
    from pydantic_ai.models.function import FunctionModel

    from pagefault.integrations.pydantic_ai import Pagefault
    from tests.integrations.scripted_pydantic_ai import Scripted

    model = Scripted()
    async with pagefault.open(":memory:") as memory:
        paging = [Pagefault("ana", memory=memory, window_tokens=WINDOW)] if pages else []
        agent = Agent(FunctionModel(model), instructions="You keep notes.", capabilities=paging)
        history: list[ModelMessage] = []
        for note in notes():
            run = await agent.run(note, message_history=history)
            history = run.all_messages()
        if pages:
            rows = await memory.pages(await memory.session("ana", create=False), limit=4)
            origins = [str(row.origin) for row in rows]
            assert origins == ["user_typed", "model_generated"] * 2
    asked = [one.parts[0] for one in history if isinstance(one, ModelRequest)]
    assert [part.content for part in asked] == notes()  # type: ignore[union-attr]
    if pages:
        check_paged(model.texts())
    else:
        check_whole(model.texts())


async def test_calls_stand_with_their_results_and_are_kept_as_the_tools() -> None:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    from pagefault.integrations.pydantic_ai import Pagefault
    from tests.integrations.scripted_pydantic_ai import Scripted

    calls = [ToolCallPart("clock", {"zone": z}, tool_call_id=f"call_{z}") for z in ("Oslo", "Lima")]
    model = Scripted(
        ModelResponse(parts=[TextPart("Let me look."), *calls]),
        ModelResponse(parts=[TextPart("Noon, and seven.")]),
    )
    async with pagefault.open(":memory:") as memory:
        agent = Agent(
            FunctionModel(model),
            capabilities=[Pagefault(lambda ctx: f"of-{ctx.deps}", memory=memory)],
            deps_type=str,
        )

        @agent.tool_plain
        def clock(zone: str) -> str:
            return f"It is noon in {zone}."

        run = await agent.run("What time is it?", deps="ana")
        rows = await memory.pages(await memory.session("of-ana", create=False))
    assert run.output == "Noon, and seven."
    _, said, returned = model.seen[-1]
    assert [part.part_kind for part in said.parts] == ["text", "tool-call", "tool-call"]
    assert [part.part_kind for part in returned.parts] == ["tool-return", "tool-return"]
    assert all(isinstance(part, ToolReturnPart) for part in returned.parts)
    assert [str(row.origin) for row in rows] == [
        "user_typed",
        *["model_generated"] * 3,
        *["tool:clock"] * 2,
        "model_generated",
    ]


async def test_a_streamed_run_is_kept_too() -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.function import FunctionModel

    from pagefault.integrations.pydantic_ai import Pagefault

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> Any:
        yield "Under"
        yield "stood."

    async with pagefault.open(":memory:") as memory:
        agent = Agent(
            FunctionModel(stream_function=stream), capabilities=[Pagefault("ana", memory=memory)]
        )
        async with agent.run_stream("Hello") as run:
            assert await run.get_output() == "Understood."
        session = await memory.session("ana", create=False)
        texts = [(await memory.read(row)).text for row in await memory.pages(session)]
    assert texts == ["Hello", "Understood."]


def test_a_blocking_run_works_too(tmp_path: Path, current_loop: None) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.function import FunctionModel

    from pagefault.integrations.pydantic_ai import Pagefault
    from tests.integrations.scripted_pydantic_ai import Scripted

    agent = Agent(
        FunctionModel(Scripted()), capabilities=[paging := Pagefault("ana", memory=tmp_path / "m")]
    )
    assert agent.run_sync("Hello").output == "Understood."
    assert agent.run_sync("Hello").output == "Understood."
    paging.close()
