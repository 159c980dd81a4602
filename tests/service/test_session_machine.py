"""The state machine of a session, and a control: it finds what was broken on purpose."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from pagefault.service.state import SessionState
from pagefault.store.segments import SegmentLog
from pagefault.testing.session_machine import SessionMachine

# Not derandomized: each run looks somewhere else, and prints what reproduces a failure. It is not
# made smaller then, which takes minutes: `LONG` does that.
SHORT = settings(
    max_examples=30,
    stateful_step_count=25,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    deadline=None,
    print_blob=True,
    derandomize=False,
    suppress_health_check=list(HealthCheck),
)
LONG = settings(SHORT, max_examples=300, stateful_step_count=80, phases=tuple(Phase))
CONTROL = settings(
    SHORT, max_examples=100, phases=(Phase.generate,), database=None, print_blob=False
)


def test_a_session_is_what_its_model_says() -> None:
    run_state_machine_as_test(SessionMachine, settings=SHORT)


@pytest.mark.slow
@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_a_session_is_what_its_model_says_for_long() -> None:
    run_state_machine_as_test(SessionMachine, settings=LONG)


def _forget_without_erasing(self: SegmentLog, seqs: Any) -> int:
    return len(set(seqs))


def test_control_a_session_that_loses_its_pins_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(self: SessionState) -> list[Any]:
        return []

    monkeypatch.setattr("pagefault.paging.table.PageTable.pins", none)
    with pytest.raises(BaseException, match=r"a pinned page is missing|sub-exceptions"):
        run_state_machine_as_test(SessionMachine, settings=CONTROL)


def test_control_a_forget_that_erases_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SegmentLog, "erase", _forget_without_erasing)
    with pytest.raises(BaseException, match=r"forgotten, and still|other bytes|sub-exceptions"):
        run_state_machine_as_test(SessionMachine, settings=CONTROL)
