"""The memory service and the plugin, in runs of the real Agent Development Kit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import pagefault
from tests.integrations.frameworks import FACT, WINDOW, check_paged, check_whole, needs, notes

if TYPE_CHECKING:
    from google.adk.runners import InMemoryRunner

pytestmark = [
    needs("google.adk", "Google's Agent Development Kit"),
    pytest.mark.filterwarnings("default"),  # its own are many
]


async def _asks(runner: InMemoryRunner, session: Any, text: str) -> str:
    from google.genai import types

    said = types.Content(role="user", parts=[types.Part(text=text)])
    told = ""
    async for event in runner.run_async(
        user_id=session.user_id, session_id=session.id, new_message=said
    ):
        assert event.content is not None
        assert event.content.parts is not None
        told = event.content.parts[0].text or ""
    return told


@pytest.mark.parametrize("pages", [True, False], ids=["paged", "control"])
async def test_a_session_outgrows_its_window_and_its_events_stay_whole(pages: bool) -> None:
    from google.adk.agents import LlmAgent
    from google.adk.apps import App
    from google.adk.runners import InMemoryRunner

    from pagefault.integrations.google_adk import PagefaultPlugin
    from tests.integrations.scripted_google_adk import Scripted

    model = Scripted(model="m")
    async with pagefault.open(":memory:") as memory:
        plugin = PagefaultPlugin(memory=memory, window_tokens=WINDOW)
        plugins: list[Any] = [plugin] if pages else []
        agent = LlmAgent(name="notes", model=model, instruction="You keep notes.")
        runner = InMemoryRunner(app=App(name="notes", root_agent=agent, plugins=plugins))
        session = await runner.session_service.create_session(app_name="notes", user_id="ana")
        for note in notes():
            assert await _asks(runner, session, note) == "Understood."
        kept: Any = await runner.session_service.get_session(
            app_name="notes", user_id="ana", session_id=session.id
        )
        said = [one.content.parts[0].text for one in kept.events if one.author == "user"]
        assert said == notes()
        if pages:
            [row] = await memory.sessions()
            rows = await memory.pages(await memory.session(row.name), limit=4)
            assert [str(one.origin) for one in rows] == ["user_typed", "model_generated"] * 2
    if pages:
        check_paged(model.seen)
    else:
        check_whole(model.seen)


async def test_what_was_said_is_found_later_by_the_same_user_alone() -> None:
    from google.adk.agents import LlmAgent
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    from pagefault.integrations.google_adk import PagefaultMemoryService
    from tests.integrations.scripted_google_adk import Scripted

    def clock(zone: str) -> str:
        """Tells the time."""
        return f"It is noon in {zone}."

    call = types.Part(function_call=types.FunctionCall(name="clock", args={"zone": "Oslo"}))
    model = Scripted(model="m", says=[call, types.Part(text="Noted.")])
    async with pagefault.open(":memory:") as memory:
        service = PagefaultMemoryService(memory=memory)
        runner = InMemoryRunner(
            agent=LlmAgent(name="notes", model=model, tools=[clock]), app_name="notes"
        )
        session = await runner.session_service.create_session(app_name="notes", user_id="ana")
        assert await _asks(runner, session, FACT) == "Noted."
        whole: Any = await runner.session_service.get_session(
            app_name="notes", user_id="ana", session_id=session.id
        )
        await service.add_session_to_memory(whole)
        await service.add_session_to_memory(whole)
        asked = {"app_name": "notes", "query": "juniper barrel"}
        [found] = (await service.search_memory(user_id="ana", **asked)).memories
        assert found.content.parts is not None
        assert found.content.parts[0].text == FACT
        assert found.author == "user_typed"
        assert (await service.search_memory(user_id="ben", **asked)).memories == []
        told = (await service.search_memory(app_name="notes", user_id="ana", query="noon")).memories
        assert [one.author for one in told] == ["tool:clock"]
        await service.delete_memory(app_name="notes", user_id="ben", memory_id=found.id)
        assert (await service.search_memory(user_id="ana", **asked)).memories
        await service.delete_memory(app_name="notes", user_id="ana", memory_id=found.id)
        assert (await service.search_memory(user_id="ana", **asked)).memories == []
        await service.delete_memory(app_name="notes", user_id="ana")
        assert [row.name for row in await memory.sessions()] == ["google-adk"]
