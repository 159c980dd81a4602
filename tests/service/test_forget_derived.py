"""Forgetting what was made of other pages, and what was never said in a turn: goals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import pagefault
from tests.service.memories import fault, search


def _found(root: Path, word: str) -> list[str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return [path.name for path in files if word.encode() in path.read_bytes()]


async def test_a_goal_is_forgotten_with_every_byte_of_it(tmp_path: Path) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root) as memory:
        session = await memory.session("talk")
        await session.user("Hello there")
        goal = await session.goal("Ship zqsecretxy by June")
        assert goal is not None
        await session.request()
        assert _found(root, "zqsecretxy"), "the control: it was written"
        forgotten = await memory.forget("talk", goal)
        assert forgotten.pages == (goal,)
        with pytest.raises((pagefault.NoSuchPage, pagefault.RecordGone)):
            await session.page(goal)
        assert "zqsecretxy" not in str(await session.request())
    assert _found(root, "zqsecretxy") == []


async def test_a_claim_alone_can_be_forgotten_and_no_longer_stands(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("talk")
        said = await session.user("Let's use PostgreSQL for the database.")
        [claim] = await session.claims()
        forgotten = await memory.forget("talk", claim.claim_id)
        assert forgotten.pages == (claim.claim_id,)
        assert await session.claims() == []
        assert "PostgreSQL" in (await session.page(said)).text, "the turn was not asked for"


async def test_a_claim_stays_that_took_the_place_of_one_that_is_forgotten(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("talk")
        first = await session.user("I live in Oslo.")
        await session.user("I live in Rome.")
        forgotten = await memory.forget("talk", first)
        assert forgotten.pages == (first, "clm_1")
        assert [claim.value for claim in await session.claims()] == ["I live in Rome"]


async def test_a_claim_that_repeats_a_forgotten_one_goes_with_it(tmp_path: Path) -> None:
    """What takes its place is about the same thing, and borrows the words for it."""
    root = tmp_path / "m"
    async with pagefault.open(root) as memory:
        session = await memory.session("talk")
        first = await session.user("We decided to use rsh for the zqsecretxy.")
        await session.user("We decided to use telnet instead of rsh.")
        old, new = await session.claims()
        assert "zqsecretxy" in new.subject, "the control: it borrows what it is about"
        forgotten = await memory.forget("talk", first)
        assert forgotten.pages == (first, old.claim_id, new.claim_id)
        assert _found(root, "zqsecretxy") == []
        assert await session.claims() == []
        assert (await session.recall("telnet")).hits, "what was said is found"
    assert _found(root, "zqsecretxy") == []


async def test_a_claim_that_says_its_own_words_alone_outlives_the_one_before(
    tmp_path: Path,
) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("talk")
        first = await session.user("We decided to use rsh for the login.")
        await session.user("We decided to use telnet for the login instead of rsh.")
        await session.user("We decided to use ssh for the login instead of telnet.")
        before = await session.claims()
        forgotten = await memory.forget("talk", first)
        assert forgotten.pages == (first, before[0].claim_id)
        left = await session.claims()
        assert [replace(one, history=()) for one in left] == [
            replace(one, history=()) for one in before[1:]
        ]
        assert [one.claim_id for one in left[-1].history] == [one.claim_id for one in before[1:]]


async def test_what_a_fork_made_of_its_parents_pages_goes_with_the_parent(tmp_path: Path) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root) as memory:
        session = await memory.session("talk")
        page = await session.user("The word is zqsecretxy. " * 40)
        fork = await session.fork("aside")
        await fork.user("Something else.")
        made = await fork.compress(page, 2)
        await fork.flush()
        assert made.derived is not None
        forgotten = await memory.forget("talk")
        assert forgotten.seen_from == ("aside",)
        assert made.page_id in forgotten.pages
        assert _found(root, "zqsecretxy") == []
        assert (await memory.verify()).problems == ()


async def test_what_a_fork_made_goes_with_a_page_of_its_parent_that_is_forgotten_in_the_fork(
    tmp_path: Path,
) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root) as memory:
        page = await (await memory.session("talk")).user("The word is zqsecretxy. " * 40)
        fork = await (await memory.session("talk")).fork("aside")
        made = await fork.compress(page, 2)
        await fork.flush()
        forgotten = await memory.forget("aside", page)
        assert made.page_id in forgotten.pages
        with pytest.raises((pagefault.NoSuchPage, pagefault.RecordGone)):
            await fork.page(made.page_id)
        assert _found(root, "zqsecretxy") == []


async def test_a_fork_keeps_what_it_made_of_a_page_of_its_own_with_the_same_id(
    tmp_path: Path,
) -> None:
    """Both go on from msg_1: each has a msg_2, which the other does not see."""
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("talk")
        await session.user("Hello there.")
        fork = await session.fork("aside")
        assert await session.user("What is it like over there?") == "msg_2"
        assert await fork.user("We decided to use blue for the walls.") == "msg_2"
        [claim] = await fork.claims()
        forgotten = await memory.forget("talk", "msg_2")
        assert forgotten.pages == ("msg_2",)
        assert await fork.claims() == [claim]


async def test_the_calls_of_a_turn_go_with_its_pages_and_those_of_others_stay(
    tmp_path: Path,
) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root) as memory:
        session = await memory.session("talk")
        page = await session.user("What was the word?")
        await session.request()
        await session.call(search("zqsecretxy"), said="I look for zqsecretxy.")
        await session.user("And the other one?")
        await session.request()
        await session.call(search("zqotherwordxy"))
        await session.call(fault(page, reason="zqreasonxy"))
        plan = await memory.forget("talk", page, dry_run=True)
        assert (plan.calls, plan.records) == (2, 3)
        [stays] = [one for one in plan.stays if one.what == "calls"]
        assert (stays.session, stays.count) == ("talk", 1)
        await memory.forget("talk", page)
        assert _found(root, "zqsecretxy") == []
        assert _found(root, "zqreasonxy") == []
        assert _found(root, "zqotherwordxy")
        await session.request()
    async with pagefault.open(root) as memory:
        assert (await memory.verify()).problems == ()
        await (await memory.session("talk")).request()
