"""Claims as cards: what rests on what, what is stale, and what no request shows as if it held."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault import BadInput, CardFacts, PageId, Quote, Session
from pagefault.model.clock import SystemClock
from pagefault.service.bootstrap import open_memory
from pagefault.service.window.core import Core
from tests.service.memories import text_of

DAY_MS = 24 * 60 * 60 * 1000


class Clock(SystemClock):
    def __init__(self) -> None:
        self.days = 0.0

    def now_ms(self) -> int:
        return 1_700_000_000_000 + int(self.days * DAY_MS)


async def status(session: Session) -> dict[PageId, str]:
    return {claim.claim_id: claim.status for claim in await session.claims()}


async def said(session: Session, words: str, **given: Any) -> PageId:
    await session.user(words)
    return await session.remember(words, **given)


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
        assert told[pool].why == f"it rests on {driver}, which no longer holds"
        assert told[other].status == "standing"
        await session.undo()
        assert (await status(session))[pool] == "standing"
        [again] = [one for one in await session.claims() if one.claim_id == driver]
        assert again.derived_from != (database,), "the claim that stands again has another id"
        session.check()


@pytest.mark.parametrize("how", ["too old", "failed", "its source", "ended"])
@pytest.mark.parametrize("again", ["a message", "stated"])
async def test_what_lapsed_and_is_said_again_holds_again(how: str, again: str) -> None:
    clock, words = Clock(), "Let's use Postgres 16 for the database."
    async with open_memory(":memory:", clock=clock) as memory:
        session = await memory.session("work")
        source = await said(session, "Wir hosten selbst.", kind="fact")
        await session.user(words)
        [first] = [one.claim_id for one in await session.claims() if one.type == "decision"]
        if how == "its source":
            first = await session.edit_claim(first, derived_from=[source])
        above = await session.claim("Der Treiber ist psycopg.", derived_from=[first], kind="fact")
        match how:
            case "too old":
                clock.days = 29
            case "failed":
                await session.validate_claims([first], verdict="fail")
            case "its source":
                await session.retract(source)
            case _:
                await session.expire_claim(first)
        assert (await status(session))[first] in ("stale", "expired"), "control: it has lapsed"
        await session.user(words)
        if again == "stated":
            await session.undo()
            await session.remember(words, kind="decision")
        now = await status(session)
        assert (await session.known("Postgres database", kinds=["decision"])).is_known
        assert now[first] == "superseded", "no request and no review has it any more"
        assert now[above] == ("stale" if how == "ended" else "standing"), "ended: nobody looked"
        held = len(await session.claims())
        await session.remember(words, kind="decision")
        assert len(await session.claims()) == held, "what holds is not written twice"
        session.check()


async def test_what_was_taken_back_and_is_said_again_is_another_claim() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        first = await said(session, "Wir nehmen PostgreSQL.", kind="decision")
        above = await session.claim("Der Treiber ist psycopg.", derived_from=[first])
        await session.retract(first)
        again = await said(session, "Wir nehmen PostgreSQL.", kind="decision")
        told = await status(session)
        assert (told[again], told[above]) == ("standing", "stale"), "nobody looked at it since"
        edited = await session.edit_claim(above, derived_from=[again])
        assert (await status(session))[edited] == "standing"
        await session.retract(again)
        assert (await status(session))[edited] == "stale"
        await session.undo()
        assert (await status(session))[edited] == "standing", "it never was taken back"


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
        with pytest.raises(BadInput, match="no longer holds"):
            await session.claim("Port 6379 is open.", derived_from=[proposed])


async def read_on(session: Session) -> None:
    """So much that what was said before is in front of the window alone."""
    for number in range(24):
        await asked(session, f"Chapter {number}: " + "lorem ipsum dolor sit amet " * 20)
        await session.assistant(f"Read chapter {number}.")


async def test_no_request_shows_a_stale_claim_as_if_it_held(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", window=2_500) as memory:
        session = await memory.session("work")
        database = await said(session, "We run on PostgreSQL.", kind="decision")
        await session.claim("The driver is called psycopg.", derived_from=[database])
        await read_on(session)
        assert "The driver is called psycopg." in await asked(session, "Next chapter, please.")
        await session.retract(database)
        text = await asked(session, "And the next one.")
        assert "psycopg" not in text, "it left the front of the window at once"
        text = await asked(session, "Which driver is it that we said is called something?")
        [line] = [one for one in text.splitlines() if "psycopg" in one]
        assert "stale: it rests on " in line
        before = await session.request()
        session.check()
    async with pagefault.open(tmp_path / "m", window=2_500) as memory:
        session = await memory.session("work")
        assert (await session.request()).messages == before.messages


async def test_control_a_window_that_knows_of_no_lapse_fails_the_test_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Core, "lapses", {})
    with pytest.raises(AssertionError, match="left the front"):
        await test_no_request_shows_a_stale_claim_as_if_it_held(tmp_path)


async def test_a_decision_that_nobody_checked_for_28_days_is_in_no_request_unmarked() -> None:
    clock = Clock()
    async with open_memory(":memory:", clock=clock, window=2_500) as memory:
        session = await memory.session("work")
        await said(session, "We run on PostgreSQL 16.", kind="decision")
        await said(session, "My cat is called Tom.", kind="fact")
        kept = CardFacts(decay_days=0)
        await said(session, "We never deploy on Fridays.", kind="decision")
        await session.claim("Ship weekly.", evidence=["never deploy on Fridays"], facts=kept)
        await read_on(session)
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
    expected: dict[str, dict[PageId, str]] = {}
    async with pagefault.open(tmp_path / "m") as memory:
        for seed in range(graphs):
            chance = random.Random(seed)
            session = await memory.session(f"graph-{seed}")
            sources: dict[PageId, list[PageId]] = {}
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

            def is_stale(
                one: PageId, sources: dict[PageId, list[PageId]], gone: list[PageId]
            ) -> bool:
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


async def test_an_edit_of_the_words_is_another_claim_and_any_other_edit_is_the_same() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        database = await said(session, "We run on PostgreSQL.", kind="decision")
        driver = await session.claim("The driver is psycopg.", derived_from=[database])
        owned = await session.edit_claim(database, facts=CardFacts(owner="ann", branch="main"))
        told = {one.claim_id: one for one in await session.claims()}
        assert (told[database].status, told[driver].status) == ("superseded", "standing")
        assert told[driver].derived_from == (owned,)
        other = await session.edit_claim(owned, value="We run on PostgreSQL 16.")
        assert (await status(session))[driver] == "stale"
        assert await session.edit_claim(other, value="We run on PostgreSQL 16.") == other
        card = next(one for one in await session.cards() if one.card_id == other)
        assert (card.scope.branch, card.owner, card.claim) == (
            *("main", "ann"),
            "We run on PostgreSQL 16.",
        )
        assert [one.what for one in card.edit_history] == ["made", "edited", "superseded"]
        assert card.evidence[0].quote == "We run on PostgreSQL."
        await session.undo()
        assert (await status(session))[driver] == "standing"
        source = next(c for c in await session.claims() if c.claim_id == driver).derived_from[0]
        with pytest.raises(BadInput, match="itself"):
            await session.edit_claim(source, derived_from=[driver])


async def test_merged_claims_keep_both_proofs_and_come_back_together() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        one = await said(session, "Lint with ruff.", kind="procedure")
        two = await said(session, "Run ruff before you push.", kind="procedure")
        merged = await session.merge_claims([one, two], value="Run ruff before each push.")
        told = {claim.claim_id: claim for claim in await session.claims()}
        assert [told[c].closed_by for c in (one, two)] == [merged, merged]
        assert told[merged].quotes == ("Lint with ruff.", "Run ruff before you push.")
        with pytest.raises(BadInput, match="no longer holds"):
            await session.retract(two)
        await session.undo()
        standing = [c.value for c in await session.claims() if c.status == "standing"]
        assert standing == ["Lint with ruff.", "Run ruff before you push."]
        await session.redo()
        standing = [c.value for c in await session.claims() if c.status == "standing"]
        assert standing == ["Run ruff before each push."]
        session.check()


async def test_a_proposal_is_lifted_by_the_digest_of_just_these_words_and_by_nothing_else() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        await session.user("The cache could be Valkey.")
        await said(session, "The cache is Redis.", kind="decision", subject="cache")
        proposed = await session.claim(
            "Use Valkey for the cache.",
            evidence=["The cache could be Valkey"],
            subject="cache",
            origin="model_generated",
        )
        claim = (await session.claims())[-1]
        assert claim.authority == "proposed"
        await session.claim("Valkey is fast.", evidence=["Valkey"], origin="web")
        wrong = (await session.claims())[-1].digest
        with pytest.raises(BadInput, match="not the current digest"):
            await session.confirm_claim(proposed, wrong)
        lifted = await session.confirm_claim(proposed, claim.digest)
        told = {one.claim_id: one for one in await session.claims()}
        assert (told[lifted].authority, told[lifted].origin) == ("user", "user_approved")
        assert [one.value for one in told.values() if one.status == "standing"] == [
            "Valkey is fast.",
            "Use Valkey for the cache.",
        ]
        assert (await session.page(lifted, details=True)).label == "user_approved"
        await session.undo()
        standing = {
            one.value: one.authority for one in await session.claims() if one.status == "standing"
        }
        assert standing["The cache is Redis."] == "user"
        assert standing["Use Valkey for the cache."] == "proposed"


async def test_a_check_that_fails_makes_stale_and_one_that_passes_renews(tmp_path: Path) -> None:
    clock = Clock()
    (tmp_path / "app.py").write_text("import sys\nPORT = 8080\n")
    heads = tmp_path / ".git" / "refs" / "heads"
    heads.mkdir(parents=True)
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (heads / "main").write_text("0" * 40)
    root = str(tmp_path)
    async with open_memory(":memory:", clock=clock) as memory:
        session = await memory.session("work")
        port = await session.claim(
            "The port is 8080.",
            evidence=[pagefault.FileQuote("PORT = 8080", "app.py", root)],
            kind="project_fact",
            facts=CardFacts(branch="main"),
        )
        above = await session.claim("Open 8080 in the firewall.", derived_from=[port])
        [card, _] = await session.cards()
        assert (card.evidence[0].kind, card.evidence[0].ref) == ("file", "app.py:2")
        assert (card.validation.status, card.ttl_policy.decay_days) == ("proposed", 28)
        clock.days = 20
        (tmp_path / "app.py").write_text("import os\nimport sys\n# the port\nPORT = 8080\n")
        [found, _] = await session.validate_claims(root=root)
        assert (found.outcome, found.validators) == ("pass", ("files", "branch"))
        clock.days = 40
        assert (await status(session))[port] == "standing", "trusted for 28 days from the check on"
        (tmp_path / "app.py").write_text("PORT = 9090\n")
        (heads / "main").unlink()
        found = (await session.validate_claims([port], root=root, dry_run=True))[0]
        assert [one.why for one in found.looks] == [
            "the file does not say it any more",
            "the branch is not there",
        ]
        assert (await status(session))[port] == "standing"
        await session.validate_claims([port], root=root)
        assert (await status(session)) == {port: "stale", above: "stale"}
        await session.validate_claims([port], verdict="pass")
        assert (await status(session))[port] == "standing"
        await session.undo()
        assert (await status(session))[port] == "stale"
        [told] = await session.validate_claims([port])
        assert (told.outcome, told.done) == ("unknown", False)


async def test_a_claim_on_a_run_fails_once_the_same_command_fails() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        ran = await session.record_event(
            "command_run", "3 passed", facts={"argv": ["pytest", "-q"], "exit_code": 0}
        )
        green = await session.claim(
            "The tests pass.", evidence=[pagefault.Quote("3 passed", ran)], kind="task_state"
        )
        [check] = await session.validate_claims()
        assert (check.outcome, check.validators) == ("pass", ("spans", "runs"))
        [card] = await session.cards()
        assert (card.card_type, card.evidence[0].kind) == ("task_state", "command")
        await session.record_event(
            "command_run", "1 failed", facts={"argv": ["pytest", "-q"], "exit_code": 1}
        )
        [check] = await session.validate_claims()
        assert [one.why for one in check.looks] == ["", "it failed when it was run last"]
        assert (await status(session))[green] == "stale"


async def test_a_client_that_rules_in_a_loop_writes_no_more_than_there_is_to_say() -> None:
    clock = Clock()
    async with open_memory(":memory:", clock=clock) as memory:
        session = await memory.session("work")
        claim = await said(session, "We meet on Mondays.", origin="tool:mcp")
        others = [await said(session, f"We meet in week {n}.") for n in range(18)]

        async def rulings() -> list[str]:
            told = {card.card_id: card for card in await session.cards()}[claim]
            return [edit.what for edit in told.edit_history[1:]]

        told = [(await session.validate_claims([claim]))[0] for _ in range(5)]
        assert [one.outcome for one in told] == ["pass"] * 5
        assert [one.done for one in told] == [True, False, False, False, False]
        assert await rulings() == ["checked: pass"]
        clock.days += 1
        await session.validate_claims([claim])
        await session.validate_claims([claim], verdict="pass")
        assert await rulings() == ["checked: pass"] * 3, "a day later, and whatever a person says"
        for other in others[:16]:
            await session.contradict_claim(other, claim, origin="tool:mcp")
        for pair in ((others[16], claim), (claim, others[17])):
            with pytest.raises(BadInput, match="by 16 claims already"):
                await session.contradict_claim(*pair, origin="tool:mcp")
        await session.contradict_claim(claim, others[0], origin="tool:mcp")
        for _ in range(3):
            await session.expire_claim(claim, origin="tool:mcp")
        assert (await rulings()).count("contradicted") == 16
        assert (await rulings()).count("ended") == 1


async def test_what_is_ended_or_contradicted_is_told_and_undone() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        one = await said(session, "We meet on Mondays.")
        two = await said(session, "The meeting is on Tuesday.")
        above = await session.claim("Book the room.", derived_from=[one])
        await session.contradict_claim(one, two)
        told = {claim.claim_id: claim for claim in await session.claims()}
        assert (told[one].contradicts, told[two].contradicts) == ((two,), (one,))
        await session.expire_claim(one, dry_run=True)
        assert (await status(session))[above] == "standing"
        await session.expire_claim(one)
        assert await status(session) == {one: "expired", two: "standing", above: "stale"}
        assert (await session.undo()).what == "ruling"
        assert (await status(session))[above] == "standing"
        await session.redo()
        await session.undo()
        await session.undo()
        assert not (await session.claims())[0].contradicts
        with pytest.raises(BadInput, match="user's authority"):
            await session.expire_claim(one, origin="model_generated")


async def test_what_was_never_said_or_taken_back_is_not_in_memory_and_why() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        await session.user("The weather was fine in Lisbon.")
        database = await said(session, "The main database is PostgreSQL.", kind="decision")
        driver = await session.claim("The Python driver is psycopg.", derived_from=[database])
        assert (await session.known("main database")).claims == (database,)
        assert (await session.known("weather in Lisbon")).pages == ("msg_1",)
        unknown = await session.known("message broker vendor")
        assert (unknown.is_known, unknown.reason) == (False, "never_said")
        assert unknown.told == "not in memory: nobody said it here"
        await session.retract(database)
        gone = await session.known("main database")
        assert (gone.is_known, gone.reason, gone.claims) == (False, "retracted", (database,))
        assert gone.told.startswith(f"not in memory: {database} said so and was taken back by clm_")
        gone = await session.known("Python driver")
        assert (gone.reason, gone.claims) == ("stale", (driver,))
        assert gone.told.endswith(f"is stale: it rests on {database}, which no longer holds")
        host = await said(session, "The mail host is Postmark.", kind="fact")
        await memory.revoke_origin("work", (await session.claims())[-1].evidence[0].page_id)
        gone = await session.known("mail host")
        assert (gone.reason, gone.claims, gone.pages) == ("withdrawn", (host,), ())
        assert (await session.known("mail host", kinds=["decision"])).reason == "never_said"
        assert (await session.known("?")).reason == "never_said"


async def test_what_was_talked_of_and_never_decided_is_no_decision_in_memory() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        mail = await said(session, "Postmark is our mail provider.", kind="decision")
        await said(session, "Tom's team has Adyen as its payment provider.", kind="fact")
        await session.user("Let's postpone the payment provider.")
        asked = "Which payment provider is it?"
        unknown = await session.known(asked, kinds=["decision"])
        assert (unknown.is_known, unknown.reason) == (False, "not_held")
        assert (
            unknown.told == "not in memory: it was discussed, but no decision about it was recorded"
        )
        assert unknown.pages, "what was said of it"
        assert mail not in (await session.known(asked)).claims, "half of the words: another thing"
        assert (await session.known("Which mail provider?", kinds=["decision"])).claims == (mail,)
        with pytest.raises(BadInput):
            await session.known(asked, kinds=["mood"])


async def test_a_claim_is_found_by_a_question_too_short_to_tell_its_language() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("taller")
        base = await said(session, "La imprenta es Gráficas Ibarra.", kind="decision")
        text = "Con Gráficas Ibarra hay que reservar 35 sillas."
        page_id = await session.user(text)
        chairs = await session.claim(text, evidence=[Quote(text, page_id)], derived_from=[base])
        assert (await session.known("¿Cuántas sillas reservar?")).claims == (chairs,)


async def test_what_failed_and_went_well_later_is_a_lesson_with_both_results() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        run = {"argv": ["pytest", "-q"]}
        for text, code in (("1 failed", 1), ("2 failed", 1)):
            await session.record_event("command_run", text, facts=run | {"exit_code": code})
        await session.record_event("file_change", facts={"path": "app.py", "change": "edited"})
        await session.record_event("command_run", "all good", facts=run | {"exit_code": 0})
        await session.record_event("command_run", "all good", facts=run | {"exit_code": 0})
        [looked] = await session.reflect(dry_run=True)
        assert not await session.claims()
        [lesson] = await session.reflect()
        assert lesson.value == "`pytest -q` failed, and passed after changes of app.py."
        assert (looked.value, looked.claim_id) == (lesson.value, "")
        [again] = await session.reflect()
        assert again.claim_id == lesson.claim_id
        [card] = await session.cards()
        assert (card.card_type, card.authority) == ("gotcha", "proposed")
        assert [one.kind for one in card.evidence] == ["command", "command"]
        assert "1 failed" in card.evidence[0].quote
        assert "all good" in card.evidence[1].quote


async def test_a_person_confirms_no_claim_that_rests_on_one_that_nobody_confirmed() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.tool_result("The port is 8080.", name="probe")
        port = await session.claim("The port is 8080", evidence=["The port is 8080"], kind="fact")
        rule = await session.claim(
            "Always ask port 8080", evidence=["8080"], kind="rule", derived_from=[port]
        )
        told = {one.claim_id: one.digest for one in await session.claims()}
        with pytest.raises(BadInput, match=f"rests on {port}, which is not confirmed"):
            await session.confirm_claim(rule, told[rule])
        await session.confirm_claim(port, told[port])
        lifted = await session.confirm_claim(rule, told[rule])
        assert {one.claim_id: one.authority for one in await session.claims()}[lifted] == "user"


async def test_another_kind_is_no_way_round_an_end_or_a_failed_check() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.user("The port of the server is 8080.")
        port = await session.claim(
            "The port is 8080", evidence=["The port of the server is 8080"], kind="fact"
        )
        await session.expire_claim(port)
        edited = await session.edit_claim(port, kind="decision")
        assert {one.claim_id: one.status for one in await session.claims()}[edited] == "expired"


async def test_at_rest_finished_work_is_proposed_as_lessons_once_and_no_undo_takes_them() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        for name in ("lint", "types", "tests", "docs"):
            for code in (1, 0):
                facts = {"argv": ["make", name], "exit_code": code}
                await session.record_event("command_run", f"{name} {code}", facts=facts)
        facts = {"argv": ["make", "import"], "exit_code": 0}
        ran = await session.record_event("command_run", "60 of 60 tables", facts=facts)
        await session.user("The import of the tables is what we do now.")
        done = await session.claim(
            "all tables are imported",
            evidence=[pagefault.Quote("60 of 60 tables", ran)],
            kind="task_state",
        )
        open_ = await session.remember("The import of the tables", kind="task_state")
        await session.expire_claim(open_)  # it ended, and no result says how
        await session.expire_claim(done)
        await session.form(rest=True)
        cards = [one for one in await session.cards() if one.card_type != "task_state"]
        assert len(cards) == 3, "more wait for the next rest"
        await session.form(rest=True)
        await session.form(rest=True)
        cards = [one for one in await session.cards() if one.card_type != "task_state"]
        assert [one.card_type for one in cards] == ["gotcha"] * 4 + ["procedure"]
        assert {one.authority for one in cards} == {"proposed"}
        assert cards[-1].claim == "all tables are imported: done, with `make import`."
        [proof] = cards[-1].evidence
        assert "60 of 60 tables" in proof.quote
        note = await session.retract(cards[0].card_id)
        await session.form(rest=True)
        assert len([one for one in await session.claims() if one.type == "gotcha"]) == 4
        assert (await session.undo()).page_ids == (note,)
        assert (await session.undo()).page_ids == (done,), "a lesson is no act of a person"
