"""Requests as they go out, marked where a provider that looks only at marks finds its cache."""

from __future__ import annotations

from typing import Any

import pagefault
from pagefault.engine.formats import to_wire
from pagefault.engine.scripted import ScriptedEngine
from pagefault.lab.replay import Watched


def _marked(body: dict[str, Any]) -> list[tuple[int, int]]:
    """Where the marks stand: message and block."""
    return [
        (place, number)
        for place, message in enumerate(body["messages"])
        for number, block in enumerate(message["content"])
        if isinstance(block, dict) and "cache_control" in block
    ]


async def test_the_end_of_each_request_is_marked_in_the_next_one_too() -> None:
    async with pagefault.open(":memory:", window=60_000) as memory:
        session = await memory.session("talk", system="You help. " * 400)
        last_end: tuple[int, int] | None = None
        for number in range(4):
            await session.user(f"Question {number}: " + "what of the long report? " * 60)
            body = await session.request(format="anthropic")
            marks = _marked(body)
            assert len(marks) + ("cache_control" in str(body["system"])) <= 4
            assert marks[-1] == (
                len(body["messages"]) - 1,
                len(body["messages"][-1]["content"]) - 1,
            )
            if last_end is not None:
                assert last_end in marks, "the entry that the request before wrote is found"
            last_end = marks[-1]
            await session.assistant("It says this. " * 40)


async def test_a_model_of_openai_that_takes_marks_gets_them_and_older_ones_do_not() -> None:
    for model, is_marked in (("gpt-5.6", True), ("gpt-5.1", False)):
        async with pagefault.open(":memory:", model=model) as memory:
            session = await memory.session("talk", system="You help. " * 900)
            await session.user("Which of the two? " * 300)
            told = str(await session.request(format="openai-responses"))
            assert ("prompt_cache_breakpoint" in told) is is_marked, model


async def test_the_hints_reach_the_engine_that_a_session_runs() -> None:
    async with pagefault.open(":memory:", model="gpt-5.6") as memory:
        session = await memory.session("talk", system="You help. " * 900)
        await session.user("Which of the two?")
        engine = Watched(ScriptedEngine())
        await session.run(engine)
        sent = engine.requests[0]
        assert sent.cache_key == session.session_id
        assert sent.breakpoints == (len(sent.messages) - 1, 0)
        assert "prompt_cache_breakpoint" in str(to_wire(sent, "openai"))


async def test_a_routing_key_goes_only_where_it_is_known() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("talk")
        await session.user("Hello there")
        responses = await session.request(format="openai-responses")
        assert responses["prompt_cache_key"] == session.session_id
        assert "prompt_cache_key" not in await session.request(format="openai")
