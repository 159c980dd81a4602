"""Forgetting every page that matches: by words, origin, kind, time and session."""

from __future__ import annotations

from pathlib import Path

import pytest

import pagefault
from pagefault import SearchFilter
from tests.service.traces import Files, canary


async def test_every_page_with_all_the_words_goes_in_every_session(tmp_path: Path) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root) as memory:
        first, second = await memory.session("first"), await memory.session("second")
        await first.user(f"Dana zqsurname moved to {canary('place')}.")
        await first.user("Dana likes tea.")
        await second.user(f"I met zqsurname, I mean Dana, again. Her dogs were {canary('dogs')}.")
        await second.user("Mister zqsurname is somebody else.")
        dry = await memory.forget_matching("dana zqsurname", dry_run=True)
        assert {one.pages for one in dry} == {("msg_1",)}
        assert not any(one.done for one in dry)
        assert len(await memory.pages(first)) + len(await memory.pages(second)) == 4
        done = await memory.forget_matching("dana zqsurname")
        assert {one.session_id for one in done} == {first.session_id, second.session_id}
        left = [await first.page("msg_2"), await second.page("msg_2")]
        assert [page.text[:6] for page in left] == ["Dana l", "Mister"]
        assert (await memory.verify()).problems == ()
    assert not Files(root).traces({"place": canary("place"), "dogs": canary("dogs")})


async def test_a_word_is_found_in_any_of_its_forms_and_in_any_script(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("talk")
        await session.user("The RECEIPTS were lost.")
        await session.user("我的护照号码在抽屉里")
        assert await memory.forget_matching("receipt")
        assert await memory.forget_matching("护照号码")
        assert await memory.pages(session) == []


async def test_what_came_one_way_goes_and_what_was_made_of_it(tmp_path: Path) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root) as memory:
        session = await memory.session("talk")
        await session.user("Look it up.")
        await session.document(f"{canary('file')} " * 300, title="notes")
        made = await session.compress("art_1", 2)
        await session.flush()
        [done] = await memory.forget_matching(wanted=SearchFilter(origins=("local_file",)))
        assert {"art_1", made.page_id} <= set(done.pages)
        assert [row.page_id for row in await memory.pages(session)] == ["msg_1"]
    assert not Files(root).traces({"file": canary("file")})


async def test_all_parts_of_a_long_text_go_though_one_has_the_word(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("talk")
        pages = 0
        await session.user("plain words here. " * 2_000 + "and zqlast at its end")
        pages = len(await memory.pages(session, limit=1_000))
        assert pages > 1, "the control: it was split"
        [done] = await memory.forget_matching("zqlast")
        assert len(done.pages) == pages


async def test_earlier_words_of_an_edited_message_go_with_it(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("talk")
        for number in range(40):
            await session.user(f"Message {number} about zqtopic.")
            await session.request()
            await session.assistant(f"Answer {number} [ref: msg_{2 * number + 1}].")
        wanted = SearchFilter(session="talk", origins=("user_typed",))
        [done] = await memory.forget_matching("zqtopic", wanted=wanted)
        assert len(done.pages) == 40
        assert len(done.quoted_by) == 40, "each answer cites a page that went"


@pytest.mark.parametrize("query", ["", "   "])
async def test_what_leaves_nothing_out_is_refused(query: str) -> None:
    async with pagefault.open(":memory:") as memory:
        await (await memory.session("talk")).user("Hello")
        with pytest.raises(pagefault.BadInput):
            await memory.forget_matching(query)
        with pytest.raises(pagefault.BadInput):
            await memory.forget_matching(wanted=SearchFilter(session="talk"))
        with pytest.raises(pagefault.SessionNotFound):
            await memory.forget_matching("hello", wanted=SearchFilter(session="nobody"))
        assert (await memory.recall("Hello")).hits


async def test_a_query_without_a_word_forgets_nothing() -> None:
    async with pagefault.open(":memory:") as memory:
        await (await memory.session("talk")).user("?!")
        with pytest.raises(pagefault.BadInput):
            await memory.forget_matching("?!")
