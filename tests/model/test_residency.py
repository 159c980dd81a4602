"""A page's residency: the whole product of states and causes."""

from __future__ import annotations

import re
from itertools import product

import pytest

from pagefault.model.errors import IllegalTransition
from pagefault.model.residency import LEGAL, Cause, Residency, mermaid, step

G, L, C, D = Residency.GHOST, Residency.LOADING, Residency.CLEAN, Residency.DIRTY

# Written here a second time, one row a state; a dot is a refusal.
EXPECTED = """
          faulted loaded failed admitted derived flushed evicted invalidated
  ghost   loading .      .      clean    dirty   .       .       ghost
  loading .       clean  ghost  .        .       .       .       ghost
  clean   .       .      .      .        dirty   .       ghost   ghost
  dirty   .       .      .      .        dirty   clean   .       ghost
"""


def expected() -> dict[tuple[Residency, Cause], Residency]:
    head, *rows = [line.split() for line in EXPECTED.strip().splitlines()]
    return {
        (Residency(state), Cause(cause)): Residency(after)
        for state, *afters in rows
        for cause, after in zip(head, afters, strict=True)
        if after != "."
    }


@pytest.mark.parametrize(("state", "cause"), list(product(Residency, Cause)))
def test_every_state_answers_every_cause_as_the_table_says(state: Residency, cause: Cause) -> None:
    after = expected().get((state, cause))
    if after is None:
        with pytest.raises(IllegalTransition, match=f"{state.value}.*{cause.value}"):
            step(state, cause)
    else:
        assert step(state, cause) is after


def test_unsaved_work_leaves_by_command_alone() -> None:
    leaving = {cause for (state, cause), after in LEGAL.items() if state is D and after is G}
    assert leaving == {Cause.INVALIDATED}


def test_a_command_is_never_refused() -> None:
    assert all(step(state, Cause.INVALIDATED) is G for state in Residency)


def test_every_state_can_be_reached_and_left() -> None:
    assert {after for (state, _), after in LEGAL.items() if state is not after} == set(Residency)
    assert {state for (state, _), after in LEGAL.items() if state is not after} == set(Residency)


def test_the_diagram_shows_every_edge_and_no_other() -> None:
    drawn = re.findall(r"^    (\w+) --> (\w+): (\w+)$", mermaid(), re.MULTILINE)
    edges = [(a.value, b.value, cause.value) for (a, cause), b in LEGAL.items()]
    assert sorted(drawn) == sorted(edges)
    assert mermaid().startswith("stateDiagram-v2\n    [*] --> ghost\n")
