"""What every eviction policy owes, and in which order each lets pages go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.model.ids import PageId
from pagefault.model.kinds import Kind, Modality
from pagefault.paging.questions import EvictionPolicy, Resident
from pagefault.policy.importance_lru import KIND_WEIGHT, ImportanceLRU
from pagefault.policy.lru import LRU
from pagefault.policy.modality_lru import ModalityLRU
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
        assert self.filled(pages, touches).victims(list(used), 10_000) == list(used)


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
        chosen = self.filled(pages, []).victims([page.page_id for page in pages], 30)
        assert chosen == ["msg_1", "msg_2", "msg_0"]


class TestImportanceLRU(EvictionPolicyContract):
    def make(self) -> EvictionPolicy:
        return ImportanceLRU()


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
    assert policy.victims([p.page_id for p in pages[::order]], 40) == [p.page_id for p in pages]


@pytest.mark.parametrize("order", [1, -1])
def test_at_equal_age_the_unimportant_leaves_first(order: int) -> None:
    """CASES 11: importance .1 before .99."""
    pages = [page("msg_1", importance=0.1), page("msg_2"), page("msg_3", importance=0.99)]
    policy = of_one_age(*pages[::order])
    assert policy.victims([p.page_id for p in pages], 30) == ["msg_1", "msg_2", "msg_3"]


def test_importance_delays_but_does_not_prevent_leaving() -> None:
    policy = ImportanceLRU()
    policy.admitted(page("clm_1", kind=Kind.CLAIM, importance=1.0))
    policy.admitted(page("msg_1", importance=0.5))
    both = [PageId("clm_1"), PageId("msg_1")]
    assert policy.victims(both, 1) == ["msg_1"]
    for _ in range(100):
        policy.touched(PageId("msg_1"))
    assert policy.victims(both, 1) == ["clm_1"]


def test_a_page_of_no_importance_still_ages() -> None:
    policy = ImportanceLRU()
    for number in range(3):
        policy.admitted(page(f"msg_{number}", importance=0.0))
    assert policy.victims([PageId(f"msg_{n}") for n in (2, 1, 0)], 30) == [
        "msg_0",
        "msg_1",
        "msg_2",
    ]


def test_every_kind_has_a_weight() -> None:
    assert set(KIND_WEIGHT) == set(Kind)
