"""Working set, page table and TLB against a dict."""

from __future__ import annotations

import pytest

from pagefault.model.ids import PageId
from pagefault.model.kinds import Kind, Level, Modality
from pagefault.paging.questions import Resident
from pagefault.paging.table import PageTable
from pagefault.paging.tlb import TLB
from pagefault.paging.working_set import WorkingSet
from pagefault.policy.lru import LRU
from pagefault.testing.machines_paging import PageTableMachine, WorkingSetMachine, row

TestWorkingSet = WorkingSetMachine.TestCase
TestPageTable = PageTableMachine.TestCase

ONE = PageId("msg_1")


def resident(page_id: str, tokens: int = 10) -> Resident:
    return Resident(
        page_id=PageId(page_id),
        tokens=tokens,
        kind=Kind.TRANSCRIPT,
        modality=Modality.TEXT,
        importance=0.5,
    )


def test_a_held_page_refuses_eviction() -> None:
    pages = WorkingSet(LRU())
    pages.admit(resident("msg_1"))
    with pages.hold(ONE):
        assert pages.evict(ONE) is False
        assert pages.victims([ONE], 10) == []
        assert ONE in pages
    assert pages.evict(ONE) is True
    assert pages.tokens_used == 0


def test_a_hold_ends_when_the_block_raises() -> None:
    pages = WorkingSet(LRU())
    pages.admit(resident("msg_1"))
    with pytest.raises(RuntimeError), pages.hold(ONE):
        raise RuntimeError
    assert not pages.is_held(ONE)


def test_a_command_to_leave_is_not_refused_and_an_old_hold_does_not_release_a_new_one() -> None:
    pages = WorkingSet(LRU())
    pages.admit(resident("msg_1"))
    old, new = pages.hold(ONE), pages.hold(ONE)
    with new:  # entered below only after the page came back
        pass
    new = pages.hold(ONE)
    old.__enter__()
    pages.invalidate(ONE)
    assert ONE not in pages
    pages.admit(resident("msg_1"))
    with new:
        old.__exit__(None, None, None)
        assert pages.evict(ONE) is False
    assert pages.evict(ONE) is True


def test_a_page_is_accounted_once_however_often_it_is_admitted() -> None:
    """CASES 1."""
    pages = WorkingSet(LRU())
    for tokens in (10, 99, 3):
        pages.admit(resident("msg_1", tokens))
    assert pages.tokens_used == 10
    pages.check()


def test_a_page_that_is_not_a_member_weighs_nothing_and_cannot_be_held() -> None:
    pages = WorkingSet(LRU())
    with pages.hold(ONE):
        assert not pages.is_held(ONE)
    with pytest.raises(KeyError):
        pages.tokens(ONE)


def test_a_page_that_faults_again_keeps_its_first_entry() -> None:
    table = PageTable(lambda _: None, TLB())
    table.admitted(row("msg_1"), Level.FULL, turn_no := row("msg_1").turn)
    entry = table.entry(ONE)
    table.admitted(row("msg_1", tokens=99), Level.REFERENCE, turn_no)
    assert table.entry(ONE) is entry
    assert entry is not None
    assert (entry.row.tokens, entry.level, entry.accesses) == (10, Level.FULL, 2)


def test_a_tlb_drops_what_was_looked_up_longest_ago() -> None:
    tlb = TLB(2)
    tlb.insert(row("msg_1"))
    tlb.insert(row("msg_2"))
    tlb.lookup(ONE)
    tlb.insert(row("msg_3"))
    assert tlb.lookup(PageId("msg_2")) is None
    assert tlb.lookup(ONE) == row("msg_1")
    assert (tlb.hits, tlb.misses) == (2, 1)


def test_a_tlb_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        TLB(0)


def test_a_row_that_changed_replaces_the_one_it_was() -> None:
    tlb = TLB(2)
    tlb.insert(row("msg_1", tokens=1))
    tlb.insert(row("msg_1", tokens=2))
    found = tlb.lookup(ONE)
    assert found is not None
    assert found.tokens == 2
    assert len(tlb) == 1
