"""A memory: its sessions by name and by id, strangers to one another, and one writer at a time."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

import pagefault
from pagefault.model.errors import (
    BadInput,
    NoSuchPage,
    SessionBusy,
    SessionNotFound,
    StoreError,
    StoreMissing,
    StoreReadOnly,
)
from pagefault.model.request import ToolCall
from pagefault.service.bootstrap import open_memory
from pagefault.service.root.parts import RECENT_SESSIONS
from tests.service.memories import fault, faulted, search, text_of

_HOLDER = """
import asyncio, sys
import pagefault

async def hold(root):
    async with pagefault.open(root) as memory:
        session = await memory.session("held")
        await session.user("Held by another process.")
        print("held", flush=True)
        sys.stdin.readline()

asyncio.run(hold(sys.argv[1]))
"""


async def test_a_session_is_found_by_name_and_by_id(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=9_000) as memory:
        first = await memory.session("planning")
        assert await memory.session("planning") is first
        assert await memory.session(first.session_id, create=False) is first
        anonymous = await memory.session()
        assert anonymous is not await memory.session()
        assert await memory.session(anonymous.session_id) is anonymous
        with pytest.raises(SessionNotFound, match="'other'"):
            await memory.session("other", create=False)
        await first.user("Hello")
        rows = await memory.sessions()
        assert [row.name for row in rows] == ["planning", "", ""]
        assert (rows[0].turns, rows[0].pages) == (1, 1)
        assert (await first.status()).window_tokens == 9_000


async def test_sessions_are_strangers_to_one_another(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        mine = await memory.session("mine")
        await mine.user("Mine is the zanzibar plan.")
        theirs = await memory.session("theirs")
        for number in range(5):
            await theirs.user(f"Theirs is the wumpus plan {number}.")
        assert [hit.page.page_id for hit in (await mine.recall("wumpus plan")).hits] == ["msg_1"]
        assert (await mine.recall("wumpus")).hits == ()
        with pytest.raises(NoSuchPage):
            await mine.page("msg_4")
        with pytest.raises(NoSuchPage):
            await mine.pin("msg_4")
        with pytest.raises(NoSuchPage):
            await memory.forget("mine", "msg_4")
        await mine.user("What of the wumpus?")
        request = await mine.request()
        refused = await faulted(mine, fault("msg_4"))
        assert refused["error"]["code"] == "unknown_page"
        assert (await faulted(mine, search("wumpus")))["results"] == []
        assert "Theirs" not in text_of(request)
        assert (await theirs.page("msg_4")).text == "Theirs is the wumpus plan 3."
        assert (await theirs.status()).pages == 5


async def test_a_nonsense_query_finds_nothing(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        await session.user("The outage began in postgres.")
        for query in ("", " ", "xyzzy", "!!!", "\x00", '" OR 1=1 --', "a" * 5_000, "NEAR(*"):
            assert (await session.recall(query)).hits == ()
        assert (await session.recall("postgres", limit=0)).hits == ()
        assert (await session.recall("postgres", limit=0)).total == 1
        with pytest.raises(BadInput, match="limit is -1"):
            await session.recall("postgres", limit=-1)


async def test_one_process_writes_to_a_session_and_others_may_read(tmp_path: Path) -> None:
    source = Path(pagefault.__file__).parents[1]
    holder = subprocess.Popen(  # noqa: ASYNC220 - nothing else goes on meanwhile
        [sys.executable, "-c", _HOLDER, str(tmp_path / "m")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source)},
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        async with pagefault.open(tmp_path / "m") as memory:
            session = await memory.session("held")
            assert (await session.page("msg_1")).text == "Held by another process."
            for mine in (session.user("mine"), session.request(), memory.forget("held")):
                with pytest.raises(SessionBusy, match=f"process {holder.pid} on ") as busy:
                    await mine
            assert "fork" in busy.value.hint
            other = await memory.session("other")
            assert await other.user("This one is mine.") == "msg_1"
        async with pagefault.open(tmp_path / "m", read_only=True) as memory:
            session = await memory.session("held", create=False)
            assert (await session.page("msg_1")).text == "Held by another process."
            assert len((await session.recall("another process")).hits) == 1
            for refused in (
                session.user("mine"),
                session.request(),
                session.pin("msg_1"),
                session.fork(),
                memory.session("new"),
                memory.forget("held"),
            ):
                with pytest.raises(StoreReadOnly):
                    await refused
            assert (await memory.forget("held", dry_run=True)).pages == ("msg_1",)
            assert (await session.status()).pages == 1
    finally:
        holder.communicate("\n")
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("held", create=False)
        assert await session.user("Now it is mine.") == "msg_2"


async def test_a_memory_that_is_not_there_is_not_made_by_reading(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing):
        async with pagefault.open(tmp_path / "m", read_only=True):
            pass
    assert not (tmp_path / "m").exists()


async def test_a_closed_memory_says_so(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        await session.user("Hello")
    for refused in (session.user("more"), memory.session("other"), memory.sessions()):
        with pytest.raises(StoreError, match="closed"):
            await refused


@pytest.mark.parametrize("setting", [{"sync": "sometimes"}, {"mode": "bogus"}, {"window": 0}])
async def test_opening_with_what_cannot_be_makes_nothing(
    tmp_path: Path, setting: dict[str, object]
) -> None:
    with pytest.raises(BadInput):
        async with pagefault.open(tmp_path / "m", **setting):  # type: ignore[arg-type]
            pass
    assert not (tmp_path / "m").exists()


async def test_in_memory_it_is_the_same_and_leaves_nothing(tmp_path: Path) -> None:
    async with pagefault.open(":memory:", window=3_000) as memory:
        session = await memory.session("s")
        for number in range(60):
            await session.user(f"Turn {number}: " + "word " * 60)
        await session.request()
        assert (await session.status()).epoch > 0
        fork = await session.fork("f")
        await memory.forget("s", "msg_1")
        assert (await fork.recall("Turn 0")).hits == () or (await fork.status()).pages == 60
        assert (await memory.verify()).problems == ()
    assert os.listdir(tmp_path) == ["home"]


async def test_what_a_session_was_asked_is_in_its_records(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        await session.user("Hello")
        await session.request()
        await session.call(fault("msg_7"))
        await session.request()
        [event] = await session.faults()
        assert event.type == "faulted"
        assert json.dumps(str(event.origin)) == '"model_generated"'
        verified = await memory.verify()
        assert verified.problems == ()
        assert verified.records >= 5


async def test_making_or_reopening_a_memory_lists_no_notes_on_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed(folder: Path) -> list[str]:
        raise AssertionError(f"{folder} was listed")

    monkeypatch.setattr("pagefault.store.embedded.adoption.names", listed)
    for text in ("tea", "cake"):
        async with pagefault.open(tmp_path / "m") as memory:
            await (await memory.session("s")).user(text)


async def test_a_refused_opening_leaves_the_root_free(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="unknown mode"):
        async with open_memory(tmp_path / "m", mode="dreaming"):
            raise AssertionError("it opened")
    assert not (tmp_path / "m").exists()
    async with open_memory(tmp_path / "m") as memory:  # nobody holds it
        assert await memory.sessions() == []


async def test_sessions_that_nobody_has_do_not_pile_up(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        kept = await memory.session("kept")
        await kept.user("tea")
        opened = []
        for number in range(3 * RECENT_SESSIONS):
            session = await memory.session(f"s{number}")
            await session.user("cake")
            opened.append(weakref.ref(session))
        del session
        gc.collect()
        assert [one() for one in opened[:RECENT_SESSIONS]] == [None] * RECENT_SESSIONS
        assert None not in [one() for one in opened[-RECENT_SESSIONS:]], "it sees those that are"
        assert await memory.session("kept") is kept
        again = await memory.session("s0")
        assert (await again.page("msg_1")).text == "cake"


async def test_the_record_of_a_call_outlives_its_session(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("s")
        await session.user("tea")
        await session.call(ToolCall("c1", "page_fault", '{"page_id": "msg_9"}'))
        for number in range(RECENT_SESSIONS):
            await memory.session(f"s{number}")
        del session
        gc.collect()
    async with pagefault.open(tmp_path / "m") as memory:
        assert len(await (await memory.session("s")).faults()) == 1


async def test_a_search_after_the_end_is_told_so(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("s")
        await session.user("tea")
    for verb in (session.recall, memory.recall):
        with pytest.raises(StoreError, match="closed"):
            await verb("tea")


@pytest.mark.parametrize("name", [None, 3, b"s", ["s"]])
async def test_a_name_that_is_no_text_is_refused_with_what_to_give(name: object) -> None:
    async with open_memory(":memory:") as memory:
        with pytest.raises(BadInput, match="name is a str, not") as refused:
            await memory.session(name)  # type: ignore[arg-type]
        assert "help(pagefault.Memory.session)" in refused.value.hint
        assert await memory.sessions() == []
