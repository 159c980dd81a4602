"""The oldest summaries of a long session: lines of one index page, which never grows too long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from pagefault import Request, Session
from pagefault.model.kinds import Kind
from pagefault.model.wanted import SearchFilter
from pagefault.pack.count import O200k
from pagefault.service.bootstrap import open_memory
from pagefault.service.window.summaries import INDEX_SHARE
from pagefault.service.window.summary_index import IndexLine, lines_of
from tests.adopted import copied
from tests.service.memories import check_request, text_of

pytestmark = pytest.mark.slow

COUNT = O200k().count
TOPICS = ("importer", "billing", "gardens", "telescope", "harbour", "orchestra", "bakery")
LAYOUTS = ("stable", "developer")
WINDOW = 2_000
TURNS = 80  # after which an index is there


async def _talk(session: Session, turns: int, *, since: int = 0) -> Request:
    for number in range(since, since + turns):
        topic = TOPICS[number // 12 % len(TOPICS)]
        text = f"Tell me about detail {number} of the {topic}, please."
        await session.user(text)
        request = await session.request()
        check_request(request, text)
        told = f"The {topic} has detail {number}: its {topic} valve {number} opens at noon. " * 4
        await session.assistant(told)
    return request


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, list[str]]]:
    """A memory whose session has an index, and the lines of it that its last request showed."""

    @cache
    def make(layout: str) -> tuple[Path, list[str]]:
        path = tmp_path_factory.mktemp("index") / "m"

        async def talk() -> Request:
            async with open_memory(path, sync="os", window=WINDOW, layout=layout, seed=1) as memory:
                return await _talk(await memory.session("work"), TURNS)

        return path, _index_lines(asyncio.run(talk()))

    return make


@pytest.fixture
def talked(made: Callable[[str], tuple[Path, list[str]]]) -> tuple[Path, list[str]]:
    return made("stable")


@pytest.fixture
def root(talked: tuple[Path, list[str]], tmp_path: Path) -> Path:
    return copied(talked[0], tmp_path / "m")


def _index_lines(request: Request) -> list[str]:
    return [line for line in text_of(request).split("\n") if line.startswith("X (idx_")]


async def _index(session: Session) -> tuple[str, list[IndexLine]]:
    moment = await session.at(turn=(await session.status()).turns - 1)
    [index] = [page.page_id for page in moment.pages if page.page_id.startswith("idx_")]
    page = await session.page(index)
    assert page.row.kind is Kind.INDEX
    return page.text, lines_of(page.text)


@pytest.fixture(params=LAYOUTS)
def laid_out(
    made: Callable[[str], tuple[Path, list[str]]], tmp_path: Path, request: pytest.FixtureRequest
) -> Path:
    """One in each layout."""
    return copied(made(request.param)[0], tmp_path / "m")


async def test_a_long_session_lists_its_oldest_summaries_in_one_index(laid_out: Path) -> None:
    async with open_memory(laid_out, sync="os", window=WINDOW) as memory:
        session = await memory.session("work")
        request = await _talk(session, 10, since=TURNS)
        assert len(_index_lines(request)) == 1
        text, lines = await _index(session)
        assert str(lines[0]) == text.split("\n")[0]
        assert lines[0].since == 0, "the first turns are listed"
        assert all(one.upto <= two.since for one, two in pairwise(lines))
        assert COUNT(text) <= WINDOW * 0.15 * INDEX_SHARE
        assert any(topic in TOPICS for line in lines for topic in line.topics)
        assert "earlier summaries are not shown" not in text_of(request), "none is but a number"
        session.check()


async def test_the_index_stays_as_long_as_it_was_and_leads_to_what_it_lists(root: Path) -> None:
    async with open_memory(root, sync="os", window=WINDOW) as memory:
        session = await memory.session("work")
        await session.request()
        before, lines = await _index(session)
        await _talk(session, 40, since=TURNS)
        after, more = await _index(session)
        assert sum(line.count for line in more) > sum(line.count for line in lines)
        assert COUNT(after) <= WINDOW * 0.15 * INDEX_SHARE
        summary = await session.page(more[0].first)
        assert summary.row.kind is Kind.SUMMARY
        assert summary.derived is not None
        assert summary.derived.provenance[0] == more[0].pages[0] == "msg_1"
        assert before != after


async def test_a_restart_shows_the_same_index(root: Path, talked: tuple[Path, list[str]]) -> None:
    async with open_memory(root, sync="os", window=WINDOW, seed=1) as memory:
        session = await memory.session("work")
        after = await session.request()
        assert talked[1]
        assert _index_lines(after)
        session.check()


async def test_an_index_is_forgotten_with_anything_that_it_tells_of(root: Path) -> None:
    async with open_memory(root, sync="os", window=WINDOW) as memory:
        session = await memory.session("work")
        await memory.forget("work", "msg_1")
        request = await _talk(session, 1, since=TURNS)
        assert not _index_lines(request)
        found = await session.recall(
            "importer detail valve", wanted=SearchFilter(kinds=("index",)), limit=50
        )
        assert found.hits == ()


def test_lines_read_back_as_they_were_written() -> None:
    one = IndexLine(1, "sum_1", "sum_1", 0, 7, ("msg_1", "msg_16"), ("importer", "valve"))
    two = IndexLine(1, "sum_2", "sum_2", 8, 12, ("msg_17", "msg_30"), ("billing",))
    both = one.and_(two)
    assert (both.count, both.since, both.upto, both.pages) == (2, 0, 12, ("msg_1", "msg_30"))
    assert both.topics == ("importer", "billing", "valve")
    for line in (one, two, both):
        assert lines_of(str(line)) == [line]
