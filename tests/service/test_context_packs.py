"""Context packs of a session and of a memory: what stands in them, on whose word, and what not."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault import BadInput, Commit, ContextPack, FileQuote, Memory, Session, ToolCall
from pagefault.lab.transcripts import Conversation, read_conversations
from pagefault.lab.turns import ConversationClock, say
from pagefault.model.times import DAY_MS
from pagefault.pack.count import O200k
from pagefault.service.bootstrap import open_memory
from pagefault.service.limits import Limits
from pagefault.service.packs import session_items
from pagefault.service.packs.proof import Proof
from tests.history import exports
from tests.service.memories import files_with, text_of

AT = "2026-11-20T09:00:00Z"
COUNT = O200k().count
RECORDINGS = Path(__file__).parents[1] / "recall" / "recordings"
GOLDEN: Mapping[str, Any] = json.loads(
    Path(__file__).with_name("context_packs.golden.json").read_text("utf-8")
)


class Clock(ConversationClock):
    """Goes on by a second with each look, so that no two records are of one time."""

    def now_ms(self) -> int:
        self.at_s += 1.0
        return int(self.at_s * 1000)


async def did(session: Session, name: str, arguments: object, result: str) -> None:
    """A call of a tool of the host's, and what it returned."""
    call_id = f"call-{len(await session.items())}"
    await session.assistant("", calls=[ToolCall(call_id, name, json.dumps(arguments))])
    await session.tool_result(call_id, result)


async def edited(session: Session, path: str) -> None:
    await did(session, "Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, "ok")


async def ran(session: Session, command: str, result: str) -> None:
    await did(session, "Bash", {"command": command}, result)


async def work(memory: Memory, name: str = "shop") -> Session:
    """A session in which things were decided, done and asked."""
    session = await memory.session(name, window=16_000)
    await session.user("Let's use PostgreSQL 16 for the database")
    await session.assistant("Noted.")
    await session.user("The kettle of the shop leaks; mend it before Friday.")
    await session.goal("Have the shop open on Friday")
    await edited(session, "src/kettle.py")
    await edited(session, "src/kettle.py")
    await ran(
        session, "pytest -q", "FAILED tests/test_k.py::test_leaks - x\n1 failed, 3 passed in 0.02s"
    )
    await session.user("Go on.")
    await session.assistant("The lid is loose. Shall I order a new lid?")
    return session


async def resolves(session: Session, pack: ContextPack) -> None:
    """Everything that a pack cites is there, and says what it is cited for."""
    pack.check()
    for one in pack.evidence:
        page = await session.page(one.ref.rpartition("/")[2])
        assert page.text
        for span in one.rests_on:
            said = (await session.page(span.ref)).text.encode()[span.start : span.end]
            assert " ".join(said.decode().split()) == span.quote


def texts(pack: ContextPack, section: str) -> list[str]:
    return [line.text for name, line in pack.lines if name == section]


async def test_a_pack_tells_what_holds_was_done_and_is_open_each_with_its_source() -> None:
    async with pagefault.open(":memory:", sync="os") as memory:
        session = await work(memory)
        pack = await session.pack("What about the kettle?", at=AT)

        await resolves(session, pack)
        assert (pack.query, pack.generated_at) == (
            "What about the kettle?", "2026-11-20T09:00:00.000Z",
        )  # fmt: skip
        assert "The kettle of the shop leaks" in texts(pack, "summary")[0]
        assert texts(pack, "active_tasks") == ["Goal: Have the shop open on Friday"]
        assert texts(pack, "recent_decisions") == [
            "Decision: Let's use PostgreSQL 16 for the database"
        ]
        assert texts(pack, "changed_files") == ["edited src/kettle.py (2 times)"]
        assert texts(pack, "open_questions") == [
            "Shall I order a new lid?",
            "tests fail: tests/test_k.py::test_leaks (pytest)",
        ]
        [decision] = [one for one in pack.evidence if one.section == "recent_decisions"]
        assert [span.quote for span in decision.rests_on] == [
            "Let's use PostgreSQL 16 for the database"
        ]
        assert pack.source_mix["files"] == 1
        assert {one.ref for one in pack.inclusion_reason} == {one.ref for one in pack.evidence}
        assert pack.matched
        assert not pack.fallback
        assert pack.validation_report.checked == 1

        ran_it = await session.record_event("command_run", "E501", facts={"argv": ["lint"]})
        change = {"path": "lid.py", "change": "edited"}
        changed = await session.record_event("file_change", facts=change)
        pack = await session.pack("E501 lid.py", at=AT)
        sources = {one.ref: one.source for one in pack.evidence}
        assert (sources[ran_it], sources[changed]) == ("terminal", "files"), "no talk"


@pytest.mark.parametrize("budget", [0, 4, 10, 60, 120, 400])
async def test_a_pack_is_within_its_budget_in_every_form(budget: int) -> None:
    async with pagefault.open(":memory:", sync="os") as memory:
        session = await work(memory)
        for pack in (
            await session.pack("kettle", budget=budget, at=AT),
            await session.pack(budget=budget, at=AT),
            await session.handoff(budget=budget, at=AT),
            await memory.pack("kettle", budget=budget, at=AT),
        ):
            pack.check()
            assert max(COUNT(pack.text(form)) for form in ("md", "claude", "codex")) <= budget
            assert pack.token_budget.target == budget
            if budget <= 10:
                assert not pack.evidence
                assert pack.token_budget.trimmed
        with pytest.raises(BadInput, match="budget"):
            await session.pack("kettle", budget=-1)


async def test_where_nothing_bears_on_the_query_what_was_said_last_is_shown() -> None:
    async with pagefault.open(":memory:", sync="os") as memory:
        session = await work(memory)
        pack = await session.pack("xylophone tuning in Reykjavik", at=AT)

        assert (pack.matched, pack.fallback) == (0, "recent")
        assert texts(pack, "evidence")[-1].endswith("Shall I order a new lid?")
        found = await session.pack("kettle", at=AT)
        assert (found.matched > 0, found.fallback) == (True, ""), "the control"


async def test_tasks_and_decisions_are_those_of_evidence_that_is_in() -> None:
    async with pagefault.open(":memory:", sync="os") as memory:
        session = await work(memory)
        for budget in (60, 80, 120, 200, 2_000):
            pack = await session.pack("kettle", budget=budget, at=AT)
            refs = {one.ref for one in pack.evidence}
            told = [*pack.active_tasks, *pack.recent_decisions]
            assert all(line.cites[0] in refs for line in told)
        assert told


# --- what never stands in a pack ------------------------------------------------------------------


async def unsure(session: Session) -> dict[str, str]:
    """Claims that do not pass, by why, and a word that each has."""
    await session.user("Some say Valkey is quicker than Redis.")
    await session.claim("use Valkey", evidence=["Valkey is quicker"], origin="model_generated")
    withdrawn = await session.tool_result("The mirror is mirror.example", name="browser")
    await session.claim("the mirror is mirror.example", evidence=["The mirror is"], kind="fact")
    await session.user("Let's use Postgres for the ledger")
    await session.user("We no longer use Postgres for the ledger: let's use SQLite for the ledger")
    return {"proposed": "Valkey", "withdrawn": "mirror.example", "page": withdrawn[0]}


async def test_what_is_not_confirmed_or_was_withdrawn_is_told_of_and_not_told() -> None:
    async with pagefault.open(":memory:", sync="os") as memory:
        session = await work(memory)
        words = await unsure(session)
        await memory.revoke_origin(session.session_id, words["page"])
        query = "Valkey mirror.example kettle"
        for pack in (await session.pack(query, at=AT), await session.pack(at=AT)):
            lines = [text for name in pack.sections for text in texts(pack, name)]
            assert not any("use Valkey" in line for line in lines)
            assert not any(words["withdrawn"] in line.text for _, line in pack.lines)
            assert pack.validation_report.unproved == 1
            assert pack.validation_report.failed == 1
            assert {one.why for one in pack.left_out if one.ref.startswith("clm")} == {
                "unproved claim", "failed claim",
            }  # fmt: skip
        asked = await session.pack(query, at=AT, unproved=True)
        assert "(proposed, not confirmed) Decision: use Valkey" in [
            line.text for line in asked.recent_decisions
        ]


async def test_control_claims_that_are_all_let_through_are_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session_items, "proof_of", lambda _: Proof.PASS)
    async with pagefault.open(":memory:", sync="os") as memory:
        session = await work(memory)
        await unsure(session)
        assert "use Valkey" in (await session.pack("Valkey", at=AT)).text()


async def test_a_claim_whose_words_are_gone_is_in_no_pack() -> None:
    async with pagefault.open(":memory:", sync="os") as memory:
        session = await memory.session("shop")
        said = await session.user("Let's use PostgreSQL 16 for the database")
        assert "PostgreSQL" in (await session.pack(at=AT)).text(), "the control"
        await memory.forget(session.session_id, said)
        for pack in (await session.pack("PostgreSQL", at=AT), await session.handoff(at=AT)):
            assert "PostgreSQL" not in pack.text("md")
            assert "PostgreSQL" not in json.dumps([line.text for _, line in pack.lines])


async def test_a_pack_that_checks_leaves_out_what_a_file_or_a_branch_no_longer_bears_out(
    tmp_path: Path,
) -> None:
    (tmp_path / "ports.md").write_text("The gateway listens on port 7001.\n")
    (tmp_path / ".git" / "refs" / "heads").mkdir(parents=True)
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / ".git" / "refs" / "heads" / "main").write_text("1" * 40 + "\n")
    quote = FileQuote("listens on port 7001", "ports.md", root=str(tmp_path))
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("shop")
        await session.user("The spike of the gateway uses Rust.")
        on_branch = await session.claim(
            "The spike uses Rust", evidence=["The spike of the gateway uses Rust"],
            facts=pagefault.CardFacts(branch="main"),
        )  # fmt: skip
        by_file = await session.claim("The gateway listens on port 7001", evidence=[quote])

        async def packed(**more: Any) -> ContextPack:
            return await session.pack("gateway", at=AT, **more)

        passed = await packed(root=str(tmp_path))
        assert passed.validation_report.failed == 0
        assert on_branch in {one.ref for one in passed.evidence}
        (tmp_path / "ports.md").write_text("The gateway listens on port 7002.\n")
        (tmp_path / ".git" / "refs" / "heads" / "main").unlink()
        failed = await packed(root=str(tmp_path))
        assert failed.validation_report.failed == 2
        assert not {on_branch, by_file} & {one.ref for one in failed.evidence}
        why = {one.ref: one.why for one in failed.left_out}
        assert why[by_file] == "failed claim: the file does not say it any more"
        assert why[on_branch].startswith("failed claim: ")
        assert on_branch in {one.ref for one in (await packed()).evidence}, "nobody looked"


async def test_a_claim_whose_time_is_over_when_the_pack_is_made_is_told_of_and_not_told() -> None:
    clock = Clock()
    async with open_memory(":memory:", clock=clock, sync="os") as memory:
        session = await work(memory)
        told_ms = int(clock.at_s * 1000)
        soon = await session.pack(at=told_ms + DAY_MS)
        late = await session.pack(at=told_ms + 40 * DAY_MS)

        assert "Decision: Let's use PostgreSQL 16" in soon.text(), "the control"
        assert not late.recent_decisions
        assert late.validation_report.stale == 1
        [why] = [one.why for one in late.left_out if one.ref == "clm_1"]
        assert why == "stale claim: not checked for too long"


async def test_words_that_a_claim_changed_since_are_told_to_be_so_wherever_they_are_quoted() -> (
    None
):
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("shop")
        old = await session.user("The opening of the shop is on 14 March, a Saturday.")
        first = await session.claim(
            "The shop opens on 14 March", evidence=["The opening of the shop is on 14 March"]
        )
        proposed = await session.claim(
            "It is a Saturday", evidence=["a Saturday"], kind="fact", origin="model_generated"
        )
        await session.retract(proposed)  # which changes nothing that was said
        before = await session.pack("when is the opening of the shop?", at=AT)
        await session.user("Who says that the opening of the shop is on 14 March?")
        new = await session.user("The opening moves to 21 March.")
        latest = await session.claim(
            "The shop opens on 21 March", evidence=["The opening moves to 21 March"], replaces=first
        )
        after = await session.pack("when is the opening of the shop?", at=AT)
        assert {one.changed_by for one in before.evidence} == {""}
        changed = {one.ref: one.changed_by for one in after.evidence if one.changed_by}
        assert changed == {old: latest}
        told = [line for line in after.text("md").splitlines() if f"[{old}]" in line]
        assert told
        assert all(f"changed since, see {latest}" in line for line in told)
        assert any(new in line.cites for _, line in after.lines)


async def test_old_values_in_other_words_are_marked_where_they_cite_what_said_them() -> None:
    clock = Clock()
    async with open_memory(":memory:", clock=clock) as memory:
        session = await memory.session("店")
        old = await session.user("開店は三月十四日の土曜日に決めました。")
        first = await session.claim("開店は三月十四日", evidence=["開店は三月十四日の土曜日"])
        await session.request()
        cites = [
            await session.assistant(f"El sábado catorce abrimos la tienda [ref: {old}]."),
            await session.assistant(f"Opening the shop mid-March, as {first} has it [{first}]."),
        ]
        plain = await session.assistant("Der Laden öffnet im März, shop opening.")
        await session.user("開店は三月二十一日に変わります。")
        latest = await session.claim(
            "開店は三月二十一日", evidence=["開店は三月二十一日"], replaces=first
        )
        after = await session.assistant(
            f"It moved from the 14th [ref: {old}] to 21 March, opening."
        )
        pack = await session.pack("opening shop tienda abrimos Laden", at=clock.now_ms())
        changed = {one.ref: one.changed_by for one in pack.evidence}
        assert {ref: changed[ref] for ref in cites} == dict.fromkeys(cites, latest)
        assert (changed[plain], changed[after]) == ("", ""), "nothing leads there; said later"


async def test_what_waits_in_quarantine_is_in_no_pack_until_it_is_approved(
    tmp_path: Path,
) -> None:
    exports.jsonl(tmp_path / "cc.jsonl", exports.claude_code())
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        await memory.import_history([tmp_path / "cc.jsonl"])
        row = max(await memory.sessions(), key=lambda row: row.pages)
        session = await memory.session(row.session_id, create=False)
        [first, *_] = await memory.pages(session)
        words = (await session.page(first.page_id)).text
        for pack in (await session.pack(words, at=AT), await session.pack(at=AT),
                     await memory.pack(words, at=AT), await session.handoff(at=AT)):  # fmt: skip
            assert not pack.evidence
        await memory.approve_import(session=row.session_id)
        assert (await session.pack(words, at=AT)).evidence, "the control"


@pytest.mark.parametrize("mode", ["off", "capture_only"])
async def test_a_session_that_brings_nothing_in_is_handed_to_nobody(mode: str) -> None:
    async with pagefault.open(":memory:", sync="os") as memory:
        session = await work(memory)
        await session.set_control(mode)
        for verb in (session.pack, session.handoff, session.synopsis, session.digest):
            with pytest.raises(BadInput, match="nothing can be packed"):
                await verb()
        await memory.set_control(mode)
        with pytest.raises(BadInput, match="nothing can be packed"):
            await memory.pack("kettle")


async def test_a_stranger_who_floods_a_memory_does_not_fill_a_pack() -> None:
    async with pagefault.open(":memory:", sync="os") as memory:
        session = await memory.session("shop")
        for number in range(40):
            text = f"The kettle number {number} is best bought at mallory.example, kettle fans!"
            await session.tool_result(text, name="web_search")
        await session.user("My kettle is the blue one from the attic.")
        pack = await session.pack("Which kettle?", budget=1_000, at=AT)

        strange = [line for _, line in pack.lines if "mallory" in line.text]
        assert sum(COUNT(line.text) for line in strange) <= 500
        assert "blue one" in pack.text()
        assert any("has its share" in one.why for one in pack.left_out)


# --- the same bytes -------------------------------------------------------------------------------


async def test_the_same_session_question_and_time_give_the_same_bytes(tmp_path: Path) -> None:
    digests = set()
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await work(memory)
        for _ in range(3):
            digests.add((await session.pack("the kettle of yesterday", at=AT)).sha256)
        other = await session.pack("the kettle of yesterday", at="2026-11-21T09:00:00Z")
        assert other.sha256 not in digests, "the control"
    async with pagefault.open(tmp_path / "m", read_only=True) as memory:
        session = await memory.session("shop", create=False)
        pack = await session.pack("the kettle of yesterday", at=AT)
        digests.add(pack.sha256)
        assert ContextPack.from_json(pack.text("json")) == pack
    assert len(digests) == 1


ASKED = """
import asyncio, sys, pagefault
async def main():
    async with pagefault.open(sys.argv[1], read_only=True) as memory:
        session = await memory.session("shop", create=False)
        for query in ("the kettle of yesterday", ""):
            print((await session.pack(query, at=sys.argv[2])).sha256)
        print((await memory.pack("kettle", at=sys.argv[2])).sha256)
        print((await session.handoff(at=sys.argv[2])).sha256)
asyncio.run(main())
"""


@pytest.mark.slow
def test_every_process_makes_the_same_bytes_whatever_its_hashes(tmp_path: Path) -> None:
    async def make() -> None:
        async with pagefault.open(tmp_path / "m", sync="os") as memory:
            await work(memory)
            await (await memory.session("attic")).user("The blue kettle stands in the attic.")

    asyncio.run(make())
    told = {
        subprocess.run(
            [sys.executable, "-c", ASKED, str(tmp_path / "m"), AT],
            env=os.environ | {"PYTHONHASHSEED": seed, "TZ": zone},
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        ).stdout
        for seed, zone in (("1", "Asia/Tokyo"), ("4242", "America/New_York"))
    }
    assert len(told) == 1
    assert len(set(told.pop().split())) == 4, "the control: each is another pack"


OFTEN = """
import asyncio, sys, pagefault
async def main():
    async with pagefault.open(sys.argv[1], read_only=True) as memory:
        session = await memory.session("shop", create=False)
        for at in range(int(sys.argv[3])):
            query = "the kettle of yesterday" if at or not sys.argv[4:] else "the attic"
            print((await session.pack(query, at=sys.argv[2])).sha256)
asyncio.run(main())
"""


@pytest.mark.torture
def test_a_thousand_packs_of_four_processes_and_hash_seeds_are_one(tmp_path: Path) -> None:
    async def make() -> None:
        async with pagefault.open(tmp_path / "m", sync="os") as memory:
            await work(memory)

    def told(seed: str, times: int, *another: str) -> list[str]:
        return subprocess.run(
            [sys.executable, "-c", OFTEN, str(tmp_path / "m"), AT, str(times), *another],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        ).stdout.split()

    asyncio.run(make())
    packs = [one for seed in ("0", "1", "4242", "99991") for one in told(seed, 250)]
    assert len(packs) == 1_000
    assert len(set(packs)) == 1
    assert len({*packs, *told("0", 2, "another")}) == 2, "the control: one of these is another"


async def played(memory: Memory, conversation: Conversation, clock: Clock) -> Session:
    clock.begin(conversation)
    session = await memory.session(conversation.name)
    for line in conversation.lines:
        clock.reach(line)
        await say(session, line)
    return session


@pytest.mark.parametrize("name", sorted(GOLDEN))
async def test_golden_queries_find_the_evidence_that_they_found(name: str) -> None:
    """Ranked ids, and a whole pack word for word: `tests/recall/recordings` has the talk."""
    golden = GOLDEN[name]
    conversations = read_conversations(RECORDINGS / f"{golden['recording']}.jsonl", "turns")
    [conversation] = [one for one in conversations if one.name == name]
    clock = Clock()
    async with open_memory(":memory:", seed=1, clock=clock, sync="os") as memory:
        session = await played(memory, conversation, clock)
        for query, refs in golden["queries"].items():
            pack = await session.pack(query, budget=1_000, at=AT)
            await resolves(session, pack)
            assert [one.ref for one in pack.evidence][: len(refs)] == refs, query
        shown = await session.pack(golden["query"], budget=250, at=AT)
        assert shown.text().splitlines() == golden["text"]


async def test_looking_writes_nothing(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await work(memory)
        before = memory.records
        for asked in (session, memory):
            await asked.pack("quixotic windmill", at=AT)
            await asked.synopsis()
            await asked.digest()
        await session.handoff()
        assert memory.records == before
    assert files_with(tmp_path / "m", b"quixotic") == []


# --- several sessions -----------------------------------------------------------------------------


async def test_what_was_handed_in_is_quoted_as_a_document_and_not_as_the_users_words() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("shop")
        await session.user("The kettle of the shop leaks since Monday.")
        await session.document("The kettle is to be paid to account 4711.", origin="web")
        await session.assistant("Noted.")
        lines = [*(await session.pack("kettle")).lines, *(await session.pack()).lines]
        said = [line.text for _, line in lines if "account 4711" in line.text]
        assert len(said) == 2
        assert all(one.startswith("document, web, ") for one in said)
        assert any(line.text.startswith("user, ") for _, line in lines), "control: the user's are"


async def test_a_pack_of_a_memory_names_the_session_of_each_page() -> None:
    async with pagefault.open(":memory:", sync="os") as memory:
        shop = await work(memory)
        other = await memory.session("attic")
        await other.user("The blue kettle stands in the attic.")
        pack = await memory.pack("kettle", at=AT)

        pack.check()
        assert {one.session for one in pack.evidence} == {"shop", "attic"}
        for one in pack.evidence:
            name, _, page_id = one.ref.rpartition("/")
            session = {"shop": shop, "attic": other}[name]
            assert (await session.page(page_id)).text
        alone = await memory.pack("kettle", at=AT, sessions=["attic"])
        assert {one.session for one in alone.evidence} == {"attic"}
        assert (await memory.pack("kettle", at=AT, sessions=[])).evidence == ()


TALK = (
    ("user", "We rented the depot on Harrow Lane: 64 square metres for 180 euros a month."),
    ("assistant", "Wise. That is 2,160 euros in a year."),
    ("user", "Aylin has a serious latex allergy, so never buy gloves of latex."),
    ("assistant", "Fine. I list gloves of nitrile only."),
    ("user", "Thanks."),
)


async def told(memory: Memory, name: str) -> Session:
    session = await memory.session(name)
    for role, text in TALK:
        await (session.user(text) if role == "user" else session.assistant(text))
    for number in range(7):
        await session.user(f"Good morning number {number}.")
        await session.assistant("Good morning.")
    return session


async def test_a_pack_to_begin_with_quotes_sentences_that_are_worth_their_line() -> None:
    async with pagefault.open(":memory:", sync="os") as memory:
        session = await told(memory, "depot")
        facts = texts(await session.pack(budget=600, at=AT), "summary")

        assert (
            "user: We rented the depot on Harrow Lane: 64 square metres for 180 euros a month."
            in facts
        )
        assert any("latex allergy" in text for text in facts)
        assert not {"assistant: Wise.", "assistant: Fine.", "user: Thanks."} & {*facts}


async def test_what_forks_and_their_parent_said_is_quoted_once_and_as_the_parents() -> None:
    async with pagefault.open(":memory:", sync="os") as memory:
        session = await told(memory, "depot")
        alone = texts(await memory.pack(budget=900, at=AT), "summary")
        for number in range(5):
            fork = await session.fork(f"question {number}")
            await fork.user("And?")
        pack = await memory.pack(budget=900, at=AT)

        facts = texts(pack, "summary")
        assert [text for text in facts if "Harrow" in text or "latex" in text] == [
            text for text in alone if "Harrow" in text or "latex" in text
        ]
        [evidence] = [one for one in pack.evidence if "Harrow Lane" in one.text]
        assert (evidence.ref, evidence.speaker) == ("depot/msg_1", "")


async def test_what_was_asked_in_a_fork_is_not_what_a_memory_said_last() -> None:
    async with pagefault.open(":memory:", sync="os") as memory:
        session = await told(memory, "depot")
        fork = await session.fork("question 1")
        for number in range(20):
            await fork.user(f"Which colour has the kettle number {number}?")
        last = [one for one in (await memory.pack(at=AT)).evidence if one.section == "evidence"]
        assert {one.session for one in last} == {"depot"}
        [found, *_] = (await memory.pack("colour of the kettle", at=AT)).evidence
        assert found.session == "question 1", "a search finds it"
        named = await memory.pack(at=AT, sessions=["question 1"])
        assert any(one.session == "question 1" for one in named.evidence), "as it does by name"


async def test_a_pack_of_a_memory_cites_imports_by_short_names_that_are_theirs_alone(
    tmp_path: Path,
) -> None:
    ids = {"0f3a2b1c-1111-2222": 13, "0f3a2b1c-3333-2222": 13, "1f3a2b1c-1111-2222": 8}
    talks = {f"{one}-3333-444455556666": f"The kettle of {one[:13]} is blue." for one in ids}
    export = exports.chatgpt_zip(tmp_path / "export.zip", exports.chatgpt_talks(talks))
    async with pagefault.open(":memory:", sync="os") as memory:
        await memory.import_history([export])
        await memory.approve_import(source="chatgpt")
        pack = await memory.pack("blue kettle", at=AT)
        assert {one.session: one.ref for one in pack.evidence} == {
            f"import:chatgpt:{one}-3333-444455556666": f"import:chatgpt:{one[:many]}/msg_1"
            for one, many in ids.items()
        }


async def test_an_extract_of_the_talk_is_not_quoted_beside_its_own_sentences() -> None:
    limits = Limits(summarised_tokens_max=300)
    async with open_memory(":memory:", window=1_800, limits=limits) as memory:
        session = await told(memory, "depot")
        while "S (sum_1 " not in text_of(await session.request()):
            await session.user("And what about the rota of the stands? " * 20)
            await session.assistant("It will be kept by the sixteen of you. " * 20)
        pack = await session.pack(budget=900, at=AT)

        assert [one for one in pack.evidence if one.kind == "summary"] == []
        assert [text for text in texts(pack, "summary") if "Harrow" in text]


# --- handoff, synopsis, digest --------------------------------------------------------------------


async def test_a_handoff_tells_what_changed_what_failed_and_what_is_next() -> None:
    async with pagefault.open(":memory:", sync="os") as memory:
        session = await work(memory)
        await ran(session, "make deploy", "make: *** [deploy] Error 2\nexit code: 2")
        handoff = await session.handoff(at=AT)

        await resolves(session, handoff)
        assert texts(handoff, "changed_files") == ["edited src/kettle.py (2 times)"]
        assert "tests fail: tests/test_k.py::test_leaks (pytest)" in texts(handoff, "failures")
        assert texts(handoff, "active_tasks") == ["Goal: Have the shop open on Friday"]
        assert "It began with: Let's use PostgreSQL 16" not in handoff.text(), "told as decided"
        await ran(session, "pytest -q", "4 passed in 0.02s")
        assert not any("test_leaks" in text for text in texts(await session.handoff(), "failures"))


async def test_a_synopsis_is_never_out_of_date() -> None:
    async with pagefault.open(":memory:", sync="os") as memory:
        session = await work(memory)
        await session.document("The shop sells kettles. It opens at nine.", title="README.md")
        before = await session.synopsis(at=AT)
        assert "README.md: The shop sells kettles." in texts(before, "summary")
        for _ in range(2):
            await ran(session, "make serve", "ok")
        await session.user("Let's use Valkey for the cache")
        after = await session.synopsis(at=AT)

        await resolves(session, after)
        changes = after.since(before)
        told = {(one.section, one.line.text) for one in changes.added}
        assert ("procedures", "`make serve` (2 times)") in told
        assert ("recent_decisions", "Decision: Let's use Valkey for the cache") in told


async def test_a_digest_tells_what_changed_since_and_what_passes_again() -> None:
    clock = Clock()
    async with open_memory(":memory:", clock=clock, sync="os") as memory:
        session = await work(memory)
        since = int(clock.at_s * 1000) + 1
        await ran(
            session,
            "pytest -q tests/b",
            "FAILED tests/b.py::test_b - x\n1 failed, 2 passed in 0.02s",
        )
        await edited(session, "src/lid.py")
        await ran(session, "pytest -q tests/b", "3 passed in 0.02s")
        await session.user("Let's use Valkey for the cache")
        commit = Commit(
            sha="1a2b3c4d5e6f", at_ms=since + 1, subject="Tighten the lid",
            files=[("edited", "src/lid.py"), ("written", "docs/lid.md")],
        )  # fmt: skip
        digest = await session.digest(since, commits=[commit], at=since + 60_000)

        digest.check()
        assert texts(digest, "changed_files") == ["edited src/lid.py", "written docs/lid.md"]
        assert texts(digest, "outcomes") == ["tests pass again: tests/b.py::test_b (pytest)"]
        assert texts(digest, "recent_decisions") == ["Decision: Let's use Valkey for the cache"]
        [line] = digest.sections["commits"]
        assert line.cites == ("git:1a2b3c4d5e",)
        assert digest.source_mix["git"] == 2 - 1
        assert "PostgreSQL" not in digest.text()
        assert "PostgreSQL" in (await session.digest(at=since + 60_000)).text(), "the control"


async def test_plain_talk_has_a_synopsis_at_any_length() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("talk")
        for number in range(40):
            await session.user(f"On day {number} we painted the boat and the oars in grey.")
            pack = await session.synopsis()
            pack.check()


async def test_a_pack_that_was_changed_by_hand_is_refused() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await work(memory)
        told = json.loads((await session.pack("kettle", at=AT)).text("json"))
    assert ContextPack.from_json(json.dumps(told)).matched == told["matched"], "the control"
    line = told["summary"][0]
    for changed in ({"text": line["text"] + "\n# Obey"}, {"cites": ["nothing_99"]}):
        forged = told | {"summary": [line | changed, *told["summary"][1:]]}
        with pytest.raises(BadInput, match="no context pack"):
            ContextPack.from_json(json.dumps(forged))
