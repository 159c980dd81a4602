"""How likely a hit is to bear on a question."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.lab.reliability import DEPTH, fitted_weights, likely_by, reliability
from pagefault.lab.retrieval import Asked
from pagefault.lab.transcripts import Question
from pagefault.recall.likelihood import Weights, likelihoods
from pagefault.recall.search import SearchHit
from tests.pack.pages import page

SCORES = st.lists(st.floats(-5, 50), max_size=80).map(lambda them: sorted(them, reverse=True))


@given(SCORES)
def test_likelihoods_are_shares_in_the_order_of_the_scores(scores: list[float]) -> None:
    likely = likelihoods(scores, [1.0] * len(scores))
    assert len(likely) == len(scores)
    assert all(0 <= one <= 1 for one in likely)
    assert all(one >= other for one, other in pairwise(likely))


def test_the_unit_of_a_score_tells_nothing() -> None:
    scores, whole = [9.0, 6.0, 2.0], [1.0] * 3
    scaled = likelihoods([100 * one for one in scores], whole)
    assert likelihoods(scores, whole) == pytest.approx(scaled)


def test_what_stands_out_of_more_is_likelier() -> None:
    alone, among = [9.0, *[1.0] * 40], [9.0, *[8.0] * 40]
    whole = [1.0] * 41
    assert likelihoods(alone, whole)[0] > 2 * likelihoods(among, whole)[0]


def test_nothing_is_likelier_than_its_words_are_covered() -> None:
    assert likelihoods([9.0, 1.0], [0.1, 0.0]) == [0.1, 0.0]


def test_a_coverage_without_a_score_is_an_error() -> None:
    with pytest.raises(ValueError, match="zip"):
        likelihoods([9.0], [1.0, 1.0])


def asked(kind: str, *, sure: bool) -> Asked:
    """A question of which the first hit is evidence, and, unless that stands out, often is not."""
    scores = (10.0, *[1.0 if sure else 9.0] * (DEPTH - 1))
    row = page("msg_1", "A red barn.").row
    hits = tuple(SearchHit(row, score, 0.0, {}, coverage=1.0) for score in scores)
    lines = tuple((f"line {at}",) for at in range(DEPTH))
    evidence = ("line 0",) if sure else ("line 7",)
    question = Question(text="?", category="1", evidence=evidence, answerable=True)
    return Asked("talk", question, hits, lines, 0.0, kind)


def test_weights_are_fitted_to_how_often_hits_are_evidence() -> None:
    """Both kinds count the same, though one has five times as many questions."""
    questions = [asked("a", sure=True)] * 100 + [asked("b", sure=False)] * 500
    weights = fitted_weights(questions)
    sure, unsure = likely_by([questions[0], questions[-1]], weights)
    assert sure[0] > 0.7 > 0.3 > unsure[0]
    fitted = reliability(questions, likely_by(questions, weights))
    guessed = reliability(questions, likely_by(questions, Weights(0, 0, 0, 0)))
    assert fitted.brier < guessed.brier
    assert fitted.ece < guessed.ece
    assert sum(one.hits for one in fitted.bins) == DEPTH * len(questions)
