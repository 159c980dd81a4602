"""The memory map and the recollections of a session say what its requests showed."""

from __future__ import annotations

from pathlib import Path

import pytest

import pagefault
from pagefault import Session
from pagefault.service.bootstrap import open_memory
from pagefault.service.inspection.memory_map import MapPlace, MapRow, MemoryMap
from pagefault.service.inspection.recollections import CitedAs
from pagefault.service.limits import Limits
from tests.proxy.standing import standing
from tests.proxy.test_long_turns import AGENTS, PROMPT, reading, watched
from tests.proxy.test_moments import session_of
from tests.service.memories import fault, shown, words

LIMITS = Limits(recall_tokens_max=200)


async def talked(session: Session, turns: int = 18) -> list[set[str]]:
    """A talk that outgrows its window; of each request, what its bytes show."""
    seen = []
    for number in range(turns):
        await session.user(f"Topic{number}: {words(40, f't{number}w')}")
        seen.append(set(shown(await session.request())))
        if number % 6 == 5:
            await session.call(fault(f"msg_{number - 4}", call_id=f"c{number}"))
            seen.append(set(shown(await session.request())))
        await session.assistant(f"Noted {number} [ref: msg_{max(1, number - 3)}].")
    return seen


def place_of(row: MapRow, column: int) -> MapPlace | None:
    return next((one.place for one in row.spans if one.first <= column <= one.last), None)


def told(of: MemoryMap, column: int) -> set[str]:
    return {str(row.first) for row in of.rows if place_of(row, column) is not None}


async def test_each_column_has_the_messages_that_its_request_showed(tmp_path: Path) -> None:
    async with open_memory(tmp_path / "m", window=1_600, limits=LIMITS) as memory:
        session = await memory.session("s")
        seen = await talked(session)
        of, epoch = await session.memory_map(), (await session.status()).epoch
        tokens = [one.packed.tokens for one in await session.ledger()]
    async with open_memory(tmp_path / "m", read_only=True) as memory:
        assert await (await memory.session("s", create=False)).memory_map() == of
    assert (of.messages, of.requests) == (36, len(seen))
    messages = {str(row.first) for row in of.rows}
    for column, request in enumerate(seen):
        assert told(of, column) == request & messages
    assert sum(bool(column.rewrite) for column in of.columns) == epoch >= 2
    assert [column.tokens for column in of.columns] == tokens
    # Whatever came back had been said before a request that did not show it; nothing else had.
    for row in of.rows:
        for span in row.spans:
            was_away = any(str(row.first) not in seen[at] for at in range(row.since, span.first))
            assert (span.place is MapPlace.BROUGHT_BACK) == was_away
    assert any(span.place is MapPlace.BROUGHT_BACK for row in of.rows for span in row.spans)


async def test_a_smaller_map_tells_the_same_of_several_at_once(tmp_path: Path) -> None:
    async with open_memory(tmp_path / "m", window=1_600, limits=LIMITS) as memory:
        session = await memory.session("s")
        await talked(session)
        whole, small = await session.memory_map(), await session.memory_map(rows=7, columns=5)
        with pytest.raises(pagefault.BadInput, match="at least one row"):
            await session.memory_map(rows=0)
    assert [row.messages for row in small.rows] == [6] * 6
    assert sum(row.tokens for row in small.rows) == sum(row.tokens for row in whole.rows)
    assert [(one.first, one.last) for one in small.columns][-1][1] == whole.requests - 1
    assert len(small.columns) <= 5
    for column, one in enumerate(small.columns):
        assert one.tokens == whole.columns[one.last].tokens
        assert bool(one.rewrite) == any(
            whole.columns[at].rewrite for at in range(one.first, one.last + 1)
        )
        for number, row in enumerate(small.rows):
            group = whole.rows[6 * number : 6 * number + 6]
            there = [place_of(each, one.last) for each in group]
            said = sum(each.since <= one.last for each in group)
            if place_of(row, column) is MapPlace.IN_WINDOW:
                assert 2 * sum(place is not None for place in there) >= said
            if place_of(row, column) is None and said:
                assert 2 * sum(place is not None for place in there) < said


async def test_a_session_without_requests_has_an_empty_map() -> None:
    async with open_memory(":memory:") as memory:
        session = await memory.session("s")
        empty = await session.memory_map()
        assert (empty.messages, empty.requests, empty.rows, empty.columns) == (0, 0, (), ())
        await session.user("Good morning.")
        [row] = (await session.memory_map()).rows
        assert (row.first, row.since, row.spans) == ("msg_1", 0, ())


async def test_the_map_of_a_proxied_session_ends_with_what_its_last_request_showed() -> None:
    path = "/v1/messages"
    with watched(reading()) as upstream:
        async with standing(upstream, window=2_600) as to:
            await AGENTS[path](to, path).prompt(PROMPT)
            session = await session_of(to)
            of = await session.memory_map()
            now = await session.at(seq=of.columns[-1].seq)
    shown_then = {one.page_id for one in now.pages if one.level < 3}
    last = {row.first for row in of.rows if place_of(row, len(of.columns) - 1) is not None}
    assert last == {row.first for row in of.rows if row.first in shown_then}
    assert 0 < len(last) < len(of.rows), "nothing left the window, so nothing is shown"
    assert of.columns[-1].without_tokens > of.columns[-1].tokens


async def test_a_recollection_names_what_came_back_and_how_the_answer_cites_it() -> None:
    async with open_memory(":memory:", window=1_600, limits=LIMITS) as memory:
        session = await memory.session("s")
        await talked(session, 12)
        assert "msg_1" not in session.resident()
        await session.user("And the first topic?")
        await session.request()
        await session.call(fault("msg_1"))
        await session.request()
        newest = max(session.resident(), key=lambda page_id: int(page_id.partition("_")[2]))
        await session.assistant(f"It was this [ref: msg_1] [ref: {newest}] [ref: msg_999].")
        [*_, last] = await session.recollections()
        question = await session.page(last.question)
        answer = await session.page(last.answer)
        fork = await session.fork("f")
        assert await fork.recollections() == []
    assert question.text == "And the first topic?"
    assert answer.text.startswith("It was this")
    assert last.asked == ("msg_1",)
    assert "msg_1" in last.brought
    assert dict(last.cited) == {
        "msg_1": CitedAs.BROUGHT_BACK,
        newest: CitedAs.IN_WINDOW,
        "msg_999": CitedAs.NO_SUCH_PAGE,
    }
