"""Ranking: own words, and what was said around them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pagefault.recall.rank import MEASURED_MAX, Ranked, rank
from pagefault.store.api import Candidates


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
    long: Collection[int] = (),
    speakers: Collection[int] = (),
    coverage_min: float = 0.0,
) -> tuple[Ranked, ...]:
    """Places, best first; all pages are of mean length, but for those that are `long`."""

    def lengths(places: Collection[int]) -> dict[int, int]:
        return {place: 40 if place in long else 10 for place in places}

    return rank(candidates, lengths, speakers=speakers, coverage_min=coverage_min).places


def orders(candidates: Candidates, *, long: Collection[int] = ()) -> list[int]:
    return [place.place for place in ranked(candidates, long=long)]


def test_nothing_found_ranks_nothing() -> None:
    assert ranked(found({})) == ()


def test_a_long_page_says_less_with_the_same_words() -> None:
    rows = {10: (1,), 50: (1,)}
    assert orders(found(rows))[0] == 10
    assert orders(found(rows), long=[10])[0] == 50


def test_all_places_are_counted_and_the_best_are_told() -> None:
    many = found(dict.fromkeys(range(0, 30_000, 10), (1,)), pages=30_000)
    ranking = rank(many, lambda places: dict.fromkeys(places, 10))
    assert len(ranking.places) == MEASURED_MAX
    assert ranking.total == 3_000 * 7  # each with its neighbours


def test_the_page_with_the_word_stands_before_its_neighbours() -> None:
    assert orders(found({10: (1,)}))[0] == 10


def test_the_page_after_a_question_is_found_without_sharing_a_word() -> None:
    places = orders(found({10: (1, 1)}))
    assert places[1] == 11
    assert places.index(9) < places.index(12)


def test_words_that_stand_together_beat_words_far_apart() -> None:
    places = orders(found({10: (1, 0), 11: (0, 1), 40: (1, 0), 60: (0, 1)}))
    assert set(places[:2]) == {10, 11}


def test_a_rare_word_tells_more_than_a_common_one() -> None:
    rows = dict.fromkeys(range(0, 60, 6), (1, 0)) | {90: (0, 1)}
    assert orders(found(rows))[0] == 90


def test_of_equals_the_earlier_stands_first() -> None:
    places = orders(found({10: (1,), 50: (1,)}))
    assert places[:2] == [10, 50]


def test_coverage_is_the_share_of_the_query_that_stands_around() -> None:
    half, whole = found({10: (1, 0), 50: (0, 1)}), found({10: (1, 1)})
    assert ranked(half)[0].coverage == 0.5
    assert ranked(whole)[0].coverage == 1.0
    assert all(place.coverage >= 0.6 for place in ranked(whole, coverage_min=0.6))


def test_the_name_of_a_speaker_weighs_less_unless_it_is_all_there_is() -> None:
    both = found({10: (1, 0), 50: (0, 1)})
    assert ranked(both, speakers=[0])[0].place == 50
    alone = found({10: (1,)})
    assert ranked(alone, speakers=[0]) == ranked(alone)


@given(
    st.dictionaries(
        st.integers(0, 99), st.tuples(st.integers(0, 4), st.integers(1, 4)), min_size=1, max_size=20
    )
)
def test_places_are_in_order_of_their_score_and_each_once(rows: dict[int, tuple[int, int]]) -> None:
    places = ranked(found(rows))
    assert len({place.place for place in places}) == len(places)
    assert [p.score for p in places] == sorted((p.score for p in places), reverse=True)
    assert all(0 < place.coverage <= 1.0 + 1e-9 for place in places)
    assert set(rows) <= {place.place for place in places}
