"""What the real packages of OpenAI and Anthropic read of an answer in which memory was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.proxy.callers import ChatCaller, MessagesCaller, ResponsesCaller
from tests.proxy.standing import KEY, standing
from tests.proxy.test_faults import Model, load, read_file, results, search, watched
from tests.proxy.upstream import Say

HEADERS = {"x-pagefault-session": "planning"}
ASKED = [{"role": "user", "content": "Say the number."}]
PARTS = ("Let me look. ", "It is 7741.")
REPLIES = (
    Say(text=PARTS[0], calls=(search("launch code"),), thinking="hm", input_tokens=1_000),
    Say(calls=(load("msg_1"),), thinking="there", input_tokens=2_000),
    Say(text=PARTS[1], input_tokens=3_000, cached_tokens=1_900),
)
MIXED = (
    Say(text="I look.", calls=(search("code"), read_file("call_1")), input_tokens=1_000),
    Say(text="Done.", input_tokens=1_200),
)
Told = tuple[str, list[str], Any, int, int]  # text, calls, the message, tokens in and out


def _openai(url: str) -> Any:
    import openai  # slow to import, and each process of a run collects this file

    return openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0, default_headers=HEADERS)


def chat(url: str, messages: list[Any], *, stream: bool) -> Told:
    asked: dict[str, Any] = {"model": "m", "messages": messages, "tools": ChatCaller().tools()}
    client = _openai(url)
    with client:
        if stream:
            with client.chat.completions.stream(
                **asked, stream_options={"include_usage": True}
            ) as events:
                for _ in events:
                    pass
                whole = events.get_final_completion()
        else:
            whole = client.chat.completions.create(**asked)
    [choice] = whole.choices
    calls = [one.id for one in choice.message.tool_calls or ()]
    told = choice.message.model_dump(exclude_none=True, exclude={"parsed", "tool_calls"})
    if choice.message.tool_calls:
        told["tool_calls"] = [
            {
                "id": one.id,
                "type": "function",
                "function": {"name": one.function.name, "arguments": one.function.arguments},
            }
            for one in choice.message.tool_calls
        ]
    usage = whole.usage
    return choice.message.content, calls, [told], usage.prompt_tokens, usage.completion_tokens


def messages(url: str, said: list[Any], *, stream: bool) -> Told:
    import anthropic

    client = anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0, default_headers=HEADERS)
    tools: Any = MessagesCaller().tools()
    asked: dict[str, Any] = {"model": "m", "max_tokens": 50, "messages": said, "tools": tools}
    with client:
        if stream:
            with client.messages.stream(**asked) as events:
                whole = events.get_final_message()
        else:
            whole = client.messages.create(**asked)
    text = "".join(one.text for one in whole.content if one.type == "text")
    calls = [one.id for one in whole.content if one.type == "tool_use"]
    usage = whole.usage
    read = usage.input_tokens + (usage.cache_read_input_tokens or 0)
    told = [one.model_dump(exclude_none=True) for one in whole.content]
    return text, calls, [{"role": "assistant", "content": told}], read, usage.output_tokens


def responses(url: str, said: list[Any], *, stream: bool) -> Told:
    client = _openai(url)
    tools: Any = ResponsesCaller().tools()
    asked: dict[str, Any] = {"model": "m", "input": said, "tools": tools, "store": False}
    with client:
        if stream:
            with client.responses.stream(**asked) as events:
                for _ in events:
                    pass
                whole = events.get_final_response()
        else:
            whole = client.responses.create(**asked)
    calls = [one.call_id for one in whole.output if one.type == "function_call"]
    drop = {"parsed_arguments", "status"}
    told = [one.model_dump(exclude_none=True, exclude=drop) for one in whole.output]
    for one in told:
        for part in one.get("content") or ():
            part.pop("parsed", None)
    usage = whole.usage
    return whole.output_text, calls, told, usage.input_tokens, usage.output_tokens


CLIENTS: dict[str, Callable[..., Told]] = {
    "chat": chat,
    "messages": messages,
    "responses": responses,
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", CLIENTS)
async def test_it_is_one_answer_and_what_they_send_back_is_taken_apart(
    name: str, stream: bool
) -> None:
    ask = CLIENTS[name]
    model = Model(*REPLIES)
    with watched(model) as upstream:
        async with standing(upstream, window=4_000) as to:
            text, calls, told, read, out = await asyncio.to_thread(
                ask, to.url, list(ASKED), stream=stream
            )
            assert (text, calls, read, out) == ("".join(PARTS), [], 3_000, 30)
            again = [*ASKED, *told, {"role": "user", "content": "And now?"}]
            await asyncio.to_thread(ask, to.url, again, stream=stream)
    assert len(upstream.seen) == 4
    whole, last = (_said(seen) for seen in upstream.seen[-2:])
    assert last[: len(whole)] == whole, "the prefix stays"
    assert len(results(upstream.seen[-1])) == 2


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", CLIENTS)
async def test_they_are_handed_their_own_calls_alone(name: str, stream: bool) -> None:
    ask = CLIENTS[name]
    model = Model(*MIXED)
    with watched(model) as upstream:
        async with standing(upstream, window=4_000) as to:
            text, calls, *_ = await asyncio.to_thread(ask, to.url, list(ASKED), stream=stream)
    assert (text, calls) == ("I look.", ["call_1"])
    assert len(upstream.seen) == 1


def _said(seen: Any) -> list[Any]:
    return list(seen.body.get("messages") or seen.body["input"])
