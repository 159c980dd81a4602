"""Which stretches are worth ranking, against the same said slowly."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagefault.model.ids import SessionNo
from pagefault.store import likely
from pagefault.store.likely import STRETCH_BITS, TERMS_MAX, likeliest
from pagefault.store.place import ORDER_MAX, place_of
from pagefault.store.rarity import rarity

PLACES = [
    *(place_of(SessionNo(7), order) for order in range(40)),
    *(place_of(SessionNo(8), order) for order in (0, 3, 4, 500, 504, 508)),
    *(place_of(SessionNo(8), order) for order in range(1 << 27, (1 << 27) + 9)),
    *(place_of(SessionNo(9), order) for order in range(ORDER_MAX - 20, ORDER_MAX + 1)),
    *(place_of(SessionNo(10), order) for order in range(8)),  # right after the last there can be
    *(place_of(SessionNo(1 << 34), order) for order in range(20)),
]

places = st.sampled_from(PLACES)
lists = st.lists(st.sets(places, max_size=80), max_size=TERMS_MAX + 2)


def slowly(lists: list[set[int]], *, pages: int, limit: int) -> list[int]:
    """What `likeliest` promises, one stretch after the other."""
    telling = sorted(filter(None, lists), key=len)
    worth = {place >> STRETCH_BITS: 0 for one in telling for place in one}
    for one in telling[:TERMS_MAX]:
        counts = Counter(place >> STRETCH_BITS for place in one)
        for stretch in worth:
            near = counts[stretch] + counts[stretch + 1]
            worth[stretch] += round((1 << 20) * rarity(pages, len(one)) * near / (near + 1.2))
    best = sorted(worth, key=lambda stretch: (worth[stretch], stretch))[-limit:]
    kept = {stretch + beside for stretch in best for beside in (-1, 0, 1)}
    return sorted({p for one in telling for p in one if p >> STRETCH_BITS in kept})


def chosen(lists: list[set[int]], *, pages: int, limit: int) -> list[int]:
    arrays = [np.array(sorted(one), dtype=np.int64) for one in lists]
    found: list[int] = likeliest(arrays, pages=pages, limit=limit).tolist()
    return found


@settings(deadline=None)
@given(lists=lists, pages=st.integers(200, 10_000), limit=st.integers(1, 20))
def test_the_best_stretches_are_chosen_wherever_groups_and_regions_end(
    lists: list[set[int]], pages: int, limit: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likely, "_GROUP", 3)
        patch.setattr(likely, "_REGION_BITS", 5)
        found = chosen(lists, pages=pages, limit=limit)
    assert found == slowly(lists, pages=pages, limit=limit)


def test_what_stands_in_the_next_stretch_counts_for_this() -> None:
    tea, cake = {0, 12, 40}, {16, 60}  # together only in the stretches 3 and 4
    assert chosen([tea, cake], pages=100, limit=1) == [12, 16]


def test_of_equals_the_last_are_chosen() -> None:
    assert chosen([{0, 100, 200}], pages=100, limit=2) == [100, 200]


def test_where_nothing_is_asked_for_nothing_is_chosen() -> None:
    assert chosen([], pages=100, limit=5) == []
    assert chosen([{1}], pages=100, limit=0) == []
