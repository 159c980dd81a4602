"""Pressure on a window: levels that do not flicker, and thresholds that follow the faults."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.paging.pressure import ADAPTS, MEMORY, THRESHOLDS, Gauge, Pressure


def test_it_rises_at_a_threshold_and_falls_only_from_well_below() -> None:
    gauge = Gauge()
    levels = [gauge.note(used, 0) for used in (0.4, 0.76, 0.74, 0.69, 0.95, 0.86, 0.84, 0.1)]
    low, medium, high, critical = Pressure
    assert levels == [low, high, high, medium, critical, critical, high, low]


def test_control_without_hysteresis_it_flickers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pagefault.paging.pressure.FALL", 0.0)
    with pytest.raises(AssertionError):
        test_it_rises_at_a_threshold_and_falls_only_from_well_below()


def test_callbacks_hear_of_changes_alone_until_they_are_ended() -> None:
    gauge, heard = Gauge(), list[tuple[Pressure, Pressure]]()
    end = gauge.on_change(lambda before, now: heard.append((before, now)))
    for used in (0.1, 0.8, 0.8, 0.2):
        gauge.note(used, 0)
    assert heard == [(Pressure.LOW, Pressure.HIGH), (Pressure.HIGH, Pressure.LOW)]
    end()
    end()
    gauge.note(0.99, 0)
    assert len(heard) == 2


def test_thresholds_rise_where_the_model_faults_often_and_sink_where_it_never_does() -> None:
    often, never = Gauge(), Gauge()
    for _ in range(3 * MEMORY):
        often.note(0.3, 2)
        never.note(0.3, 0)
    assert often.thresholds[0] > THRESHOLDS[0] > never.thresholds[0]


@given(st.lists(st.tuples(st.floats(0, 1.2), st.integers(0, 4)), max_size=80))
def test_the_thresholds_stay_ascending_and_near_where_they_began(
    notes: list[tuple[float, int]],
) -> None:
    gauge = Gauge()
    for used, faults in notes:
        first = gauge.note(used, faults)
        assert list(gauge.thresholds) == sorted(gauge.thresholds)
        for now, began in zip(gauge.thresholds, THRESHOLDS, strict=True):
            assert abs(now - began) <= ADAPTS + 1e-9
        assert first is gauge.level
