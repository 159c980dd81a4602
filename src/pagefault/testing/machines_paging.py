"""State machines for paging, with a dict as the model; and the contract of an eviction policy.

`WorkingSetMachine` and `PageTableMachine` are Hypothesis state machines; a test uses their
`.TestCase`. `EvictionPolicyContract` is a suite: subclass it and provide the fixture `policy`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from contextlib import AbstractContextManager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pagefault.model.errors import IllegalTransition
from pagefault.model.ids import PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import USER_TYPED, Kind, Level, Modality, Role, Tier
from pagefault.model.page import PageRow
from pagefault.model.residency import Residency
from pagefault.paging.questions import EvictionPolicy, Resident
from pagefault.paging.table import PageTable
from pagefault.paging.tlb import TLB
from pagefault.paging.working_set import WorkingSet
from pagefault.policy.lru import LRU

PAGES = st.integers(1, 8).map(lambda number: PageId(f"msg_{number}"))

RESIDENTS = st.builds(
    Resident,
    page_id=PAGES,
    tokens=st.integers(1, 50),
    kind=st.sampled_from(Kind),
    modality=st.sampled_from(Modality),
    importance=st.floats(0, 1),
)


def row(page_id: str, *, tokens: int = 10, order: int = 0) -> PageRow:
    """A page's row in the index, with valid defaults."""
    return PageRow(
        page_id=PageId(page_id),
        seq=Seq(order + 1),
        session=SessionNo(1),
        order=order,
        turn=TurnNo(0),
        role=Role.USER,
        kind=Kind.TRANSCRIPT,
        modality=Modality.TEXT,
        origin=USER_TYPED,
        tokens=tokens,
        importance=0.5,
        at_ms=0,
        part=0,
        parts=1,
    )


class Watched:
    """Wraps the policy `inner`, and fails on calls that a policy must not get."""

    def __init__(self, inner: EvictionPolicy) -> None:
        self.inner = inner
        self.members: dict[PageId, Resident] = {}

    def admitted(self, page: Resident) -> None:
        assert page.page_id not in self.members, "a page is admitted once"
        self.members[page.page_id] = page
        self.inner.admitted(page)

    def touched(self, page_id: PageId) -> None:
        assert page_id in self.members, "only members are touched"
        self.inner.touched(page_id)

    def departed(self, page_id: PageId) -> None:
        del self.members[page_id]
        self.inner.departed(page_id)

    def turn_began(self, turn: TurnNo) -> None:
        self.inner.turn_began(turn)

    def faulted(self, page_id: PageId) -> None:
        assert page_id in self.members, "what is faulted was admitted"
        self.inner.faulted(page_id)

    def evicted(self, page_id: PageId) -> None:
        assert page_id in self.members, "what is evicted departs next"
        self.inner.evicted(page_id)

    def victims(self, evictable: Set[PageId], tokens_needed: int) -> list[PageId]:
        assert set(evictable) <= self.members.keys(), "REQUIRES: residents"
        chosen = self.inner.victims(evictable, tokens_needed)
        assert len(chosen) == len(set(chosen)), "ENSURES: without repeats"
        assert set(chosen) <= set(evictable), "ENSURES: drawn from the evictable"
        return chosen


class WorkingSetMachine(RuleBasedStateMachine):
    """The model is a dict of pages, coldest first, each with the blocks that hold it."""

    def __init__(self) -> None:
        super().__init__()
        self.policy = Watched(LRU())
        self.real = WorkingSet(self.policy)
        self.model: dict[PageId, Resident] = {}
        self.blocks: list[tuple[AbstractContextManager[None], set[PageId]]] = []

    def held(self) -> set[PageId]:
        return {page_id for _, pages in self.blocks for page_id in pages}

    @rule(page=RESIDENTS)
    def admit(self, page: Resident) -> None:
        self.real.admit(page)
        self.model[page.page_id] = self.model.pop(page.page_id, page)

    @rule(page_id=PAGES)
    def touch(self, page_id: PageId) -> None:
        self.real.touch(page_id)
        if page_id in self.model:
            self.model[page_id] = self.model.pop(page_id)

    @rule(page_id=PAGES)
    def evict(self, page_id: PageId) -> None:
        assert self.real.evict(page_id) is (page_id not in self.held())
        if page_id not in self.held():
            self.model.pop(page_id, None)

    @rule(page_id=PAGES)
    def invalidate(self, page_id: PageId) -> None:
        self.real.invalidate(page_id)
        self._gone({page_id})

    @rule()
    def clear(self) -> None:
        self.real.clear()
        self._gone(set(self.model))

    @rule(page_ids=st.lists(PAGES, max_size=3))
    def begin_hold(self, page_ids: list[PageId]) -> None:
        block = self.real.hold(*page_ids)
        block.__enter__()
        self.blocks.append((block, set(page_ids) & self.model.keys()))

    @precondition(lambda self: self.blocks)
    @rule(data=st.data())
    def end_hold(self, data: st.DataObject) -> None:
        """In any order: concurrent tasks need not end in the order in which they began."""
        block, _ = self.blocks.pop(data.draw(st.integers(0, len(self.blocks) - 1)))
        block.__exit__(None, None, None)

    @rule(tokens_needed=st.integers(-5, 200))
    def ask_for_victims(self, tokens_needed: int) -> None:
        chosen = self.real.victims(list(self.model), tokens_needed)
        free = [page_id for page_id in self.model if page_id not in self.held()]
        expected: list[PageId] = []
        for page_id in free:  # the policy is LRU: coldest first, until it is enough
            if sum(self.model[p].tokens for p in expected) >= tokens_needed:
                break
            expected.append(page_id)
        assert chosen == expected

    @invariant()
    def agrees(self) -> None:
        self.real.check()
        assert list(self.real) == list(self.model)
        assert len(self.real) == len(self.model)
        assert self.real.tokens_used == sum(page.tokens for page in self.model.values())
        assert all(self.real.tokens(p) == page.tokens for p, page in self.model.items())
        assert {p for p in self.model if self.real.is_held(p)} == self.held()
        assert self.policy.members == self.model

    def _gone(self, page_ids: set[PageId]) -> None:
        for page_id in page_ids:
            self.model.pop(page_id, None)
        self.blocks = [(block, pages - page_ids) for block, pages in self.blocks]


class PageTableMachine(RuleBasedStateMachine):
    """The model is a dict of all pages but ghosts; a TLB never changes a look-up's result."""

    def __init__(self) -> None:
        super().__init__()
        self.index: dict[PageId, PageRow] = {}
        self.states: dict[PageId, Residency] = {}
        self.accesses: Counter[PageId] = Counter()
        self.pins: dict[PageId, None] = {}
        self.asked = 0
        self.found = 0

    @initialize(known=st.sets(PAGES), entries_max=st.integers(1, 4))
    def begin(self, known: set[PageId], entries_max: int) -> None:
        self.entries_max = entries_max
        self.index = {page_id: row(page_id) for page_id in sorted(known)}
        self.table = PageTable(self._look_up, TLB(entries_max))

    def _look_up(self, page_id: PageId) -> PageRow | None:
        self.asked += 1
        return self.index.get(page_id)

    @rule(page_id=PAGES)
    def find(self, page_id: PageId) -> None:
        self.found += 1
        asked = self.asked
        assert self.table.find(page_id) is self.index.get(page_id)
        assert self.asked == asked or page_id not in self.states, "a resident costs no look-up"
        asked = self.asked
        self.table.find(page_id)
        self.found += 1
        assert self.asked == asked + (page_id not in self.index), "the second look-up costs nothing"

    @rule(page_id=PAGES, turn=st.integers(0, 9))
    def admit(self, page_id: PageId, turn: int) -> None:
        if page_id not in self.index:
            return
        if self.states.get(page_id) is Residency.LOADING:
            with pytest.raises(IllegalTransition):
                self.table.admitted(self.index[page_id], Level.FULL, TurnNo(turn))
            return
        self.table.admitted(self.index[page_id], Level.FULL, TurnNo(turn))
        self.states[page_id] = Residency.CLEAN
        self._accessed(page_id, turn)

    @rule(page_id=PAGES)
    def begin_fault(self, page_id: PageId) -> None:
        if page_id not in self.index:
            return
        if page_id in self.states:
            with pytest.raises(IllegalTransition):
                self.table.begin_fault(self.index[page_id], Level.FULL)
            return
        self.table.begin_fault(self.index[page_id], Level.FULL)
        self.states[page_id] = Residency.LOADING

    @rule(page_id=PAGES, turn=st.integers(0, 9), arrives=st.booleans())
    def end_fault(self, page_id: PageId, turn: int, arrives: bool) -> None:
        if self.states.get(page_id) is not Residency.LOADING:
            return
        if arrives:
            self.table.loaded(page_id, TurnNo(turn))
            self.states[page_id] = Residency.CLEAN
            self._accessed(page_id, turn)
        else:
            self.table.failed(page_id)
            self._left(page_id)

    @rule(page_id=PAGES, turn=st.integers(0, 9))
    def touch(self, page_id: PageId, turn: int) -> None:
        self.table.touched(page_id, TurnNo(turn))
        if page_id in self.states:
            self._accessed(page_id, turn)

    @rule(page_id=PAGES)
    def evict(self, page_id: PageId) -> None:
        match self.states.get(page_id):
            case Residency.CLEAN:
                self.table.evicted(page_id)
                self._left(page_id)
            case Residency.LOADING:
                with pytest.raises(IllegalTransition):
                    self.table.evicted(page_id)

    @rule(page_id=PAGES)
    def invalidate(self, page_id: PageId) -> None:
        self.table.invalidated(page_id)
        self._left(page_id)

    @rule(page_id=PAGES)
    def forget(self, page_id: PageId) -> None:
        """The store forgets a page: once invalidated, no stale row of it is found."""
        self.index.pop(page_id, None)
        self.table.invalidated(page_id)
        self._left(page_id)
        self.found += 1
        assert self.table.find(page_id) is None

    @rule(page_id=PAGES, pinned=st.booleans())
    def pin(self, page_id: PageId, pinned: bool) -> None:
        if pinned:
            self.table.pin(page_id)
            self.pins[page_id] = None
        else:
            self.table.unpin(page_id)
            self.pins.pop(page_id, None)

    @rule()
    def flush(self) -> None:
        """Dropping the whole TLB is always correct."""
        self.table.tlb.flush()

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "table"):
            return
        settled = [p for p, state in self.states.items() if state is not Residency.LOADING]
        self.table.check(settled)
        assert {e.row.page_id: e.residency for e in self.table.residents()} == self.states
        for page_id in self.index:
            entry = self.table.entry(page_id)
            assert (entry is None) == (page_id not in self.states)
            if entry is not None:
                assert entry.accesses == self.accesses[page_id]
                assert entry.tier is (Tier.L0 if page_id in settled else Tier.L2)
        assert self.table.pins() == list(self.pins)
        assert all(self.table.is_pinned(page_id) for page_id in self.pins)
        assert len(self.table.tlb) <= self.entries_max
        assert self.table.tlb.hits + self.table.tlb.misses == self.found
        assert self.table.tlb.misses == self.asked

    def _accessed(self, page_id: PageId, turn: int) -> None:
        self.accesses[page_id] += 1
        entry = self.table.entry(page_id)
        assert entry is not None
        assert entry.last_turn == turn

    def _left(self, page_id: PageId) -> None:
        self.states.pop(page_id, None)
        self.accesses.pop(page_id, None)


WINDOWS = st.lists(RESIDENTS, min_size=1, max_size=8, unique_by=lambda page: page.page_id)


# The same test runs for every policy, which Hypothesis would report as a mistake.
SHARED = settings(deadline=None, suppress_health_check=[HealthCheck.differing_executors])


LIFE = st.builds(
    lambda pages, steps: [("meet", page) for page in pages] + steps,
    WINDOWS,
    st.lists(
        st.one_of(
            st.tuples(st.just("meet"), RESIDENTS),
            st.tuples(st.just("touch"), PAGES),
            st.tuples(st.just("evict"), st.integers(1, 30)),
            st.tuples(st.just("depart"), PAGES),
            st.tuples(st.just("turn"), st.integers(1, 3)),
        ),
        max_size=30,
    ),
)


class EvictionPolicyContract:
    """A subclass overrides `make`, which returns a policy without history. `uses_that_count` is how
    often a page must be used to outlive a similar, unused one.
    """

    uses_that_count = 1

    def make(self) -> EvictionPolicy:
        raise NotImplementedError

    def filled(self, pages: list[Resident], touches: list[PageId]) -> EvictionPolicy:
        policy = self.make()
        for page in pages:
            policy.admitted(page)
        for page_id in touches:
            if page_id in {page.page_id for page in pages}:
                policy.touched(page_id)
        return policy

    def lived(
        self, life: Sequence[tuple[str, Any]]
    ) -> tuple[EvictionPolicy, dict[PageId, Resident]]:
        """A policy after a life of admissions, uses and evictions, and the pages resident then."""
        policy = self.make()
        members: dict[PageId, Resident] = {}
        turn = 0
        for what, told in life:
            match what:
                case "meet" if told.page_id in members:
                    policy.touched(told.page_id)
                case "meet":
                    policy.admitted(told)
                    members[told.page_id] = told
                case "touch" if told in members:
                    policy.touched(told)
                case "evict":
                    for page_id in policy.victims(members.keys(), told):
                        assert page_id in members, f"{page_id} is named, and departed before"
                        policy.evicted(page_id)
                        policy.departed(page_id)
                        del members[page_id]
                case "ask":
                    policy.victims(members.keys(), told)
                case "depart" if told in members:
                    policy.departed(told)
                    del members[told]
                case "turn":
                    turn += told
                    policy.turn_began(TurnNo(turn))
        return policy, members

    @SHARED
    @given(WINDOWS, st.lists(PAGES), st.sets(PAGES), st.integers(-10, 500))
    def test_victims_are_drawn_from_the_evictable_without_repeats(
        self, pages: list[Resident], touches: list[PageId], among: set[PageId], needed: int
    ) -> None:
        evictable = among & {page.page_id for page in pages}
        chosen = self.filled(pages, touches).victims(evictable, needed)
        assert len(chosen) == len(set(chosen))
        assert set(chosen) <= evictable

    @SHARED
    @given(WINDOWS, st.lists(PAGES), st.integers(1, 500))
    def test_enough_comes_free_where_enough_may_leave(
        self, pages: list[Resident], touches: list[PageId], needed: int
    ) -> None:
        tokens = {page.page_id: page.tokens for page in pages}
        chosen = self.filled(pages, touches).victims(tokens.keys(), needed)
        freed = sum(tokens[page_id] for page_id in chosen)
        assert freed >= min(needed, sum(tokens.values()))
        assert freed - tokens[chosen[-1]] < needed, "the last one was not needed"

    @SHARED
    @given(WINDOWS, st.integers(-10, 0))
    def test_nobody_leaves_where_nothing_is_needed(
        self, pages: list[Resident], needed: int
    ) -> None:
        assert self.filled(pages, []).victims({page.page_id for page in pages}, needed) == []

    @SHARED
    @given(WINDOWS, st.lists(PAGES), st.integers(1, 500))
    def test_asking_changes_nothing_and_the_order_of_the_question_does_not_matter(
        self, pages: list[Resident], touches: list[PageId], needed: int
    ) -> None:
        policy = self.filled(pages, touches)
        evictable = dict.fromkeys(page.page_id for page in pages)
        first = policy.victims(evictable.keys(), needed)
        assert policy.victims(evictable.keys(), needed) == first
        assert policy.victims(dict.fromkeys(reversed(evictable)).keys(), needed) == first
        assert self.filled(pages, touches).victims(evictable.keys(), needed) == first

    @SHARED
    @given(LIFE, st.integers(1, 60), st.integers(1, 200))
    def test_who_is_asked_for_more_names_the_same_pages_first(
        self, life: list[tuple[str, Any]], needed: int, more: int
    ) -> None:
        policy, members = self.lived(life)
        first = policy.victims(members.keys(), needed)
        assert policy.victims(members.keys(), needed + more)[: len(first)] == first

    @SHARED
    @given(WINDOWS, st.lists(PAGES), st.data())
    def test_a_page_that_departed_is_forgotten_and_may_come_back(
        self, pages: list[Resident], touches: list[PageId], data: st.DataObject
    ) -> None:
        policy = self.filled(pages, touches)
        gone = data.draw(st.sampled_from(pages))
        policy.departed(gone.page_id)
        left = {page.page_id for page in pages if page is not gone}
        assert gone.page_id not in policy.victims(left, 10_000)
        policy.admitted(gone)
        assert set(policy.victims({*left, gone.page_id}, 10_000)) == {*left, gone.page_id}

    @SHARED
    @given(LIFE)
    def test_through_a_life_every_resident_can_leave_and_nobody_else(
        self, life: list[tuple[str, Any]]
    ) -> None:
        policy, members = self.lived(life)
        assert set(policy.victims(members.keys(), 10_000)) == members.keys()

    @SHARED
    @given(LIFE, st.integers(1, 60))
    def test_the_same_life_leads_to_the_same_answer_however_often_it_was_asked_on_the_way(
        self, life: list[tuple[str, Any]], needed: int
    ) -> None:
        policy, members = self.lived(life)
        asked = [step for one in life for step in (("ask", needed), one)]
        other, _ = self.lived(asked)
        assert policy.victims(members.keys(), needed) == other.victims(members.keys(), needed)

    @SHARED
    @given(LIFE)
    def test_to_be_told_that_a_stranger_was_evicted_is_harmless(
        self, life: list[tuple[str, Any]]
    ) -> None:
        policy, members = self.lived(life)
        policy.evicted(PageId("msg_99"))
        assert set(policy.victims(members.keys(), 10_000)) == members.keys()

    def test_of_pages_that_are_alike_the_unused_leave_before_the_used_oldest_first(self) -> None:
        pages = [
            Resident(
                page_id=PageId(f"msg_{number}"),
                tokens=10,
                kind=Kind.TRANSCRIPT,
                modality=Modality.TEXT,
                importance=0.5,
            )
            for number in range(4)
        ]
        policy = self.filled(pages, [PageId("msg_0")] * self.uses_that_count)
        order = policy.victims({page.page_id for page in pages}, 40)
        assert order == ["msg_1", "msg_2", "msg_3", "msg_0"]
