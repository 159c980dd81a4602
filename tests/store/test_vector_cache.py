"""Which vectors are most like one: all compared, or the few whose signs agree."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from pagefault.store.vector_cache import (
    SHARED_DIRECTIONS,
    SHARED_MIN,
    SHARED_SAMPLE,
    VectorCache,
    Vectors,
)

WIDTH = 96  # no whole number of 64-bit words


def unit(rows: NDArray[np.float64]) -> Vectors:
    made: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return made


def clusters(count: int, *, seed: int) -> Vectors:
    """Vectors as texts have them: some topics, and much that they all share."""
    chance = np.random.default_rng(seed)
    topics = chance.standard_normal((40, WIDTH))
    own = chance.standard_normal((count, WIDTH))
    shared = 2 * chance.standard_normal(WIDTH)
    return unit(topics[chance.integers(40, size=count)] + own + shared)


def stored(vectors: Vectors) -> list[tuple[int, int, bytes]]:
    return [(3 * n, n + 1, row.astype("<f2").tobytes()) for n, row in enumerate(vectors)]


def filled(
    vectors: Vectors, *, exact_max: int, shortlist: int = 100, step: int = 64
) -> VectorCache:
    cache = VectorCache(exact_max=exact_max, shortlist=shortlist)
    rows = stored(vectors)
    for start in range(0, len(rows), step):
        cache.add(rows[start : start + step], start)
    return cache


def nearest(
    cache: VectorCache,
    vectors: Vectors,
    query: Vectors,
    *,
    upto: int | None = None,
    limit: int = 10,
    only: NDArray[np.int64] | None = None,
) -> dict[int, float]:
    rows = {place: blob for place, _, blob in stored(vectors)}
    places, alike = cache.nearest(query, upto, limit, lambda at: [(p, rows[p]) for p in at], only)
    return dict(zip(places.tolist(), alike.tolist(), strict=True))


@cache
def shared_by(sample: bytes, dtype: str) -> tuple[Vectors, Vectors]:
    """The mean of a sample, and the directions in which it differs from it most."""
    rows = np.frombuffer(sample, dtype).reshape(-1, WIDTH)
    mean = rows.mean(axis=0)
    return mean, np.linalg.svd(rows - mean, full_matrices=False)[2][:SHARED_DIRECTIONS]


def cosines(vectors: Vectors, query: Vectors) -> Vectors:
    """With each of the vectors; what the first of them share is left out."""
    size = 1 << (len(vectors).bit_length() - 1) if len(vectors) else 0
    if size < SHARED_MIN:
        return vectors @ query
    sample = vectors[np.arange(0, size, max(1, size // SHARED_SAMPLE))]
    mean, shared = shared_by(sample.tobytes(), sample.dtype.str)
    rest = [(one - mean) - (one - mean) @ shared.T @ shared for one in (vectors, query)]
    alike: Vectors = rest[0] @ rest[1] / np.linalg.norm(rest[0], axis=1)
    return alike / np.linalg.norm(rest[1])


def truth(
    vectors: Vectors, query: Vectors, *, upto: int | None = None, limit: int = 10
) -> set[int]:
    alike = cosines(vectors[:upto], query)
    return {3 * int(n) for n in np.argsort(-alike, kind="stable")[:limit]}


def test_few_are_compared_one_by_one() -> None:
    vectors = clusters(500, seed=1)
    cache = filled(vectors, exact_max=1_000)
    for query in clusters(20, seed=2):
        assert len(set(nearest(cache, vectors, query)) & truth(vectors, query)) >= 9  # rounded


def test_of_many_nearly_all_of_the_nearest_are_found_and_told_exactly() -> None:
    vectors = clusters(5_000, seed=1)
    cache = filled(vectors, exact_max=1_000, shortlist=400)
    found = 0
    for query in vectors[:20]:  # pages that are like others
        near = nearest(cache, vectors, query)
        found += len(set(near) & truth(vectors, query))
        alike_all = cosines(vectors, query).tolist()
        for place, alike in near.items():
            assert alike == pytest.approx(alike_all[place // 3], abs=5e-3)
    assert found / 200 > 0.9


def test_many_take_a_fraction_of_the_room() -> None:
    vectors = clusters(3_000, seed=1)
    few, many = filled(vectors, exact_max=5_000), filled(vectors, exact_max=1_000)
    assert many.nbytes < few.nbytes / 5


@pytest.mark.parametrize("exact_max", [1_000, 100])
def test_only_what_was_written_so_far_is_seen(exact_max: int) -> None:
    vectors = clusters(600, seed=3)
    cache = filled(vectors, exact_max=exact_max, shortlist=600)
    for upto in (0, 1, 250, 600):
        near = nearest(cache, vectors, vectors[0], upto=upto)
        assert all(place // 3 < upto for place in near)
        assert len(set(near) & truth(vectors, vectors[0], upto=upto)) >= min(9, upto)  # rounded


def test_how_they_were_added_tells_nothing() -> None:
    vectors = clusters(700, seed=4)
    at_once, one_by_one = (filled(vectors, exact_max=300, step=n) for n in (700, 1))
    query = vectors[5]
    first, second = (nearest(s, vectors, query, limit=5) for s in (at_once, one_by_one))
    assert set(first) == set(second)


def test_a_vector_of_another_length_is_like_nothing() -> None:
    vectors = clusters(3, seed=5)
    cache = VectorCache()
    rows = stored(vectors)
    cache.add([*rows, (100, 9, b""), (101, 10, bytes(6))], 0)
    near = nearest(cache, vectors, vectors[1])
    assert set(near) == {0, 3, 6}
    assert near[3] == pytest.approx(1, abs=1e-3)
    assert not nearest(cache, vectors, vectors[0][:8]), "no vector of this cache is so short"


@pytest.mark.parametrize("exact_max", [100_000, 100])
def test_vectors_that_tell_nothing_take_no_room(exact_max: int) -> None:
    vectors = clusters(300, seed=5)
    told = stored(vectors)
    empty = [(10_000 + n, 1, b"" if n % 2 else bytes(2 * WIDTH)) for n in range(30_000)]
    cache, alone = VectorCache(exact_max=exact_max), VectorCache(exact_max=exact_max)
    for rows in (empty, told[:10], empty, told[10:]):
        cache.add(rows, 0)
    alone.add(told, 0)
    assert nearest(cache, vectors, vectors[7]) == nearest(alone, vectors, vectors[7])
    assert len(cache) == 300
    assert cache.nbytes < 2 * alone.nbytes


# --- of some places alone -------------------------------------------------------------------------


@pytest.mark.parametrize("shortlist", [100, 400])
@pytest.mark.parametrize("exact_max", [5_000, 1_000])
def test_of_a_few_places_all_are_compared_however_many_others_are_nearer(
    exact_max: int, shortlist: int
) -> None:
    vectors = clusters(3_000, seed=1)
    cache = filled(vectors, exact_max=exact_max, shortlist=shortlist)
    query = vectors[0]
    alike = cosines(vectors, query)
    farthest = np.argsort(alike, kind="stable")[:60]
    only = np.sort(3 * farthest)
    found = nearest(cache, vectors, query, only=only)
    within = {place: near for place, near in found.items() if place in only}
    assert len(within) == 10
    best = sorted(alike[farthest].tolist(), reverse=True)[:10]
    assert sorted(within.values(), reverse=True) == pytest.approx(best, abs=5e-3)
    assert set(nearest(cache, vectors, query)) <= set(found), "the others are told besides"


def test_by_signs_no_other_takes_the_room_of_many_that_are_wanted() -> None:
    vectors = clusters(5_000, seed=1)
    cache = filled(vectors, exact_max=1_000, shortlist=400)
    only = np.arange(0, 3 * 5_000, 6)  # every other one
    found = 0
    for query in vectors[:20]:
        alike = cosines(vectors, query)[::2]
        best = {6 * int(n) for n in np.argsort(-alike, kind="stable")[:10]}
        found += len(best & set(nearest(cache, vectors, query, only=only)))
    assert found / 200 > 0.9


def test_of_no_place_or_of_all_nothing_else_is_found() -> None:
    vectors = clusters(300, seed=5)
    cache = filled(vectors, exact_max=1_000)
    whole = nearest(cache, vectors, vectors[3])
    for only in (np.empty(0, np.int64), np.arange(0, 900, 3), np.array([1, 2, 10**6])):
        assert nearest(cache, vectors, vectors[3], only=only) == whole


def test_an_empty_cache_answers_nothing() -> None:
    assert not nearest(VectorCache(), clusters(1, seed=6), clusters(1, seed=6)[0])


def test_what_all_pages_share_tells_nothing() -> None:
    """Two pages on one topic are alike, two on others are not, however much all have in common."""
    chance = np.random.default_rng(7)
    topics = chance.standard_normal((8, WIDTH))
    shared = 20 * chance.standard_normal(WIDTH)
    vectors = unit(topics[np.arange(400) % 8] + 0.3 * chance.standard_normal((400, WIDTH)) + shared)
    assert (vectors @ vectors[0]).min() > 0.9, "as they are, all are alike"
    cache = VectorCache()
    cache.add(stored(vectors), 0)
    near = nearest(cache, vectors, vectors[0], limit=400)
    same = [alike for place, alike in near.items() if place // 3 % 8 == 0]
    other = [alike for place, alike in near.items() if place // 3 % 8]
    assert min(same) > max(other)
    assert np.mean(other) < 0.2


def test_what_comes_later_does_not_change_what_an_earlier_scope_finds() -> None:
    vectors = clusters(900, seed=8)
    early, late = VectorCache(), VectorCache()
    early.add(stored(vectors[:300]), 0)
    late.add(stored(vectors), 0)
    query = vectors[3]
    assert nearest(early, vectors, query, upto=300) == nearest(late, vectors, query, upto=300)
