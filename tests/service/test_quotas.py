"""What may be written: refused before anything is, counted as it stands, in whatever process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pagefault
from pagefault import QuotaExceeded, Quotas
from pagefault.model.clock import SystemClock
from pagefault.model.errors import BadInput, SessionNotFound
from pagefault.model.events import Hole, Received
from pagefault.model.quotas import tenant_of
from pagefault.service.bootstrap import open_memory
from pagefault.store.embedded.root import rebuild
from pagefault.store.sizes import BYTES_MAX, size_of
from tests.service.test_retention import Clock
from tests.store.logs import memory_log
from tests.workers import Worker


async def _texts(memory: pagefault.Memory, name: str) -> list[str]:
    session = await memory.session(name, create=False)
    return [(await session.page(row.page_id)).text for row in await memory.pages(session)]


def _used(uses: list[pagefault.QuotaUse], quota: str, owner: str = "") -> int:
    return next(use.used for use in uses if (use.quota, use.owner) == (quota, owner))


@pytest.mark.parametrize("root", ["m", ":memory:"])
async def test_a_session_that_is_full_refuses_and_keeps_what_was_said(
    tmp_path: Path, root: str
) -> None:
    place = root if root == ":memory:" else str(tmp_path / root)
    async with open_memory(place, quotas=Quotas(session_pages_max=2)) as memory:
        session = await memory.session("talk")
        await session.user("Tea, please.")
        await session.assistant("Here it is.")
        before = memory.records
        with pytest.raises(QuotaExceeded) as refused:
            await session.user("And cake.")
        assert memory.records == before, "not a byte of it was written"
        told = refused.value
        assert (told.quota, told.used, told.limit, told.asked) == ("session_pages_max", 2, 2, 1)
        assert "'talk'" in told.message
        assert "`Memory.forget`" in told.hint
        assert "quotas.session_pages_max" in told.hint
        assert await _texts(memory, "talk") == ["Tea, please.", "Here it is."]
        assert "Tea" in str(await session.request()), "it can be asked, and read"
        await (await memory.session("other")).user("Others are not in its way.")


async def test_a_text_of_several_pages_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    limits = pagefault.Limits(page_tokens_max=64)
    quotas = Quotas(session_pages_max=5)
    async with open_memory(tmp_path / "m", quotas=quotas, limits=limits) as memory:
        session = await memory.session("talk")
        await session.user("Read this.")
        with pytest.raises(QuotaExceeded):
            await session.tool_result("many words, " * 300, name="cat")
        assert await _texts(memory, "talk") == ["Read this."]


async def test_bytes_are_those_of_texts_and_of_files(tmp_path: Path) -> None:
    async with open_memory(tmp_path / "m", quotas=Quotas(project_bytes_max=1_000)) as memory:
        session = await memory.session("talk")
        await session.user("Größe")  # seven bytes
        assert _used(await memory.usage(), "project_bytes_max") == 7
        page = await session.artifact(bytes(900), name="a.bin")
        size = len((await session.page(page)).text)
        assert _used(await memory.usage(), "project_bytes_max") == 907 + size
        with pytest.raises(QuotaExceeded):
            await session.artifact(bytes(range(100)) * 2, name="b.bin")
        blobs = [path for path in (tmp_path / "m" / "blobs").rglob("*") if path.is_file()]
        assert len(blobs) == 1, "a file that is refused is not on the disk"


async def test_what_is_forgotten_or_past_its_time_makes_room(tmp_path: Path) -> None:
    clock = Clock()
    async with open_memory(
        tmp_path / "m", quotas=Quotas(session_pages_max=1, project_pages_max=2), clock=clock
    ) as memory:
        first, second = await memory.session("a"), await memory.session("b")
        await first.user("one")
        await second.user("two")
        with pytest.raises(QuotaExceeded):
            await second.user("three")
        await memory.forget("b", page_id="msg_1")
        await second.user("three")
        await memory.set_retention("7d")
        clock.pass_days(8)
        await memory.expire()
        assert _used(await memory.usage(), "project_pages_max") == 0
        await (await memory.session("c")).user("four")
        assert (await memory.verify()).problems == ()


async def test_counts_are_the_same_after_a_restart_and_from_a_new_index(tmp_path: Path) -> None:
    root = tmp_path / "m"
    quotas = Quotas(session_bytes_max=100, project_bytes_max=1_000, project_pages_max=100)
    async with open_memory(root, quotas=quotas) as memory:
        for name in ("a", "b"):
            session = await memory.session(name, system="Be brief.")
            await session.user("We chose SQLite for the index.")
            await session.request()
        await memory.forget("a", page_id="msg_1")
        before = await memory.usage()
    async with open_memory(root, quotas=quotas) as memory:
        assert await memory.usage() == before
    await asyncio.to_thread(rebuild, root, clock=SystemClock(), minter=memory_log()._minter)
    async with open_memory(root, quotas=quotas) as memory:
        assert await memory.usage() == before
        assert (await memory.verify()).problems == ()


async def test_a_rate_is_refused_until_a_minute_has_passed(tmp_path: Path) -> None:
    clock = Clock()
    clock.ms -= clock.ms % 60_000
    root, quotas = tmp_path / "m", Quotas(session_pages_per_minute=2)
    async with open_memory(root, quotas=quotas, clock=clock) as memory:
        session = await memory.session("talk")
        await session.user("one")
        await session.user("two")
        with pytest.raises(QuotaExceeded) as refused:
            await session.user("three")
        assert 60 < refused.value.retry_s <= 120
    async with open_memory(root, quotas=quotas, clock=clock) as memory:
        session = await memory.session("talk")
        with pytest.raises(QuotaExceeded):
            await session.user("three")
        clock.ms += refused.value.retry_s * 1_000
        await session.user("three")
        with pytest.raises(QuotaExceeded):
            await session.user("four")
        clock.ms += 10 * 60_000
        await session.user("four")
        await session.user("five")


async def test_a_tool_is_bounded_and_nobody_else_by_it(tmp_path: Path) -> None:
    quotas = Quotas(tool_bytes_max=50, tool_bytes_per_minute=60)
    async with open_memory(tmp_path / "m", quotas=quotas, clock=Clock()) as memory:
        session = await memory.session("talk")
        await session.user("Read everything. " * 10)
        with pytest.raises(QuotaExceeded, match="tool_bytes_max"):
            await session.tool_result("x" * 51, name="cat")
        await session.tool_result("x" * 40, name="cat")
        with pytest.raises(QuotaExceeded, match="tool_bytes_per_minute"):
            await session.tool_result("x" * 40, name="cat")
        await session.tool_result("x" * 40, name="ls")
        await session.user("Go on. " * 20)
        told = [use.used for use in await memory.usage("talk") if use.owner == "cat"]
        assert told == [40]


async def test_by_default_only_tools_are_bounded_and_at_much() -> None:
    bounds = {name: value for name in Quotas.__slots__ if (value := getattr(Quotas(), name))}
    assert set(bounds) == {"tool_bytes_max", "tool_bytes_per_minute"}
    assert min(bounds.values()) >= 50_000_000
    with pytest.raises(BadInput, match="session_pages_max"):
        Quotas(session_pages_max=-1)


async def test_usage_of_a_session_that_is_not_there(tmp_path: Path) -> None:
    async with open_memory(tmp_path / "m", quotas=Quotas(session_pages_max=2)) as memory:
        with pytest.raises(SessionNotFound):
            await memory.usage("nowhere")
        assert await memory.usage() == []


async def test_what_two_processes_write_counts_for_both(tmp_path: Path) -> None:
    root = tmp_path / "m"
    worker = Worker(root)
    try:
        worker.answer()
        async with open_memory(root, quotas=Quotas(project_pages_max=3)) as memory:
            session = await memory.session("here")
            await session.user("one")
            worker.ask("user", "there", "two")
            worker.ask("user", "there", "three")
            with pytest.raises(QuotaExceeded) as refused:
                await session.user("four")
            assert refused.value.used == 3
            assert _used(await memory.usage(), "project_pages_max") == 3
    finally:
        worker.close()


async def test_a_plan_of_many_writers_in_one_process_never_goes_over(tmp_path: Path) -> None:
    async with open_memory(tmp_path / "m", quotas=Quotas(project_pages_max=10)) as memory:
        sessions = [await memory.session(f"s{number}") for number in range(8)]
        said = [one.user(f"{turn}") for turn in range(4) for one in sessions]
        done = await asyncio.gather(*said, return_exceptions=True)
        assert sum(isinstance(one, QuotaExceeded) for one in done) == len(said) - 10
        assert _used(await memory.usage(), "project_pages_max") == 10


@pytest.mark.parametrize(
    ("name", "tenant"),
    [
        ("claude:5f0c:2a30e1@ann", "ann"),
        ("notes:2a30e1@~4mz0", "~4mz0"),
        ("unnamed:9f:messages:2a30e1@~", "~"),
        ("ann@home", ""),
        ("planning", ""),
        ("", ""),
    ],
)
def test_a_session_counts_for_whom_its_proxy_opened_it(name: str, tenant: str) -> None:
    assert tenant_of(name) == tenant


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(1, 60), st.booleans(), st.integers(0, 40)),
        max_size=25,
    )
)
def test_whatever_is_written_and_forgotten_the_counts_are_those_of_the_pages(
    steps: list[tuple[str, int, bool, int]],
) -> None:
    """Against an independent count: what is told stands, page by page."""

    async def run() -> None:
        clock = Clock()
        quotas = Quotas(session_bytes_max=120, project_pages_max=9, session_pages_per_minute=4)
        async with open_memory(":memory:", quotas=quotas, clock=clock) as memory:
            said: dict[str, list[tuple[Any, int, int]]] = {"a": [], "b": [], "c": []}
            for name, size, forgets, later_s in steps:
                clock.ms += later_s * 1_000
                session, mine = await memory.session(name), said[name]
                if forgets and mine:
                    page, *_ = mine.pop(0)
                    await memory.forget(name, page_id=page)
                    continue
                held = sum(one[1] for one in mine)
                pages = sum(map(len, said.values()))
                fits = held + size <= 120 and pages + 1 <= 9
                refusal = ""
                try:
                    mine.append((await session.user("x" * size), size, clock.ms))
                except QuotaExceeded as refused:
                    refusal = refused.quota
                assert refusal == "session_pages_per_minute" or fits == (not refusal)
            uses = await memory.usage()
            for name, mine in said.items():
                if mine:
                    assert _used(uses, "session_bytes_max", name) == sum(one[1] for one in mine)

    asyncio.run(run())


def test_records_that_other_programs_wrote_cannot_break_the_sums() -> None:
    """A length that a record claims is not believed beyond reason."""
    holes = (Hole(at=0, end=-5, blob="b"), Hole(at=0, end=2**62, blob="b"))
    assert size_of(Received(json="", items=(), holes=holes)) == BYTES_MAX


async def test_a_prompt_that_is_larger_than_a_session_may_be_is_not_set() -> None:
    quotas = pagefault.Quotas(session_bytes_max=1_000)
    async with pagefault.open(":memory:", quotas=quotas) as memory:
        session = await memory.session("a")
        with pytest.raises(QuotaExceeded, match="1,000"):
            await session.configure(system="S" * 2_000)
        with pytest.raises(QuotaExceeded):
            await memory.session("b", system="S" * 2_000)
        await session.configure(system="S" * 900, window=9_000)
        assert [row.name for row in await memory.sessions()] == ["a"]
