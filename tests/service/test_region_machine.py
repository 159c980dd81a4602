"""What sessions are shown of regions, under any rulings; and controls that must be found out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from pagefault.service import forget, regions
from pagefault.testing.region_machine import RegionMachine

SHORT = settings(
    max_examples=3,
    stateful_step_count=25,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
LONG = settings(SHORT, max_examples=300, stateful_step_count=60, phases=tuple(Phase))
CONTROL = settings(SHORT, max_examples=25, derandomize=True, print_blob=False)


def test_a_session_is_shown_what_it_may_see_and_forgetting_leaves_no_word() -> None:
    run_state_machine_as_test(RegionMachine, settings=SHORT)


@pytest.mark.slow
@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_a_session_is_shown_what_it_may_see_for_long() -> None:
    run_state_machine_as_test(RegionMachine, settings=LONG)


class Unchecked(RegionMachine):
    """For a memory that lets everybody in: only what is shown counts, not what verbs answer."""

    checks = False


def _anybody(*_: Any, **__: Any) -> str:
    return ""


def _no_copies(*_: Any, **__: Any) -> list[Any]:
    return []


@pytest.mark.parametrize(
    ("where", "name", "broken"),
    [
        (regions._Rulings, "why_not", _anybody),
        (forget, "_copies", _no_copies),
    ],
    ids=["policies that nobody asks", "copies that stay"],
)
def test_what_is_broken_on_purpose_is_found(
    monkeypatch: pytest.MonkeyPatch, where: Any, name: str, broken: Callable[..., Any]
) -> None:
    monkeypatch.setattr(where, name, broken)
    with pytest.raises(AssertionError, match="canary"):
        run_state_machine_as_test(Unchecked, settings=CONTROL)
