"""Pages by what they are about, and pages that leave together."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault.model.errors import NoSuchPage
from pagefault.model.events import Draft, PageBody
from pagefault.model.ids import PageId, TurnNo
from pagefault.model.kinds import Kind, Modality
from pagefault.model.page import Told
from pagefault.paging.questions import EvictionPolicy, Resident
from pagefault.policy.affinity import Affinity
from pagefault.policy.importance_lru import ImportanceLRU
from pagefault.policy.lru import LRU
from pagefault.testing.machines_paging import EvictionPolicyContract


class TestAffinity(EvictionPolicyContract):
    def make(self) -> EvictionPolicy:
        return Affinity(ImportanceLRU())


async def test_pages_are_found_by_topic_and_by_task(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        ledger = await session.user("The ledger migration is tracked in LED-7 and issue 42.")
        await session.assistant("The otters were fed; there are 42 of them.")
        other = await session.user("Back to the ledgers: LED-7 waits for the auditors. See #43.")
        page = await session.page(ledger)
        assert page.task_refs == ("LED-7", "#42")
        assert "ledger" in page.topic_tags
        for topic, task, found in (
            ("ledger", "", [ledger, other]),
            ("", "LED-7", [ledger, other]),
            ("", "#42", [ledger]),
            ("ledger", "#43", [other]),
            ("otters", "LED-7", []),
            ("granite", "", []),
        ):
            rows = await memory.pages(session, topic=topic, task=task)
            assert [row.page_id for row in rows] == found, (topic, task)
            hits = (await session.recall(topic=topic, task=task)).hits
            assert {hit.page.page_id for hit in hits} == set(found)
        [first] = await memory.pages(session, topic="ledger", limit=1, newest_first=True)
        assert first.page_id == other
        await memory.forget("s", ledger)
        assert [row.page_id for row in await memory.pages(session, task="LED-7")] == [other]


async def test_what_an_older_record_tells_of_its_topics_is_taken_at_its_word(
    tmp_path: Path,
) -> None:
    """Versions before this one wrote topics, entities and tasks down with each text."""
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        new = await session.user("Granite is not an otter, says GEO-7.")
        [row] = await memory.pages(session)
        said = memory._runtime.log.get(row.seq)
        assert isinstance(said.body, PageBody)
        assert (said.body.topic_tags, said.body.entities, said.body.task_refs) == ((), (), ())
        older = Draft(
            session=said.session,
            turn=TurnNo(said.turn + 1),
            actor=said.actor,
            origin=said.origin,
            body=replace(
                said.body,
                page_id=PageId("msg_2"),
                order=said.body.order + 1,
                topic_tags=("granite",),
                entities=("Granite",),
                task_refs=("GEO-8",),
            ),
        )
        await session.owned.commit([older])
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s", create=False)
        page = await session.page("msg_2")
        told = (page.topic_tags, page.entities, page.task_refs)
        assert told == (("granite",), ("Granite",), ("GEO-8",))
        for topic, task, found in (
            ("granite", "", [new, "msg_2"]),
            ("otters", "", [new]),
            ("", "GEO-7", [new]),
        ):
            rows = await memory.pages(session, topic=topic, task=task)
            assert [row.page_id for row in rows] == found, (topic, task)


def page(number: int, topic: str) -> Resident:
    return Resident(
        page_id=PageId(f"msg_{number}"),
        tokens=10,
        kind=Kind.TRANSCRIPT,
        modality=Modality.TEXT,
        importance=0.5,
        about=Told(topic_tags=(topic,)),
    )


def test_pages_of_one_topic_leave_together_if_they_are_cold() -> None:
    policy, plain = Affinity(LRU()), LRU()
    topics = ["otters", "granite", "otters", "ledger", "otters", "granite", "ledger", "otters"]
    pages = [page(number, topic) for number, topic in enumerate(topics)]
    for resident in pages:
        policy.admitted(resident)
        plain.admitted(resident)
    everyone = {resident.page_id for resident in pages}
    assert policy.victims(everyone, 20) == ["msg_0", "msg_2"]
    assert policy.victims(everyone, 30) == ["msg_0", "msg_2", "msg_1"], "the warm one stays"
    assert plain.victims(everyone, 20) == ["msg_0", "msg_1"], "control"


class NeverAsked:
    """Of a page that nobody should ask what it is about."""

    @property
    def topic_tags(self) -> tuple[str, ...]:
        raise AssertionError("asked")

    entities = task_refs = topic_tags


def test_nobody_asks_what_pages_are_about_if_all_that_could_follow_leave_anyway() -> None:
    policy = Affinity(LRU())
    for number in range(8):
        policy.admitted(replace(page(number, ""), about=NeverAsked()))
    everyone = [PageId(f"msg_{number}") for number in range(8)]
    assert policy.victims(set(everyone), 40) == everyone[:4]
    assert policy.victims(set(everyone), 55) == everyone[:6]
    assert policy.victims(set(everyone), 90) == everyone
    with pytest.raises(AssertionError, match="asked"):
        policy.victims(set(everyone), 30)


async def test_a_deferred_page_is_a_placeholder_until_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        said = await session.user("The otters were fed.")
        gate = threading.Event()
        read = memory._runtime.pages.read

        def slowly(row: Any) -> Any:
            gate.wait(300)
            return read(row)

        monkeypatch.setattr(memory._runtime.pages, "read", slowly)
        deferred = await session.defer(said)
        assert await deferred.page_or_placeholder(timeout_ms=1) == deferred.placeholder
        assert said in deferred.placeholder
        assert not deferred.is_ready
        gate.set()
        assert (await deferred.page()).text == "The otters were fed."
        late = await deferred.page_or_placeholder(timeout_ms=0)
        assert not isinstance(late, str)
        assert deferred.is_ready
        with pytest.raises(NoSuchPage):
            await session.defer("msg_99")


async def test_who_gives_up_waiting_for_a_deferred_page_cancels_nothing(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        deferred = await session.defer(await session.user("The otters were fed."))
        waiting = asyncio.ensure_future(deferred.page())
        await asyncio.sleep(0)
        waiting.cancel()
        assert (await deferred.page()).text == "The otters were fed."
        await session.defer(deferred.page_id)  # and nobody ever asks for it
