"""The contract suite for vector places: subclass it and provide the fixture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from pagefault.model.ids import FOREVER, NOTHING, Seq, SessionNo
from pagefault.model.page import EVERYTHING, Scope
from pagefault.store.api import VectorPlace, VectorStore
from pagefault.store.place import place_of

ONE, TWO = SessionNo(1), SessionNo(2)


def scope(*sessions: SessionNo, upto: Seq = FOREVER) -> Scope:
    return Scope(tuple((session, upto) for session in sessions))


def put(
    vectors: VectorStore, session: SessionNo, seqs: list[int], axes: list[int], embedder: str = "e"
) -> bool:
    first = vectors.last_order(embedder, session) + 1
    pages = [(place_of(session, first + n), Seq(seq)) for n, seq in enumerate(seqs)]
    made = np.eye(4, dtype=np.float32)[axes]
    return vectors.put(embedder, pages, made, forgotten=vectors.forgotten())


def nearest(vectors: VectorStore, where: Scope, axis: int, limit: int = 1) -> list[int]:
    asked = np.eye(4, dtype=np.float32)[axis] + 0.1
    found: list[int] = vectors.nearest("e", where, asked, limit=limit).places.tolist()
    return found


class VectorPlaceContract:
    """Tests every method of `VectorPlace` and `VectorStore`. A subclass provides the fixture
    `place`, without vectors.
    """

    @pytest.fixture
    def place(self) -> VectorPlace:
        raise NotImplementedError

    @pytest.fixture
    def vectors(self, place: VectorPlace) -> Iterator[VectorStore]:
        """Of two sessions: three pages of one and two of the other, each in its own direction."""
        assert place.find(read_only=False) is None
        with closing(place.make(NOTHING)) as vectors:
            put(vectors, ONE, [2, 3, 4], [0, 1, 2])
            put(vectors, TWO, [6, 7], [3, 0])
            yield vectors

    def test_the_nearest_is_told_by_its_order_or_over_everything_by_its_place(
        self, vectors: VectorStore
    ) -> None:
        assert nearest(vectors, scope(ONE), 2) == [2]
        assert nearest(vectors, scope(TWO), 3) == [0]
        assert nearest(vectors, EVERYTHING, 3) == [place_of(TWO, 0)]
        assert nearest(vectors, scope(ONE).derived, 2) == []

    def test_what_was_put_later_is_found_too(self, vectors: VectorStore) -> None:
        assert nearest(vectors, scope(ONE), 3) != [3]
        assert put(vectors, ONE, [9], [3])
        assert vectors.last_order("e", ONE) == 3
        assert nearest(vectors, scope(ONE), 3) == [3]
        assert nearest(vectors, scope(ONE, upto=Seq(8)), 3) != [3]

    def test_of_places_that_are_named_the_best_come_besides(self, vectors: VectorStore) -> None:
        asked = np.eye(4, dtype=np.float32)[0]
        found = vectors.nearest("e", scope(ONE), asked, limit=1, only=np.array([2]))
        assert found.places.tolist() == [0, 2]
        assert found.similarities[0] > found.similarities[1]

    def test_what_is_forgotten_is_found_no_more(self, vectors: VectorStore) -> None:
        vectors.forget(Seq(20), [Seq(4)], [TWO])
        assert vectors.places() == {place_of(ONE, 0), place_of(ONE, 1)}
        assert vectors.forgotten() == 20
        assert nearest(vectors, scope(ONE, TWO), 2, limit=9) == [0, 1]
        vectors.forget(Seq(20), [Seq(4)], [TWO])
        assert vectors.counts() == {"e": 2}

    def test_nothing_is_put_that_may_have_been_forgotten_meanwhile(
        self, vectors: VectorStore
    ) -> None:
        vectors.forget(Seq(20), [Seq(4)], [])
        pages = [(place_of(ONE, 2), Seq(4))]
        assert not vectors.put("e", pages, np.eye(4, dtype=np.float32)[[2]], forgotten=NOTHING)
        assert vectors.counts() == {"e": 4}

    def test_embedders_are_kept_apart_until_one_alone_is_kept(self, vectors: VectorStore) -> None:
        assert put(vectors, ONE, [2], [3], embedder="other")
        assert vectors.counts() == {"e": 5, "other": 1}
        assert vectors.last_order("other", ONE) == 0
        assert vectors.last_order("other", TWO) == -1
        vectors.keep_only("other")
        assert vectors.counts() == {"other": 1}
        assert nearest(vectors, scope(ONE), 3) == []
        assert vectors.check() == []

    def test_a_place_is_empty_again_once_it_was_dropped(self, place: VectorPlace) -> None:
        place.make(Seq(7)).close()
        place.drop()
        assert place.find(read_only=True) is None
        with closing(place.make(Seq(9))) as vectors:
            assert vectors.forgotten() == 9
            assert vectors.counts() == {}

    def test_a_turn_can_be_taken_again_and_ended_twice(self, place: VectorPlace) -> None:
        assert place.take_turn()
        assert place.take_turn()
        place.end_turn()
        place.end_turn()
        assert place.take_turn()
        place.end_turn()
