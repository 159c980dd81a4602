"""Messages that call for nothing: no search is made for them, and nothing is paged in."""

from __future__ import annotations

from typing import Any

import pytest

import pagefault
from pagefault.recall.search import Searcher
from pagefault.service.turn import auto_recall

CHAT = ["Thanks, sounds great!", "ok", "👍", "How are you?", "Haha, great. Bye!"]
CALLS = ["Where is the key?", "What did we decide?", "The key is lost", "Schlüssel?"]


async def searches_for(message: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many searches the first request of a turn with this message makes."""
    made: list[str] = []
    search = Searcher.search

    def counted(self: Searcher, scope: Any, query: str, **options: Any) -> Any:
        made.append(query)
        return search(self, scope, query, **options)

    async with pagefault.open(":memory:", window=2_000) as memory:
        session = await memory.session("s")
        for number in range(60):
            await session.user(f"The key of shed {number} hangs behind board {number}, thanks.")
            await session.assistant("Great, sounds good.")
        await session.request()
        await session.user(message)
        with monkeypatch.context() as patched:
            patched.setattr(Searcher, "search", counted)
            request = await session.request()
        assert request.messages[-1].content.endswith(message)
        return len(made)


@pytest.mark.parametrize("message", CHAT)
async def test_nothing_is_searched_for_a_message_that_tells_and_asks_nothing(
    message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await searches_for(message, monkeypatch) == 0


@pytest.mark.parametrize("message", CALLS)
async def test_any_other_message_is_searched_for(
    message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await searches_for(message, monkeypatch) > 0


async def test_control_without_that_gate_thanks_are_searched_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(auto_recall, "is_chat", lambda message: False)
    assert await searches_for(CHAT[0], monkeypatch) > 0
