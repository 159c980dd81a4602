"""How long pages are kept: rules by kind and session, what goes with what is past its time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pagefault
from pagefault.model.events import RetentionRule
from pagefault.model.kinds import Kind
from pagefault.service.bootstrap import open_memory
from pagefault.service.periodic import periodically
from pagefault.service.retention import a_period_days, changed, days_kept, told_days
from tests.service.traces import Files, canary

DAY_MS = 86_400_000
OLDWORD, NEWWORD, SECRETNAME, SYSTEM, EMPTYNAME = map(
    canary, ("old", "new", "name", "sys", "empty")
)


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.ms = 1_760_000_000_000

    def now_ms(self) -> int:
        return self.ms

    def monotonic_s(self) -> float:
        return self.ms / 1000

    def pass_days(self, days: float) -> None:
        self.ms += int(days * DAY_MS)


async def test_without_a_rule_everything_is_kept_for_ever(tmp_path: Path) -> None:
    clock = Clock()
    async with open_memory(tmp_path / "m", clock=clock) as memory:
        session = await memory.session("talk")
        page = await session.user("The parrot's name is Zebulon.")
        clock.pass_days(20_000)
        assert await memory.expire() == ()
        assert "Zebulon" in (await session.page(page)).text


async def test_what_is_past_its_time_leaves_no_byte_and_what_is_not_stays(tmp_path: Path) -> None:
    root, clock = tmp_path / "m", Clock()
    async with open_memory(root, clock=clock) as memory:
        session = await memory.session("talk")
        await session.user(f"The old word is {OLDWORD}.")
        await session.request()
        await session.assistant(f"Noted: {OLDWORD}.")
        await memory.set_retention("30d")
        clock.pass_days(29)
        kept = await session.user(f"The new word is {NEWWORD}.")
        assert Files(root).traces({"old": OLDWORD}), "the control: it was written"
        assert await memory.expire() == ()
        clock.pass_days(1.5)
        [told] = await memory.expire(dry_run=True)
        assert (told.pages, told.done) == (("msg_1", "msg_2"), False)
        [done] = await memory.expire()
        assert (done.pages, done.done) == (told.pages, True)
        assert NEWWORD in (await session.page(kept)).text
        assert OLDWORD not in str(await session.request())
        assert (await memory.verify()).problems == ()
    assert not Files(root).traces({"old": OLDWORD})


async def test_opening_to_write_forgets_what_is_past_its_time_and_says_so(tmp_path: Path) -> None:
    root, clock = tmp_path / "m", Clock()
    async with open_memory(root, clock=clock) as memory:
        await (await memory.session("talk")).user(f"The word is {OLDWORD}.")
        await memory.set_retention("7d")
    clock.pass_days(8)
    async with open_memory(root, clock=clock, read_only=True) as memory:
        assert (await memory.recall(OLDWORD)).hits, "who only reads changes nothing"
    async with open_memory(root, clock=clock) as memory:
        assert await memory.sessions() == []
        assert any("past its time" in notice for notice in memory.notices)
        assert (await memory.verify()).problems == ()
    assert not Files(root).traces({"old": OLDWORD})


async def test_a_session_of_which_nothing_is_left_goes_with_its_name(tmp_path: Path) -> None:
    root, clock = tmp_path / "m", Clock()
    async with open_memory(root, clock=clock) as memory:
        session = await memory.session(SECRETNAME, system=f"Say {SYSTEM}.")
        await session.user("Hello")
        await (await memory.session(f"empty, {EMPTYNAME}")).request()
        await memory.set_retention("90d")
        clock.pass_days(91)
        await memory.expire()
        assert await memory.sessions() == []
    words = {"name": SECRETNAME, "system": SYSTEM, "empty": EMPTYNAME}
    assert not Files(root).traces(words)


async def test_the_rule_that_names_most_decides(tmp_path: Path) -> None:
    clock = Clock()
    async with open_memory(tmp_path / "m", clock=clock) as memory:
        for name in ("short", "long"):
            session = await memory.session(name)
            await session.user("A message.")
            await session.document("A document.", title="notes")
        await memory.set_retention("7d")
        await memory.set_retention("30d", kind="artifact")
        await memory.set_retention("forever", session="long")
        await memory.set_retention("90d", session="long", kind="artifact")
        clock.pass_days(10)
        assert [len(one.pages) for one in await memory.expire()] == [1]
        clock.pass_days(30)
        assert [len(one.pages) for one in await memory.expire()] == [1]
        assert [row.name for row in await memory.sessions()] == ["long"]
        clock.pass_days(100)
        await memory.expire()
        [row] = await memory.pages(await memory.session("long"))
        assert row.kind is Kind.TRANSCRIPT


async def test_a_page_that_a_longer_kept_claim_rests_on_stays_with_it(tmp_path: Path) -> None:
    clock = Clock()
    async with open_memory(tmp_path / "m", clock=clock) as memory:
        session = await memory.session("talk")
        said = await session.user("We decided to use PostgreSQL for the database.")
        chatter = await session.user("What a day it was.")
        assert len(await session.claims()) == 1
        await memory.set_retention("7d", kind="transcript")
        clock.pass_days(8)
        [done] = await memory.expire()
        assert done.pages == (chatter,)
        [claim] = await session.claims()
        assert claim.status == "standing"
        assert "PostgreSQL" in (await session.page(said)).text
        await memory.set_retention("7d", kind="claim")
        await memory.expire()
        assert await memory.sessions() == [], "the control: both are past their time"


async def test_a_session_of_another_process_waits_for_the_next_time(tmp_path: Path) -> None:
    root, clock = tmp_path / "m", Clock()
    async with open_memory(root, clock=clock) as memory:
        for name in ("ours", "theirs"):
            await (await memory.session(name)).user("An old message.")
        await memory.set_retention("7d")
    clock.pass_days(8)
    async with open_memory(root, clock=clock, expire=False) as theirs:
        await (await theirs.session("theirs")).user("A new message.")
        async with open_memory(root, clock=clock, expire=False) as ours:
            told = {one.session_id: one.done for one in await ours.expire()}
            assert sorted(told.values()) == [False, True]
            assert [row.name for row in await ours.sessions()] == ["theirs"]
            assert "1 others are being written to" in await ours.keep_retention()
    async with open_memory(root, clock=clock) as memory:
        [left] = await memory.pages(await memory.session("theirs"))
        assert left.page_id == "msg_2"


async def test_the_rules_outlive_the_process_and_can_be_taken_back(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        await memory.session("talk")
        await memory.set_retention("30d")
        assert len(await memory.set_retention("7d", session="talk", dry_run=True)) == 2
        assert len(await memory.retention()) == 1, "a dry run sets nothing"
    async with pagefault.open(tmp_path / "m") as memory:
        assert [rule.days for rule in await memory.retention()] == [30]
        assert await memory.set_retention(None) == ()
        assert await memory.retention() == ()


@pytest.mark.parametrize("text", ["", "7", "-7d", "0d", "7w", "1e3d", "99999d", "never"])
async def test_what_is_no_time_is_refused_and_changes_nothing(text: str) -> None:
    async with pagefault.open(":memory:") as memory:
        with pytest.raises(pagefault.BadInput):
            await memory.set_retention(text)
        assert await memory.retention() == ()


async def test_a_rule_for_nothing_that_is_there_is_refused() -> None:
    async with pagefault.open(":memory:") as memory:
        with pytest.raises(pagefault.BadInput):
            await memory.set_retention("7d", kind="dream")
        with pytest.raises(pagefault.SessionNotFound):
            await memory.set_retention("7d", session="nobody")


async def test_a_server_looks_again_and_again_and_says_what_went() -> None:
    said: list[str] = []
    told = iter(["forgot two", "", "forgot one"])
    enough = asyncio.Event()

    async def keep() -> str:
        found = next(told, None)
        if found is None:
            enough.set()
        return found or ""

    async with periodically(keep, said.append, every_s=0):
        await enough.wait()
    assert said == ["forgot two", "forgot one"]


names = st.tuples(st.sampled_from(["", *map(str, Kind)]), st.sampled_from(["", "ses_a", "ses_b"]))


@given(st.lists(st.tuples(names, st.integers(1, 36_500))), names)
def test_the_last_rule_for_a_kind_and_a_session_is_the_one_that_holds(
    given_: list[tuple[tuple[str, str], int]], asked: tuple[str, str]
) -> None:
    rules: tuple[RetentionRule, ...] = ()
    for (kind, session), days in given_:
        rules = changed(rules, kind, session, days)
    last = dict(given_)
    kind, session = asked
    named = [(kind, session), ("", session), (kind, ""), ("", "")]
    assert days_kept(rules, kind, session) == next((last[n] for n in named if n in last), 0)


@given(st.integers(0, 36_500))
def test_a_time_is_read_as_it_is_told(days: int) -> None:
    assert a_period_days(told_days(days)) == days
