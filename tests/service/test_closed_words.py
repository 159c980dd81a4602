"""The words of a claim that was closed are nowhere shown as if they held."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pagefault import Limits, PageId, Request, Session
from pagefault.model.kinds import Compaction
from pagefault.service.bootstrap import open_memory
from pagefault.service.window.core import Core
from tests.service.memories import fault, faulted, search, text_of, words

WORDS = "the deploy target is the cluster in Falkenstein"
SAID = f"Before we start: {WORDS}. The pager goes to Anna from next week on."
NOW = "The deploy target is the rack in Frankfurt, after all."
SHORT = Limits(summarised_tokens_max=300, formed_after_turns=1)


def memory_of(way: str, at: Path | str = ":memory:", **given: Any) -> Any:
    return open_memory(at, window=1_800, compaction=way, limits=SHORT, **given)


async def talk_until_it_left(session: Session, *, forms: bool) -> Request:
    """Talk of other things until a summary stands for what was said."""
    for number in range(40):
        await session.user(f"Tell me about part {number} of the importer and its tables.")
        request = await session.request()
        if "S (sum_1 " in text_of(request):
            return request
        await session.assistant(f"Part {number} reads rows in batches, as it did before. " * 12)
        if forms:
            await session.form()
    raise AssertionError("nothing left the window")


async def changed(session: Session, claim: PageId, how: str) -> str:
    """What closes the claim, with words of the talk or without."""
    if how == "retracted":
        await session.retract(claim)
        return "clm_2"
    await session.user(NOW)
    await session.assistant("As you like.")
    return await session.remember(NOW, kind="decision", replaces=claim)


def unmarked(request: Request, closer: str) -> list[str]:
    """The lines that have the words, but for the claim's own and those with a note."""
    lines = [line for line in text_of(request).splitlines() if "Falkenstein" in line]
    return [one for one in lines if "C (clm_1" not in one and f"see {closer}" not in one]


@pytest.mark.parametrize("how", ["replaced", "retracted"])
@pytest.mark.parametrize("way", list(Compaction))
async def test_no_way_of_compaction_shows_the_words_of_a_closed_claim_as_if_they_held(
    way: Compaction, how: str, tmp_path: Path
) -> None:
    async with memory_of(way, tmp_path / "m") as memory:
        session = await memory.session("work")
        await session.user(SAID)
        await session.assistant("Noted.")
        before = await talk_until_it_left(session, forms=way.forms)
        claim = await session.remember(WORDS, kind="decision")
        closer = await changed(session, claim, how)
        await session.user("Where do we deploy to?")
        request = await session.request()
        assert request.messages[: len(before.messages)] == before.messages, "nothing sent changes"
        sent = unmarked(request, closer)
        carriers = [found[1] for one in sent if (found := re.match(r"S \((sum_\d+)", one))]
        assert len(carriers) == len(sent)
        for one in carriers:
            assert re.search(rf"C \({closer} .*newer than [^()]*\b{one}\b", text_of(request))
        await session.assistant("To Frankfurt, I think.")
        await session.configure(system="Be brief.")  # begins an epoch
        await session.user("Which cluster was it that we deploy to?")
        request = await session.request()
        assert not unmarked(request, closer)
        if way in (Compaction.EXTRACTIVE, Compaction.ABSTRACTIVE_WITH_CITATIONS):
            assert re.search(r"^(?!U ).*pager goes to Anna", text_of(request), re.M), "the rest is"
        session.check()
    async with memory_of(way, tmp_path / "m") as memory:
        session = await memory.session("work")
        assert (await session.request()).messages == request.messages


async def test_control_a_core_that_knows_no_closed_words_fails_the_test_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Core, "closed_words", lambda self, row, upto: [])
    for way in (Compaction.EXTRACTIVE, Compaction.ABSTRACTIVE_WITH_CITATIONS):
        with pytest.raises(AssertionError):
            await test_no_way_of_compaction_shows_the_words_of_a_closed_claim_as_if_they_held(
                way, "retracted", tmp_path / way
            )


@pytest.mark.parametrize("way", list(Compaction))
async def test_brackets_like_a_citation_prove_nothing_and_hide_no_closed_words(
    way: Compaction, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "the deploy target is the [as in msg_2] cluster in Falkenstein [msg_2]"
    monkeypatch.setitem(globals(), "WORDS", said)
    monkeypatch.setitem(globals(), "SAID", f"We start: {said}. The pager goes to Anna from May on.")
    for how in ("replaced", "retracted"):
        await test_no_way_of_compaction_shows_the_words_of_a_closed_claim_as_if_they_held(
            way, how, tmp_path / how
        )
    async with memory_of(way) as memory:
        session = await memory.session("work")
        await session.user(SAID)
        await session.assistant("Noted.")
        await talk_until_it_left(session, forms=way.forms)
        text = (await session.page("sum_1")).text
        assert "⁅msg_2]" in text, "it was quoted"
        assert not re.search(r"\[[^\]⁅]*msg_2\]", text.replace("[msg_1, msg_2]", ""))


@pytest.mark.parametrize(
    ("part", "weak"), [("run_summary.uncited", str), ("closed_words._BRACKETS", {})]
)
async def test_control_brackets_that_stay_or_are_compared_as_they_are_fail_the_test_above(
    part: str, weak: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"pagefault.service.window.{part}", weak)
    with pytest.raises(AssertionError):
        await test_brackets_like_a_citation_prove_nothing_and_hide_no_closed_words(
            Compaction.EXTRACTIVE, tmp_path, monkeypatch
        )


async def test_a_summary_made_after_a_claim_was_closed_leaves_its_words_out_until_an_undo() -> None:
    for is_undone in (False, True):
        async with memory_of("extractive") as memory:
            session = await memory.session("work")
            await session.user(f"Mind that {WORDS}.")
            claim = await session.remember(WORDS, kind="decision")
            await session.retract(claim)
            if is_undone:
                await session.undo()
            await talk_until_it_left(session, forms=False)
            summary = (await session.page("sum_1")).text
            assert (WORDS in summary) is is_undone


async def test_whoever_finds_the_page_or_loads_it_reads_which_claim_closed_words_of_it() -> None:
    async with memory_of("extractive") as memory:
        session = await memory.session("work")
        await session.user(SAID)
        await session.assistant("Noted.")
        claim = await session.remember(WORDS, kind="decision")
        assert not any(hit.lapse for hit in (await session.recall("pager Anna")).hits)
        await session.retract(claim)
        hits = {hit.page.page_id: hit.lapse for hit in (await session.recall("pager Anna")).hits}
        assert hits["msg_1"].startswith("changed since, see clm_")
        assert not hits.get("msg_2")
        await talk_until_it_left(session, forms=False)
        [told] = (await faulted(session, search("pager Anna", limit=1)))["results"]
        assert told["hint"].startswith("(changed since, see clm_")
        page = (await faulted(session, fault("msg_1", call_id="call_2")))["page"]
        assert page["meta"]["lapse"].startswith("changed since, see clm_")


async def test_a_proposal_of_a_model_closes_no_words_of_the_user() -> None:
    async with memory_of("extractive") as memory:
        session = await memory.session("work")
        await session.user(SAID)
        await session.assistant("The deploy target may become a rack in Helsinki.")
        for words in (WORDS, "may become a rack in Helsinki"):
            await session.claim(words, evidence=[words], subject="target", origin="model_generated")
        found = {
            hit.page.page_id: hit.lapse for hit in (await session.recall("deploy target")).hits
        }
        assert [one.status for one in await session.claims()] == ["superseded", "standing"]
        assert found["msg_1"] == ""


async def test_over_sessions_and_in_a_region_what_was_closed_where_it_was_said_is_marked() -> None:
    async with memory_of("extractive") as memory:
        await memory.create_region("shelf", read=["anyone"], promote=["anyone"], consent="never")
        session, other = await memory.session("work"), await memory.session("other")
        page = await session.user(SAID)
        for one, mode in ((session, "rw"), (other, "ro")):
            await one.mount("shelf", mode)
        assert (await session.promote(page, "shelf")).done
        await session.user("And what is open?")
        await session.remember("And what is open?", kind="task_state")
        claim = await session.remember(WORDS, kind="decision")

        async def lapses() -> dict[str, str]:
            wide = (await memory.recall("pager Anna")).hits
            shared = (await other.recall("pager Anna")).hits
            return {hit.page.page_id: hit.lapse for hit in (*wide, *shared)}

        assert set((await lapses()).values()) == {""}
        await session.retract(claim)
        found = await lapses()
        assert found["msg_1"].startswith("changed since, see clm_")
        shared = [one for one in found if one.startswith("shr_")]
        assert [found[one] for one in shared] == ["changed since, where it was said"]
        assert not found.get("msg_2", "")
        told = (await faulted(other, search("pager Anna", limit=1)))["results"]
        assert told[0]["hint"].startswith("(changed since, where it was said)")
        page = (await faulted(other, fault(shared[0])))["page"]
        assert page["meta"]["lapse"] == "changed since, where it was said"
        third = await memory.session("third")
        await third.mount("shelf", "ro")
        await third.user("Who has pager duty, Anna?")
        recalled = await third.request()
        await third.pin(shared[0])
        for _ in range(3):
            await third.assistant(words(400))
            await third.user("Go on.")
            after = await third.request()
        sent = recalled.messages
        assert after.messages[: len(sent)] != sent, "an epoch began"
        for request in (recalled, after):
            lines = [one for one in text_of(request).splitlines() if "Falkenstein" in one]
            assert [f"({shared[0]} · changed since, where it" in one for one in lines] == [True]
        listed = (await memory.recent(limit=99)).hits
        assert {one.page.page_id for one in listed if one.lapse} == {"msg_1", *shared}
        await session.undo()
        assert set((await lapses()).values()) == {""}
