"""Regions behind a proxy: a client's request shows of one what a person pins, while it may."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.proxy.histories import FACT, body, user
from tests.proxy.standing import Standing, post, standing, talk
from tests.proxy.test_pins import WINDOW, goes_on, session_of
from tests.proxy.upstream import Upstream, always

KEY = "The key of the boat house hangs behind the barometer."


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always("It is green.")) as provider:
        yield provider


async def shared(to: Standing) -> str:
    """A page in a region that the proxied session mounts."""
    talking = await session_of(to)
    writer = await to.memory.session("writer")
    await to.memory.create_region("shelf")
    await writer.mount("shelf", "rw")
    [page] = (await writer.share(KEY, "shelf")).pages
    await talking.mount("shelf")
    assert (await talking.page(page)).text == KEY
    return page


async def test_nothing_of_a_region_is_brought_into_a_clients_request(upstream: Upstream) -> None:
    async with standing(upstream, window=WINDOW) as to:
        said = await talk(to, 8)
        session = await session_of(to)
        await shared(to)
        said.append(user("Where does the key of the boat house hang? And what of the gardens?"))
        await post(to, body(*said))
        assert "barometer" not in str(upstream.seen[-1].body)
        found = await session.recall("key of the boat house")
        assert "region:shelf" in {hit.source for hit in found.hits}


async def test_what_is_pinned_of_a_region_leaves_when_the_session_may_not_see_it_any_more(
    upstream: Upstream,
) -> None:
    async with standing(upstream, window=WINDOW) as to:
        said = await talk(to, 8)
        session = await session_of(to)
        await session.pin(await shared(to))
        for sent in await goes_on(to, said, 6):
            assert sent.count(KEY) == 1
        await to.memory.set_policy("shelf", read=["session:writer"])
        for sent in await goes_on(to, said, 6):
            assert "barometer" not in sent
        assert FACT not in str(upstream.seen[-1].body)
