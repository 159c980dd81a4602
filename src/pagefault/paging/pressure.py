"""Window pressure: a level with hysteresis, whose thresholds adapt to the fault rate.

The level rises as soon as use reaches a threshold, and falls only when use is `FALL` below it, so
that it does not flicker. If the model faults often, it misses pages that left: the thresholds rise,
and pages are compressed later. If it never faults, they fall.

Invariants:
 (1) The thresholds are ascending, and each within `ADAPTS` of its initial value.
 (2) Two notes of the same use change the level at most once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import IntEnum
from typing import Final, TypeVar

T = TypeVar("T")


class Pressure(IntEnum):
    LOW = 0
    MEDIUM = 1
    HIGH = 2
    CRITICAL = 3


THRESHOLDS: Final = (0.5, 0.75, 0.9)
"""Initial thresholds of medium, high and critical, as shares of the window."""
FALL: Final = 0.05
"""A level ends once use is this far below its threshold."""
ADAPTS: Final = 0.08
STEP: Final = 0.01
FAULTS_MANY: Final = 0.5
"""Mean faults per request above which thresholds rise …"""
FAULTS_FEW: Final = 0.05
"""… and below which they fall."""
MEMORY: Final = 16  # requests in the mean

Callback = Callable[[Pressure, Pressure], None]


def subscribed(callbacks: list[T], callback: T) -> Callable[[], None]:
    """Add a callback. Returns a function that removes it, and does nothing when called again."""
    callbacks.append(callback)

    def end() -> None:
        if callback in callbacks:
            callbacks.remove(callback)

    return end


class Gauge:
    """The pressure of one session's window, updated per request. Callbacks observe changes."""

    def __init__(self) -> None:
        self.level = Pressure.LOW
        self.used = 0.0  # share of the window, at the last note
        self.shift = 0.0
        self._faults: deque[int] = deque(maxlen=MEMORY)
        self._callbacks: list[Callback] = []

    @property
    def thresholds(self) -> tuple[float, ...]:
        return tuple(round(threshold + self.shift, 3) for threshold in THRESHOLDS)

    @property
    def is_idle(self) -> bool:
        """Whether nothing was noted yet, as in a session that was only just opened."""
        return not self._faults

    @property
    def fault_rate(self) -> float:
        """Mean faults per request over the last `MEMORY` requests."""
        return sum(self._faults) / len(self._faults) if self._faults else 0.0

    def on_change(self, callback: Callback) -> Callable[[], None]:
        """Call `callback(before, now)` at each change. Returns a function that unsubscribes."""
        return subscribed(self._callbacks, callback)

    def note(self, used: float, faults: int) -> Pressure:
        """Record a request's share of the window, and the faults served since the one before."""
        self._faults.append(faults)
        self._adapt()
        self.used = used
        before = self.level
        self.level = self.level_at(used)
        if self.level is not before:
            for callback in list(self._callbacks):
                callback(before, self.level)
        return self.level

    def level_at(self, used: float) -> Pressure:
        """The level that `note` would give."""
        level = Pressure(sum(used >= threshold for threshold in self.thresholds))
        if level < self.level:  # it falls only from well below
            held = Pressure(sum(used >= threshold - FALL for threshold in self.thresholds))
            return min(held, self.level)
        return level

    def _adapt(self) -> None:
        if self.fault_rate > FAULTS_MANY:
            self.shift = min(ADAPTS, self.shift + STEP)
        elif self.fault_rate < FAULTS_FEW and len(self._faults) == MEMORY:
            self.shift = max(-ADAPTS, self.shift - STEP)
