"""An overlay answers as one store would that had both layers, and writes to neither below."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.language.analyzer import analyze
from pagefault.model.errors import StoreReadOnly
from pagefault.model.ids import FOREVER, NOTHING, Seq, SessionNo
from pagefault.model.page import Scope
from pagefault.model.wanted import SearchFilter
from pagefault.store.api import PageFilter, PageIndex
from pagefault.store.in_memory.index import MemoryIndex
from pagefault.store.overlay.index import OverlayIndex
from pagefault.store.overlay.log import FIRST
from pagefault.testing.records import Records

WORDS = "harbour tea ledger Lisbon 港口 plan index.py".split()
SAID = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), max_size=8)


class Life:
    """A session that is forked: the fork stands with its parent, or above it in an overlay."""

    def __init__(self, before: list[str], claims: int, after: list[str], above: bool) -> None:
        below = Records()
        below.open("talk")
        for number, text in enumerate(before):
            below.say(1, text, key=f"key {number}", speaker="Dana" if number % 2 else "")
        for number in range(1, claims + 1):
            below.derive(1, f"{WORDS[number % 7]} stands", number=number)
        at = Seq(len(below.events))
        upper = Records(after=FIRST - 1) if above else below
        opened = upper.open("aside", parent=1, parent_seq=at)
        for place, text in enumerate(after, start=len(before)):
            upper.say(opened.session, text, order=place, speaker="Eve")
        upper.derive(opened.session, "tea is over", number=claims + 1)
        base = MemoryIndex()
        base.apply(below.events)
        self.index: PageIndex = base
        if above:
            self.index = OverlayIndex(base)
            self.index.apply(upper.events)
        self.fork = opened.session
        self.scope = Scope(((opened.session, FOREVER), (SessionNo(1), at)))

    def told(self) -> list[Any]:
        """All that can be asked of the fork, without the numbers of records."""
        index, found = self.index, []
        for scope in (self.scope, self.scope.derived):
            rows = index.pages(scope, PageFilter(), limit=100)
            places = [row.order for row in rows]
            traits = index.traits(scope, places, {"dana": 1.0, "eve": 2.0})
            matching = index.matching(scope, SearchFilter(origins=("user_typed",)))
            terms = [*dict.fromkeys(term for word in WORDS for term in analyze(word))]
            candidates = index.candidates(scope, [*terms, tuple(terms[:2])], limit=1_000)
            found += [
                [(row.page_id, row.order, row.turn, row.tokens) for row in rows],
                [
                    row.page_id
                    for row in index.pages(scope, PageFilter(), limit=3, newest_first=True)
                ],
                [row.order for row in index.pages(scope, PageFilter(after_order=2), limit=2)],
                [row.page_id for row in index.pages_at(scope, places)],
                sorted(index.find_pages(scope, [row.page_id for row in rows])),
                index.standing(scope, [*places, 77]),
                index.history(scope),
                index.speakers(scope),
                matching.places.tolist(),
                [one.tolist() for one in (traits.places, traits.lengths, traits.roles)],
                traits.spoken.tolist(),
                (candidates.pages, round(candidates.length_mean, 9), candidates.frequencies),
                (candidates.places.tolist(), candidates.counts.tolist()),
            ]
        row = index.session(self.fork)
        assert row is not None
        return [*found, index.prefix_counts(self.scope), row.turns, row.pages, row.name]


@given(SAID, st.integers(0, 3), SAID)
def test_a_fork_in_an_overlay_is_told_as_one_beside_its_parent(
    before: list[str], claims: int, after: list[str]
) -> None:
    beside, above = (Life(before, claims, after, above) for above in (False, True))
    assert above.told() == beside.told()


def test_what_is_below_is_found_and_never_written() -> None:
    life = Life(["tea in the harbour"], 1, ["more tea"], above=True)
    index = life.index
    assert index.find_key(SessionNo(1), "key 0") == 2
    assert index.page_at(Seq(2)) is not None
    assert {row.name for row in index.sessions()} == {"talk", "aside"}
    assert index.find_session("talk") is not None
    with pytest.raises(StoreReadOnly):
        index.forget([Seq(2)], [])
    with pytest.raises(StoreReadOnly):
        index.forget([], [SessionNo(1)])
    index.forget([Seq(FIRST + 1)], [])
    assert [row.order for row in index.pages(life.scope, PageFilter(), limit=9)] == [0]
    assert index.applied_seq() > FIRST > NOTHING
