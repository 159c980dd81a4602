"""A procedure is a page: made with the turn that states it, and there when it is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagefault import Request, Session
from pagefault.model.kinds import Kind
from pagefault.service.bootstrap import open_memory
from tests.service.memories import check_request, text_of

DEPLOY = "To deploy the site, run `make build`, then run `make ship`."


async def _talk(session: Session, turns: int) -> None:
    for number in range(turns):
        text = f"Tell me about detail {number} of the importer, and of its {number} helpers."
        await session.user(text)
        check_request(await session.request(), text)
        await session.assistant(f"Detail {number} is about rows and batches. " * 24)


def _lines(request: Request) -> list[str]:
    return [line for line in text_of(request).split("\n") if line.startswith("P (prc_")]


@pytest.mark.parametrize("layout", ["stable", "developer"])
async def test_it_is_recalled_long_after_when_its_purpose_is_named(layout: str) -> None:
    async with open_memory(":memory:", window=3_000, layout=layout) as memory:
        session = await memory.session("work")
        await session.user(DEPLOY)
        await session.request()
        await session.assistant("Noted.")
        await _talk(session, 20)
        assert "prc_1" not in session.resident()
        await session.user("How do we deploy the site?")
        request = await session.request()
        [line] = _lines(request)
        assert line.endswith("Procedure: deploy the site: 1. run `make build` 2. run `make ship`")
        page = await session.page("prc_1")
        assert page.row.kind is Kind.PROCEDURE
        assert page.derived is not None
        assert page.derived.provenance == ("msg_1",)
        quotes = [DEPLOY.encode()[e.start : e.end].decode() for e in page.derived.evidence]
        assert quotes == ["deploy the site", "run `make build`", "run `make ship`"]
        session.check()


async def test_a_later_one_takes_its_place_also_after_a_restart(tmp_path: Path) -> None:
    async with open_memory(tmp_path, window=3_000) as memory:
        session = await memory.session("work")
        await session.user(DEPLOY)
        await session.user(DEPLOY)  # said again: written once
        await session.user("To deploy the site, run `just all`, then open the dashboard.")
        page = await session.page("prc_2")
        assert page.derived is not None
        assert page.derived.supersedes == "prc_1"
        await _talk(session, 14)
    async with open_memory(tmp_path, window=3_000) as memory:
        session = await memory.session("work")
        await session.user("How do we deploy the site?")
        [line] = _lines(await session.request())
        assert "`just all`" in line
        session.check()


async def test_it_is_forgotten_with_what_it_rests_on() -> None:
    async with open_memory(":memory:") as memory:
        session = await memory.session("work")
        await session.user(DEPLOY)
        await memory.forget("work", "msg_1")
        await session.user("How do we deploy the site?")
        assert "make ship" not in text_of(await session.request())


async def test_it_can_be_told_again_after_it_was_forgotten() -> None:
    async with open_memory(":memory:") as memory:
        session = await memory.session("work")
        for number in (1, 2):
            page_id = await session.user(DEPLOY)
            assert (await session.page(f"prc_{number}")).row.kind is Kind.PROCEDURE
            await session.user("How do we deploy the site?")
            await session.request()
            await memory.forget("work", page_id)


async def test_what_is_said_of_a_tool_is_read_ahead_once_the_tool_is_in_use() -> None:
    async with open_memory(":memory:", window=3_000) as memory:
        session = await memory.session("work")
        await session.user("When calling weather_tool, always load the location first.")
        await _talk(session, 14)
        await session.user("What is the weather?")
        await session.request()
        await session.tool_result("Rain.", name="weather_tool")
        await session.request()
        await session.prefetcher.idle()
        facts = session._requests._recall.procedures_of(["weather_tool", "other_tool"])
        assert facts == {"weather_tool": ["prc_1"], "other_tool": []}


async def test_claims_and_procedures_are_numbered_without_gaps() -> None:
    async with open_memory(":memory:") as memory:
        session = await memory.session("work")
        await session.user("Let's use Redis for the cache.")
        await session.user(DEPLOY)
        await session.user("Our budget is $50K.")
        await session.user("Let's use PostgreSQL for the database.")
        claims = await session.claims()
        assert [claim.claim_id for claim in claims] == ["clm_1", "clm_2", "clm_3"]
        assert (await session.page("prc_1")).row.kind is Kind.PROCEDURE
        session.check()
