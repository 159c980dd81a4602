"""The capability of Pydantic AI. A test model answers, so it runs offline."""

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from pagefault.integrations.pydantic_ai import Pagefault

paging = Pagefault("ana", memory=":memory:", window_tokens=8_000)
agent = Agent(TestModel(custom_output_text="Noted."), capabilities=[paging])
run = agent.run_sync("The spare key hangs behind the barrel.")
print(agent.run_sync("Where is it?", message_history=run.all_messages()).output)
paging.close()
