"""The session store, by the suite that the Claude Agent SDK ships for such stores."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pagefault
from tests.integrations.frameworks import needs

if TYPE_CHECKING:
    from claude_agent_sdk.types import SessionKey

    from pagefault.integrations.claude_agent_sdk import PagefaultSessionStore

pytestmark = needs("claude_agent_sdk", "the Claude Agent SDK")

KEY: SessionKey = {"project_key": "-home-ana-shop", "session_id": "5f0c-11"}


async def test_the_sdks_own_suite_passes(tmp_path: Path) -> None:
    from claude_agent_sdk.testing import run_session_store_conformance

    from pagefault.integrations.claude_agent_sdk import PagefaultSessionStore

    number = itertools.count()
    made: list[PagefaultSessionStore] = []

    def make() -> PagefaultSessionStore:
        made.append(PagefaultSessionStore(memory=tmp_path / str(next(number))))
        return made[-1]

    await run_session_store_conformance(make)
    for store in made:
        await _closed(store)


async def _closed(store: PagefaultSessionStore) -> None:
    await asyncio.to_thread(store.close)


def _entries() -> list[Any]:
    call = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "key.md"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "It is in the barn."}
    said: list[Any] = [
        ("user", "Where is the spare key?"),
        ("assistant", [{"type": "text", "text": "Let me look."}, call]),
        ("user", [result]),
        ("assistant", [{"type": "text", "text": "In the barn."}]),
    ]
    lines = [
        {"type": role, "uuid": f"u{n}", "message": {"role": role, "content": content}}
        for n, (role, content) in enumerate(said)
    ]
    return [{"type": "summary", "summary": "About a key"}, *lines]


async def test_what_is_said_in_a_transcript_is_found_and_whose_word_it_is(tmp_path: Path) -> None:
    from pagefault.integrations.claude_agent_sdk import PagefaultSessionStore

    async with pagefault.open(":memory:") as memory:
        store = PagefaultSessionStore(memory=memory)
        await store.append(KEY, _entries()[:3])
        await store.append(KEY, _entries()[3:])
        await store.append(KEY, _entries()[3:])  # tried again
        assert await store.load(KEY) == _entries()
        hits = (await memory.recall("spare key barn")).hits
        assert hits
        session = await memory.session(hits[0].session_id)
        origins = [str(row.origin) for row in await memory.pages(session)]
        assert origins == [
            "user_typed",
            "model_generated",
            "model_generated",
            "tool:Read",
            "model_generated",
        ]
        assert await PagefaultSessionStore(memory=memory).load(KEY) == _entries()
        await store.delete(KEY)
        assert not (await memory.recall("spare key barn")).hits
        assert await store.load(KEY) is None
