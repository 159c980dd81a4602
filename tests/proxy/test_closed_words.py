"""What the proxy quotes has no words of a closed claim as if they held."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pagefault.service.window.core import Core
from tests.proxy.histories import FACT, body
from tests.proxy.standing import post, standing, talk
from tests.proxy.test_pins import WINDOW, goes_on, session_of
from tests.proxy.upstream import Upstream, always


def quotes_of(sent: Any) -> list[str]:
    """The quotes of the fact's page in a request."""
    texts = [part["text"] for one in sent["messages"] for part in one["content"]]
    lines = [line for text in texts for line in text.splitlines()]
    return [line for line in lines if FACT in line and line.startswith("U (msg_1")]


async def test_a_quote_says_what_closed_its_words_and_a_restart_says_the_same(
    tmp_path: Path,
) -> None:
    with Upstream(always("It is green.")) as upstream:
        async with standing(upstream, window=WINDOW, root=tmp_path / "m") as to:
            said = await talk(to, 8)
            session = await session_of(to)
            claim = await session.remember(FACT)
            await session.pin("msg_1")
            await goes_on(to, said, 1)
            assert [line for line in quotes_of(upstream.seen[-1].body) if "changed" not in line]
            before = upstream.seen[-1].body["messages"]
            await session.retract(claim)
            await goes_on(to, said, 1)
            after = upstream.seen[-1].body["messages"]
            assert after[: len(before)] == before, "what was sent stays"
            assert "Retraction: it no longer holds (takes back clm_1)" in str(after[-1])
            await goes_on(to, said, 12)
            last = upstream.seen[-1].body
            assert quotes_of(last), "the pin is quoted after every epoch"
            assert all("changed since, see clm_2" in line for line in quotes_of(last))
        async with standing(upstream, window=WINDOW, root=tmp_path / "m") as to:
            await post(to, body(*said))
            assert upstream.seen[-1].body["messages"] == last["messages"]


async def test_control_quotes_that_know_no_closed_words_fail_the_test_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Core, "closed_words", lambda self, row, upto: [])
    with pytest.raises(AssertionError):
        await test_a_quote_says_what_closed_its_words_and_a_restart_says_the_same(tmp_path)
