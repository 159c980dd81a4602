"""What is advertised of faults is what is enforced, and a refusal says what would be granted."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pagefault.model.errors import FaultRefused
from pagefault.model.ids import PageId
from pagefault.model.kinds import FaultReason, Level
from pagefault.paging.fault import FaultBudget, FaultLimits, serve_level

PAGE = PageId("msg_1")
RECALL = FaultReason.USER_REQUESTED_RECALL

LEVELS = st.sampled_from(Level)
OFFERS = st.dictionaries(LEVELS, st.integers(0, 100), min_size=1).map(
    # A larger level is never longer.
    lambda offers: dict(zip(sorted(offers), sorted(offers.values(), reverse=True), strict=True))
)
LIMITS = st.builds(
    FaultLimits,
    faults_max=st.integers(0, 4),
    tokens_max=st.integers(0, 200),
    threshold=st.sampled_from(["explicit", "referenced", "speculative"]),
)
REASONS = st.sampled_from(FaultReason)


def budget(*, faults: int = 2, tokens: int = 4_096, threshold: str = "referenced") -> FaultBudget:
    return FaultBudget(FaultLimits(faults_max=faults, tokens_max=tokens, threshold=threshold))


@given(OFFERS, LEVELS, LEVELS)
def test_a_larger_level_is_never_answered_at_greater_length(
    offers: dict[Level, int], one: Level, two: Level
) -> None:
    assume(one < two)
    assert offers[serve_level(two, offers)] <= offers[serve_level(one, offers)]


@given(OFFERS, LEVELS)
def test_a_level_that_exists_is_served_and_else_the_nearest_that_leaves_nothing_out(
    offers: dict[Level, int], asked: Level
) -> None:
    served = serve_level(asked, offers)
    if asked in offers:
        assert served == asked
    elif served > asked:
        assert not any(level < asked for level in offers), "a fuller one was there"
        assert served == min(offers), "the fullest there is"
    else:
        assert not any(served < level <= asked for level in offers), "a nearer one was there"


@given(
    LIMITS,
    st.lists(st.tuples(LEVELS, REASONS, OFFERS, st.integers(-10, 150)), max_size=8),
)
def test_exactly_what_is_advertised_is_granted(
    limits: FaultLimits, calls: list[tuple[Level, FaultReason, dict[Level, int], int]]
) -> None:
    """CASES 4, for any sequence of calls: refused before loading, and a refusal changes nothing."""
    left = FaultBudget(limits)
    served = spent = 0
    for level, reason, offers, room in calls:
        before = (left.faults_left, left.tokens_left)
        cost = offers[serve_level(level, offers)]
        may = (
            served < limits.faults_max
            and reason in limits.reasons
            and spent + cost <= limits.tokens_max
            and cost <= max(room, 0)
        )
        if not may:
            with pytest.raises(FaultRefused) as refusal:
                left.grant(PAGE, level, reason, offers, room)
            assert refusal.value.faults_left == before[0] == limits.faults_max - served
            for other in refusal.value.levels:
                assert left.grant(PAGE, Level(other), reason, offers, room) == other
            cheap = {
                int(o) for o, tokens in offers.items() if tokens <= min(before[1], max(room, 0))
            }
            if refusal.value.code in ("token_limit", "no_room"):
                assert set(refusal.value.levels) == cheap, "every level that would be granted"
        else:
            assert offers[left.grant(PAGE, level, reason, offers, room)] == cost
            assert (left.faults_left, left.tokens_left) == before, "granting spends nothing"
            left.spend(cost)
            served, spent = served + 1, spent + cost
        assert left.faults_left == limits.faults_max - served >= 0
        assert left.tokens_left == limits.tokens_max - spent >= 0
    left.renew()
    assert (left.faults_left, left.tokens_left) == (limits.faults_max, limits.tokens_max)


def refused(left: FaultBudget, **call: object) -> FaultRefused:
    asked: dict[str, object] = {
        "level": Level.FULL,
        "reason": RECALL,
        "offers": {Level.FULL: 100, Level.REFERENCE: 10},
        "room_tokens": 1_000,
    }
    with pytest.raises(FaultRefused) as refusal:
        left.grant(PAGE, **(asked | call))  # type: ignore[arg-type]
    return refusal.value


def test_the_third_fault_of_two_is_refused() -> None:
    left = budget(faults=2)
    for _ in range(2):
        left.grant(PAGE, Level.FULL, RECALL, {Level.FULL: 10}, 1_000)
        left.spend(10)
    why = refused(left)
    assert (why.code, why.faults_left, why.page_id) == ("fault_limit", 0, PAGE)


def test_a_page_beyond_the_token_limit_is_refused_and_a_smaller_level_offered() -> None:
    why = refused(budget(), offers={Level.FULL: 10_000, Level.REFERENCE: 20}, room_tokens=99_999)
    assert (why.code, why.levels) == ("token_limit", (3,))
    assert "10,000" in why.why
    assert "4,096" in why.why


def test_a_page_that_no_eviction_could_make_room_for_is_refused_as_such() -> None:
    """CASES 9."""
    assert refused(budget(), room_tokens=50).code == "no_room"
    assert refused(budget(), room_tokens=-50).levels == ()
    assert "-" not in refused(budget(), room_tokens=-50).why


def test_a_reason_that_the_threshold_excludes_is_refused_with_those_it_grants() -> None:
    why = refused(budget(threshold="explicit"), reason=FaultReason.SPECULATIVE)
    assert why.code == "reason_not_allowed"
    assert "user_requested_recall" in why.why


def test_a_looser_threshold_grants_whatever_a_stricter_one_does() -> None:
    reasons = [set(budget(threshold=t).limits.reasons) for t in ("explicit", "referenced")]
    assert {RECALL} == reasons[0] < reasons[1] < set(FaultReason)
    assert set(budget(threshold="speculative").limits.reasons) == set(FaultReason)


@pytest.mark.parametrize(
    ("faults", "tokens", "threshold"), [(-1, 0, "explicit"), (0, -1, "explicit"), (0, 0, "never")]
)
def test_limits_that_make_no_sense_are_refused(faults: int, tokens: int, threshold: str) -> None:
    with pytest.raises(ValueError, match=r"negative|threshold"):
        FaultLimits(faults_max=faults, tokens_max=tokens, threshold=threshold)
