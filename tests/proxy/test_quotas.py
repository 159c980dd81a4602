"""Over a quota a client's request is passed on as it came, and whoever asks is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pagefault import Quotas
from tests.proxy.histories import body, model, user
from tests.proxy.standing import Standing, standing
from tests.proxy.upstream import Upstream, always

HEADER = "x-pagefault-not-logged"


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always("Hello.")) as up:
        yield up


async def ask(
    to: Standing, said: list[dict[str, Any]], *, session: str, key: str
) -> httpx2.Response:
    headers = {"x-pagefault-session": session, "x-api-key": f"sk-ant-{key}-0123456789"}
    answer = await to.http.post("/v1/messages", json=body(*said), headers=headers)
    assert answer.status_code == 200
    assert "Hello." in answer.text
    await to.proxy.settled()
    return answer


async def test_a_tenant_that_is_full_is_served_unlogged_and_told(
    upstream: Upstream, tmp_path: Path
) -> None:
    quotas = Quotas(tenant_pages_max=2)
    async with standing(upstream, root=tmp_path / "m", window=4_000, quotas=quotas) as to:
        first = await ask(to, [user("one")], session="a", key="ann")
        assert HEADER not in first.headers
        [name] = await to.sessions()
        before = to.memory.records
        said = [user("one"), model("Hello."), user("two")]
        full = await ask(to, said, session="a", key="ann")
        assert full.headers[HEADER] == "tenant_pages_max"
        assert upstream.seen[-1].body["messages"] == said, "it went on as it came"
        assert "not logged" in (await to.lines())[-1]
        health = (await to.http.get("/healthz")).json()
        assert (health["ok"], health["not_logged"], health["over_quota"]) == (False, 1, 1)
        other = await ask(to, [user("of another conversation")], session="b", key="ann")
        assert other.headers[HEADER] == "tenant_pages_max"
        assert (await to.sessions(), to.memory.records) == ([name], before), "not a byte more"
        assert await to.logged(name) == ["one", "Hello."]

        bob = await ask(to, [user("one")], session="a", key="bob")
        assert HEADER not in bob.headers, "another tenant has room of his own"
        assert len(await to.sessions()) == 2

        await to.memory.forget(name, page_id="msg_1")
        room = await ask(to, said, session="a", key="ann")
        assert room.headers.get(HEADER) != "memory"
        assert "two" in await to.logged(name), "what was forgotten made room"


async def test_an_answer_that_has_no_room_is_logged_once_there_is_some(
    upstream: Upstream, tmp_path: Path
) -> None:
    root = tmp_path / "m"
    async with standing(upstream, root=root, quotas=Quotas(session_pages_max=1)) as to:
        await ask(to, [user("one")], session="a", key="ann")
        [name] = await to.sessions()
        assert await to.logged(name) == ["one"]
    async with standing(upstream, root=root, quotas=Quotas(session_pages_max=9)) as to:
        await ask(to, [user("one"), model("Hello."), user("two")], session="a", key="ann")
        assert await to.logged(name) == ["one", "Hello.", "two", "Hello."]
