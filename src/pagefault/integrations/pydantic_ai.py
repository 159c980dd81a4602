"""A capability for Pydantic AI: requests fit a window, the history stays whole.

agent = Agent(model, capabilities=[Pagefault("ana", window_tokens=60_000)])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pagefault.integrations.pager import Fitted, Originals, Pager, Root
from pagefault.model.errors import not_installed
from pagefault.proxy.history.history import Json
from pagefault.proxy.wires.chat import Chat

try:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ModelResponse,
        RetryPromptPart,
        SystemPromptPart,
        TextPart,
        ThinkingPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext
except ImportError as missing:
    raise not_installed("the capability needs Pydantic AI 2", "pydantic-ai") from missing


class Pagefault(AbstractCapability[Any]):
    """Keeps an agent's conversation in a memory, and pages the requests to its model.

    `session` is the conversation's name, or a function of a run's context that returns it. `memory`
    is a root, as `pagefault.open` takes it, or an open memory; `window_tokens` limits each request,
    by default to the configured window.
    """

    def __init__(
        self,
        session: str | Callable[[RunContext[Any]], str],
        *,
        memory: Root = None,
        window_tokens: int | None = None,
    ) -> None:
        self._session = session
        self._pager = Pager(Chat(), memory, window_tokens)
        self._originals = Originals(_with_content)
        self._asked: dict[str, Fitted] = {}  # by run

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        session = self._session(ctx) if callable(self._session) else self._session
        body = self._body(request_context)
        fitted = await self._pager.home.awaited(self._pager.fit(session, body))
        self._asked[str(ctx.run_id)] = fitted
        return replace(request_context, messages=self._fitting(fitted, request_context.messages))

    async def after_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,
        response: ModelResponse,
    ) -> ModelResponse:
        fitted = self._asked.pop(str(ctx.run_id), None)
        if fitted is not None:
            usage = response.usage
            counted: Json = {
                "prompt_tokens": usage.input_tokens,
                "completion_tokens": usage.output_tokens,
                "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
            }
            answer = {"choices": [{"message": _said(response)}], "usage": counted}
            await self._pager.home.awaited(self._pager.learn(fitted, answer))
        return response

    def close(self) -> None:
        """Close the memory, if it was opened here and has no other user."""
        self._pager.close()

    def _body(self, asked: ModelRequestContext) -> Json:
        parameters = asked.model_request_parameters
        messages: list[Json] = [
            {"role": "system", "content": one.content} for one in parameters.instruction_parts or ()
        ]
        for message in asked.messages:
            if isinstance(message, ModelResponse):
                plain = _said(message)
                messages.append(self._originals.told(message, plain, repr(message)))
                continue
            for part in message.parts:  # each is an item of its own
                plain = _part(part)
                messages.append(self._originals.told((message, part), plain, repr(part)))
        tools = [
            {
                "type": "function",
                "function": {"name": t.name, "parameters": t.parameters_json_schema},
            }
            for t in parameters.function_tools
        ]
        return {"model": asked.model.model_name, "messages": messages, "tools": tools}

    def _fitting(self, fitted: Fitted, given: list[ModelMessage]) -> list[ModelMessage]:
        """Parts of one request are in one request again."""
        if fitted.passed is None:
            return given
        messages: list[ModelMessage] = []
        of: ModelRequest | None = None
        for plain in fitted.body["messages"]:
            found = self._originals.of(plain)
            if isinstance(found, ModelResponse):
                messages.append(found)
                of = None
                continue
            if found is None and plain.get("role") != "user":
                continue  # instructions are passed separately
            request, part = found or (
                of or ModelRequest(parts=[]),
                UserPromptPart(plain["content"]),
            )
            if of is not None and request is of:
                last = messages[-1]
                assert isinstance(last, ModelRequest)
                messages[-1] = replace(last, parts=[*last.parts, part])
            else:
                messages.append(replace(request, parts=[part]))
                of = request
        return messages


def _part(part: Any) -> Json:
    if isinstance(part, ToolReturnPart):
        return {
            "role": "tool",
            "tool_call_id": part.tool_call_id,
            "content": part.model_response_str(),
        }
    if isinstance(part, RetryPromptPart):
        if part.tool_name is None:
            return {"role": "user", "content": part.model_response()}
        return {
            "role": "tool",
            "tool_call_id": part.tool_call_id,
            "content": part.model_response(),
        }
    if isinstance(part, SystemPromptPart):
        return {"role": "system", "content": part.content}
    content: Any = part.content if isinstance(part, UserPromptPart) else str(part)
    if not isinstance(content, str):
        content = [
            {"type": "text", "text": one} if isinstance(one, str) else _opaque(one)
            for one in content
        ]
    return {"role": "user", "content": content}


def _opaque(content: Any) -> Json:
    """An image or a file: only its identity matters."""
    return {"type": "image_url", "image_url": {"url": repr(content)[:10_000]}}


def _said(response: ModelResponse) -> Json:
    text = "\n\n".join(part.content for part in response.parts if isinstance(part, TextPart))
    calls = [
        {
            "id": part.tool_call_id,
            "type": "function",
            "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
        }
        for part in response.parts
        if isinstance(part, ToolCallPart)
    ]
    thinking = [
        {"type": "thinking", "signature": part.signature}
        for part in response.parts
        if isinstance(part, ThinkingPart) and part.signature
    ]
    return {
        "role": "assistant",
        "content": text or None,
        **({"tool_calls": calls} if calls else {}),
        **({"thinking_blocks": thinking} if thinking else {}),
    }


def _with_content(found: Any, content: Any, plain: Json) -> Any:
    if isinstance(found, ModelResponse):
        return found
    message, part = found
    before = plain.get("content")
    if isinstance(content, list) and isinstance(before, list) and content[1:] == before:
        content = [content[0]["text"], *part.content]  # its own, after the quotations
    return message, replace(part, content=content)
