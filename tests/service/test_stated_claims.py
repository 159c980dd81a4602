"""Claims that are stated: on words that were said, with the authority of their channel."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any, Literal

import pytest

import pagefault
from pagefault import (
    BadInput,
    Evidence,
    FileQuote,
    NoSuchPage,
    Quote,
    RecordGone,
    Session,
    SessionBusy,
)
from pagefault.service.bootstrap import open_memory
from pagefault.service.derived.claims import ClaimInfo
from tests.service.memories import text_of

SAID = "ok so: let's go with postgres\nfor the orders. And don’t deploy on fridays, please"


async def _standing(session: Session) -> list[ClaimInfo]:
    return [claim for claim in await session.claims() if claim.status == "standing"]


async def test_a_claim_in_other_words_rests_on_what_the_user_typed() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        page_id = await session.user(SAID)
        claim_id = await session.claim(
            "Orders live in PostgreSQL",
            evidence=["let's go with postgres for the orders"],
            subject="database",
        )
        [claim] = await session.claims()
        assert (claim.claim_id, claim.text) == (
            claim_id,
            "Decision: database: Orders live in PostgreSQL",
        )
        assert (claim.authority, claim.origin, claim.subject) == ("user", "user_typed", "database")
        assert claim.quotes == ("let's go with postgres\nfor the orders",)
        assert [span.page_id for span in claim.evidence] == [page_id]
        session.check()


async def test_what_is_remembered_says_what_was_said_word_for_word() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        await session.user(SAID)
        await session.remember("don't deploy on fridays", kind="rule")
        [claim] = await session.claims()
        assert claim.value == "don’t deploy on fridays"
        assert (await session.request()).tail.endswith("Rule: don’t deploy on fridays")


async def test_a_stated_claim_stands_in_the_next_request_and_after_a_restart(
    tmp_path: Path,
) -> None:
    async with pagefault.open(tmp_path / "m", window=4_000) as memory:
        session = await memory.session("work")
        await session.user(SAID)
        await session.request()
        await session.assistant("Noted.")
        claim_id = await session.claim("Orders live in PostgreSQL", evidence=["go with postgres"])
        await session.user("Next, please.")
        assert f"C ({claim_id}" in text_of(await session.request())
    async with pagefault.open(tmp_path / "m", window=4_000) as memory:
        session = await memory.session("work")
        assert [claim.claim_id for claim in await _standing(session)] == [claim_id]
        assert f"C ({claim_id}" in text_of(await session.request())


@pytest.mark.parametrize(
    ("origin", "said_by"),
    [
        ("model_generated", "user"),
        ("tool:notes", "user"),
        ("web", "user"),
        ("user_typed", "assistant"),
        ("user_typed", "document"),
    ],
)
async def test_without_the_users_channel_and_the_users_words_it_is_only_proposed(
    origin: str, said_by: str
) -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        await session.user("Something else." if said_by != "user" else SAID)
        if said_by == "assistant":
            await session.assistant(SAID)
        elif said_by == "document":
            await session.document(SAID)
        users = await session.user("Our orders live in a box.")
        kept = await session.remember("Our orders live in a box", page_id=users, subject="orders")
        await session.claim(
            "Orders live in PostgreSQL",
            evidence=["go with postgres"],
            subject="orders",
            origin=origin,
        )
        first, proposed = await session.claims()
        assert (first.claim_id, first.status, first.authority) == (kept, "standing", "user")
        assert (proposed.status, proposed.authority) == ("standing", "proposed")
        assert proposed.origin not in ("user_typed", "user_approved")
        await session.user("Next.")
        assert "PostgreSQL" not in text_of(await session.request())
        with pytest.raises(BadInput, match="user's authority"):
            await session.retract(kept, origin="model_generated")
        with pytest.raises(BadInput, match="user's authority"):
            await session.claim(
                "No orders", evidence=["go with postgres"], replaces=kept, origin="model_generated"
            )


async def test_words_of_a_user_and_of_another_have_the_authority_of_the_other() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        await session.user(SAID)
        await session.assistant("Redis suits the cache.")
        await session.claim("Redis and postgres", evidence=["go with postgres", "Redis suits"])
        [claim] = await session.claims()
        assert (claim.authority, claim.origin) == ("proposed", "model_generated")
        assert len(claim.evidence) == 2


async def test_words_that_nobody_said_are_no_evidence() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        page_id = await session.user(SAID)
        await session.user("What now?")
        refused: tuple[list[str | Quote | Evidence], ...] = (
            [],
            ["let's go with mysql"],
            ["t deploy on fridays"],  # half a word can turn it round
            ["postgres for the order"],
            [" \n"],
            [","],
            [". "],
            [Quote("What now?", page_id)],
            [Evidence(page_id=pagefault.PageId("msg_1"), start=3, end=999)],
            [Evidence(page_id=pagefault.PageId("msg_1"), start=9, end=9)],
            [Evidence(page_id=pagefault.PageId("msg_1"), start=-4, end=9)],
            [Evidence(page_id=pagefault.PageId("msg_1"), start=50, end=54)],  # within a letter
        )
        assert "’".encode() == SAID.encode()[53:56]
        for evidence in refused:
            with pytest.raises(BadInput) as caught:
                await session.claim("So it is", evidence=evidence)
            assert caught.value.hint, evidence
        with pytest.raises(NoSuchPage):
            await session.claim("So it is", evidence=[Quote("What now?", "msg_9")])
        assert await session.claims() == []


async def test_words_are_looked_for_where_the_user_typed_them_and_the_newest_first() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        words = ["The gate opens at nine.", "那扇门九点开。", "to be or not to be"]
        for text in words:
            await session.user(text)
        for text in words:
            await session.user(f"Again: {text}")
        for text in words:
            await session.assistant(f"You said: {text}")
        for place, text in enumerate(words):
            await session.remember(text)
            claim = (await session.claims())[-1]
            assert claim.evidence[0].page_id == f"msg_{4 + place}"
            assert claim.authority == "user"


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        ("For the orders don't use Oracle at all.", "use Oracle at all"),
        ("We will never go back to Oracle.", "go back to Oracle"),
        ("Wir nehmen Oracle nicht, das ist zu teuer.", "Wir nehmen Oracle"),
        ("我们不用 Oracle 数据库。", "Oracle 数据库"),
        ("Nous n'utilisons pas Oracle pour la facturation.", "Oracle pour la facturation"),
        ("On n'utilise plus Oracle chez nous.", "Oracle chez nous"),
        ("Ya no usamos Oracle para la facturación.", "Oracle para la facturación"),
        ("Non usiamo Oracle per la fatturazione, e non è una buona idea.", "usiamo Oracle"),
        ("We gebruiken geen Oracle voor onze facturen, dat is te duur.", "Oracle voor onze"),
        ("We dont use Oracle for billing.", "use Oracle for billing"),
        ("We can´t use Oracle for billing.", "use Oracle for billing"),
        ("Das ist klar.\n\nWe talked. Kein Oracle für uns, bitte.", "Oracle für uns"),
    ],
)
async def test_a_quotation_that_leaves_out_its_denial_says_the_opposite(
    said: str, quoted: str
) -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        page_id = await session.user(said)
        start = len(said[: said.index(quoted)].encode())
        span = Evidence(page_id=page_id, start=start, end=start + len(quoted.encode()))
        for evidence in (quoted, Quote(quoted, page_id), span):
            with pytest.raises(BadInput, match="denies these words") as caught:
                await session.claim("Oracle it is", evidence=[evidence])
            assert "not so" in caught.value.hint
        assert await session.claims() == []
        await session.claim("never Oracle", evidence=[quoted])
        await session.remember(said)


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        ("Don't worry about the costs, use Oracle.", "use Oracle"),
        ("Not MySQL! We go with Oracle here.", "We go with Oracle"),
        ("Use Oracle not MySQL", "Use Oracle"),
        ("Wir nehmen Oracle und nicht MySQL.", "Wir nehmen Oracle"),
    ],
)
async def test_control_a_denial_of_something_else_keeps_nothing_from_being_quoted(
    said: str, quoted: str
) -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        await session.user(said)
        await session.remember(quoted)
        assert [claim.value for claim in await session.claims()] == [quoted]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
async def test_words_are_the_same_in_whichever_unicode_form(form: Literal["NFC", "NFD"]) -> None:
    said, quoted = "Das Café heißt Zoë, 각각 드림.", "Café heißt Zoë, 각각"
    other: Literal["NFC", "NFD"] = "NFC" if form == "NFD" else "NFD"
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        await session.user(unicodedata.normalize(form, said))
        await session.remember(unicodedata.normalize(other, quoted))
        [claim] = await session.claims()
        assert claim.quotes == (unicodedata.normalize(form, quoted),)
        with pytest.raises(BadInput):
            await session.remember("Cafe heißt Zoe")


async def test_what_a_model_proposed_in_the_same_words_goes_with_what_the_user_takes_back() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        await session.user(SAID)
        kept = await session.claim("Postgres", evidence=["go with postgres"])
        other = "don't deploy on fridays"
        for value, evidence in (("postgres", "go with postgres"), ("No Fridays", other)):
            await session.claim(value, evidence=[evidence], origin="model_generated")
        assert len(await _standing(session)) == 3
        note = await session.retract(kept)
        assert [claim.value for claim in await _standing(session)] == ["No Fridays"]
        assert {claim.closed_by for claim in await session.claims()} == {note, ""}
        session.check()
        await session.undo()  # what the user said is said again
        standing = {claim.value: claim.authority for claim in await _standing(session)}
        assert standing == {"No Fridays": "proposed", "Postgres": "user"}


async def test_what_was_derived_edited_or_forgotten_proves_nothing() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        old = await session.user(SAID)
        claim_id = await session.remember("go with postgres")
        with pytest.raises(BadInput, match="derived from other pages"):
            await session.claim("x", evidence=[Quote("go with postgres", claim_id)])
        gone = await session.user("The vault is green.")
        await memory.forget("work", gone)
        with pytest.raises((RecordGone, NoSuchPage)):
            await session.claim("x", evidence=[Quote("The vault", gone)])
        with pytest.raises(BadInput, match="nobody said"):
            await session.remember("The vault is green")
        edited = pagefault.Incoming(text="Never mind.", role=pagefault.Role.USER, supersedes=old)
        await session.say([edited], origin="user_typed")
        for evidence in (Quote("go with postgres", old), "go with postgres"):
            with pytest.raises(BadInput):
                await session.claim("x", evidence=[evidence])
        assert await _standing(session) == []


async def test_a_claim_takes_the_place_of_that_on_its_subject_or_of_the_named() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        await session.user("postgres it is. no, mysql. tabs everywhere. spaces after all. redis!")
        first = await session.remember("postgres it is", subject="database")
        second = await session.remember("mysql", subject="the DB")
        tabs = await session.remember("tabs everywhere")
        spaces = await session.remember("spaces after all", replaces=tabs)
        told = {claim.claim_id: claim for claim in await session.claims()}
        assert (told[first].status, told[first].closed_by) == ("superseded", second)
        assert (told[tabs].status, told[tabs].closed_by) == ("superseded", spaces)
        assert told[spaces].text.endswith(f"(instead of {tabs})")
        with pytest.raises(BadInput, match="no longer holds"):
            await session.remember("redis", replaces=first)
        with pytest.raises(BadInput, match="on the same subject"):
            await session.remember("redis", subject="database", replaces=spaces)
        with pytest.raises(NoSuchPage, match="no claim"):
            await session.remember("redis", replaces="clm_99")
        with pytest.raises(BadInput, match="already says that"):
            await session.remember("mysql", replaces=spaces)
        session.check()


async def test_a_claim_is_taken_back_and_undone_as_any_other_act() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        await session.user(SAID)
        claim_id = await session.remember("go with postgres")
        note = await session.retract(claim_id)
        told = {claim.claim_id: claim for claim in await session.claims()}
        assert (told[claim_id].status, told[claim_id].closed_by) == ("retracted", note)
        assert "postgres" not in told[note].text
        assert (await session.page(note)).derived.provenance == (claim_id,)  # type: ignore[union-attr]
        with pytest.raises(BadInput, match="no longer holds"):
            await session.retract(claim_id)
        with pytest.raises(BadInput, match="states nothing itself"):
            await session.retract(note)
        assert (await session.undo()).what == "claims"
        assert [claim.value for claim in await _standing(session)] == ["go with postgres"]
        await session.undo()
        assert await _standing(session) == []
        await session.redo()
        assert [claim.quotes for claim in await _standing(session)] == [("go with postgres",)]


async def test_taking_back_can_be_undone_and_done_again() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        await session.user(SAID)
        await session.retract(await session.remember("go with postgres"))
        for _ in range(2):
            await session.undo()
            assert [one.value for one in await _standing(session)] == ["go with postgres"]
            await session.redo()
            assert await _standing(session) == []


async def test_a_retry_finds_what_was_done(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("work")
        said = await session.user(SAID, key="message")
        made = await session.remember("go with postgres", key="k")
        note = await session.retract(made, key="r")
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("work")
        assert await session.remember("go with postgres", key="k") == made
        assert await session.retract(made, key="r") == note
        with pytest.raises(BadInput, match=f"{said}, which is something else"):
            await session.remember("go with postgres", key="message")
        with pytest.raises(BadInput, match=f"{made}, which is something else"):
            await session.retract(made, key="k")
        with pytest.raises(BadInput, match=f"{note}, which is something else"):
            await session.remember("go with postgres", key="r")
        with pytest.raises(BadInput, match="which is not a message"):
            await session.user("Other words, which would be lost.", key="k")
        assert len(await session.claims()) == 2
        await memory.forget("work", said)
        with pytest.raises(RecordGone):
            await session.remember("go with postgres", key="k")


async def test_the_first_message_of_a_session_does_not_take_the_key_of_a_claim(
    tmp_path: Path,
) -> None:
    (tmp_path / "app.py").write_text("PORT = 8080\n")
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        evidence = [FileQuote("PORT = 8080", "app.py", str(tmp_path))]
        await session.claim("it listens on port 8080", evidence=evidence, key="k")
        with pytest.raises(BadInput, match="which is not a message"):
            await session.user("Other words, which would be lost.", key="k")


async def test_what_stands_already_is_not_written_again() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        await session.user("Let's use Valkey for the cache.")
        [extracted] = await session.claims()
        same = await session.remember("Let's use Valkey for the cache", kind="decision")
        assert same == extracted.claim_id
        assert len(await session.claims()) == 1


async def test_a_stated_claim_is_forgotten_with_the_words_it_rests_on() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        said = await session.user(SAID)
        await session.claim("Orders live in PostgreSQL", evidence=["go with postgres"])
        await memory.forget("work", said)
        assert await session.claims() == []
        assert (await memory.verify()).problems == ()


async def test_a_secret_in_a_claim_is_redacted_like_any_text() -> None:
    secret = "correct-horse-battery"
    async with pagefault.open(":memory:", secrets={"VAULT": secret}) as memory:
        session = await memory.session("work")
        await session.user(f"the key is {secret}, keep it")
        await session.remember(f"the key is {secret}")
        await session.claim(f"use {secret}", evidence=["keep it"], subject=f"{secret} key")
        told = await session.claims()
        assert [claim.authority for claim in told] == ["user", "user"]
        assert secret not in str(told)


async def test_rules_are_refused_by_name_where_there_is_no_room_to_recite_them() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        rules = [f"never touch folder {n}" for n in range(4)]
        await session.user(". ".join(rules))
        made = [await session.remember(rule, kind="rule") for rule in rules[:2]]
        tail = (await session.request()).tail
        with pytest.raises(BadInput, match=f"{made[0]}, {made[1]}"):
            await session.remember(rules[2], kind="rule")
        assert (await session.request()).tail == tail
        await session.remember(rules[2], kind="rule", replaces=made[0])
        assert rules[2] in (await session.request()).tail
        with pytest.raises(BadInput, match="longer than the 50 tokens"):
            await session.claim("never do " + "this or " * 40, evidence=["touch"], kind="rule")
        await session.remember(rules[3], kind="rule", origin="model_generated")


async def test_what_no_claim_can_be_is_refused_and_says_what_to_do() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        await session.user(SAID)
        kinds: list[dict[str, Any]] = [{"kind": one} for one in ("goal", "retraction", "hunch")]
        for wrong in kinds:
            with pytest.raises(BadInput) as caught:
                await session.claim("x", evidence=["postgres"], **wrong)
            assert caught.value.hint
        others: list[dict[str, Any]] = [
            {"origin": "runtime"},
            {"origin": "me"},
            {"subject": "x" * 2_000},
            {"subject": "vm:goal"},
        ]
        for wrong in others:
            with pytest.raises(BadInput):
                await session.claim("x", evidence=["postgres"], **wrong)
        for value in ("", " \n", "word " * 120):
            with pytest.raises(BadInput):
                await session.claim(value, evidence=["postgres"])
        await session.goal("Draw the wells.")
        with pytest.raises(BadInput, match="goal"):
            await session.retract("clm_1")
        assert await session.claims() == []


async def test_a_fork_states_claims_on_what_its_parent_was_told() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        await session.user(SAID)
        fork = await session.fork("other")
        await fork.remember("go with postgres")
        assert [claim.authority for claim in await fork.claims()] == ["user"]
        assert await session.claims() == []


async def test_rules_off_leave_the_sure_way_open() -> None:
    async with open_memory(":memory:", claims="off") as memory:
        session = await memory.session("work")
        await session.user("Let's use Valkey for the cache.")
        assert await session.claims() == []
        await session.remember("Let's use Valkey for the cache")
        assert len(await session.claims()) == 1


async def test_who_does_not_hold_the_session_states_nothing(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as one, pagefault.open(tmp_path / "m") as two:
        first, second = await one.session("work"), await two.session("work")
        await first.user(SAID)
        with pytest.raises(SessionBusy):
            await second.remember("go with postgres")
        made = await first.remember("go with postgres")
        assert [claim.claim_id for claim in await second.claims()] == [made]
