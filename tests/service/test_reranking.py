"""A reranker orders what words leave open, is asked once, and fails no search."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import pagefault
from pagefault.model.clock import SystemClock
from pagefault.recall.reranking import CANDIDATES_MAX, TEXT_CHARS_MAX
from pagefault.service.derived import reranking
from pagefault.testing.rerankers import FailingReranker, SlowReranker, WordReranker

SAID = (
    "The lease of the boat shed ends in May.",
    "The boat needs paint before the summer regatta.",
    "This summer the boat stays where it is.",
    "A vessel like ours is moored for 900 euros, at the north quay, each summer.",
    "The roof over the shed is new.",
    "My sister plays the cello on Fridays.",
    "Bread is cheaper in the village.",
    "Nobody answered the letter to the bank.",
)
KINDRED = (("moored", "berth"), ("euros", "cost"))
UNSURE = "What does a berth for the boat cost in summer?"  # no page has all of its words
SURE = "What does a berth for the boat cost?"  # of which no page has more than `boat`
SURE = "When does the lease of the boat shed end?"


async def said(memory: pagefault.Memory, texts: tuple[str, ...] = SAID) -> pagefault.Session:
    session = await memory.session("s")
    for text in texts:
        await session.user(text, speaker="Ana")
    return session


async def told(memory: pagefault.Memory) -> pagefault.RerankingStatus:
    now = await memory.reranking()
    assert now is not None
    return now


def pages_of(result: pagefault.SearchResult) -> list[int]:
    return [hit.page.order for hit in result.hits]


async def test_what_words_leave_open_is_put_in_order_by_the_reranker() -> None:
    async with pagefault.open(":memory:") as memory:
        before = await (await said(memory)).recall(UNSURE, limit=20)
        assert pages_of(before)[0] != 3, "else there is nothing to put in order"
        assert await memory.reranking() is None
    reranker = WordReranker(synonyms=KINDRED)
    async with pagefault.open(":memory:", reranker=reranker) as memory:
        session = await said(memory)
        found = await session.recall(UNSURE, limit=20)
        assert pages_of(found)[0] == 3
        assert set(pages_of(found)) == set(pages_of(before)), "it finds nothing new"
        for hit in found.hits:
            assert sum(hit.parts.values()) == pytest.approx(hit.score)
        gains = [hit.parts["reranked"] for hit in found.hits]
        assert max(gains) == pytest.approx(before.hits[0].score), "as much as the best by words"
        assert min(gains) == 0
        [(query, texts)] = reranker.calls
        assert query == UNSURE
        assert f"Ana: {SAID[3]}" in texts
        again = await session.recall(UNSURE, limit=20)
        assert again.hits == found.hits, "the same index and scores give the same order"
        assert (await told(memory)).asked == 2


async def test_a_weight_of_nothing_changes_no_order() -> None:
    async with pagefault.open(":memory:") as memory:
        before = await (await said(memory)).recall(UNSURE, limit=20)
    reranker = WordReranker(synonyms=KINDRED, weight=0.0)
    async with pagefault.open(":memory:", reranker=reranker) as memory:
        found = await (await said(memory)).recall(UNSURE, limit=20)
    assert pages_of(found) == pages_of(before)
    assert len(reranker.calls) == 1


async def test_where_words_are_sure_nobody_is_asked() -> None:
    reranker = WordReranker()
    async with pagefault.open(":memory:", reranker=reranker) as memory:
        session = await said(memory)
        found = await session.recall(SURE)
        assert pages_of(found)[0] == 0
        assert "reranked" not in found.hits[0].parts
        assert (await session.recall("regatta")).hits
        assert not reranker.calls
        assert (await told(memory)).asked == 0


async def test_a_question_is_one_call_for_some_candidates_of_bounded_length() -> None:
    long = "and so on " * 400
    texts = tuple(
        text
        for n in range(CANDIDATES_MAX + 9)
        for text in (f"Boat {n} {long}.", f"Day {n}.", f"Bread, {n} loaves.", f"Letter {n}.")
    )
    reranker = WordReranker()
    async with pagefault.open(":memory:", reranker=reranker) as memory:
        session = await said(memory, texts)
        await session.recall("What does the boat cost? And where is the boat moored?", limit=5)
    [(_, sent)] = reranker.calls
    assert len(sent) == CANDIDATES_MAX
    assert max(map(len, sent)) <= TEXT_CHARS_MAX + len("Ana: ")


async def test_other_profiles_have_their_own_order() -> None:
    reranker = WordReranker()
    async with pagefault.open(":memory:", reranker=reranker) as memory:
        found = await (await said(memory)).recall(UNSURE, profile="studio-v1")
    assert found.hits
    assert not reranker.calls


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (pagefault.EngineError("no reranker is there"), "no reranker is there"),
        (ZeroDivisionError("a bug"), "ZeroDivisionError: a bug"),
        (lambda count: [1.0] * (count - 1), "by 6 scores"),
        (lambda count: [float("nan")] * count, "by finite ones"),
        (lambda count: ["high"] * count, "could not convert"),
    ],
)
async def test_a_failing_reranker_leaves_the_order_by_words_and_is_left_alone(
    fault: object, why: str
) -> None:
    async with pagefault.open(":memory:") as memory:
        before = await (await said(memory)).recall(UNSURE, limit=20)
    reranker = FailingReranker()
    reranker.failure = fault  # type: ignore[assignment]
    async with pagefault.open(":memory:", reranker=reranker) as memory:
        session = await said(memory)
        for _ in range(3):
            assert pages_of(await session.recall(UNSURE, limit=20)) == pages_of(before)
        assert len(reranker.calls) == 1, "who failed is left alone for a while"
        assert why in (await told(memory)).failure


async def test_who_answers_again_has_failed_no_more() -> None:
    class Later(SystemClock):
        ahead_s = 0.0

        def monotonic_s(self) -> float:
            return super().monotonic_s() + self.ahead_s

    clock, reranker = Later(), FailingReranker()
    judging = reranking.Reranking(reranker, clock, owned=False)
    assert judging("tea", ["red tea", "green"]) is None
    reranker.failure = None
    assert judging("tea", ["red tea", "green"]) is None, "it is left alone"
    clock.ahead_s = reranking.REST_S + 1
    judged = judging("tea", ["red tea", "green"])
    assert judged is not None
    assert judged.scores == [1.0, 0.0]
    assert not judging.status().failure


async def test_a_late_answer_is_waited_for_so_long_and_no_other_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reranking, "WAIT_S", 0.05)
    reranker = SlowReranker()
    async with pagefault.open(":memory:", reranker=reranker) as memory:
        session = await said(memory)
        for _ in range(3):
            assert (await session.recall(UNSURE, limit=20)).hits
        assert len(reranker.calls) == 1
        assert "no answer within 0.05 s" in (await told(memory)).failure
        reranker.go.set()


async def test_it_is_closed_with_the_memory_that_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGEFAULT_RERANKER", "python:tests.service.test_reranking:Closing")
    Closing.closed.clear()
    async with pagefault.open(tmp_path) as memory:
        await (await said(memory)).recall(UNSURE, limit=20)
        assert (await told(memory)).asked == 1
    assert Closing.closed.is_set()
    Closing.closed.clear()
    async with pagefault.open(tmp_path, reranker=Closing()) as memory:
        assert (await told(memory)).reranker == "words"
    assert not Closing.closed.is_set(), "that one is the caller's"


class Closing(WordReranker):
    closed = threading.Event()

    def close(self) -> None:
        self.closed.set()


async def test_forgetting_asks_no_reranker(tmp_path: Path) -> None:
    reranker = WordReranker()
    async with pagefault.open(tmp_path, reranker=reranker) as memory:
        session = await said(memory)
        page = (await session.recall("roof")).hits[0].page
        reranker.calls.clear()
        await memory.forget(session, page.page_id)
        assert not reranker.calls
