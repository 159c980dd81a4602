"""Ranking: own words, and what was said around them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.model.kinds import Role
from pagefault.recall import parts
from pagefault.recall.question import Question, read
from pagefault.recall.rank import MEASURED_MAX, rank
from pagefault.recall.ranking import Ranked
from pagefault.recall.semantic import Similar
from pagefault.store.api import PERSON, Candidates, Traits, role_number
from pagefault.store.said import ASKS, TELLS_NAME, TELLS_NUMBER, TELLS_TIME

DAY = date(2024, 5, 8).toordinal()


def found(rows: Mapping[int, tuple[int, ...]], *, pages: int = 100) -> Candidates:
    """Candidates by order."""
    terms = len(next(iter(rows.values()), ()))
    frequencies = tuple(sum(counts[t] > 0 for counts in rows.values()) for t in range(terms))
    return Candidates(
        pages=pages,
        length_mean=10.0,
        frequencies=frequencies,
        places=np.array(sorted(rows), dtype=np.int64),
        counts=np.array([rows[o] for o in sorted(rows)], dtype=np.int64).reshape(len(rows), terms),
    )


def ranked(
    candidates: Candidates,
    *,
    asked: Question | None = None,
    lengths: Mapping[int, int] = {},
    marks: Mapping[int, int] = {},
    days: Mapping[int, int] = {},
    roles: Mapping[int, int] = {},
    spoken: Collection[int] = (),
    speakers: Collection[int] = (),
    similar: Similar | None = None,
    relevance_min: float = 0.0,
) -> list[Ranked]:
    """Places, best first; all pages are of mean length and one day, but for those named."""

    def look(places: Collection[int]) -> Traits:
        at = sorted(places)
        return Traits(
            places=np.array(at, dtype=np.int64),
            lengths=np.array([lengths.get(place, 10) for place in at], dtype=np.int64),
            days=np.array([days.get(place, DAY) for place in at], dtype=np.int64),
            roles=np.array([roles.get(place, PERSON) for place in at], dtype=np.int64),
            marks=np.array([marks.get(place, 0) for place in at], dtype=np.int64),
            likenesses=np.array(at, dtype=np.int64),
            spoken=np.array([place in spoken for place in at], dtype=np.bool_),
            told_first=np.zeros(len(at), dtype=np.int64),
            told_last=np.zeros(len(at), dtype=np.int64),
        )

    found = rank(
        candidates,
        look,
        asked or Question(()),
        speakers=speakers,
        similar=similar,
        relevance_min=relevance_min,
    )
    return found.rows(range(len(found)))


def orders_by(candidates: Candidates, similar: Similar) -> list[int]:
    return [place.place for place in ranked(candidates, similar=similar)]


def orders(candidates: Candidates, *, lengths: Mapping[int, int] = {}) -> list[int]:
    return [place.place for place in ranked(candidates, lengths=lengths)]


def test_nothing_found_ranks_nothing() -> None:
    assert not ranked(found({}))


def test_a_long_page_says_less_with_the_same_words() -> None:
    rows = {10: (1,), 50: (1,)}
    assert orders(found(rows))[0] == 10
    assert orders(found(rows), lengths={10: 40})[0] == 50


def unremarkable(places: Collection[int]) -> Traits:
    """Pages of nobody in particular, of no day, at these places."""
    at = np.array(sorted(places), dtype=np.int64)
    nothing = np.zeros_like(at)
    seen = (at, nothing, nothing, nothing, nothing, nothing, nothing.astype(float))
    return Traits(*seen, told_first=nothing, told_last=nothing)


def test_all_places_are_counted_and_the_best_are_told() -> None:
    many = found(dict.fromkeys(range(10, 30_010, 10), (1,)), pages=30_010)
    ranking = rank(many, unremarkable, Question(()))
    assert len(ranking) == MEASURED_MAX
    assert ranking.total == 3_000 * 7  # each with its neighbours


def test_a_place_where_no_page_stands_is_not_told() -> None:
    one = found({10: (1,)})
    ranking = rank(one, lambda places: unremarkable(set(places) - {9, 11}), Question(()))
    assert set(ranking.places.tolist()) == {8, 10, 12, 13, 14}
    assert ranking.total == 5


def test_the_page_with_the_word_stands_before_its_neighbours() -> None:
    assert orders(found({10: (1,)}))[0] == 10


def test_the_page_after_a_question_is_found_without_sharing_a_word() -> None:
    places = orders(found({10: (1, 1)}))
    assert places[:2] == [10, 11]
    assert [at for at in places if at > 10] == [11, 12, 13, 14], "the nearer, the better"
    assert [at for at in places if at < 10] == [9, 8]


def test_a_word_reaches_so_many_words_and_not_so_many_pages() -> None:
    beside_a_line = ranked(found({10: (1,)}))
    beside_a_file = ranked(found({10: (1,)}), lengths={10: 1_000})
    at = {place.place: place.parts["neighbourhood"] for place in beside_a_line}
    assert at[11] > 2 * {place.place: place.parts["neighbourhood"] for place in beside_a_file}[11]


def test_a_page_is_long_for_who_says_it() -> None:
    tool, user = role_number(Role.TOOL, is_named=False), role_number(Role.USER, is_named=False)
    rows = {10: (1,), 30: (1,), 50: (1,), 70: (1,)}
    lengths = {10: 400, 30: 40, 50: 300, 70: 10}
    roles = dict.fromkeys(range(5, 25), tool) | dict.fromkeys(range(25, 45), user)
    roles |= dict.fromkeys(range(45, 65), tool) | dict.fromkeys(range(65, 85), user)
    own = {
        place.place: place.parts["own"]
        for place in ranked(found(rows), lengths=lengths, roles=roles)
    }
    assert own[50] > own[10], "the shorter of two results"
    assert own[70] > own[30], "the shorter of two lines"
    plain = {place.place: place.parts["own"] for place in ranked(found(rows), lengths=lengths)}
    assert own[50] > plain[50] > plain[10], "a result is not held against a line"


def test_words_that_stand_together_beat_words_far_apart() -> None:
    places = orders(found({10: (1, 0), 11: (0, 1), 40: (1, 0), 60: (0, 1)}))
    assert set(places[:2]) == {10, 11}


def test_a_rare_word_tells_more_than_a_common_one() -> None:
    rows = dict.fromkeys(range(0, 60, 6), (1, 0)) | {90: (0, 1)}
    assert orders(found(rows))[0] == 90


def test_a_short_result_that_says_all_stands_above_long_ones_that_say_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tool = role_number(Role.TOOL, is_named=False)
    rows = dict.fromkeys(range(10, 90, 10), (0, 3, 3, 3)) | {95: (1, 1, 1, 1)}
    roles, lengths = dict.fromkeys(range(100), tool), dict.fromkeys(range(100), 300) | {95: 6}
    assert ranked(found(rows), lengths=lengths, roles=roles)[0].place == 95
    whole = parts.length
    # The control: what is short is short, whatever it says.
    monkeypatch.setattr(
        parts, "length", lambda seen: whole(replace(seen, told=np.zeros_like(seen.told)))
    )
    assert ranked(found(rows), lengths=lengths, roles=roles)[0].place != 95


def test_of_equals_the_earlier_stands_first() -> None:
    places = orders(found({10: (1,), 50: (1,)}))
    assert places[:2] == [10, 50]


def test_coverage_is_the_share_of_the_query_that_stands_around() -> None:
    half, whole = found({10: (1, 0), 50: (0, 1)}), found({10: (1, 1)})
    assert ranked(half)[0].relevance == 0.5
    assert ranked(whole)[0].relevance == 1.0
    assert all(place.relevance >= 0.6 for place in ranked(whole, relevance_min=0.6))


def test_the_name_of_a_speaker_weighs_less_unless_it_is_all_there_is() -> None:
    both = found({10: (1, 0), 50: (0, 1)})
    assert ranked(both, speakers=[0])[0].place == 50
    alone = found({10: (1,)})
    assert ranked(alone, speakers=[0]) == ranked(alone)


def test_the_one_asked_about_tells_it() -> None:
    both = found({10: (1, 1), 50: (1, 1)})
    assert ranked(both, speakers=[0], spoken=[50])[0].place == 50


def test_an_answer_to_when_tells_a_time() -> None:
    same = found({10: (1,), 30: (1,), 50: (1,), 70: (1,)})
    marks = {30: TELLS_NAME, 50: TELLS_TIME, 70: TELLS_NUMBER}
    best = {
        query: ranked(same, asked=read(query), marks=marks)[0].place
        for query in ("When was it?", "How many were there?", "Where was it?", "Was it there?")
    }
    assert list(best.values()) == [50, 70, 30, 10]


def test_what_a_question_is_answered_with_stands_before_what_follows_a_statement() -> None:
    same = found({10: (1,), 50: (1,)})
    places = [place.place for place in ranked(same, marks={50: ASKS})]
    assert places.index(51) < places.index(11)


def test_the_day_that_is_asked_about_is_looked_at_first() -> None:
    same = found({10: (1,), 50: (1,)})
    days = dict.fromkeys(range(40, 60), DAY + 60)
    assert ranked(same, asked=read("What was it in July?"), days=days)[0].place == 50
    assert ranked(same, asked=read("What was it in May 2024?"), days=days)[0].place == 10
    ago = read("What was it yesterday?", today=date.fromordinal(DAY + 61))
    assert ranked(same, asked=ago, days=days)[0].place == 50


def test_a_sitting_in_which_more_was_said_of_it_comes_first() -> None:
    rows = {10: (1,), 50: (1,), 58: (1,)}
    days = dict.fromkeys(range(40, 70), DAY + 7)
    assert ranked(found(rows), days=days)[0].place == 50


def test_what_is_near_in_meaning_is_found_without_a_word() -> None:
    words = found({10: (1,)})
    similar = Similar(np.array([30, 50, 90]), np.array([0.1, 0.7, 0.2]))
    places = {place.place: place for place in ranked(words, similar=similar)}
    assert places[50].parts["meaning"] > 0
    assert places[50].relevance > 0
    assert places[10].parts["meaning"] == 0
    nothing = Candidates(9, 10.0, (0,), np.empty(0, np.int64), np.empty((0, 1), np.int64))
    assert ranked(nothing, similar=similar)[0].place == 50


def test_a_page_whose_neighbours_are_near_too_counts_more_than_one_that_is_near_by_itself() -> None:
    words = found({10: (1,)})
    alone, among = 30, 51

    def meaning(beside: float) -> dict[int, float]:
        far = dict.fromkeys(range(60, 70), 0.1)
        nearness = far | {alone: 0.7, among: 0.6, among - 1: beside, among + 1: beside}
        places = sorted(nearness)
        similar = Similar(np.array(places), np.array([nearness[place] for place in places]))
        return {one.place: one.parts["meaning"] for one in ranked(words, similar=similar)}

    assert meaning(beside=0.5)[among] > meaning(beside=0.5)[alone] > 0
    assert 0 < meaning(beside=0.1)[among] < meaning(beside=0.1)[alone]


def test_an_embedder_that_tells_no_weight_does_not_outweigh_words() -> None:
    words = found({10: (1, 1), 40: (1, 0)})
    nearness = np.array([0.1, 0.1, 0.9, 0.9, 0.9, 0.1, 0.1])
    places = np.array([5, 15, 69, 70, 71, 80, 90])
    assert orders_by(words, Similar(places, nearness))[0] == 10
    assert orders_by(words, Similar(places, nearness, weight=20.0))[0] == 70


def test_an_embedder_that_finds_all_alike_changes_no_order() -> None:
    words = found({10: (1, 1), 50: (1, 0), 70: (0, 1)})
    alike = Similar(np.arange(100), np.full(100, 0.5))
    assert [p.place for p in ranked(words)] == [
        place.place for place in ranked(words, similar=alike) if place.score > 0
    ][: len(ranked(words))]


@given(
    st.dictionaries(
        st.integers(0, 99), st.tuples(st.integers(0, 4), st.integers(1, 4)), min_size=1, max_size=20
    )
)
def test_places_are_in_order_of_their_score_and_each_once(rows: dict[int, tuple[int, int]]) -> None:
    places = ranked(found(rows))
    assert len({place.place for place in places}) == len(places)
    assert [p.score for p in places] == sorted((p.score for p in places), reverse=True)
    assert all(0 < place.relevance <= 1.0 + 1e-9 for place in places)
    assert set(rows) <= {place.place for place in places}
