"""What every eviction policy owes, and in which order each lets pages go."""

from __future__ import annotations

import random as chance
from collections.abc import Set
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.model.ids import PageId
from pagefault.model.kinds import Kind, Modality, Tier
from pagefault.model.page import Told
from pagefault.paging.questions import EvictionPolicy, Resident
from pagefault.policy.affinity import Affinity
from pagefault.policy.arc import ARC
from pagefault.policy.importance_lru import KIND_WEIGHT, ImportanceLRU
from pagefault.policy.locality_lru import REFETCH, LocalityLRU
from pagefault.policy.lru import LRU
from pagefault.policy.modality_lru import ModalityLRU
from pagefault.policy.s3_fifo import PROVED_USES, S3FIFO
from pagefault.policy.sieve import Sieve
from pagefault.service.bootstrap import POLICIES
from pagefault.testing.machines_paging import PAGES, WINDOWS, EvictionPolicyContract


class TestLRU(EvictionPolicyContract):
    def make(self) -> EvictionPolicy:
        return LRU()

    @given(WINDOWS, st.lists(PAGES))
    def test_the_order_is_that_of_last_use_whatever_the_page_is(
        self, pages: list[Resident], touches: list[PageId]
    ) -> None:
        used = {page.page_id: None for page in pages}
        for page_id in touches:
            if page_id in used:
                used[page_id] = used.pop(page_id)
        assert self.filled(pages, touches).victims(used.keys(), 10_000) == list(used)


class TestModalityLRU(EvictionPolicyContract):
    def make(self) -> EvictionPolicy:
        return ModalityLRU()

    def test_images_leave_before_text(self) -> None:
        """CASES 11."""
        pages = [
            Resident(
                page_id=PageId(f"msg_{number}"),
                tokens=10,
                kind=Kind.TRANSCRIPT,
                modality=modality,
                importance=0.5,
            )
            for number, modality in enumerate([Modality.TEXT, Modality.IMAGE, Modality.AUDIO])
        ]
        chosen = self.filled(pages, []).victims({page.page_id for page in pages}, 30)
        assert chosen == ["msg_1", "msg_2", "msg_0"]


class TestImportanceLRU(EvictionPolicyContract):
    def make(self) -> EvictionPolicy:
        return ImportanceLRU()

    @given(WINDOWS, st.lists(PAGES), st.integers(1, 500))
    def test_the_order_is_that_of_worth_as_it_is_defined(
        self, pages: list[Resident], touches: list[PageId], needed: int
    ) -> None:
        used = {page.page_id: number for number, page in enumerate(pages)}
        for number, page_id in enumerate(t for t in touches if t in used):
            used[page_id] = len(pages) + number
        now = max(used.values())

        def worth(page: Resident) -> tuple[float, int]:
            weight = max(page.importance, 0.01) * KIND_WEIGHT[page.kind]
            return weight / (now - used[page.page_id] + 1), used[page.page_id]

        chosen = self.filled(pages, touches).victims(used.keys(), needed)
        order = [page.page_id for page in sorted(pages, key=worth)]
        assert chosen == order[: len(chosen)]


class TestLocalityLRU(EvictionPolicyContract):
    def make(self) -> EvictionPolicy:
        return LocalityLRU()


class TestSieve(EvictionPolicyContract):
    def make(self) -> EvictionPolicy:
        return Sieve()


class TestS3FIFO(EvictionPolicyContract):
    uses_that_count = PROVED_USES

    def make(self) -> EvictionPolicy:
        return S3FIFO()


class TestARC(EvictionPolicyContract):
    def make(self) -> EvictionPolicy:
        return ARC()


class TestAffinity(EvictionPolicyContract):
    def make(self) -> EvictionPolicy:
        return Affinity(ImportanceLRU())

    @given(WINDOWS, st.data(), st.integers(1, 150), st.integers(1, 150))
    def test_where_topics_leave_together_who_is_asked_for_more_names_the_same_pages_and_others(
        self, pages: list[Resident], data: st.DataObject, needed: int, more: int
    ) -> None:
        topics = st.lists(st.sampled_from("abc"), max_size=2, unique=True).map(tuple)
        told = [replace(page, about=Told(topic_tags=data.draw(topics))) for page in pages]
        policy = self.filled(told, [])
        names = {page.page_id for page in told}
        assert set(policy.victims(names, needed)) <= set(policy.victims(names, needed + more))


class Weeping(LRU):
    """Takes what it is asked for as done: a weakened build."""

    def victims(self, evictable: Set[PageId], tokens_needed: int) -> list[PageId]:
        chosen = super().victims(evictable, tokens_needed)
        for page_id in chosen:
            self.touched(page_id)
        return chosen


class Generous(LRU):
    """Names more pages than are needed."""

    def victims(self, evictable: Set[PageId], tokens_needed: int) -> list[PageId]:
        return super().victims(evictable, tokens_needed + 60 * (tokens_needed > 0))


class Unforgetting(LRU):
    """Names pages that departed."""

    def departed(self, page_id: PageId) -> None:
        pass

    def victims(self, evictable: Set[PageId], tokens_needed: int) -> list[PageId]:
        return super().victims(self._tokens.keys(), tokens_needed)


class Random(LRU):
    """Does not say the same twice."""

    def __init__(self) -> None:
        super().__init__()
        self._chance = chance.Random(7)

    def victims(self, evictable: Set[PageId], tokens_needed: int) -> list[PageId]:
        chosen = super().victims(evictable, tokens_needed)
        self._chance.shuffle(chosen)
        return chosen


@pytest.mark.parametrize(
    ("weak", "promise"),
    [
        (Weeping, "test_asking_changes_nothing_and_the_order_of_the_question_does_not_matter"),
        (
            Weeping,
            "test_the_same_life_leads_to_the_same_answer_however_often_it_was_asked_on_the_way",
        ),
        (Random, "test_who_is_asked_for_more_names_the_same_pages_first"),
        (Generous, "test_enough_comes_free_where_enough_may_leave"),
        (Unforgetting, "test_a_page_that_departed_is_forgotten_and_may_come_back"),
        (Unforgetting, "test_through_a_life_every_resident_can_leave_and_nobody_else"),
        (Unforgetting, "test_victims_are_drawn_from_the_evictable_without_repeats"),
    ],
)
def test_control_the_contract_catches_a_policy_that_breaks_it(
    weak: type[LRU], promise: str
) -> None:
    class Weakened(EvictionPolicyContract):
        def make(self) -> EvictionPolicy:
            return weak()

    with pytest.raises((AssertionError, ExceptionGroup)):
        getattr(Weakened(), promise)()


def page(
    page_id: str, *, kind: Kind = Kind.TRANSCRIPT, importance: float = 0.5, tokens: int = 10
) -> Resident:
    return Resident(
        page_id=PageId(page_id),
        tokens=tokens,
        kind=kind,
        modality=Modality.TEXT,
        importance=importance,
    )


def of_one_age(*pages: Resident) -> ImportanceLRU:
    """All last used a thousand accesses ago: who was first by a step or two does not matter."""
    policy = ImportanceLRU()
    for resident in pages:
        policy.admitted(resident)
    busy = PageId("msg_999")
    policy.admitted(page(busy))
    for _ in range(1_000):
        policy.touched(busy)
    return policy


@pytest.mark.parametrize("order", [1, -1])
def test_at_equal_age_transcript_leaves_before_artifact_before_summary_before_claim(
    order: int,
) -> None:
    """CASES 11."""
    kinds = [Kind.TRANSCRIPT, Kind.ARTIFACT, Kind.SUMMARY, Kind.CLAIM]
    pages = [page(f"{kind}_1", kind=kind) for kind in kinds]
    policy = of_one_age(*pages[::order])
    assert policy.victims({p.page_id for p in pages}, 40) == [p.page_id for p in pages]


@pytest.mark.parametrize("order", [1, -1])
def test_at_equal_age_the_unimportant_leaves_first(order: int) -> None:
    """CASES 11: importance .1 before .99."""
    pages = [page("msg_1", importance=0.1), page("msg_2"), page("msg_3", importance=0.99)]
    policy = of_one_age(*pages[::order])
    assert policy.victims({p.page_id for p in pages}, 30) == ["msg_1", "msg_2", "msg_3"]


def test_importance_delays_but_does_not_prevent_leaving() -> None:
    policy = ImportanceLRU()
    policy.admitted(page("clm_1", kind=Kind.CLAIM, importance=1.0))
    policy.admitted(page("msg_1", importance=0.5))
    both = {PageId("clm_1"), PageId("msg_1")}
    assert policy.victims(both, 1) == ["msg_1"]
    for _ in range(100):
        policy.touched(PageId("msg_1"))
    assert policy.victims(both, 1) == ["clm_1"]


def test_a_page_of_no_importance_still_ages() -> None:
    policy = ImportanceLRU()
    for number in range(3):
        policy.admitted(page(f"msg_{number}", importance=0.0))
    assert policy.victims({PageId(f"msg_{n}") for n in (2, 1, 0)}, 30) == [
        "msg_0",
        "msg_1",
        "msg_2",
    ]


def test_every_kind_has_a_weight() -> None:
    assert set(KIND_WEIGHT) == set(Kind)


def filled(policy: EvictionPolicy, *pages: Resident) -> EvictionPolicy:
    for resident in pages:
        policy.admitted(resident)
    return policy


def let_go(policy: EvictionPolicy, among: set[PageId], tokens: int) -> list[PageId]:
    """What leaves, as an epoch has it: named, evicted, departed."""
    chosen = policy.victims(among, tokens)
    for page_id in chosen:
        policy.evicted(page_id)
        policy.departed(page_id)
        among.discard(page_id)
    return chosen


# --- locality -----------------------------------------------------------------------------------


def test_what_is_dear_to_bring_back_leaves_last() -> None:
    """CASES 11."""
    tiers = [Tier.L4, Tier.L3, Tier.L2]
    pages = [replace(page(f"msg_{tier}"), refetch=REFETCH[tier]) for tier in tiers]
    policy = filled(LocalityLRU(), *pages)
    chosen = policy.victims({p.page_id for p in pages}, 30)
    assert chosen == ["msg_L2", "msg_L3", "msg_L4"]


def test_what_is_dear_to_bring_back_and_never_used_leaves_in_the_end() -> None:
    policy = filled(LocalityLRU(), replace(page("msg_0"), refetch=4.0))
    resident = {PageId("msg_0")}
    left: list[PageId] = []
    for number in range(1, 8):
        policy.admitted(page(f"msg_{number}"))
        resident.add(PageId(f"msg_{number}"))
        left += let_go(policy, resident, 1)
    assert left.index(PageId("msg_0")) == 3, "after as many nearer ones as it is dearer"


# --- the hand, the queues and the border ------------------------------------------------------


def test_the_hand_lets_off_what_was_used_once_and_goes_on_from_where_it_stopped() -> None:
    a, b, c, d, e = (PageId(f"msg_{name}") for name in "abcde")
    policy = filled(Sieve(), page(a), page(b), page(c), page(d))
    policy.touched(a)
    resident = {a, b, c, d}
    assert let_go(policy, resident, 1) == [b], "a was used"
    policy.admitted(page(e))
    resident.add(e)
    assert let_go(policy, resident, 1) == [c], "the hand does not begin anew with a"
    assert let_go(policy, resident, 1) == [d]
    assert let_go(policy, resident, 1) == [a], "nor does it rest on the newest"


def test_what_nobody_uses_leaves_the_small_queue_and_what_comes_back_is_in_the_large_one() -> None:
    policy = S3FIFO()
    names = [PageId(f"msg_{number}") for number in range(10)]
    resident = set(names)
    filled(policy, *map(page, names))
    assert let_go(policy, resident, 10) == names[:1]
    policy.admitted(page(names[0]))  # it is remembered
    newcomers = [PageId(f"msg_{number}") for number in range(10, 30)]
    for newcomer in newcomers:
        policy.admitted(page(newcomer))
        resident.add(newcomer)
        assert names[0] not in let_go(policy, resident | {names[0]}, 10), "a scan passes it by"


def test_the_border_gives_room_to_what_is_used_again_when_that_comes_back() -> None:
    """A page that is used twice survives a scan of pages that are not."""
    policy = ARC()
    often = PageId("msg_often")
    policy.admitted(page(often))
    policy.touched(often)
    resident = {often}
    for number in range(50):
        policy.admitted(page(f"msg_{number}"))
        resident.add(PageId(f"msg_{number}"))
        if len(resident) > 5:
            let_go(policy, resident, 10)
    assert often in resident
    assert often not in _of_lru_after_the_same(), "control: the scan flushes LRU"


def _of_lru_after_the_same() -> set[PageId]:
    policy = filled(LRU(), page("msg_often"))
    resident = {PageId("msg_often")}
    policy.touched(PageId("msg_often"))
    for number in range(50):
        policy.admitted(page(f"msg_{number}"))
        resident.add(PageId(f"msg_{number}"))
        if len(resident) > 5:
            let_go(policy, resident, 10)
    return resident


def test_every_name_in_the_configuration_is_a_policy_that_keeps_the_contract() -> None:
    kinds = {type(make()) for make in POLICIES.values()}
    assert kinds == {Affinity, LRU, ModalityLRU, LocalityLRU, Sieve, S3FIFO, ARC}
