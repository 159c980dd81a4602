"""A session of OpenAI's Agents SDK. A scripted model answers, so it runs offline."""

import asyncio

from agents import Agent, Runner
from agents.testing import ScriptedModel, assistant_message

from pagefault.integrations.openai_agents import PagefaultSession


async def main() -> None:
    agent = Agent(name="notes", model=ScriptedModel([[assistant_message("Noted.")]]))
    session = PagefaultSession("ana", memory=":memory:", window_tokens=8_000)
    said = "The spare key hangs behind the barrel."
    print((await Runner.run(agent, said, session=session, run_config=session.paging)).final_output)
    print(await session.get_items())


asyncio.run(main())
