"""The mutation log read back: what a window held then, what changed, and a page's history."""

from __future__ import annotations

from pathlib import Path

import pytest

import pagefault
from pagefault import BadInput, NoSuchPage, Session
from pagefault.model.ids import PageId
from pagefault.model.times import iso_utc
from pagefault.service.bootstrap import open_memory
from pagefault.service.inspection.timetravel import Moment
from pagefault.service.limits import Limits
from tests.service.memories import fault, search, words

LIMITS = Limits(recall_tokens_max=200)


def full(moment: Moment) -> set[PageId]:
    """The pages whose text a moment shows: a summary's header shows none."""
    return {one.page_id for one in moment.pages if one.place != "faulted" or one.level == 0} - {
        one.page_id for one in moment.pages if one.level == 3
    }


async def talked(session: Session, turns: int = 24) -> list[tuple[set[PageId], int, int]]:
    """A talk that outgrows its window; of each turn what the window held, as was seen then."""
    seen = []
    for number in range(turns):
        await session.user(f"Topic{number}: {words(40, f't{number}w')}")
        request = await session.request()
        if number % 6 == 5:
            await session.call(fault(f"msg_{number - 4}", call_id=f"c{number}"))
            request = await session.request()
        await session.assistant(f"Noted {number} [ref: msg_{max(1, number - 3)}].")
        status = await session.status()
        seen.append((set(session.resident()), request.tokens, status.epoch))
    return seen


async def test_a_past_window_is_what_was_seen_at_the_time(tmp_path: Path) -> None:
    async with open_memory(tmp_path / "m", window=1_600, limits=LIMITS) as memory:
        session = await memory.session("s")
        seen = await talked(session)
        assert seen[-1][2] >= 2, "no epoch began, so nothing is shown"
        moments = [await session.at(turn=turn) for turn in range(len(seen))]
    async with open_memory(tmp_path / "m", limits=LIMITS) as memory:
        session = await memory.session("s", create=False)
        again = [await session.at(turn=turn) for turn in range(len(seen))]
        fork = await session.fork("f")
        await fork.user("Another way from here.")
        assert await fork.at(turn=5) == moments[5]
    assert again == moments
    for moment, (resident, tokens, epoch) in zip(moments, seen, strict=True):
        assert full(moment) == resident
        assert (moment.request_tokens, moment.epoch) == (tokens, epoch)
    # The control: the windows differ, so a moment that told of the present would be caught.
    assert full(moments[5]) != seen[-1][0]


async def test_a_time_can_be_named_in_three_ways(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", window=1_600) as memory:
        session = await memory.session("s")
        await talked(session, 8)
        by_turn = await session.at(turn=3)
        assert await session.at(seq=by_turn.seq) == by_turn
        last = await session.at(turn=7)
        assert await session.at(time=last.at_ms) == last
        assert await session.at(time="2999-01-01") == last
        began = f"its log begins at {iso_utc((await session.at(turn=0)).at_ms)[:10]}"
        for wrong, told in (
            ({"turn": 8}, "turns so far: 0 to 7"),
            ({"turn": -1}, "count from 0"),
            ({"time": "1999-01-01"}, began),
            ({"time": "soon"}, "ISO 8601"),
            ({"seq": 0}, began),
            ({}, "turn=12"),
            ({"turn": 1, "seq": 2}, "turn=12"),
            ({"turn": "3"}, "Session.at"),
        ):
            with pytest.raises(BadInput) as refused:
                await session.at(**wrong)
            assert told in refused.value.hint


async def test_a_difference_says_what_came_and_what_went(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", window=1_600) as memory:
        session = await memory.session("s")
        await talked(session)
        there, back = await session.diff(2, 20), await session.diff(20, 2)
        assert {one.page_id for one in there.entered} == {one.page_id for one in back.left}
        assert {one.page_id for one in there.left} == {one.page_id for one in back.entered}
        assert there.tokens == -back.tokens
        assert there.epochs > 0
        before = {one.page_id for one in there.before.pages}
        after = {one.page_id for one in there.after.pages}
        assert {one.page_id for one in there.entered} == after - before != set()
        assert {one.page_id for one in there.left} == before - after != set()
        nothing = await session.diff(20, 20)
        assert (nothing.entered, nothing.left, nothing.levels) == ((), (), ())


async def test_a_page_has_a_history(tmp_path: Path) -> None:
    limits = Limits(recall_tokens_max=0)  # so that an answer takes a fault
    async with open_memory(tmp_path / "m", window=1_600, limits=limits, claims="off") as memory:
        session = await memory.session("s")
        await session.user("Maria keeps the keys to the observatory in the blue drawer.")
        await session.request()
        await session.pin("msg_1")
        await session.unpin("msg_1")
        await session.assistant("Noted.")
        for number in range(20):
            await session.user(words(40, f"t{number}w"))
            await session.request()
            await session.assistant("I see.")
        await session.user("Where does Maria keep the keys to the observatory?")
        await session.request()
        await session.call(search("keys observatory", call_id="a"))
        await session.request()
        await session.call(fault("msg_1", call_id="b"))
        await session.request()
        await session.assistant("In the blue drawer [ref: msg_1].")
        told = await session.history("msg_1")
        what = [one.what for one in told]
        order = ["created", "pinned", "unpinned", "evicted", "found", "faulted", "cited"]
        assert [one for one in what if one in order] == order
        by = {one.what: one for one in told}
        assert by["created"].actor == "user"
        assert by["evicted"].actor == "system"
        assert by["evicted"].by.startswith("epoch ")
        assert by["summed_up"].by.startswith("sum_")
        assert (by["faulted"].actor, by["faulted"].level) == ("model", 0)
        packed = {entry.seq for entry in await session.ledger()}
        assert by["faulted"].cause in packed, "it names the request that led to it"
        assert [one.seq for one in told] == sorted(one.seq for one in told)
        by_model = await session.history("msg_1", actor="model")
        assert by_model == [one for one in told if one.actor == "model"] != []
        everyone = await session.history()
        assert [one for one in everyone if one.page_id == "msg_1"] == told
        assert len({one.page_id for one in everyone}) > 20
        with pytest.raises(NoSuchPage):
            await session.history("msg_999")
        with pytest.raises(BadInput, match="unknown actor"):
            await session.history(actor="nobody")


async def test_what_was_forgotten_is_in_no_past(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", window=1_600) as memory:
        session = await memory.session("s")
        await talked(session, 6)
        assert PageId("msg_3") in full(await session.at(turn=2))
        await memory.forget("s", "msg_3")
        session = await memory.session("s", create=False)
        assert PageId("msg_3") not in full(await session.at(turn=2))
        assert PageId("msg_5") in full(await session.at(turn=2))


async def test_the_history_of_a_page_names_the_model_and_the_tool_that_acted(
    tmp_path: Path,
) -> None:
    async with pagefault.open(tmp_path / "m", model="claude-sonnet-5") as memory:
        session = await memory.session("s")
        asked = await session.user("What is the weather?")
        [returned] = await session.tool_result("It rains.", name="weather", call_id="c1")
        answered = await session.assistant("It rains.")
        other = await session.assistant("It rains, I say.", model="gpt-6")
        await session.call(fault(asked, call_id="c2"))
        await session.flush()
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("s", create=False)
        by = {one.page_id: one for one in await session.history() if one.what == "created"}
        assert [by[page].actor_id for page in (asked, returned, answered, other)] == [
            *("", "weather", "claude-sonnet-5", "gpt-6"),
        ]
        calls = [one for one in await session.history(asked) if one.actor == "model"]
        assert {one.actor_id for one in calls} == {"claude-sonnet-5"}
        await memory.forget("s", returned)
        assert "weather" not in {one.actor_id for one in await session.history()}
