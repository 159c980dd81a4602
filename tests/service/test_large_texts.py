"""A very large text: refused before it costs anything, or taken whole and found again."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

import pagefault
from pagefault.model.defaults import TEXT_BYTES
from pagefault.model.errors import BadInput, MessageTooLarge
from pagefault.pack.count import O200k
from tests.service.memories import words


async def test_how_long_a_text_is_is_looked_at_before_what_it_says() -> None:
    text = "x" * TEXT_BYTES + "\ud800"  # neither can be written down, and one costs a reading
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        with pytest.raises(BadInput, match=r"text has 32,000,001 bytes.* at most 32,000,000"):
            await session.user(text)


async def test_a_message_that_no_request_could_show_is_refused_without_counting_all_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted: list[int] = []
    count_all = O200k.count_all

    def counting(self: O200k, texts: Sequence[str]) -> list[int]:
        counted.append(sum(map(len, texts)))
        return count_all(self, texts)

    async with pagefault.open(":memory:", window=8_000) as memory:
        session = await memory.session("s")
        monkeypatch.setattr(O200k, "count_all", counting)
        with pytest.raises(MessageTooLarge, match="has more than"):
            await session.user("word " * 400_000)
    assert sum(counted) < 200_000


async def test_the_last_word_of_a_long_text_is_found_and_a_secret_in_it_is_not() -> None:
    secret = "hunter2-" + words(3, "s").replace(" ", "")
    chance = random.Random(5)
    text = " ".join(f"w{chance.randrange(9_000)}" for _ in range(30_000))
    text = f"{text[:90_000]} {secret} {text[90_000:]} chrysanthemum"
    async with pagefault.open(":memory:", secrets={"DOOR": secret}) as memory:
        session = await memory.session("s")
        pages = await session.document(text, title="long")
        hit = (await session.recall("chrysanthemum")).hits[0]
        assert hit.page.page_id == pages[-1]
        told = "".join([(await session.page(page)).text for page in pages])
    before, _, after = told.partition("[REDACTED:DOOR:")
    assert f"{before}{secret}{after.partition(']')[2]}" == text
