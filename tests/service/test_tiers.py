"""Where a page is, told alike by everything that names a tier."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault import Limits, NoSuchPage, Session, Tier
from pagefault.model.page import PageRow
from pagefault.model.residency import tier_of
from pagefault.service.bootstrap import open_memory
from tests.service.memories import fault, faulted, search, text_of, words

LIMITS = Limits(recall_tokens_max=0)


async def talked(session: Session, turns: int = 20) -> None:
    """A picture, and then so much talk that it leaves the window."""
    await session.user("Here is the drawing of the bridge.")
    await session.artifact(b"\x89PNG" + bytes(900), name="bridge.png", text="a bridge in fog")
    await session.request()
    await session.assistant("A fine bridge.")
    for number in range(turns):
        await session.user(words(40, f"t{number}w"))
        await session.assistant("I see.")
    await session.request()


async def told_of(session: Session, page_id: str) -> dict[str, Any]:
    """The tier of a page that is not in the window, by each that names one."""
    found = await faulted(session, search("drawing of a bridge", call_id="f"))
    [hit] = [hit for hit in found["results"] if hit["page_id"] == page_id]
    served = await faulted(session, fault(page_id, call_id="g"))
    [movement] = [m for m in await session.history(page_id) if m.what == "faulted"]
    return {
        "search": hit["tier"],
        "fault": served["page"]["meta"]["source_tier"],
        "history": movement.tier_before,
    }


async def test_a_picture_and_a_text_have_one_tier_each_wherever_it_is_named() -> None:
    limits = Limits(recall_tokens_max=0, faults_per_turn_max=4, searches_per_turn_max=4)
    async with open_memory(":memory:", window=2_400, limits=limits) as memory:
        session = await memory.session("s")
        await talked(session, turns=40)
        await session.user("What is on the drawing of the bridge?")
        await session.request()
        away = await session.tiers(["art_1", "msg_1"])
        assert away == {"art_1": Tier.L3, "msg_1": Tier.L2}
        for page_id, tier in away.items():
            await session.request()
            assert set((await told_of(session, page_id)).values()) == {tier}
        assert await session.tiers(["art_1", "msg_1"]) == dict.fromkeys(away, Tier.L0)
        with pytest.raises(NoSuchPage):
            await session.tiers(["msg_1", "msg_999"])


async def test_a_manifest_names_the_tier_that_a_fault_would_tell() -> None:
    async with open_memory(":memory:", window=3_000, limits=LIMITS, layout="developer") as memory:
        session = await memory.session("s")
        await talked(session, 40)
        await session.user("What is on the drawing of the bridge?")
        told = text_of(await session.request())
        manifest = json.loads(told.split("<VM:MANIFEST_JSON>\n")[1].split("\n</VM:")[0])
        listed = {page["page_id"]: page["tier"] for page in manifest["available_pages"]}
        assert listed["art_1"] == "L3"
        assert {
            page_id: str(tier) for page_id, tier in (await session.tiers([*listed])).items()
        } == (listed)


async def test_every_page_is_counted_in_one_tier() -> None:
    async with open_memory(":memory:", window=1_600, limits=LIMITS) as memory:
        session = await memory.session("s")
        await talked(session)
        await session.compress("msg_3", 2)
        figures = (await session.metrics()).figures["tiers"]
        assert list(figures) == ["L0", "L1", "L2", "L3", "L4"]
        assert figures["L0"]["pages"] == len(session.resident())
        assert figures["L3"] == {"pages": 1, "tokens": (await row(session, "art_1")).tokens} | {
            "bytes": 904
        }
        everything = {m.page_id for m in await session.history() if m.what == "created"}
        dirty = (await session.status()).dirty_pages
        assert sum(of["pages"] for of in figures.values()) == len(everything | {*dirty})
        tiers = await session.tiers([*everything, *dirty])
        for tier in Tier:
            assert figures[tier]["pages"] == list(tiers.values()).count(tier), tier


async def row(session: Session, page_id: str) -> PageRow:
    return (await session.page(page_id)).row


async def test_a_page_made_of_another_is_in_l1_until_it_is_written(
    tmp_path: Path,
) -> None:
    async with open_memory(tmp_path / "m", window=4_000) as memory:
        session = await memory.session("s")
        await session.user(" ".join(f"Sentence {n} is about the harbour." for n in range(40)))
        made = await session.compress("msg_1", 2)
        assert (await session.status()).dirty_pages == (made.page_id,)
        assert await session.tiers([made.page_id]) == {made.page_id: Tier.L1}
        assert (await session.metrics()).figures["tiers"]["L1"]["pages"] == 1
        await session.flush()
        assert await session.tiers([made.page_id]) == {made.page_id: Tier.L2}
        assert (await session.metrics()).figures["tiers"]["L1"]["pages"] == 0


async def test_a_history_tells_where_a_page_was_before_and_after_and_which_model_acted() -> None:
    async with open_memory(
        ":memory:", window=1_600, limits=LIMITS, claims="off", model="gpt-5.1"
    ) as memory:
        session = await memory.session("s")
        await talked(session)
        await session.tool_result("42 bridges", name="sql")
        await session.user("What is on the drawing of the bridge?")
        await session.request()
        await session.call(fault("msg_1", call_id="a"))
        await session.request()
        await session.assistant("A bridge [ref: msg_1].")
        by = {one.what: one for one in await session.history("msg_1")}
        assert (by["created"].tier_before, by["created"].tier_after) == (None, Tier.L0)
        assert (by["evicted"].tier_before, by["evicted"].tier_after) == (Tier.L0, Tier.L2)
        assert (by["faulted"].tier_before, by["faulted"].tier_after) == (Tier.L2, Tier.L0)
        assert (by["cited"].tier_before, by["cited"].tier_after) == (Tier.L0, Tier.L0)
        assert (by["cited"].actor, by["cited"].actor_id) == ("model", "gpt-5.1")
        assert (by["faulted"].actor, by["faulted"].actor_id) == ("model", "gpt-5.1")
        assert by["evicted"].actor_id == ""
        picture = {one.what: one for one in await session.history("art_1")}
        assert (picture["evicted"].tier_before, picture["evicted"].tier_after) == (
            Tier.L0,
            Tier.L3,
        )
        tool = next(one for one in await session.history(actor="tool"))
        assert (tool.page_id, tool.actor_id, tool.tier_after) == ("tool_1", "sql", Tier.L0)


@pytest.mark.parametrize("layout", ["stable", "developer"])
async def test_a_history_ends_where_the_page_is_now(layout: str) -> None:
    async with open_memory(":memory:", window=1_600, limits=LIMITS, layout=layout) as memory:
        session = await memory.session("s")
        await talked(session, 12)
        await session.user("What is on the drawing of the bridge?")
        await session.request()
        await session.call(fault("msg_1", call_id="a"))
        await session.request()
        last = {one.page_id: one.tier_after for one in await session.history()}
        made_of_others = {p for p in last if p.partition("_")[0] in ("sum", "clm", "prc", "idx")}
        said = [p for p in last if p not in made_of_others]
        assert {p: last[p] for p in said} == await session.tiers(said)
        steps: dict[str, Tier | None] = {}
        for one in await session.history():
            if one.page_id in said:
                assert one.tier_before == steps.get(one.page_id), "it leads on from the one before"
                steps[one.page_id] = one.tier_after
        assert set(steps.values()) == {Tier.L0, Tier.L2, Tier.L3} or "art_1" in session.resident()


def test_the_synchronous_face_tells_them_too() -> None:
    with pagefault.sync.open(":memory:") as memory:
        session = memory.session("s")
        session.user("Hello.")
        assert session.tiers(["msg_1"]) == {"msg_1": Tier.L0}
        assert tier_of(session.page("msg_1").row) is Tier.L2
        assert [one.tier_after for one in session.history("msg_1")] == [Tier.L0]
