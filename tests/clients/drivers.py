"""Clients in Python, each a session of its own: it is asked in words, runs its tools, and answers.

What a driver does is what the client's documentation shows for a conversation with tools.
"""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tests.clients.scenario import contents
from tests.proxy.standing import KEY

FILES = contents()
INSTRUCTIONS = "You help with a handbook."
MODEL = "scripted"
NAMED = {"x-pagefault-session": "handbook"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}


def read_file(name: str) -> str:
    """Read a file of the handbook.

    Args:
        name: what it is called.
    """
    return FILES[name]


class Driver(Protocol):
    def ask(self, text: str) -> str: ...

    def close(self) -> None: ...


class Sync:
    client: Any = None

    def close(self) -> None:
        if self.client is not None:
            self.client.close()


class Async:
    """A session in an event loop of its own, in which its client is closed."""

    def __init__(self, client: Any) -> None:
        self.loop = asyncio.Runner()
        self.client = client

    def close(self) -> None:
        self.loop.run(self.client.close())
        self.loop.close()


class OpenAIChat(Sync):
    """The SDK, with Chat Completions, streamed."""

    def __init__(self, url: str) -> None:
        import openai

        self.client = openai.OpenAI(
            base_url=f"{url}/v1", api_key=KEY, max_retries=0, default_headers=NAMED
        )
        self.messages: list[Any] = [{"role": "system", "content": INSTRUCTIONS}]
        told = {"name": "read_file", "description": "Reads.", "parameters": SCHEMA, "strict": True}
        self.tools: Any = [{"type": "function", "function": told}]

    def ask(self, text: str) -> str:
        self.messages.append({"role": "user", "content": text})
        while True:
            with self.client.chat.completions.stream(
                model=MODEL,
                messages=self.messages,
                tools=self.tools,
                stream_options={"include_usage": True},
            ) as stream:
                message = stream.get_final_completion().choices[0].message
            told: dict[str, Any] = {"role": "assistant", "content": message.content}
            calls = message.tool_calls or []
            if calls:
                told["tool_calls"] = [
                    {
                        "id": one.id,
                        "type": "function",
                        "function": {
                            "name": one.function.name,
                            "arguments": one.function.arguments,
                        },
                    }
                    for one in calls
                ]
            self.messages.append(told)
            for one in calls:
                result = read_file(**json.loads(one.function.arguments))
                self.messages.append({"role": "tool", "tool_call_id": one.id, "content": result})
            if not calls:
                return message.content or ""


class OpenAIResponses(Sync):
    """The SDK, with Responses that the provider does not keep."""

    def __init__(self, url: str) -> None:
        import openai

        self.client = openai.OpenAI(
            base_url=f"{url}/v1", api_key=KEY, max_retries=0, default_headers=NAMED
        )
        self.input: list[Any] = []
        told = {"name": "read_file", "description": "Reads.", "parameters": SCHEMA, "strict": True}
        self.tools: Any = [{"type": "function", **told}]

    def ask(self, text: str) -> str:
        self.input.append({"role": "user", "content": text})
        while True:
            answer = self.client.responses.create(
                model=MODEL,
                instructions=INSTRUCTIONS,
                input=self.input,
                tools=self.tools,
                store=False,
                include=["reasoning.encrypted_content"],
            )
            self.input += [one.model_dump(exclude_none=True) for one in answer.output]
            calls = [one for one in answer.output if one.type == "function_call"]
            for one in calls:
                result = read_file(**json.loads(one.arguments))
                told = {"type": "function_call_output", "call_id": one.call_id, "output": result}
                self.input.append(told)
            if not calls:
                return str(answer.output_text)


class Anthropic(Sync):
    """The SDK, streamed, with marks for the cache where the documentation puts them."""

    def __init__(self, url: str) -> None:
        import anthropic

        self.client: Any = anthropic.Anthropic(
            base_url=url, api_key=KEY, max_retries=0, default_headers=NAMED
        )
        self.tools = [{"name": "read_file", "description": "Reads.", "input_schema": SCHEMA}]
        self.messages: list[Any] = []

    def ask(self, text: str) -> str:
        self.messages.append({"role": "user", "content": [{"type": "text", "text": text}]})
        while True:
            with self.client.messages.stream(
                model=MODEL,
                max_tokens=1_000,
                system=[{"type": "text", "text": INSTRUCTIONS, "cache_control": MARK}],
                messages=[*self.messages[:-1], _marked(self.messages[-1])],
                tools=self.tools,
            ) as stream:
                message = stream.get_final_message()
            said = [one.model_dump(exclude_none=True) for one in message.content]
            self.messages.append({"role": "assistant", "content": said})
            calls = [one for one in message.content if one.type == "tool_use"]
            if not calls:
                return "".join(one.text for one in message.content if one.type == "text")
            results = [
                {"type": "tool_result", "tool_use_id": one.id, "content": read_file(**one.input)}
                for one in calls
            ]
            self.messages.append({"role": "user", "content": results})


MARK = {"type": "ephemeral"}


def _marked(message: Any) -> Any:
    *before, last = message["content"]
    return {**message, "content": [*before, {**last, "cache_control": MARK}]}


class LangChainAgent(Sync):
    """`create_agent` over the history that its state keeps."""

    def __init__(self, model: Any) -> None:
        from langchain.agents import create_agent
        from langchain_core.tools import tool

        self.agent: Any = create_agent(model, [tool(read_file)], system_prompt=INSTRUCTIONS)
        self.messages: list[Any] = []

    def ask(self, text: str) -> str:
        said = {"role": "user", "content": text}
        told = self.agent.invoke({"messages": [*self.messages, said]}, {"recursion_limit": 200})
        self.messages = told["messages"]
        return str(self.messages[-1].text)


def langchain_openai(url: str) -> Driver:
    package: Any = importlib.import_module("langchain_openai")  # no stubs where it is missing
    more: Any = {"base_url": f"{url}/v1", "api_key": KEY, "default_headers": NAMED}
    return LangChainAgent(package.ChatOpenAI(model=MODEL, max_retries=0, streaming=True, **more))


def langchain_anthropic(url: str) -> Driver:
    package: Any = importlib.import_module("langchain_anthropic")
    more: Any = {"base_url": url, "api_key": KEY, "default_headers": NAMED}
    return LangChainAgent(package.ChatAnthropic(model_name=MODEL, max_retries=0, **more))


class OpenAIAgents(Async):
    """A runner over the list of its own items; over Responses, as it is by default."""

    def __init__(self, url: str) -> None:
        import agents
        import openai

        client = openai.AsyncOpenAI(
            base_url=f"{url}/v1", api_key=KEY, max_retries=0, default_headers=NAMED
        )
        super().__init__(client)
        self.agent: Any = agents.Agent(
            name="handbook",
            instructions=INSTRUCTIONS,
            model=agents.OpenAIResponsesModel(model=MODEL, openai_client=client),
            tools=[agents.function_tool(read_file)],
            model_settings=agents.ModelSettings(store=False),
        )
        self.items: list[Any] = []
        agents.set_tracing_disabled(True)

    def ask(self, text: str) -> str:
        from agents import Runner

        said: Any = {"role": "user", "content": text}
        run: Any = self.loop.run(Runner.run(self.agent, [*self.items, said], max_turns=100))
        self.items = run.to_input_list()
        return str(run.final_output)


class PydanticAI(Async):
    """An agent over its message history, of either provider."""

    def __init__(self, model: Any, client: Any) -> None:
        from pydantic_ai import Agent

        super().__init__(client)
        self.agent: Any = Agent(model, instructions=INSTRUCTIONS, tools=[read_file], retries=0)
        self.history: list[Any] = []

    def ask(self, text: str) -> str:
        return self.loop.run(self._ask(text))

    async def _ask(self, text: str) -> str:
        from pydantic_ai.usage import UsageLimits

        limits = UsageLimits(request_limit=100)
        async with self.agent.run_stream(
            text, message_history=self.history, usage_limits=limits
        ) as run:
            said = await run.get_output()
        self.history = run.all_messages()
        return str(said)


def pydantic_openai(url: str) -> Driver:
    import openai
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = openai.AsyncOpenAI(
        base_url=f"{url}/v1", api_key=KEY, max_retries=0, default_headers=NAMED
    )
    return PydanticAI(OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client)), client)


def pydantic_anthropic(url: str) -> Driver:
    import anthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = anthropic.AsyncAnthropic(
        base_url=url, api_key=KEY, max_retries=0, default_headers=NAMED
    )
    return PydanticAI(
        AnthropicModel(MODEL, provider=AnthropicProvider(anthropic_client=client)), client
    )


class LiteLLM(Sync):
    def __init__(self, url: str) -> None:
        self.url = url
        self.messages: list[Any] = [{"role": "system", "content": INSTRUCTIONS}]
        told = {"name": "read_file", "description": "Reads.", "parameters": SCHEMA}
        self.tools: Any = [{"type": "function", "function": told}]

    def ask(self, text: str) -> str:
        import litellm

        self.messages.append({"role": "user", "content": text})
        while True:
            answer: Any = litellm.completion(
                model=f"openai/{MODEL}",
                messages=self.messages,
                tools=self.tools,
                api_base=f"{self.url}/v1",
                api_key=KEY,
                extra_headers=NAMED,
                num_retries=0,
                max_retries=0,
            )
            message = answer.choices[0].message
            self.messages.append(message)
            for one in message.tool_calls or []:
                result = read_file(**json.loads(one.function.arguments))
                self.messages.append({"role": "tool", "tool_call_id": one.id, "content": result})
            if not message.tool_calls:
                return message.content or ""


class LLM(Sync):
    """A conversation of `llm`, whose chains run tools."""

    def __init__(self, url: str) -> None:
        from llm.default_plugins import openai_models

        chat: Any = openai_models.Chat
        model = chat(
            MODEL,
            model_name=MODEL,
            api_base=f"{url}/v1",
            headers=NAMED,
            supports_tools=True,
            can_stream=True,
        )
        model.key = KEY
        self.conversation: Any = model.conversation(tools=[read_file])

    def ask(self, text: str) -> str:
        chain = self.conversation.chain(text, system=INSTRUCTIONS, chain_limit=0, key=KEY)
        return str(chain.text())


DRIVERS: Mapping[str, tuple[str, Callable[[str], Driver]]] = {
    "openai, chat": ("openai", OpenAIChat),
    "openai, responses": ("openai", OpenAIResponses),
    "anthropic": ("anthropic", Anthropic),
    "langchain, openai": ("langchain_openai", langchain_openai),
    "langchain, anthropic": ("langchain_anthropic", langchain_anthropic),
    "openai-agents": ("agents", OpenAIAgents),
    "pydantic-ai, openai": ("pydantic_ai", pydantic_openai),
    "pydantic-ai, anthropic": ("pydantic_ai", pydantic_anthropic),
    "litellm": ("litellm", LiteLLM),
    "llm": ("llm", LLM),
}
"""By name: the package that it needs, and how a session of it begins."""
