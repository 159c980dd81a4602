"""Sessions whose records are damaged or lost: what is left of them is shown, and nothing else."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

import pagefault
from pagefault.model.errors import RecordGone, StoreError
from pagefault.store.embedded.root import repair
from tests.faults.damage import damage_record
from tests.service.memories import text_of
from tests.store.logs import StillClock, memory_log


async def _talk(root: Path) -> None:
    async with pagefault.open(root, window=4_000) as memory:
        session = await memory.session("talk", system="Be brief.")
        for word in ("alpha", "bravo", "charlie"):
            await session.user(f"The word is {word}.")
            await session.request()


def _repair(root: Path) -> None:
    repair(root, clock=StillClock(), minter=memory_log()._minter)


async def test_a_session_with_a_damaged_record_is_read_without_it(tmp_path: Path) -> None:
    await _talk(tmp_path)
    damage_record(tmp_path, "bravo")
    async with pagefault.open(tmp_path) as memory:
        session = await memory.session("talk", create=False)
        assert [row.page_id for row in await memory.pages(session)] == ["msg_1", "msg_2", "msg_3"]
        assert (await session.page("msg_3")).text == "The word is charlie."
        with pytest.raises(RecordGone, match="damaged") as told:
            await session.page("msg_2")
        assert "pagefault repair" in told.value.hint
        with pytest.raises(StoreError, match=r"damaged|cannot be read"):
            await session.user("more")
    await asyncio.to_thread(_repair, tmp_path)
    async with pagefault.open(tmp_path) as memory:
        session = await memory.session("talk", create=False)
        request = await session.request()
        assert "alpha" in text_of(request)
        assert "bravo" not in text_of(request)
        assert (await session.status()).epoch == 1, "the prefix that was sent had it"


async def test_a_session_whose_opening_was_lost_goes_on_under_another_name(tmp_path: Path) -> None:
    await _talk(tmp_path)
    damage_record(tmp_path, '"name":"talk"')
    await asyncio.to_thread(_repair, tmp_path)
    async with pagefault.open(tmp_path) as memory:
        [row] = await memory.sessions()
        assert row.name == "recovered-1"
        session = await memory.session("recovered-1", create=False)
        await session.user("And the next is delta.")
        request = await session.request()
        assert "Be brief." not in text_of(request), "nobody knows it any more"
        for word in ("alpha", "bravo", "charlie", "delta"):
            assert word in text_of(request)
    async with pagefault.open(tmp_path) as memory:
        assert (await memory.verify()).problems == ()
        await memory.forget("recovered-1")
        assert await memory.sessions() == []


async def test_a_memory_whose_thread_cannot_be_started_is_not_left_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def refuse(self: threading.Thread) -> None:
        if self.name == "pagefault-commit":
            raise RuntimeError("can't start new thread")
        start(self)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(StoreError, match="can't start new thread"):
            async with pagefault.open(tmp_path):
                pass
    assert list((tmp_path / "instances").iterdir()) == []


async def test_a_reader_that_made_its_own_index_sees_what_is_opened_later(tmp_path: Path) -> None:
    await _talk(tmp_path)
    (tmp_path / "index.db").rename(tmp_path / "elsewhere.db")
    async with pagefault.open(tmp_path, read_only=True) as reader:
        (tmp_path / "elsewhere.db").rename(tmp_path / "index.db")
        async with pagefault.open(tmp_path) as memory:
            await (await memory.session("later")).user("It is late.")
        assert "later" in [row.name for row in await reader.sessions()]
        session = await reader.session("later", create=False)
        assert (await session.page("msg_1")).text == "It is late."
