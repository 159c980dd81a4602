"""A word of a message finds it, however many pages have it, in its session and in all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hypothesis import example, given
from hypothesis import strategies as st

import pagefault
from pagefault.recall.search import SearchResult
from tests.examples import few

WORDS = "tulip garden the not I we 3 café 東京 index.py decided always deadline".split()
TEXTS = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join),
    st.sampled_from(WORDS).map(lambda word: f"I prefer {word} over bulbs"),
)
SESSIONS = st.lists(st.lists(TEXTS, min_size=1, max_size=5), min_size=1, max_size=3)
"""A memory: what is said in each of its sessions."""


def _shows(found: SearchResult, word: str, said: Sequence[str]) -> bool:
    """Whether one of these messages that has the word is among what was found."""
    ids = {page.page_id for hit in found.hits for page in (hit.page, *hit.also)}
    return any(f"msg_{n}" in ids for n, text in enumerate(said, start=1) if word in text.split())


async def _check(sessions: Sequence[Sequence[str]]) -> None:
    async with pagefault.open(":memory:", window=4_000) as memory:
        for number, said in enumerate(sessions):
            session = await memory.session(f"s{number}")
            for text in said:
                await session.user(text)
        for number, said in enumerate(sessions):
            session = await memory.session(f"s{number}")
            for word in {word for text in said for word in text.split()}:
                assert _shows(await session.recall(word), word, said), f"{word!r} in its session"
                everywhere = await memory.recall(word, limit=50)
                there = [hit.page.page_id for hit in everywhere.hits]
                assert _shows(everywhere, word, said), f"{word!r} in all sessions: {there}"


@few(5, torture=100)
@given(sessions=SESSIONS)
@example(sessions=[["tulip"]])
@example(sessions=[["I prefer tulip over bulbs"]])
@example(sessions=[["tulip"] * 5, ["tulip"], ["tulip tulip tulip"]])
def test_a_word_that_was_said_is_found_in_its_session_and_in_all(
    sessions: list[list[str]],
) -> None:
    asyncio.run(_check(sessions))
