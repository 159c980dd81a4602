"""The contract suite for rerankers: subclass it and provide the fixture."""

from __future__ import annotations

import math
from typing import Final

import pytest

from pagefault.engine.reranking import Reranker

QUERY: Final = "Which database did we pick for the ledger?"
TEXTS: Final = (
    "We picked Postgres for the ledger.",
    "The harbour in Lisbon was full of boats.",
    "我们决定使用PostgreSQL，不用MySQL。",
    "Κάθε Παρασκευή πηγαίνουμε για κολύμπι.",
    "🙂👨‍👩‍👧‍👦🇵🇹",
    "ok",
    "line\r\nline\u2028line\x85 a\u0301 \x00",
    "word " * 3_000,
)
ROUNDING: Final = 1e-4


class RerankerContract:
    @pytest.fixture
    def reranker(self) -> Reranker:
        raise NotImplementedError

    def test_it_has_a_name(self, reranker: Reranker) -> None:
        assert reranker.name
        assert reranker.name == reranker.name.strip()

    def test_a_finite_number_for_each_text(self, reranker: Reranker) -> None:
        scores = reranker.rerank(QUERY, TEXTS)
        assert len(scores) == len(TEXTS)
        assert all(map(math.isfinite, scores))

    def test_the_same_texts_have_the_same_scores(self, reranker: Reranker) -> None:
        first, again = reranker.rerank(QUERY, TEXTS), reranker.rerank(QUERY, TEXTS)
        assert list(first) == pytest.approx(list(again), abs=ROUNDING)

    def test_scores_stand_in_the_order_of_the_texts(self, reranker: Reranker) -> None:
        forwards, backwards = reranker.rerank(QUERY, TEXTS), reranker.rerank(QUERY, TEXTS[::-1])
        assert list(forwards) == pytest.approx(list(backwards)[::-1], abs=ROUNDING)

    def test_a_text_that_stands_twice_has_two_scores(self, reranker: Reranker) -> None:
        scores = reranker.rerank(QUERY, [TEXTS[0], TEXTS[1], TEXTS[0]])
        assert len(scores) == 3
        assert scores[0] == pytest.approx(scores[2], abs=ROUNDING)

    def test_no_text_is_no_score(self, reranker: Reranker) -> None:
        assert len(reranker.rerank(QUERY, [])) == 0

    def test_an_empty_text_is_no_better_than_one_that_answers(self, reranker: Reranker) -> None:
        empty, answer, blank = reranker.rerank(QUERY, ["", TEXTS[0], " \n\t"])
        assert max(empty, blank) <= answer

    def test_an_answer_is_better_than_something_else(self, reranker: Reranker) -> None:
        answer, other = reranker.rerank(QUERY, TEXTS[:2])
        assert answer > other
