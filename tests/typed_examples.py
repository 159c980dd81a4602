"""What callers get, asked either way: checked by mypy and by pyright, and never run.

Both report an ignored error that is none, so what has to be refused is.
"""

from __future__ import annotations

from typing import Any, assert_type

import anthropic
import openai

import pagefault
from pagefault import PageId


async def typed() -> None:
    async with pagefault.open() as memory:
        session = await memory.session("s")
        assert_type(session, pagefault.Session)
        assert_type(await session.user("Hello"), PageId)
        assert_type(await session.request(), pagefault.Request)
        assert_type(await session.request(format="openai"), dict[str, Any])
        assert_type(await session.fork(turn=3), pagefault.Session)
        assert_type((await session.sent(3)).request, pagefault.Request)
        assert_type(await memory.sessions(), list[pagefault.SessionRow])
        assert_type(session.open_calls(), list[pagefault.ToolCall])
        assert_type(await session.tool_result("call_1", {"rain": True}), list[PageId])
        assert_type(await session.run(pagefault.ScriptedEngine(), tools=[len]), pagefault.Answer)
    with pagefault.sync.open() as beside:
        same = beside.session("s")
        assert_type(same, pagefault.sync.Session)
        assert_type(same.user("Hello"), PageId)
        assert_type(same.request(), pagefault.Request)
        assert_type(same.request(format="openai"), dict[str, Any])
        assert_type(same.fork(turn=3), pagefault.sync.Session)
        assert_type(same.sent(3).request, pagefault.Request)
        assert_type(beside.sessions(), list[pagefault.SessionRow])
        assert_type(same.open_calls(), list[pagefault.ToolCall])
        assert_type(same.defer("msg_1"), pagefault.sync.DeferredPage)
        assert_type(same.defer("msg_1").page(), pagefault.Page)


async def options() -> None:
    whole: pagefault.Options = {"window": 8_000, "embedder": "model2vec:minish", "prices": None}
    async with pagefault.open("./memory", **whole) as memory:
        assert_type(memory, pagefault.Memory)
    with pagefault.sync.open("./memory", **whole) as beside:
        assert_type(beside, pagefault.sync.Memory)
    pagefault.open(window=8_000, prefetch=[], read_only=True)
    pagefault.open(windw=8_000)  # type: ignore[call-arg]
    pagefault.open(window="8000")  # type: ignore[arg-type]
    pagefault.sync.open(windw=8_000)  # type: ignore[call-arg]
    pagefault.sync.open(window="8000")  # type: ignore[arg-type]
    _: pagefault.Options = {"windw": 8_000}  # type: ignore[typeddict-unknown-key]


async def wrapped(ours: openai.OpenAI, theirs: anthropic.AsyncAnthropic) -> None:
    client = pagefault.wrap(ours, session="ana")
    assert_type(client, openai.OpenAI)
    assert_type(pagefault.wrap(theirs, session=lambda: "ana"), anthropic.AsyncAnthropic)
    assert_type(pagefault.behind(client), pagefault.sync.Memory)
    pagefault.wrap(ours, session=3)  # type: ignore[arg-type]
