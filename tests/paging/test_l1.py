"""L1 is a dict of representations of which the dirty ones never go."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pagefault.model.ids import PageId, Seq
from pagefault.model.kinds import Level
from pagefault.model.page import Derived, Page
from pagefault.paging.l1 import L1
from pagefault.testing.machines_paging import row
from tests.examples import few


def made(number: int, *, seq: int = 0) -> Page:
    """What stands for page `number` at level 1."""
    of = PageId(f"msg_{number}")
    return Page(
        row=replace(row(f"sum_{number}"), seq=Seq(seq)),
        text=f"about {number}",
        derived=Derived(represents=of, level=1),
    )


class L1Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.real = L1(3)
        self.dirty: set[int] = set()
        self.clean: dict[int, None] = {}

    @rule(number=st.integers(1, 9))
    def derive(self, number: int) -> None:
        self.real.derived(made(number))
        self.dirty.add(number)
        self.clean.pop(number, None)

    @rule(number=st.integers(1, 9))
    def flush(self, number: int) -> None:
        self.real.flushed(made(number, seq=number))
        self.dirty.discard(number)
        self.clean.pop(number, None)
        self.clean[number] = None
        while len(self.clean) > 3:
            del self.clean[next(iter(self.clean))]

    @rule(number=st.integers(1, 9))
    def find(self, number: int) -> None:
        found = self.real.find(PageId(f"msg_{number}"), Level.REDUCED)
        assert (found is not None) == (number in self.dirty or number in self.clean)
        if number in self.clean:
            self.clean[number] = self.clean.pop(number)
            assert found is not None
            assert found.row.seq == number

    @invariant()
    def agrees(self) -> None:
        self.real.check()
        assert {PageId(f"sum_{n}") for n in self.dirty} == set(self.real.dirty())
        assert len(self.real) == len(self.dirty) + len(self.clean)


TestL1 = L1Machine.TestCase
TestL1.settings = few(20, stateful_step_count=30)


def test_control_a_cache_that_lets_go_of_the_dirty_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    l1 = L1(0)
    l1.derived(made(1))
    l1.flushed(made(2, seq=2))
    assert l1.dirty() == [PageId("sum_1")]
    monkeypatch.setattr(L1, "is_dirty", lambda self, page_id: False)
    with pytest.raises(Exception, match="dirty"):
        l1.flushed(made(1, seq=1))
