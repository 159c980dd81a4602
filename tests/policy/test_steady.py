"""What was just fetched stays a while, under any policy."""

from __future__ import annotations

import pytest

from pagefault.model.ids import PageId, TurnNo
from pagefault.model.kinds import Kind, Modality
from pagefault.paging.questions import EvictionPolicy, Resident
from pagefault.policy.importance_lru import ImportanceLRU
from pagefault.policy.lru import LRU
from pagefault.policy.steady import Steady
from pagefault.testing.machines_paging import EvictionPolicyContract


class TestSteadyLRU(EvictionPolicyContract):
    def make(self) -> EvictionPolicy:
        return Steady(LRU())


class TestSteadyImportance(EvictionPolicyContract):
    def make(self) -> EvictionPolicy:
        return Steady(ImportanceLRU())


def page(page_id: str) -> Resident:
    return Resident(
        page_id=PageId(page_id),
        tokens=10,
        kind=Kind.TRANSCRIPT,
        modality=Modality.TEXT,
        importance=0.5,
    )


ONE, TWO, THREE = map(PageId, ("msg_1", "msg_2", "msg_3"))


def begun(at: int = 5) -> Steady:
    policy = Steady(LRU())
    policy.turn_began(TurnNo(at))
    return policy


def test_a_page_faulted_at_t_is_no_victim_before_t_plus_2_and_is_one_after() -> None:
    """CASES 10."""
    policy = begun(5)
    policy.admitted(page(ONE))
    policy.faulted(ONE)
    policy.admitted(page(TWO))
    for turn, victims in ((5, [TWO]), (6, [TWO]), (7, [ONE, TWO])):
        policy.turn_began(TurnNo(turn))
        assert policy.victims({ONE, TWO}, 20) == victims, turn


def test_what_came_back_leaves_last_for_three_turns() -> None:
    policy = begun(5)
    for page_id in (ONE, TWO, THREE):
        policy.admitted(page(page_id))
    policy.evicted(ONE)
    policy.departed(ONE)
    policy.turn_began(TurnNo(6))
    policy.admitted(page(ONE))
    policy.touched(TWO)
    policy.touched(THREE)
    for turn in (6, 7, 8):
        policy.turn_began(TurnNo(turn))
        assert policy.victims({ONE, TWO, THREE}, 30) == [TWO, THREE, ONE], turn
        assert policy.victims({ONE, TWO, THREE}, 20) == [TWO, THREE], turn
    policy.turn_began(TurnNo(9))
    assert policy.victims({ONE, TWO, THREE}, 10) == [ONE]


@pytest.mark.parametrize("inner", [LRU(), ImportanceLRU()])
def test_control_without_it_the_page_just_faulted_may_leave(inner: EvictionPolicy) -> None:
    inner.turn_began(TurnNo(5))
    inner.admitted(page(ONE))
    inner.faulted(ONE)
    inner.admitted(page(TWO))
    assert inner.victims({ONE, TWO}, 20) == [ONE, TWO]
