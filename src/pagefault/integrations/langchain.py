"""A middleware for LangChain's agents: requests fit a window, the state stays whole.

agent = create_agent(model, tools, middleware=[PagefaultMiddleware(window_tokens=60_000)])
agent.invoke({"messages": [...]}, {"configurable": {"thread_id": "ana"}})
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from pagefault.integrations.pager import Fitted, Originals, Pager, Root
from pagefault.model.errors import not_installed
from pagefault.proxy.history.history import Json
from pagefault.proxy.wires.chat import Chat

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
    from langchain_core.messages.utils import convert_to_openai_messages
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.config import get_config
except ImportError as missing:
    raise not_installed("the middleware needs LangChain 1", "langchain") from missing


class PagefaultMiddleware(AgentMiddleware[Any, Any, Any]):
    """Keeps an agent's conversation in a memory, and pages the requests to its model.

    The conversation is the `session`, or else the `thread_id` of the agent's run. `memory` is a
    root, as `pagefault.open` takes it, or an open memory; `window_tokens` limits each request, by
    default to the configured window.
    """

    def __init__(
        self, *, session: str = "", memory: Root = None, window_tokens: int | None = None
    ) -> None:
        super().__init__()
        self._session = session
        self._pager = Pager(Chat(), memory, window_tokens)
        self._originals = Originals(_with_content)

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        home, pager = self._pager.home, self._pager
        fitted = home.waited(pager.fit(self._named(), self._body(request)))
        response = handler(self._fitting(request, fitted))
        home.waited(pager.learn(fitted, _answer(response)))
        return response

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        home, pager = self._pager.home, self._pager
        fitted = await home.awaited(pager.fit(self._named(), self._body(request)))
        response = await handler(self._fitting(request, fitted))
        await home.awaited(pager.learn(fitted, _answer(response)))
        return response

    def close(self) -> None:
        """Close the memory, if it was opened here and has no other user."""
        self._pager.close()

    def _named(self) -> str:
        return self._session or str(get_config().get("configurable", {}).get("thread_id", ""))

    def _body(self, request: ModelRequest[Any]) -> Json:
        system = [] if request.system_message is None else [request.system_message]
        head = [_plain(one) for one in system]
        told = [
            self._originals.told(one, _plain(one), f"{one.id} {one.model_dump_json()}")
            for one in request.messages
        ]
        tools = []
        for tool in request.tools:
            with suppress(Exception):  # one that only its provider can count weighs nothing
                tools.append(convert_to_openai_tool(tool))
        model = getattr(request.model, "model_name", "") or getattr(request.model, "model", "")
        return {"model": str(model), "messages": [*head, *told], "tools": tools}

    def _fitting(self, request: ModelRequest[Any], fitted: Fitted) -> ModelRequest[Any]:
        messages: list[Any] = []
        for plain in fitted.body["messages"]:
            message = self._originals.of(plain)
            if message is not None:
                messages.append(message)
            elif plain.get("role") == "user":  # text that nobody said comes by itself
                messages.append(HumanMessage(plain["content"]))
        return request.override(messages=messages)


def _plain(message: BaseMessage) -> Json:
    return dict(convert_to_openai_messages([message])[0])


def _with_content(message: BaseMessage, content: Any, plain: Json) -> BaseMessage:
    before = plain.get("content")
    if isinstance(content, list) and isinstance(before, list) and content[1:] == before:
        content = [content[0], *message.content]  # its own blocks, after the quotations
    return message.model_copy(update={"content": content})


def _answer(response: Any) -> Json:
    messages = getattr(response, "model_response", response)
    messages = getattr(messages, "result", [messages])
    said = next((one for one in messages if isinstance(one, AIMessage)), None)
    if said is None:
        return {}
    usage = said.usage_metadata
    counted = {} if usage is None else _usage(dict(usage))
    return {"choices": [{"message": _plain(said)}], **counted}


def _usage(told: Json) -> Json:
    cached = (told.get("input_token_details") or {}).get("cache_read")
    details = {} if cached is None else {"prompt_tokens_details": {"cached_tokens": cached}}
    counted = {
        "prompt_tokens": told.get("input_tokens"),
        "completion_tokens": told.get("output_tokens"),
    }
    return {"usage": {**counted, **details}}
