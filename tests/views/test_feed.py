"""The feed tells what the memory's own verbs tell, however often it was asked before."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from pagefault import Session
from pagefault.model.errors import BadInput, SessionNotFound
from pagefault.model.events import Event, Packed
from pagefault.model.ids import PageId
from pagefault.paging.pressure import Pressure
from pagefault.recall.search import SearchResult
from pagefault.service.bootstrap import open_memory
from pagefault.service.memory import Memory
from pagefault.service.window.state import SessionState
from pagefault.views.feed import Feed
from pagefault.views.picture import picture_of
from pagefault.views.shown import FoundView, SegmentKind, Spell, WindowView, plain
from tests.proxy.standing import standing
from tests.proxy.test_long_turns import AGENTS, PROMPT, reading, watched
from tests.service.memories import fault, shown, words
from tests.service.test_memory_map import LIMITS, talked

OF_OURS = (SegmentKind.RULES, SegmentKind.TOOLS, SegmentKind.FRAMING)


def pages_of(view: WindowView | None) -> set[str]:
    """The pages that a window shows the words of."""
    assert view is not None
    hidden = (SegmentKind.STUBS, SegmentKind.FREE)
    return {str(page) for one in view.segments if one.kind not in hidden for page in one.pages}


async def told(feed: Feed, name: str) -> object:
    """All that it tells of a session."""
    return plain(
        [
            await feed.session(name),
            await feed.requests(name),
            await feed.window(name),
            await feed.map(name),
            await feed.claims(name),
        ]
    )


async def test_a_window_holds_the_pages_and_the_tokens_of_its_request(tmp_path: Path) -> None:
    async with open_memory(tmp_path / "m", window=1_600, limits=LIMITS) as memory:
        session = await memory.session("s")
        seen = await talked(session)
        packed = [one.packed for one in await session.ledger()]
        messages = {str(row.page_id) for row in await memory.pages(session, limit=100)}
    async with open_memory(tmp_path / "m", read_only=True) as memory:
        feed, fixed = Feed(memory), set()
        for number, request in reversed(list(enumerate(seen))):  # some are read with the one before
            view = await feed.window("s", number)
            assert view is not None
            fixed.add((view.tokens_of(SegmentKind.RULES), view.tokens_of(SegmentKind.TOOLS)))
            assert view.tokens_of(SegmentKind.FRAMING) > 0
            assert pages_of(view) & messages == request & messages
            used = sum(one.tokens for one in view.segments if one.kind is not SegmentKind.FREE)
            assert used == view.request.tokens == packed[number].tokens
            assert used + view.tokens_of(SegmentKind.FREE) == view.window_tokens == 1_600
            recalled = {one.page_id for one in packed[number].recalled}
            now = [one for one in view.brought if one.request == number]
            assert {one.page.page_id for one in now if not one.asked} == recalled
        coming = await feed.next_window("s")
        assert coming is not None
        fixed.add((coming.tokens_of(SegmentKind.RULES), coming.tokens_of(SegmentKind.TOOLS)))
        assert len(fixed) == 1, "rules and tools do not grow with the pages"
        asked = await feed.window("s", 6)  # the model had called for a page before it
        assert asked is not None
        assert [one.page.page_id for one in asked.brought if one.asked] == ["msg_1"]
        before = {one.page.page_id: one.request for one in asked.brought}
        assert before[PageId("msg_1")] == 6
        with pytest.raises(BadInput, match="there is no request"):
            await feed.window("s", len(seen))
        with pytest.raises(SessionNotFound):
            await feed.session("t")


async def test_a_request_whose_record_no_fold_can_take_still_has_a_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fold_packed = SessionState._fold_packed

    def fold(state: SessionState, event: Event, body: Packed) -> None:
        if body.request == 1:
            raise LookupError
        fold_packed(state, event, body)

    async with open_memory(tmp_path / "m") as memory:
        session = await memory.session("s")
        for text in ("The oak is ill.", "So is the elm.", "What now?"):
            await session.user(text)
            await session.request()
    monkeypatch.setattr(SessionState, "_fold_packed", fold)
    async with open_memory(tmp_path / "m", read_only=True) as memory:
        feed = Feed(memory)
        for number in (1, 2):
            assert "msg_1" in pages_of(await feed.window("s", number))


async def test_a_feed_that_looked_on_tells_what_one_tells_that_begins_now(tmp_path: Path) -> None:
    async with (
        open_memory(tmp_path / "m", window=1_600, limits=LIMITS) as memory,
        open_memory(tmp_path / "m", read_only=True) as read,
    ):
        feed, session = Feed(read), await memory.session("s")
        for number in range(12):
            await session.user(f"We decided on colour {number}. {words(60, f'c{number}w')}")
            await session.request()
            if number > 8:
                await session.call(fault(f"msg_{number - 8}", call_id=f"c{number}"))
                await session.request()
            await session.assistant("Noted [ref: msg_1].")
            if number % 3 == 1:
                await told(feed, "s")
        assert await told(feed, "s") == await told(Feed(read), "s")
        view, picture = await feed.session("s"), await picture_of(memory, session, clean=str)
        assert view.bill == picture.bill
        assert view.concerns == picture.concerns
        assert (await feed.map("s")).map == picture.map == await session.memory_map()
        assert (await feed.bill(Spell.ALL)).total.tokens == view.bill.tokens
        json.dumps(await told(feed, "s"))  # all of it is plain


async def test_a_proxied_request_shows_what_its_provider_was_sent(tmp_path: Path) -> None:
    path = "/v1/messages"
    with watched(reading(at_once=3)) as upstream:
        async with standing(upstream, root=tmp_path / "m", window=2_000) as to:
            await AGENTS[path](to, path).prompt(PROMPT)
            await to.proxy.settled()
            [name] = await to.sessions()
            session = await to.memory.session(name, create=False)
            feed = Feed(to.memory)
            lines = (await feed.requests(name, limit=1_000))[::-1]
            assert len(lines) == len(upstream.seen)
            stubs = 0
            for line, sent in zip(lines, upstream.seen, strict=True):
                view = await feed.window(name, line.number)
                texts = [(await session.page(page)).text for page in sorted(pages_of(view))]
                read = [text for text in texts if not text.startswith("[calls")]
                missing = [text[:18] for text in read if text[:18] not in str(sent.body)]
                assert not missing
                assert view is not None
                assert {view.tokens_of(one) for one in SegmentKind if one in OF_OURS} == {0}
                stubs += sum(one.kind is SegmentKind.STUBS for one in view.segments)
            assert stubs, "else nothing had to leave the window"
            [card] = await feed.sessions()
            assert card.requests == len(lines)


async def followed(feed: Feed, memory: Memory, session: Session) -> list[str]:
    follows = feed.follow(memory.records)
    await session.user("Which colour is it?")
    changes = await anext(follows)
    await follows.aclose()
    assert {one.session_id for one in changes} == {session.session_id}
    return [one.type for one in changes]


async def test_a_record_is_told_of_and_pressure_calls_back(tmp_path: Path) -> None:
    async with (
        open_memory(tmp_path / "m", window=1_600) as memory,
        open_memory(tmp_path / "m", read_only=True) as read,
    ):
        feed, session = Feed(read), await memory.session("s")
        risen: list[tuple[str, Pressure, Pressure]] = []
        end = feed.on_pressure(lambda *change: risen.append(change))
        await feed.session("s")
        assert "chat_turn" in await followed(feed, memory, session)
        await session.request()
        await feed.session("s")
        await session.assistant("Blue.")
        await session.user(words(300))
        await session.request()
        await feed.session("s")
        assert risen == [(session.session_id, Pressure.LOW, session.pressure.level)]
        end()
        changes = await feed.changes(0, limit=3)
        assert [one.seq for one in changes] == [1, 2, 3]


async def test_what_is_forgotten_is_gone_from_the_feed(tmp_path: Path) -> None:
    async with (
        open_memory(tmp_path / "m", window=1_600) as memory,
        open_memory(tmp_path / "m", read_only=True) as read,
    ):
        feed, session = Feed(read), await memory.session("s")
        page_id = await session.user("The code is cobalt-seven.")
        await session.request()
        await session.assistant("Noted.")
        assert "cobalt" in json.dumps(await told(feed, "s"))
        assert shown(await session.request())
        await memory.forget("s", page_id)
        assert "cobalt" not in json.dumps(await told(feed, "s"))
        assert await feed.page("s", page_id) is None


async def test_who_looks_while_another_look_is_read_waits_for_the_same(tmp_path: Path) -> None:
    async with open_memory(tmp_path / "m", window=1_600, limits=LIMITS) as memory:
        await talked(await memory.session("s"))
        feed = Feed(memory)
        first, *others = await asyncio.gather(*(told(feed, "s") for _ in range(4)))
        assert others == [first] * 3


async def test_a_search_says_why_a_page_was_found_and_lists_none_of_no_relevance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_memory(":memory:", window=1_600) as memory:
        session = await memory.session("s")
        await session.user("A long quarrel about grease: Tomasz swears by lithium.")
        await session.assistant("Mixed ones go soft.")
        feed = Feed(memory)
        first, second = await feed.search("grease")
        assert (first.why, second.why) == ("", "next to a match")
        for relevance, listed in ((0.004, 1), (0.006, 2)):
            hits = (first, replace(second, relevance=relevance))
            found = FoundView(hits=hits, total=2)

            async def told(*_: object, found: FoundView = found, **__: object) -> FoundView:
                return found

            monkeypatch.setattr(feed, "found", told)
            assert await feed.search("grease") == list(hits[:listed])


async def test_a_search_over_all_sessions_shows_a_source_before_the_answer_that_cites_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_memory(":memory:", window=1_600) as memory:
        session = await memory.session("s")
        await session.user("The lease needs six weeks' notice from either side.")
        await session.assistant("Then the lease is short.")
        fork = await session.fork("asked")
        await fork.user("How much notice does the lease need?")
        await fork.assistant("The lease needs six weeks. [ref: msg_1]")
        found = {hit.page.page_id: hit for hit in (await memory.recall("lease")).hits}
        best_first = [found[PageId(one)] for one in ("msg_4", "msg_3", "msg_2", "msg_1")]

        async def ranked(*_: object, **__: object) -> SearchResult:
            return SearchResult(hits=tuple(best_first), total=4)

        monkeypatch.setattr(memory, "recall", ranked)
        shown = [one.page_id for one in await Feed(memory).search("lease")]
        assert shown == ["msg_2", "msg_1", "msg_4", "msg_3"]
