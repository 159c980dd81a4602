"""Asking for pages: the latest, those of a time, of a topic, of a task, or that bear on words."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

import pagefault
from pagefault import Memory, SearchFilter, Session
from pagefault.model.errors import BadInput, SessionNotFound
from pagefault.recall.search import SearchResult
from pagefault.service.lookup.questions import Asking
from pagefault.store.embedded.root import repair
from tests.faults.damage import damage_record
from tests.store.logs import StillClock, memory_log

QUESTIONS: dict[str, Callable[[Asking], Awaitable[SearchResult]]] = {
    "recent": lambda asked: asked.recent(100),
    "timeline": lambda asked: asked.timeline(limit=100),
    "by_topic": lambda asked: asked.by_topic("ledger", 100),
    "by_task": lambda asked: asked.by_task("LED-7", 100),
    "recall": lambda asked: asked.recall("the ledger migration", limit=100),
}
"""Every way to ask, as broadly as it goes; each finds the page about the ledger."""


async def talk(memory: Memory) -> Session:
    """A session whose pages were said out of order, by what their records tell."""
    session = await memory.session("talk")
    await session.user(
        "The ledger migration is tracked in LED-7.",
        speaker="Zoë",
        occurred_at="2024-03-05T23:30:00-05:00",
    )
    await session.assistant("Then I wait for the auditors.", occurred_at="2024-03-07T09:00:00Z")
    await session.user("What was the budget? $50K.", occurred_at="2024-03-06T12:00Z")
    await session.user("The tea corner has 抹茶, by the way.")
    await session.tool_result("3 rows of ledger", name="sql")
    return session


def ids(found: SearchResult) -> list[str]:
    return [hit.page.page_id for hit in found.hits]


async def test_what_is_handed_in_is_of_the_time_that_it_is_said_to_be_of(memory: Memory) -> None:
    session = await memory.session("talk")
    at = "2024-03-05T09:00:00Z"
    [report] = await session.document("The ledger is closed.", occurred_at=at)
    [rows] = await session.tool_result("3 rows", name="sql", occurred_at=at)
    photo = await session.artifact(b"bytes", name="ledger.png", occurred_at=at)
    await session.user("And now?")
    assert ids(await session.timeline("2024-03-05", "2024-03-05")) == [report, rows, photo]


async def test_the_latest_pages_are_those_said_last(memory: Memory) -> None:
    session = await talk(memory)
    found = await session.recent(3)
    assert ids(found) == ["tool_1", "msg_4", "msg_2"], "a time that is none is when it was logged"
    assert found.total == 5
    assert ids(await session.recent()) == ["tool_1", "msg_4", "msg_2", "msg_3", "msg_1"]


async def test_a_timeline_is_in_the_order_of_its_time(memory: Memory) -> None:
    session = await talk(memory)
    assert ids(await session.timeline()) == ["msg_1", "msg_3", "msg_2", "msg_4", "tool_1"]
    assert ids(await session.timeline("2024-03-06", "2024-03-06")) == ["msg_1", "msg_3"]
    assert ids(await session.timeline("2024-03-06T12:01Z", "2024-03-07T09:00Z")) == []
    assert ids(await session.timeline("2024-03-07T09:00Z", "2024-03-07T09:00:01Z")) == ["msg_2"]
    found = await session.timeline(end="2024-12-31", limit=1)
    assert (ids(found), found.total) == (["msg_1"], 3)


async def test_what_was_said_at_the_same_time_comes_in_its_order(memory: Memory) -> None:
    session = await memory.session("s")
    said = [await session.user(f"Word {n}.", occurred_at="2024-03-05") for n in range(5)]
    assert ids(await session.timeline()) == said
    assert ids(await session.recent()) == said[::-1]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (SearchFilter(origins=("tool",)), {"tool_1"}),
        (SearchFilter(origins=("tool:sql",)), {"tool_1"}),
        (SearchFilter(origins=("model_generated",)), {"msg_2"}),
        (SearchFilter(modalities=("image",)), set()),
        (SearchFilter(kinds=("transcript",), until="2024-03-06"), {"msg_1", "msg_3"}),
        (SearchFilter(since="2024-03-07", until="2024-12-31"), {"msg_2"}),
    ],
)
async def test_a_filter_holds_for_whatever_is_asked(
    memory: Memory, wanted: SearchFilter, found: set[str]
) -> None:
    session = await talk(memory)
    assert set(ids(await session.recent(10, wanted))) == found
    assert set(ids(await session.timeline(wanted=wanted))) == found
    words = "ledger auditors budget rows"
    assert set(ids(await session.recall(words, limit=10, wanted=wanted))) == found
    for named in (await session.by_topic("ledger", 10, wanted)).hits:
        assert named.page.page_id in found


async def test_claims_are_asked_for_by_their_kind(memory: Memory) -> None:
    session = await talk(memory)
    await session.user("We decided to use PostgreSQL for the ledger.")
    claims = SearchFilter(kinds=("claim",))
    for found in (
        await session.recent(10, claims),
        await session.timeline(wanted=claims),
        await session.recall("PostgreSQL", wanted=claims),
        await memory.recent(10, claims),
        await memory.recall("PostgreSQL", wanted=claims),
        await memory.recall("PostgreSQL", wanted=replace(claims, session="talk")),
    ):
        assert ids(found) == ["clm_1"]
    assert "clm_1" not in ids(await session.recent(100)) + ids(await memory.recent(100))
    both = SearchFilter(kinds=("claim", "transcript"))
    assert {"clm_1", "msg_5"} <= set(ids(await session.recall("PostgreSQL", limit=9, wanted=both)))


async def test_who_searches_every_session_finds_what_was_said_not_what_retells_it(
    tmp_path: Path,
) -> None:
    """What retells is found by no word of its own, and by a claim beside it no more."""
    async with pagefault.open(tmp_path / "m", window=2_000, sync="os") as memory:
        session = await memory.session("harbour")
        await session.user("We decided to use Bermuda for the sails.")
        for number in range(60):
            await session.user(
                f"Boat {number} lies at berth {number * 7}, with sails of cloth {number % 9}. "
                f"Its keeper is Karl{number}."
            )
            await session.assistant(f"Boat {number}, noted for the harbour office.")
        await session.request()
        assert (await memory.recent(9, SearchFilter(kinds=("summary", "index")))).hits
        found = await memory.recall("Which sails did we decide on: Bermuda?", limit=1_000)
        assert {hit.page.kind for hit in found.hits} == {"transcript", "claim"}
        assert found.total == len(found.hits)


async def test_a_day_in_digits_finds_what_was_said_then(memory: Memory) -> None:
    session = await memory.session("diary")
    for day in (5, 6, 7, 8, 12):
        await session.user(
            f"Today it was the turn of {chr(100 + day)}.", occurred_at=f"2026-10-{day:02}T09:00"
        )
    for asked in (session, memory):
        assert ids(await asked.recall("What was said on 2026-10-08?"))[0] == "msg_4"
        assert ids(await asked.recall("2026-10-06"))[0] == "msg_2"


async def test_every_hit_says_where_it_is_from(memory: Memory) -> None:
    session = await talk(memory)
    for question in QUESTIONS.values():
        for asked in (session, memory):
            [hit] = [hit for hit in (await question(asked)).hits if hit.page.page_id == "msg_1"]
            assert (hit.session_id, hit.page.turn) == (session.session_id, 0)
            assert (hit.speaker, hit.page.role) == ("Zoë", "user")
            assert hit.occurred_at == "2024-03-05T23:30:00-05:00"
            assert hit.page.said_ms == 1_709_699_400_000
            assert hit.page.origin == "user_typed"


async def test_what_a_page_of_a_topic_says_besides_takes_no_room(memory: Memory) -> None:
    """The word stands in hundreds of pages that are about something else."""
    session = await memory.session("s")
    first = await session.user("The ledger and the ledgers: our ledger. See LED-7.")
    for number in range(450):
        await session.user(f"Otters, otters, otters {number}: led 7 and a ledger too, otters.")
    found = await session.by_task("LED-7")
    assert (ids(found), found.total) == ([first], 1)


async def test_tokens_bound_what_comes_back_and_what_is_left_out_is_told(memory: Memory) -> None:
    session = await memory.session("s")
    for text in ("Short.", "The clerk read it aloud. " * 30, "Signed."):
        await session.user(f"The harbour lease. {text}")
    whole = await session.recall("harbour lease", limit=10)
    assert (whole.left_out, len(whole.hits)) == (0, 3)
    found = await session.recall("harbour lease", limit=10, tokens=30)
    assert found.tokens <= 30
    assert set(ids(found)) == {"msg_1", "msg_3"}
    assert (found.total, found.left_out) == (3, 1)
    for question in (session.recent, session.timeline):
        listed = await question(tokens=30)
        assert (listed.left_out, listed.total) == (1, 3)
    assert (await session.recent(tokens=0)).hits == ()


@pytest.mark.parametrize("name", QUESTIONS)
async def test_what_was_forgotten_is_found_by_no_question(memory: Memory, name: str) -> None:
    session = await talk(memory)
    ask = QUESTIONS[name]
    assert "msg_1" in ids(await ask(session))
    await memory.forget("talk", "msg_1")
    assert "msg_1" not in ids(await ask(session)) + ids(await ask(memory))
    await memory.forget("talk")
    assert ids(await ask(memory)) == []


@pytest.mark.parametrize("name", QUESTIONS)
async def test_what_was_set_aside_as_damaged_is_found_by_no_question(
    tmp_path: Path, name: str
) -> None:
    async with pagefault.open(tmp_path, window=8_000, sync="os") as memory:
        await talk(memory)
    damage_record(tmp_path, "ledger migration")
    await asyncio.to_thread(
        lambda: repair(tmp_path, clock=StillClock(), minter=memory_log()._minter)
    )
    async with pagefault.open(tmp_path) as memory:
        session = await memory.session("talk", create=False)
        assert "msg_1" not in ids(await QUESTIONS[name](session))
        assert "msg_1" not in ids(await QUESTIONS[name](memory))


@pytest.mark.parametrize("name", QUESTIONS)
async def test_a_session_answers_of_itself_alone(memory: Memory, name: str) -> None:
    await talk(memory)
    other = await memory.session("other")
    await other.user("The weather was fine.")
    assert set(ids(await QUESTIONS[name](other))) <= {"msg_1"}
    for hit in (await QUESTIONS[name](other)).hits:
        assert hit.session_id == other.session_id
    assert (await QUESTIONS[name](memory)).hits


async def test_a_memory_is_asked_of_one_session_by_its_name(memory: Memory) -> None:
    session = await talk(memory)
    other = await memory.session("other")
    await other.user("The ledger of another.")
    for name in ("other", other.session_id):
        [hit] = (await memory.recent(10, SearchFilter(session=name))).hits
        assert hit.session_id == other.session_id
    with pytest.raises(SessionNotFound):
        await memory.recent(10, SearchFilter(session="nobody"))
    with pytest.raises(BadInput, match="cannot see 'other'"):
        await session.recent(10, SearchFilter(session="other"))


async def test_a_fork_sees_the_times_of_its_parent_as_it_was(memory: Memory) -> None:
    session = await talk(memory)
    fork = await session.fork("aside")
    await session.user("Later, elsewhere.", occurred_at="2024-03-05")
    mine = await fork.user("And here.", occurred_at="2024-03-05T12:00Z")
    assert ids(await fork.timeline())[:2] == [mine, "msg_1"]


@pytest.mark.parametrize("query", ["", "   ", "?!", "zzyzx quuxly"])
async def test_what_bears_on_nothing_finds_nothing_and_changes_nothing(
    memory: Memory, query: str
) -> None:
    session = await talk(memory)
    before = (await memory.verify()).records, await session.status()
    found = await session.recall(query)
    assert (found.hits, found.total) == ((), 0)
    assert ((await memory.verify()).records, await session.status()) == before


async def test_asking_writes_nothing_whatever_is_found(memory: Memory) -> None:
    session = await talk(memory)
    before = (await memory.verify()).records, await session.status()
    for question in QUESTIONS.values():
        assert (await question(session)).hits
    assert ((await memory.verify()).records, await session.status()) == before


async def test_a_question_finds_its_answer(memory: Memory) -> None:
    session = await talk(memory)
    found = await session.recall("what was the budget?", limit=1)
    assert "$50K" in (await session.page(ids(found)[0])).text
    assert ids(await session.recall("抹茶", limit=1)) == ["msg_4"]
    assert ids(await session.recall("auditor waiting", limit=1)) == ["msg_2"]
    assert ids(await session.recall("row", limit=1)) == ["tool_1"]


async def test_ten_thousand_characters_come_back_as_they_were(memory: Memory) -> None:
    session = await memory.session("s")
    text = ("Плавающий рынок 🛶 naïve " * 420)[:5_000] + " the cormorant clause " + "x y " * 1_250
    await session.document(text)
    hits = (await session.recall("cormorant clause", limit=50)).hits
    assert hits
    rows = await memory.pages(session)
    assert "".join([(await memory.read(row)).text for row in rows]) == text


@pytest.mark.parametrize("n", [-1, -100])
async def test_nobody_can_ask_for_fewer_than_no_pages(memory: Memory, n: int) -> None:
    session = await talk(memory)
    for question in (session.recent(n), session.timeline(limit=n), session.by_topic("ledger", n)):
        with pytest.raises(BadInput):
            await question
    assert (await session.recent(0)).hits == ()


@pytest.mark.parametrize(
    "occurred_at",
    ["x" * 1_000, "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "\x00", "some Friday"],
)
async def test_what_is_no_time_is_refused_and_nothing_is_written(
    memory: Memory, occurred_at: str
) -> None:
    session = await memory.session("s")
    with pytest.raises(BadInput, match="not a time"):
        await session.user("The ledger.", occurred_at=occurred_at)
    said = await session.user("The ledger.", occurred_at="")
    assert ids(await session.recent()) == [said]
    assert ids(await memory.timeline()) == [said]


async def test_what_says_the_same_is_one_hit_that_names_the_others(memory: Memory) -> None:
    session = await memory.session("s")
    said = [await session.user("The harbour lease is signed.") for _ in range(3)]
    [hit] = (await session.recall("harbour lease", limit=10)).hits
    assert sorted([hit.page.page_id, *(row.page_id for row in hit.also)]) == said
    assert len((await session.recent()).hits) == 3, "a listing leaves out nothing"


async def test_a_search_is_ordered_by_the_profile_that_it_names(memory: Memory) -> None:
    session = await talk(memory)
    measured = (await session.recall("ledger migration")).hits[0]
    assert "own" in measured.parts
    for asked in (session, memory):
        for hit in (await asked.recall("ledger migration", profile="studio-v1")).hits:
            assert set(hit.parts) == {"lexical", "recency", "importance"}
            assert hit.score == pytest.approx(sum(hit.parts.values()))
    assert (await session.recall("zzyzx", profile="studio-v1")).hits == ()
    with pytest.raises(BadInput, match="unknown profile") as refused:
        await session.recall("ledger", profile="studio-v2")
    assert "studio-v1" in refused.value.hint


async def test_a_profile_can_be_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGEFAULT_RECALL__PROFILE", "studio-v1")
    async with pagefault.open(tmp_path / "m", window=8_000, sync="os") as memory:
        session = await talk(memory)
        await session.user("I prefer the ledger in ink. What is the ledger migration?")
        assert (await session.request()).messages
        [hit, *_] = (await session.recall("ledger migration")).hits
        assert "lexical" in hit.parts
        [hit, *_] = (await session.recall("ledger migration", profile="measured")).hits
        assert "own" in hit.parts
