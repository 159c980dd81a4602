"""Memories that clients of the protocol are given, and a client of them in this process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pagefault import Memory

if TYPE_CHECKING:
    from mcp import Client

TALKS: Mapping[str, tuple[str, ...]] = {
    "planning": (
        "We decided to run the greenhouse heating on wood chips.",
        "The compressor must not run on Sundays.",
    ),
    "workshop": ("Bob repairs the compressor on Tuesday.",),
}


async def fill(memory: Memory, talks: Mapping[str, tuple[str, ...]] = TALKS) -> None:
    for name, lines in talks.items():
        session = await memory.session(name)
        for at, line in enumerate(lines):
            await session.user(line, occurred_at=f"2026-11-{at + 16}T09:00:00Z")


@asynccontextmanager
async def client(
    memory: Memory, *, writes: bool = False, mode: str = "auto", root: str = "", **reach: Any
) -> AsyncIterator[Client]:
    """One of this process. `mode` is "legacy" for the era of the handshake."""
    from mcp import Client

    from pagefault.mcp_server.answers import Answers
    from pagefault.mcp_server.reach import Reach, VisibleSessions
    from pagefault.mcp_server.server import make_server
    from pagefault.proxy.http.client import principal_in

    seen = VisibleSessions(memory, Reach(**reach), principal_in)
    answers = Answers(memory, seen, writes=writes, root=root)
    async with Client(make_server(lambda: answers, writes=writes), mode=mode) as one:
        yield one


async def data(one: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool answers, as data."""
    result = await one.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refused(one: Client, tool: str, **arguments: Any) -> str:
    """Why a tool did not answer."""
    result = await one.call_tool(tool, arguments)
    assert result.is_error, result
    return text_of(result)


def text_of(result: Any) -> str:
    [content] = result.content
    assert content.type == "text"
    return str(content.text)


async def resource(one: Client, uri: str) -> Any:
    """What a resource says."""
    from mcp.types import TextResourceContents

    [content] = (await one.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return json.loads(content.text)
