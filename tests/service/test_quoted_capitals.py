"""Which page a quotation is found in, if some have it with other capitals."""

from __future__ import annotations

import pytest

from pagefault.service.bootstrap import open_memory


@pytest.mark.parametrize(
    ("said", "quoted", "page", "words"),
    [
        (
            [("user", "I am Polish and proud."), ("user", "Please polish and dust.")],
            "Polish and",
            "msg_1",
            "Polish and",
        ),
        (
            [("user", "Please polish and dust."), ("user", "I am Polish and proud.")],
            "polish and",
            "msg_1",
            "polish and",
        ),
        (
            [("assistant", "You live in the US now."), ("user", "Let us go.")],
            "US",
            "msg_1",
            "US",
        ),
        (
            [("assistant", "We use postgres for it."), ("user", "we use Postgres for it.")],
            "We use PostgreS",
            "msg_2",
            "we use Postgres",
        ),
        (
            [("user", "we use Postgres for it."), ("assistant", "We use postgres for it.")],
            "We use PostgreS",
            "msg_1",
            "we use Postgres",
        ),
        (
            [("user", "İİ, STRAẞE, ŉ, ΐ: The flat is in Łódź.")],
            "the FLAT is in łÓdź",
            "msg_1",
            "The flat is in Łódź",
        ),
    ],
)
async def test_words_as_they_are_quoted_come_before_those_with_other_capitals(
    said: list[tuple[str, str]], quoted: str, page: str, words: str
) -> None:
    async with open_memory(":memory:") as memory:
        session = await memory.session("talk")
        for role, text in said:
            await (session.user(text) if role == "user" else session.assistant(text))
        await session.claim("a value", evidence=[quoted])
        [claim] = await session.claims()
        [span] = claim.evidence
        stored = (await session.page(span.page_id)).text.encode()
        assert (span.page_id, stored[span.start : span.end].decode()) == (page, words)
