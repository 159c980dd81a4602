"""A proposal that says what a claim says is further proof of it, here and across sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

import pagefault
from pagefault.engine.former import FormationRequest, Proposal, ProposalKind
from pagefault.service.turn.undo import _Plan
from pagefault.testing.formers import ScriptedFormer
from pagefault.truth.claims import ClaimBook
from tests.service.memories import files_with, text_of, words

LIMITS = pagefault.Limits(summarised_tokens_max=300)
FIRST = "For the survey PostgreSQL 15 it is, not MySQL."
AGAIN = "As we agreed, PostgreSQL 15 it is."
CLAIM = "use PostgreSQL 15"


def repeating(given: FormationRequest) -> list[Proposal]:
    """A former that finds the same decision wherever a page of the range has its words."""
    return [
        Proposal(
            kind=ProposalKind.DECISION,
            text=CLAIM,
            pages=(one.page_id,),
            quotes=("PostgreSQL 15 it is",),
            subject="database",
        )
        for one in given.pages
        if "PostgreSQL 15 it is" in one.text
    ]


async def said(memory: pagefault.Memory, name: str, *, by_user: bool) -> pagefault.Session:
    """A session that decided the same in two ranges, neither formed."""
    session = await memory.session(name)
    await session.user(FIRST)
    if by_user:
        await session.claim(CLAIM, evidence=["PostgreSQL 15 it is"], subject="database")
    await session.assistant(f"Noted. {words(100)}")
    await session.user(f"{AGAIN} {words(100, 'x')}")
    await session.assistant("Yes.")
    return session


async def said_twice(
    memory: pagefault.Memory, name: str = "s", *, by_user: bool = False
) -> pagefault.Session:
    """A session that decided the same in two ranges, both formed."""
    session = await said(memory, name, by_user=by_user)
    await session.form(former=ScriptedFormer(repeating), rest=True)
    return session


async def marked(session: pagefault.Session) -> set[str]:
    """The messages that a search shows as changed since."""
    found = await session.recall("PostgreSQL 15 it is", limit=9)
    return {
        one.page.page_id for one in found.hits if one.lapse and one.page.page_id.startswith("msg_")
    }


@pytest.mark.parametrize("by_user", [False, True])
async def test_what_is_proposed_again_is_further_proof_and_lifts_no_authority(
    by_user: bool,
) -> None:
    async with pagefault.open(":memory:", limits=LIMITS) as memory:
        session = await said_twice(memory, by_user=by_user)
        first, *more = await session.claims()
        assert first.status == "standing"
        assert first.authority == ("user" if by_user else "proposed")
        assert [one.page_id for one in first.evidence] == ["msg_1", "msg_3"]
        assert first.quotes == ("PostgreSQL 15 it is",) * 2
        assert [(one.became, one.origin) for one in more] == [
            (f"merged into {first.claim_id}", "model_generated")
        ], "its own record keeps where it comes from"
        assert [(one.what, one.claim_id) for one in first.history] == [
            ("made", first.claim_id),
            ("merged", more[0].claim_id),
        ]
        dropped = [one for each in await session.formations() for one in each.dropped]
        assert [(one.why, one.count) for one in dropped] == (
            [("repeated", 1)] if by_user else []
        ), "the very words that the claim rests on prove nothing more"
        card = (await session.cards())[0]
        assert [one.quote for one in card.evidence] == ["PostgreSQL 15 it is"] * 2
        # What takes the claim back takes it back wherever it was said.
        await session.retract(first.claim_id)
        await session.user("Which database?")
        assert await marked(session) == {"msg_1", "msg_3"}
        await session.undo()
        assert await marked(session) == set()
        assert [one.page_id for one in (await session.claims())[-1].evidence] == ["msg_1", "msg_3"]


async def test_one_proof_that_is_forgotten_leaves_the_other_and_a_forgotten_claim_stays_away(
    tmp_path: Path,
) -> None:
    async with pagefault.open(tmp_path / "m", limits=LIMITS, sync="os") as memory:
        session = await said_twice(memory)
        await memory.forget(session, "msg_3")
        [one] = await session.claims()
        assert (one.status, [span.page_id for span in one.evidence]) == ("standing", ["msg_1"])
        other = await said_twice(memory, "other")
        assert len(await other.claims()) == 2
        await memory.forget(other, "msg_1")
        assert await other.claims() == [], "what was merged came back in its place"
        await memory.forget(session, "msg_1")
    assert files_with(tmp_path, CLAIM.encode()) == []


async def test_a_memory_of_two_sessions_of_one_user_names_both_until_one_is_forgotten() -> None:
    async with pagefault.open(":memory:", limits=LIMITS) as memory:
        earlier = await said_twice(memory, "earlier")
        stranger = await said_twice(memory, "stranger")
        for name, user in (("earlier", "ann"), ("later", "ann"), ("stranger", "bob")):
            await memory.session(name)
            await memory.assign(name, user=user)
        later = await said_twice(memory, "later")
        [one, *_] = await later.claims()
        assert [span.page_id for span in one.evidence] == ["msg_1", "msg_3"]
        [other] = one.elsewhere
        assert (other.session_id, other.claim_id) == (earlier.session_id, "clm_1")
        assert other.status == "standing"
        assert [span.page_id for span in other.evidence] == ["msg_1"]
        assert stranger.session_id not in str(await later.cards())
        assert (await later.cards())[0].elsewhere == one.elsewhere
        assert earlier.session_id not in text_of(await later.request()), "ids only, and not there"
        [newer] = (await earlier.claims())[0].elsewhere
        assert (newer.session_id, newer.claim_id) == (later.session_id, "clm_1"), "and it back"
        assert [one.elsewhere for one in await stranger.claims()] == [(), ()]
        await earlier.retract("clm_1")
        assert (await later.claims())[0].elsewhere[0].status == "retracted", "it is not hidden"
        assert (await later.claims())[0].status == "standing", "and it is not this session's claim"
        await memory.forget(earlier)
        assert (await later.claims())[0].elsewhere[0].status == "forgotten"
        await memory.forget(later)
        assert [one.elsewhere for one in await stranger.claims()] == [(), ()]


async def held(session: pagefault.Session) -> list[tuple[str, list[str]]]:
    """The authority of each claim that stands, and the pages that it rests on."""
    return [
        (one.authority, sorted({span.page_id for span in one.evidence}))
        for one in await session.claims()
        if one.status == "standing"
    ]


@pytest.mark.parametrize("how", ["retract", "expire_claim"])
async def test_a_claim_that_an_undo_restores_takes_in_what_was_formed_meanwhile(
    tmp_path: Path, how: str
) -> None:
    async with pagefault.open(tmp_path / "m", limits=LIMITS, sync="os") as memory:
        session = await said(memory, "s", by_user=True)
        await getattr(session, how)("clm_1")
        await session.form(former=ScriptedFormer(repeating), rest=True)
        assert await held(session) == [("proposed", ["msg_1", "msg_3"])]
        for _ in range(2):
            await session.undo()
            assert await held(session) == [("user", ["msg_1", "msg_3"])]
            await session.redo()
            assert await held(session) == [], "what took it back takes back its proofs, too"
        await session.undo()
        await memory.forget(session, "msg_3")
        assert await held(session) == [("user", ["msg_1"])]
        await memory.forget(session, "msg_1")
        assert await held(session) == []
    assert files_with(tmp_path, CLAIM.encode()) == []


async def merge(session: pagefault.Session) -> None:
    other = await session.claim("The survey is on", evidence=["the survey"], kind="decision")
    await session.merge_claims([other, "clm_1"], value="The survey is on PostgreSQL 15")


REVISIONS = {
    "its kind": lambda session: session.edit_claim("clm_1", kind="fact"),
    "its words": lambda session: session.edit_claim("clm_1", value="use PostgreSQL 15.4"),
    "two in one": merge,
}


@pytest.mark.parametrize("what", REVISIONS)
async def test_a_claim_that_a_person_revises_keeps_its_proofs(what: str) -> None:
    async with pagefault.open(":memory:", limits=LIMITS) as memory:
        session = await said_twice(memory, by_user=True)
        await REVISIONS[what](session)
        assert await held(session) == [("user", ["msg_1", "msg_3"])]
        assert await marked(session) == set(), "no words of the second proof are marked as closed"


async def test_a_models_words_are_no_proof_of_what_the_user_words_anew() -> None:
    async with pagefault.open(":memory:", limits=LIMITS) as memory:
        session = await memory.session("s")
        await session.user(FIRST)
        await session.claim(CLAIM, evidence=["PostgreSQL 15 it is"])
        await session.assistant(f"{AGAIN} {words(200)}")
        await session.user("Yes.")
        await session.form(former=ScriptedFormer(repeating), rest=True)
        assert await held(session) == [("user", ["msg_1", "msg_2"])]
        await session.edit_claim("clm_1", value="use PostgreSQL 15.4")
        assert await held(session) == [("user", ["msg_1"])]


async def test_control_a_book_that_drops_what_is_merged_fails_the_tests_above(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ClaimBook, "merged", lambda book: {})
    with pytest.raises(AssertionError):
        await test_what_is_proposed_again_is_further_proof_and_lifts_no_authority(True)


async def test_control_an_undo_that_merges_nothing_fails_the_test_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Plan, "_join", lambda *given: None)
    with pytest.raises(AssertionError):
        await test_a_claim_that_an_undo_restores_takes_in_what_was_formed_meanwhile(
            tmp_path, "retract"
        )
