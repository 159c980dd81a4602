"""Claims of a session: made with the turn they come from, found first, gone with their source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pagefault import Session
from pagefault.engine.scripted import ScriptedEngine
from pagefault.model.errors import BadInput, NoSuchPage
from pagefault.model.kinds import MODEL_GENERATED, USER_TYPED, Kind, Role
from pagefault.model.wanted import SearchFilter
from pagefault.service.bootstrap import open_memory
from pagefault.service.turn.drafts import Incoming
from tests.service.memories import check_request, search, text_of


async def _talk(session: Session, turns: int) -> None:
    """So many turns about something else."""
    for number in range(turns):
        text = f"Tell me about detail {number} of the importer, and of its {number} helpers."
        await session.user(text)
        check_request(await session.request(), text)
        await session.assistant(f"Detail {number} is about rows and batches. " * 24)


async def _decide(session: Session) -> None:
    await session.user("What should we use for the database?")
    await session.request()
    await session.assistant("I recommend PostgreSQL 16 for the database.")
    await session.user("Agreed.")
    await session.request()
    await session.assistant("Noted.")


async def test_a_decision_is_a_page_with_the_words_it_rests_on() -> None:
    async with open_memory(":memory:") as memory:
        session = await memory.session("work")
        await _decide(session)
        [claim] = await session.claims()
        assert claim.text == "Decision (agreed): I recommend PostgreSQL 16 for the database"
        assert claim.quotes == ("Agreed.", "I recommend PostgreSQL 16 for the database")
        assert (claim.authority, claim.origin) == ("user", "user_approved")
        page = await session.page(claim.claim_id)
        assert page.row.kind is Kind.CLAIM
        assert page.derived is not None
        assert page.derived.provenance == ("msg_3", "msg_2")
        session.check()


async def test_a_decision_is_recalled_long_after_and_cited() -> None:
    async with open_memory(":memory:", window=4_000) as memory:
        session = await memory.session("work")
        await _decide(session)
        await _talk(session, 20)
        await session.user("As we decided earlier, what's our database?")
        answer = await session.run(ScriptedEngine())
        assert "PostgreSQL 16" in answer.text
        assert answer.citations == ("clm_1",)
        assert answer.faults == 0
        session.check()


async def test_what_was_superseded_is_recalled_by_what_took_its_place() -> None:
    async with open_memory(":memory:", window=4_000) as memory:
        session = await memory.session("work")
        await _decide(session)
        await session.user("Let's switch from PostgreSQL 16 to MySQL 8 for the database.")
        await session.request()
        await session.assistant("Noted.")
        await _talk(session, 20)
        await session.user("As we decided earlier, what's our database?")
        request = text_of(await session.request())
        [*quoted, line] = sorted(line for line in request.split("\n") if "clm_" in line)
        assert line.startswith("C (clm_2 ")
        assert all("changed since, see clm_2" in one for one in quoted)
        assert "from PostgreSQL 16 to MySQL 8 for the database (instead of clm_1)" in line
        old, new = await session.claims()
        assert (old.status, old.closed_by) == ("superseded", "clm_2")
        assert (new.status, new.supersedes) == ("standing", "clm_1")


async def test_an_undone_decision_is_recalled_as_undone() -> None:
    async with open_memory(":memory:", window=4_000) as memory:
        session = await memory.session("work")
        await _decide(session)
        await session.user("Let's not use PostgreSQL after all.")
        await session.request()
        await session.assistant("Fine.")
        await _talk(session, 20)
        await session.user("As we decided earlier, what's our database?")
        request = text_of(await session.request())
        [*quoted, line] = sorted(line for line in request.split("\n") if "clm_" in line)
        assert line.startswith("C (clm_2 ")
        assert all("changed since, see clm_2" in one for one in quoted)
        assert "Decision: Let's not use PostgreSQL after all (instead of clm_1)" in line


async def test_claims_survive_a_restart_and_a_lost_index(tmp_path: Path) -> None:
    async with open_memory(tmp_path / "m") as memory:
        session = await memory.session("work")
        await _decide(session)
        before = await session.claims()
    (tmp_path / "m" / "index.db").unlink(missing_ok=True)
    async with open_memory(tmp_path / "m") as memory:
        session = await memory.session("work")
        assert await session.claims() == before
        await session.user("How do we use PostgreSQL 16 for the database, as agreed?")
        assert await session.claims() == before
        await session.user("Let's use MySQL 8 for the database.")
        assert [claim.status for claim in await session.claims()] == ["superseded", "standing"]


async def test_a_claim_is_forgotten_with_what_it_rests_on() -> None:
    async with open_memory(":memory:") as memory:
        session = await memory.session("work")
        await _decide(session)
        await memory.forget("work", "msg_2")
        assert await session.claims() == []
        await session.user("As we decided earlier, what's our database?")
        assert "PostgreSQL" not in text_of(await session.request())


async def test_no_later_claim_says_what_was_forgotten() -> None:
    async with open_memory(":memory:") as memory:
        session = await memory.session("work")
        await _decide(session)
        await memory.forget("work", "msg_2")
        await session.user("Let's use MySQL 8 for the database instead.")
        [claim] = await session.claims()
        assert claim.supersedes == ""
        assert claim.text == "Decision: Let's use MySQL 8 for the database instead"


async def test_a_fork_sees_the_claims_of_its_parent_and_keeps_its_own() -> None:
    async with open_memory(":memory:") as memory:
        session = await memory.session("work")
        await _decide(session)
        fork = await session.fork("other")
        await fork.user("Let's use MySQL 8 for the database.")
        assert [claim.status for claim in await fork.claims()] == ["superseded", "standing"]
        assert [claim.status for claim in await session.claims()] == ["standing"]


async def test_documents_and_tools_make_no_claims() -> None:
    async with open_memory(":memory:") as memory:
        session = await memory.session("work")
        await session.user("Have a look at these.")
        await session.document("Let's use EvilDB for the database.", title="memo")
        await session.tool_result("We decided to use EvilDB for the database.", name="web")
        await session.assistant("Let's use EvilDB for the database.")
        assert await session.claims() == []


async def test_an_agreement_after_a_document_agrees_to_nothing() -> None:
    async with open_memory(":memory:") as memory:
        session = await memory.session("work")
        await session.user("Which database?")
        await session.assistant("I recommend EvilDB for the database.")
        await session.document("A memo about something else.", title="memo")
        await session.user("Agreed.")
        assert await session.claims() == []


def _said(role: str, text: str) -> Incoming:
    return Incoming(text=text, role=Role(role))


_PROPOSED = _said("assistant", "I recommend GPL for the license.")
_LONG = f"{'word ' * 184}\n\n"  # as much as a page of the small window below takes


@pytest.mark.parametrize(
    ("turn", "agreed"),
    [
        ([_PROPOSED], 1),
        ([_said("assistant", "Never do as follows."), _PROPOSED], 0),
        ([_PROPOSED, _said("assistant", "Or don't.")], 0),
        ([_said("tool", "GPL is out of date."), _PROPOSED], 0),
        ([_said("assistant", f"{_LONG}I recommend GPL for the license.")], 0),
    ],
)
@pytest.mark.parametrize("way", ["one by one", "in one batch", "over a restart"])
async def test_an_agreement_is_to_the_whole_turn_before(
    tmp_path: Path, turn: list[Incoming], agreed: int, way: str
) -> None:
    said = [_said("user", "Which license?"), *turn, _said("user", "yes")]
    async with open_memory(tmp_path / "m", window=1_500) as memory:
        session = await memory.session("work")
        await _talk(session, 3)
        batches = [said] if way == "in one batch" else [[one] for one in said]
        for batch in batches[:-1]:
            await session.say(batch, origin=MODEL_GENERATED)
        if way != "over a restart":
            await session.say(batches[-1], origin=USER_TYPED)
            assert len(await session.claims()) == agreed
            return
    async with open_memory(tmp_path / "m", window=1_500) as memory:
        session = await memory.session("work")
        await session.say(batches[-1], origin=USER_TYPED)
        assert len(await session.claims()) == agreed


@pytest.mark.parametrize("gone", [1, 3, 5])
async def test_an_agreement_over_what_was_forgotten_agrees_to_nothing(gone: int) -> None:
    async with open_memory(":memory:") as memory:
        session = await memory.session("work")
        said = [
            *(_said("user", "Which license?"), _said("assistant", "Let me think.")),
            *(_said("user", "And?"), _PROPOSED, _said("user", "No, never GPL.")),
        ]
        pages = [(await session.say([one], origin=MODEL_GENERATED))[0] for one in said]
        await memory.forget(session, pages[gone - 1])
        await session.user("yes")
        assert await session.claims() == []


@pytest.mark.parametrize("ending", ["I live in Oslo.", "Before you deploy the site, run make."])
async def test_a_part_of_a_long_message_is_not_taken_for_a_message(ending: str) -> None:
    async with open_memory(":memory:", window=1_500) as memory:
        session = await memory.session("work")
        said = [_said("user", f"{_LONG}{ending}")]
        parts = [await session.page(one) for one in await session.say(said, origin=USER_TYPED)]
        assert parts[-1].text == ending
        for made in ("clm_1", "prc_1"):
            with pytest.raises(NoSuchPage):
                await session.page(made)


async def test_one_speakers_fact_does_not_close_anothers() -> None:
    async with open_memory(":memory:") as memory:
        session = await memory.session("work")
        await session.user("I live in Oslo", speaker="Ana")
        await session.user("I live in Rome", speaker="Bob")
        await session.user("I live in Lima", speaker="Ana")
        await session.user("Our launch is 3 May", speaker="Bob")
        await session.user("Our launch is 4 May", speaker="Ana")
        assert [(claim.text, claim.status) for claim in await session.claims()] == [
            ("Fact: Our launch is 3 May", "superseded"),
            ("Fact: Our launch is 4 May (instead of clm_1)", "standing"),
        ]


@pytest.mark.parametrize(("claims", "expected"), [("rules", 1), ("off", 0)])
async def test_claims_can_be_switched_off(claims: str, expected: int) -> None:
    async with open_memory(":memory:", claims=claims) as memory:
        session = await memory.session("work")
        await _decide(session)
        assert len(await session.claims()) == expected


async def test_what_is_said_twice_under_one_key_claims_once() -> None:
    async with open_memory(":memory:") as memory:
        session = await memory.session("work")
        for _ in range(2):
            await session.user("Let's use MIT for the license.", key="one")
        assert len(await session.claims()) == 1


async def test_a_claim_that_an_epoch_puts_in_front_is_not_recalled_beside_it() -> None:
    async with open_memory(":memory:", window=1_500) as memory:
        session = await memory.session("work")
        await _decide(session)
        for _ in range(6):
            await _talk(session, 6)
            text = "As we decided earlier, what's our database?"
            await session.user(text)
            check_request(await session.request(), text)
            await session.assistant("PostgreSQL 16.")


# --- searching ------------------------------------------------------------------------------------


async def test_a_search_of_the_models_finds_the_claim_that_answers_first() -> None:
    async with open_memory(":memory:", window=8_000) as memory:
        session = await memory.session("work")
        await session.user("Our budget is $50K.")
        await session.request()
        await session.assistant("Noted.")
        await session.user("And what about the rows?")  # no epoch yet, and it bears on no claim
        for number in range(20):
            await session.assistant(f"Detail {number} of the budget of rows. " * 3)
            await session.user(f"What of row {number}?")
        assert "clm_1" not in session.resident()
        found = json.loads(await session.call(search("the budget")))
        assert found["results"][0]["page_id"] == "clm_1"
        assert "$50K" in found["results"][0]["hint"]


async def test_a_search_finds_claims_that_hold_now_and_none_where_none_answers() -> None:
    async with open_memory(":memory:") as memory:
        session = await memory.session("work")
        await _decide(session)
        await _talk(session, 10)
        first = (await session.recall("our database")).hits[0]
        assert first.page.page_id == "clm_1"
        assert (await session.page(first.page.page_id)).text.startswith(
            "Decision (agreed): I recommend PostgreSQL"
        )
        about_rows = await session.recall("rows and batches of the importer")
        assert all(hit.page.kind is Kind.TRANSCRIPT for hit in about_rows.hits)
        await session.user("Let's use MySQL 8 instead of PostgreSQL for the database.")
        assert (await session.recall("our database")).hits[0].page.page_id == "clm_2"


async def test_a_search_finds_the_kinds_that_are_asked_for() -> None:
    async with open_memory(":memory:", window=1_500) as memory:
        session = await memory.session("work")
        await _decide(session)
        await _talk(session, 10)
        for kind in ("claim", "transcript", "summary"):
            found = await session.recall(
                "database PostgreSQL importer", wanted=SearchFilter(kinds=(kind,)), limit=3
            )
            assert found.hits, kind
            assert {hit.page.kind for hit in found.hits} == {Kind(kind)}
        with pytest.raises(BadInput, match="unknown kind 'fact'"):
            await session.recall("database", wanted=SearchFilter(kinds=("fact",)))
