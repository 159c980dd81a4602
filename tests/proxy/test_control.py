"""Control modes in the proxy: what is passed on and not kept, and what is kept and not paged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.proxy.histories import body, model, user
from tests.proxy.standing import SESSION, standing
from tests.proxy.upstream import Upstream, always

PATH = "/v1/messages"


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always()) as up:
        yield up


@pytest.mark.parametrize("mode", ["off", "paused", "incognito"])
async def test_a_request_can_say_that_nothing_of_it_is_kept(
    upstream: Upstream, tmp_path: Path, mode: str
) -> None:
    sent = body(user("The word is zqsecret."))
    async with standing(upstream, root=tmp_path / "m", window=2_000) as to:
        answer = await to.http.post(PATH, json=sent, headers=SESSION | {"x-pagefault-mode": mode})
        assert answer.status_code == 200
        assert await to.memory.sessions() == []
        assert any(f"{mode}: passed on, not kept" in line for line in to.log)
        await to.http.post(PATH, json=sent, headers=SESSION)
        await to.proxy.settled()
        assert len(await to.memory.sessions()) == 1, "the control"
    assert "x-pagefault-mode" not in upstream.seen[0].headers


async def test_a_mode_of_the_whole_memory_counts_with_the_next_request(
    upstream: Upstream, tmp_path: Path
) -> None:
    sent = body(user("The word is zqsecret."))
    async with standing(upstream, root=tmp_path / "m") as to:
        await to.http.post(PATH, json=sent, headers=SESSION)
        await to.proxy.settled()
        [row] = await to.memory.sessions()
        await to.memory.set_control("paused")
        more = body(user("The word is zqsecret."), model("Noted."), user("And another: zqother."))
        assert (await to.http.post(PATH, json=more, headers=SESSION)).status_code == 200
        await to.proxy.settled()
        [again] = await to.memory.sessions()
        assert again.pages == row.pages
        await to.memory.set_control("assist")
        await to.http.post(PATH, json=more, headers=SESSION)
        await to.proxy.settled()
        [kept] = await to.memory.sessions()
        assert kept.pages > row.pages


async def test_a_request_asks_for_less_than_a_person_allows_and_never_for_more(
    upstream: Upstream, tmp_path: Path
) -> None:
    sent = body(user("The word is zqsecret."))
    async with standing(upstream, root=tmp_path / "m") as to:
        await to.memory.set_control("paused")
        await to.http.post(PATH, json=sent, headers=SESSION | {"x-pagefault-mode": "assist"})
        await to.proxy.settled()
        assert await to.memory.sessions() == []
        await to.memory.set_control("assist")
        await to.http.post(PATH, json=sent, headers=SESSION)
        await to.proxy.settled()
        [row] = await to.memory.sessions()
        assert row.pages == 2
        await to.memory.set_control("off", session=row.session_id)
        more = body(user("The word is zqsecret."), model("Noted."), user("And another: zqother."))
        await to.http.post(PATH, json=more, headers=SESSION)
        await to.proxy.settled()
        assert any("off: passed on, not kept" in line for line in to.log)
        [row] = await to.memory.sessions()
        assert row.pages == 2


async def test_an_unknown_mode_is_refused_and_goes_nowhere(upstream: Upstream) -> None:
    async with standing(upstream) as to:
        answer = await to.http.post(
            PATH, json=body(user("Hello")), headers={"x-pagefault-mode": "private"}
        )
    assert answer.status_code == 400
    assert "capture_only" in answer.text
    assert upstream.seen == []
