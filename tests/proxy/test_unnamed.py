"""Conversations without an id: which session each continues, and what is asked to tell it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import pytest

import pagefault
from pagefault.model.errors import StoreBusy
from pagefault.model.kinds import USER_TYPED, Role
from pagefault.model.page import Page, PageRow
from pagefault.proxy.history.history import Item, Part
from pagefault.proxy.unnamed import Chain, Chains
from pagefault.service.memory import Memory
from pagefault.service.runtime import PageReader
from pagefault.service.turn.drafts import Incoming
from tests.proxy.histories import body, user
from tests.proxy.standing import standing
from tests.proxy.upstream import Upstream, always


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always("Hello.")) as up:
        yield up


def said(*texts: str) -> list[Item]:
    return [Item(part=Part.TEXT, role=Role.USER, message=0, text=text) for text in texts]


@dataclass
class Earlier:
    """What a run before this one left: sessions by whose they are. A look waits for `go_on`."""

    sessions: dict[str, list[str]]
    chains: Chains = field(default_factory=lambda: Chains(b"secret"))
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    begun: int = 0

    def begin(self) -> str:
        self.begun += 1
        return f"new {self.begun}"

    async def listed(self) -> dict[str, list[str]]:
        return self.sessions

    async def look(self, names: Sequence[str]) -> str:
        await self.go_on.wait()
        return names[0] if names else ""

    def take(self, whose: str, *texts: str) -> asyncio.Task[Chain]:
        taking = self.chains.take(
            whose, said(*texts), begin=self.begin, others=self.listed, look=self.look
        )
        return asyncio.create_task(taking)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_nobody_waits_while_another_s_sessions_are_looked_through() -> None:
    before = Earlier({"ann": ["ann's"]})
    anns = before.take("ann", "Hi")
    await settle()
    bobs = before.take("bob", "Hi")
    await settle()
    assert bobs.done()
    assert not anns.done()
    before.go_on.set()
    assert (await anns).name == "ann's"


async def test_of_two_that_find_one_session_at_once_one_has_it() -> None:
    before = Earlier({"ann": ["old"]})
    before.go_on.set()
    one, other = await asyncio.gather(before.take("ann", "Hi", "a"), before.take("ann", "Hi", "b"))
    assert sorted([one.name, other.name]) == ["new 1", "old"]


async def test_what_another_process_began_meanwhile_is_continued() -> None:
    here = Earlier({})
    here.go_on.set()
    await here.take("ann", "Hi")
    here.sessions = {"ann": ["new 1", "another's"]}
    elsewhere = await here.take("ann", "Hello", "a")
    assert elsewhere.name == "another's"
    assert (await here.take("ann", "Hey", "a")).name == "new 2"  # each has one continuation


async def test_the_same_asked_twice_at_once_is_one_conversation() -> None:
    before = Earlier({"ann": ["old"]})
    before.go_on.set()
    one, other = await asyncio.gather(before.take("ann", "Hi"), before.take("ann", "Hi"))
    assert one is other


# --- what a memory says of them -----------------------------------------------------------------

TEXTS = ("Hi", "I am Ann", "Where do I live?")


def keys_of(texts: Sequence[str]) -> list[Callable[[str], str]]:
    return [partial("{} after {}".format, text) for text in texts]


async def talk(memory: Memory, name: str, texts: Sequence[str]) -> None:
    session = await memory.session(name, mode="passive")
    follows = "start"
    for text, key in zip(texts, keys_of(texts), strict=True):
        [follows] = await session.say(
            [Incoming(text=text, role=Role.USER, key=key(follows))], origin=USER_TYPED
        )


async def pages_of(memory: Memory, name: str) -> list[PageRow]:
    return await memory.pages(await memory.session(name, create=False), limit=10)


async def test_a_session_is_told_by_its_keys_and_no_text_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unread(*_: object) -> Page:
        raise AssertionError("a text was read")

    async with pagefault.open(":memory:") as memory:
        await talk(memory, "ann", TEXTS[:2])
        await talk(memory, "bob", ("Hi", "I am Bob"))
        await talk(memory, "cleo", (*TEXTS, "And since when?"))
        await talk(memory, "dan", TEXTS[:1])
        monkeypatch.setattr(PageReader, "read", unread)
        names, keys = ["dan", "cleo", "nobody", "bob", "ann"], keys_of(TEXTS)
        assert await memory.find_said(names, keys) == "ann"
        assert await memory.find_said(["bob", "cleo"], keys) == ""
        with pytest.raises(AssertionError, match="was read"):
            await memory.read((await pages_of(memory, "ann"))[0])


async def test_a_session_of_which_something_was_forgotten_is_no_longer_one_s_own() -> None:
    async with pagefault.open(":memory:") as memory:
        await talk(memory, "ann", TEXTS)
        assert await memory.find_said(["ann"], keys_of(TEXTS)) == "ann"
        last = (await pages_of(memory, "ann"))[-1]
        await memory.forget("ann", last.page_id)
        assert await memory.find_said(["ann"], keys_of(TEXTS)) == ""


async def test_a_memory_that_cannot_say_whose_a_conversation_is_is_told_of(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def busy(_: Memory, begins: str) -> list[str]:
        raise StoreBusy("others write")

    async with standing(upstream, window=600) as to:
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(Memory, "session_names", busy)
            assert (await to.http.post("/v1/messages", json=body(user("Hi")))).status_code == 200
            health = (await to.http.get("/healthz")).json()
        assert (health["ok"], health["not_logged"]) == (False, 1)
        await to.http.post("/v1/messages", json=body(user("Hi")))
        assert (await to.http.get("/healthz")).json()["ok"]
    assert any("not logged: others write" in line for line in to.log)
