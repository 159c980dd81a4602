"""No public call can break a memory: whatever it is given, what was said is there, and opens."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from pagefault.testing.face_machine import FaceMachine, unknown_parameters

SHORT = settings(
    max_examples=3,
    stateful_step_count=40,
    phases=(Phase.generate,),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
LONG = settings(
    SHORT, max_examples=400, stateful_step_count=80, phases=tuple(Phase), derandomize=False
)


def test_every_parameter_of_every_verb_is_tried() -> None:
    assert unknown_parameters() == set()


def test_no_public_call_breaks_a_memory() -> None:
    run_state_machine_as_test(FaceMachine, settings=SHORT)


@pytest.mark.slow
@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_no_public_call_breaks_a_memory_for_long() -> None:
    run_state_machine_as_test(FaceMachine, settings=LONG)
