"""The state machine of a session, and a control: it finds what was broken on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from pagefault.paging.table import PageTable
from pagefault.store.embedded.segments import SegmentLog
from pagefault.testing.session_machine import SessionMachine

# A failure is not made smaller, which takes minutes: `LONG` does that.
SHORT = settings(
    max_examples=6,
    stateful_step_count=25,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
LONG = settings(SHORT, max_examples=300, stateful_step_count=80, phases=tuple(Phase))


def test_a_session_is_what_its_model_says() -> None:
    run_state_machine_as_test(SessionMachine, settings=SHORT)


class DeveloperMachine(SessionMachine):
    """The same, packed as developer messages, which take more of a window."""

    window = 2_200
    layout = "developer"


def test_a_session_of_developer_messages_is_what_its_model_says() -> None:
    run_state_machine_as_test(DeveloperMachine, settings=SHORT)


@pytest.mark.slow
@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_a_session_of_developer_messages_is_what_its_model_says_for_long() -> None:
    run_state_machine_as_test(DeveloperMachine, settings=LONG)


@pytest.mark.slow
@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_a_session_is_what_its_model_says_for_long() -> None:
    run_state_machine_as_test(SessionMachine, settings=LONG)


def _forget_without_erasing(self: SegmentLog, seqs: Any) -> int:
    return len(set(seqs))


class _First:
    """Draws the first of what may be drawn: a control walks one path, it does not search."""

    def draw(self, strategy: Any) -> Any:
        return strategy.example()


@pytest.fixture
def machine() -> Iterator[SessionMachine]:
    machine = SessionMachine()
    yield machine
    machine.teardown()


@pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")
def test_control_a_session_that_loses_its_pins_is_caught(
    machine: SessionMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(self: PageTable) -> list[Any]:
        return []

    name = machine.begin()
    machine.document(name, "Ana keeps the spare key with Maria.")
    machine.pin(name, _First())
    machine.user(name, "Where is it?")
    monkeypatch.setattr(PageTable, "pins", none)
    with pytest.raises(AssertionError, match="a pinned page is missing"):
        machine.request(name)


@pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")
def test_control_a_forget_that_erases_nothing_is_caught(
    machine: SessionMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = machine.begin()
    machine.secret(name, "assistant", "the word is")
    monkeypatch.setattr(SegmentLog, "erase", _forget_without_erasing)
    with pytest.raises(AssertionError, match="was forgotten, and still is in"):
        machine.forget(name, _First())
