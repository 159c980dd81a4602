"""Claims as cards: what rests on what, what is stale, and that no request shows it as if it held."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import pagefault
from pagefault import BadInput, CardFacts, Session
from pagefault.model.clock import SystemClock
from pagefault.service.bootstrap import open_memory
from tests.service.memories import text_of

DAY_MS = 24 * 60 * 60 * 1000


class Clock(SystemClock):
    def __init__(self) -> None:
        self.days = 0.0

    def now_ms(self) -> int:
        return 1_700_000_000_000 + int(self.days * DAY_MS)


async def status(session: Session) -> dict[str, str]:
    return {claim.claim_id: claim.status for claim in await session.claims()}


async def said(session: Session, words: str, **given: object) -> str:
    await session.user(words)
    return await session.remember(words, **given)  # type: ignore[arg-type]


async def asked(session: Session, words: str) -> str:
    await session.user(words)
    return text_of(await session.request())


async def test_a_claim_that_rests_on_another_goes_stale_with_it_at_any_depth_and_comes_back() -> (
    None
):
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        database = await said(session, "We run on PostgreSQL.", kind="decision")
        driver = await session.claim("The driver is psycopg.", derived_from=[database])
        pool = await session.claim("The pool is psycopg_pool.", derived_from=[driver])
        other = await said(session, "Deploys go out on Tuesdays.", kind="decision")
        assert set((await status(session)).values()) == {"standing"}
        await session.retract(database)
        told = {one.claim_id: one for one in await session.claims()}
        assert (told[driver].status, told[pool].status) == ("stale", "stale")
        assert told[pool].why == f"it rests on {driver}, which holds no more"
        assert told[other].status == "standing"
        await session.undo()
        assert (await status(session))[pool] == "standing"
        [again] = [one for one in await session.claims() if one.claim_id == driver]
        assert again.derived_from != (database,), "the claim that stands again has another id"
        session.check()


async def test_nothing_rests_on_what_does_not_hold_and_no_authority_is_gained_by_deriving() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        proposed = await said(session, "Use Valkey for the cache.", origin="model_generated")
        derived = await session.claim("The cache speaks RESP.", derived_from=[proposed])
        [*_, claim] = await session.claims()
        assert (claim.claim_id, claim.authority) == (derived, "proposed")
        await session.retract(proposed)
        with pytest.raises(BadInput, match="does not hold: stale"):
            await session.claim("Port 6379 is open.", derived_from=[derived])
        with pytest.raises(BadInput, match="stands no more"):
            await session.claim("Port 6379 is open.", derived_from=[proposed])


async def test_no_request_shows_a_stale_claim_as_if_it_held(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", window=4_000) as memory:
        session = await memory.session("work")
        database = await said(session, "We run on PostgreSQL.", kind="decision")
        await session.claim("The driver is called psycopg.", derived_from=[database])
        await said(session, "Answer in haiku.", kind="rule", key="r")
        for number in range(40):
            await asked(session, f"Chapter {number}: " + "lorem ipsum dolor sit amet " * 20)
            await session.assistant(f"Read chapter {number}.")
        assert "The driver is called psycopg." in await asked(session, "Next chapter, please.")
        await session.retract(database)
        text = await asked(session, "And the next one.")
        assert "psycopg" not in text, "it left the front of the window at once"
        text = await asked(session, "Which driver is it that we said is called something?")
        [line] = [one for one in text.splitlines() if "psycopg" in one]
        assert "stale: it rests on " in line
        before = await session.request()
        session.check()
    async with pagefault.open(tmp_path / "m", window=4_000) as memory:
        session = await memory.session("work")
        assert (await session.request()).messages == before.messages


async def test_a_decision_that_nobody_checked_for_28_days_is_in_no_request_unmarked() -> None:
    clock = Clock()
    async with open_memory(":memory:", clock=clock, window=4_000) as memory:
        session = await memory.session("work")
        await said(session, "We run on PostgreSQL 16.", kind="decision")
        await said(session, "My cat is called Tom.", kind="fact")
        kept = CardFacts(decay_days=0)
        await said(session, "We never deploy on Fridays.", kind="decision")
        await session.claim("Ship weekly.", evidence=["never deploy on Fridays"], facts=kept)
        for number in range(40):
            await asked(session, f"Chapter {number}: " + "lorem ipsum dolor sit amet " * 20)
            await session.assistant(f"Read chapter {number}.")
        assert "Decision: We run on PostgreSQL 16." in await asked(session, "Go on.")
        clock.days = 27.9
        assert "Decision: We run on PostgreSQL 16." in await asked(session, "Go on.")
        clock.days = 28.1
        text = await asked(session, "Go on.")
        assert "Decision: We run on PostgreSQL" not in text
        assert "Decision: Ship weekly." in text
        assert "Fact: My cat is called Tom" in text
        text = await asked(session, "Which PostgreSQL do we run on?")
        [line] = [one for one in text.splitlines() if "Decision: We run on PostgreSQL" in one]
        assert "expired: not checked for too long" in line
        assert [one.status for one in await session.claims()].count("expired") == 2


async def test_generated_graphs_are_stale_in_a_session_as_a_naive_model_says_and_after_restarts(
    tmp_path: Path,
) -> None:
    graphs = 25
    expected: dict[str, dict[str, str]] = {}
    async with pagefault.open(tmp_path / "m") as memory:
        for seed in range(graphs):
            chance = random.Random(seed)
            session = await memory.session(f"graph-{seed}")
            sources: dict[str, list[str]] = {}
            for number in range(chance.randint(3, 9)):
                from_ = chance.sample(sorted(sources), min(len(sources), chance.randint(0, 2)))
                if from_:
                    made = await session.claim(f"Fact number {number}.", derived_from=from_)
                else:
                    made = await said(session, f"Fact number {number}.")
                sources[made] = from_
            gone = chance.sample(sorted(sources), chance.randint(1, 2))
            for claim_id in gone:
                await session.retract(claim_id)

            def is_stale(one: str, sources: dict[str, list[str]], gone: list[str]) -> bool:
                return any(p in gone or is_stale(p, sources, gone) for p in sources[one])

            told = {
                one: "retracted" if one in gone else "stale" if is_stale(one, sources, gone) else ""
                for one in sources
            }
            expected[session.name] = {one: word or "standing" for one, word in told.items()}
            found = await status(session)
            assert {one: found[one] for one in told} == expected[session.name]
    async with pagefault.open(tmp_path / "m") as memory:
        for name, told in expected.items():
            found = await status(await memory.session(name, create=False))
            assert {one: found[one] for one in told} == told
    words = [word for told in expected.values() for word in told.values()]
    assert min(words.count(word) for word in ("stale", "standing", "retracted")) > 10
