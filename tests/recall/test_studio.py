"""The profile `studio-v1`: the studio's formula, and nothing it does not say."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from pagefault.model.ids import SessionNo
from pagefault.model.kinds import Profile
from pagefault.model.page import Scope
from pagefault.recall.search import RECENCY_PAGES, Searcher, SearchResult
from pagefault.recall.semantic import Semantic, Similar
from pagefault.recall.studio import WEIGHTS, rescored
from pagefault.store.in_memory.index import MemoryIndex
from pagefault.testing.index_contract import whole
from pagefault.testing.records import Records

FILLER = "Nothing worth remembering happened on that grey afternoon."


@pytest.fixture
def index() -> MemoryIndex:
    """A page that says all, long ago, one that says less, lately, and one that matters most."""
    records = Records()
    records.open("talk")
    records.say(1, "The harbour lease was signed by the mayor.", importance=0.2)
    for _ in range(400):
        records.say(1, FILLER)
    records.say(1, "A lease again.", importance=0.5)
    for _ in range(9):
        records.say(1, FILLER)
    records.say(1, "The harbour, they say.", importance=1.0)
    index = MemoryIndex()
    index.apply(records.events)
    return index


def search(index: MemoryIndex, query: str, semantic: Semantic | None = None) -> SearchResult:
    searcher = Searcher(index, semantic)
    return searcher.search(whole(1), query, limit=9, profile=Profile.STUDIO_V1)


def test_the_parts_add_up_and_are_shares_of_the_weights_that_are_left(index: MemoryIndex) -> None:
    hits = search(index, "harbour lease mayor").hits
    assert hits
    left = 1 - WEIGHTS["semantic"]
    for hit in hits:
        assert hit.score == pytest.approx(sum(hit.parts.values()))
        assert set(hit.parts) == {"lexical", "recency", "importance"}
        recency = math.exp(-(411 - hit.page.order) / RECENCY_PAGES)
        assert hit.parts["recency"] == pytest.approx(WEIGHTS["recency"] / left * recency)
        importance = WEIGHTS["importance"] / left * hit.page.importance
        assert hit.parts["importance"] == pytest.approx(importance)
    assert max(hit.parts["lexical"] for hit in hits) == pytest.approx(WEIGHTS["lexical"] / left)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_what_is_new_and_matters_comes_before_what_says_more(index: MemoryIndex) -> None:
    measured = Searcher(index).search(whole(1), "harbour lease mayor", limit=1).hits
    assert measured[0].page.order == 0
    assert search(index, "harbour lease mayor").hits[0].page.order == 411


@pytest.mark.parametrize("query", ["", "zzyzx quuxly", "?!"])
def test_what_bears_on_nothing_finds_nothing(index: MemoryIndex, query: str) -> None:
    assert search(index, query).hits == ()


def test_with_an_embedder_meaning_weighs_most(index: MemoryIndex) -> None:
    def nearest_is_the_second(
        scope: Scope, queries: Sequence[str], *, limit: int, only: NDArray[np.int64] | None = None
    ) -> list[Similar]:
        assert only is None, "nothing is left out"
        assert scope.parts[0][0] == SessionNo(1)
        scores = np.array([0.1, 0.1, 0.9, 0.1])
        return [Similar(np.array([5, 50, 401, 408], dtype=np.int64), scores) for _ in queries]

    hits = search(index, "harbour lease mayor", nearest_is_the_second).hits
    assert hits[0].page.order == 401
    assert hits[0].parts["semantic"] == pytest.approx(WEIGHTS["semantic"])
    assert sum(WEIGHTS.values()) == pytest.approx(1)
    assert all(hit.score <= 1 + 1e-9 for hit in hits)


def test_nothing_found_is_nothing_to_order() -> None:
    assert rescored([], [], []) == []
    [only] = rescored([{"own": 0.0, "neighbourhood": 0.0}], [1.0], [0.5])
    assert only["lexical"] == 0
