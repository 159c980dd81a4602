"""A claim that holds no more is never shown without the line that says so."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault import Request, Session
from pagefault.model.page import Page
from pagefault.service.bootstrap import open_memory
from pagefault.service.window import plan, plan_developer
from pagefault.service.window.state import SessionState
from tests.examples import few
from tests.service.memories import check_request, fault, text_of

LAYOUTS = ("stable", "developer")


async def _ask(session: Session, text: str) -> Request:
    await session.user(text)
    request = await session.request()
    check_request(request, text)
    return request


async def _turn(session: Session, text: str) -> Request:
    request = await _ask(session, text)
    await _check_closed(session, request)
    await session.assistant("Noted. " + "Rows come in batches, as they did. " * 18)
    return request


async def _in_front(session: Session) -> None:
    """Decide, and talk until an epoch put the claim in front."""
    await _turn(session, "Let's use PostgreSQL 16 for the database.")
    for number in range(40):
        await _turn(session, f"Tell me about detail {number} of the importer.")
        moment = await session.at(turn=number + 1)
        if any(page.place == "core" for page in moment.pages):
            return
    raise AssertionError("no epoch put the claim in front")


def _lines(request: Request, claim_id: str) -> list[str]:
    pattern = re.compile(rf"C \({claim_id}\b.*")
    return pattern.findall(text_of(request))


async def _check_closed(session: Session, request: Request) -> None:
    """Whoever has only the request and the list of claims sees no closed claim stand alone."""
    for claim in await session.claims():
        if claim.closed_by and _shows(request, claim.claim_id):
            assert _shows(request, claim.closed_by), f"{claim.claim_id} stands alone"


def _shows(request: Request, claim_id: str) -> bool:
    result = re.compile(rf'"page_id":"{claim_id}","modality".{{,60}}?"content":{{"text":"[^"]')
    return bool(_lines(request, claim_id) or result.search(text_of(request)))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("Forget about PostgreSQL for the database.", "(takes back clm_1)"),
        ("Let's not use PostgreSQL after all.", "Decision: Let's not use PostgreSQL after all"),
        ("Let's use MySQL 8 instead of PostgreSQL.", "Decision: Let's use MySQL 8 instead of"),
    ],
)
async def test_what_closes_a_claim_in_front_is_there_at_once(
    layout: str, said: str, line: str
) -> None:
    async with open_memory(":memory:", window=2_000, layout=layout) as memory:
        session = await memory.session("work")
        await _in_front(session)
        request = await _ask(session, said)
        if layout == "stable":  # the other may have made room, and let it go
            assert "PostgreSQL 16" in _lines(request, "clm_1")[0]
        assert line in _lines(request, "clm_2")[0]
        assert (await session.request()).messages == request.messages  # asked for again
        session.check()


async def test_the_line_is_appended_and_the_prefix_stays_until_an_epoch_folds_both() -> None:
    async with open_memory(":memory:", window=4_000) as memory:
        session = await memory.session("work")
        await _in_front(session)
        before = await _ask(session, "And what comes after the rows?")
        await session.assistant("The columns.")
        after = await _ask(session, "Let's use MySQL 8 for the database instead.")
        assert after.messages[: len(before.messages)] == before.messages
        assert _lines(after, "clm_1")
        assert _lines(after, "clm_2")
        await session.assistant("Fine.")
        await session.configure(system="Be brief.")  # begins an epoch
        folded = await _ask(session, "Go on, please.")
        assert not _lines(folded, "clm_1")
        [line] = _lines(folded, "clm_2")
        assert "(instead of clm_1)" in line


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_pinned_claim_that_is_closed_keeps_what_closed_it_beside_it(layout: str) -> None:
    async with open_memory(":memory:", window=2_000, layout=layout) as memory:
        session = await memory.session("work")
        await _in_front(session)
        await session.pin("clm_1")
        await _turn(session, "Let's not use PostgreSQL after all.")
        for number in range(20):
            request = await _turn(session, f"Tell me about case {number} of the exporter.")
            assert _lines(request, "clm_1")
            assert _lines(request, "clm_2")
        session.check()


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_closed_claim_that_the_model_faults_comes_with_what_closed_it(layout: str) -> None:
    async with open_memory(":memory:", window=3_000, layout=layout) as memory:
        session = await memory.session("work")
        await _turn(session, "Let's use PostgreSQL 16 for the database.")
        await _turn(session, "Let's not use PostgreSQL after all.")
        for number in range(20):
            await _turn(session, f"Tell me about case {number} of the exporter.")
        assert "clm_1" not in session.resident()
        await _ask(session, "Go on with the importer.")
        await session.call(fault("clm_1"))
        request = await session.request()
        assert "PostgreSQL 16" in text_of(request)
        assert "clm_1" in session.resident()
        assert "clm_2" in session.resident()
        session.check()


STEPS = st.lists(
    st.sampled_from(
        [
            "Let's use Redis for the cache.",
            "Let's use PostgreSQL for the database.",
            "Let's use MySQL for the database instead.",
            "Let's use Valkey instead of Redis.",
            "Forget about Redis.",
            "Let's not use PostgreSQL after all.",
            "Let's use SQLite for the database.",
            "As we decided earlier, what is our database?",
            "Tell me about the importer, its rows, its batches and all of its helpers.",
            "pin",
            "fault",
            "epoch",
        ]
    ),
    max_size=24,
)


async def _play(steps: Sequence[str], layout: str) -> None:
    async with open_memory(":memory:", window=1_500, layout=layout, seed=1) as memory:
        session = await memory.session("work")
        for number, step in enumerate(steps):
            claims = await session.claims()
            match step:
                case "pin" if claims:
                    await session.pin(claims[0].claim_id)
                case "fault" if claims:
                    await _ask(session, f"What was that, number {number}?")
                    await session.call(fault(claims[number % len(claims)].claim_id))
                    await _check_closed(session, await session.request())
                    await session.assistant("That.")
                case "epoch":
                    await session.configure(system=f"Prompt {number}.")
                case "pin" | "fault":
                    pass
                case text:
                    await _turn(session, text)
            shown = set(session.resident())
            for claim in await session.claims():
                if claim.closed_by and claim.claim_id in shown and step not in ("pin", "epoch"):
                    assert claim.closed_by in shown, f"{claim.claim_id} stands alone"
            session.check()


@few(10)
@given(steps=STEPS, layout=st.sampled_from(LAYOUTS))
def test_no_request_shows_a_closed_claim_without_what_closed_it(
    steps: list[str], layout: str
) -> None:
    asyncio.run(_play(steps, layout))


async def test_control_a_plan_that_forgets_what_closed_a_claim_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = plan.to_bring

    def forgetful(state: SessionState, recalled: Sequence[Page]) -> list[Page]:
        known = dict(state.claims.closed_by)
        state.claims.closed_by.clear()
        try:
            return whole(state, recalled)
        finally:
            state.claims.closed_by.update(known)

    monkeypatch.setattr(plan, "to_bring", forgetful)
    monkeypatch.setattr(plan_developer, "to_bring", forgetful)
    async with open_memory(":memory:", window=2_000) as memory:
        session = await memory.session("work")
        await _in_front(session)
        request = await _ask(session, "Let's not use PostgreSQL after all.")
        with pytest.raises(AssertionError, match="clm_1 stands alone"):
            await _check_closed(session, request)
