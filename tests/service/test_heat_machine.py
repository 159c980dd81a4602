"""Heat beside a naive model of it, and controls that must be found out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from pagefault.service.derived.heat import HeatItem
from pagefault.service.turn import heat_moves
from pagefault.testing.heat_machine import HeatMachine

SHORT = settings(
    max_examples=4,
    stateful_step_count=16,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
LONG = settings(SHORT, max_examples=200, stateful_step_count=60, phases=tuple(Phase))
CONTROL = settings(SHORT, max_examples=20, derandomize=True, print_blob=False)


def test_heat_is_what_the_rules_say() -> None:
    run_state_machine_as_test(HeatMachine, settings=SHORT)


@pytest.mark.slow
@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_heat_is_what_the_rules_say_for_long() -> None:
    run_state_machine_as_test(HeatMachine, settings=LONG)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "name", "broken"),
    [
        (HeatItem, "leaves_first", property(lambda item: (-item.relevance_score, 0))),
        (heat_moves.HeatPlan, "keep_the_cap", lambda plan: None),
        (heat_moves.HeatPlan, "_make_room", lambda plan, *_: None),
    ],
    ids=["the most relevant leave", "no cap of cold items", "no room is made"],
)
def test_what_is_broken_on_purpose_is_found(
    monkeypatch: pytest.MonkeyPatch, where: Any, name: str, broken: Any
) -> None:
    monkeypatch.setattr(where, name, broken)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(HeatMachine, settings=CONTROL)
