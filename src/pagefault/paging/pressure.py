"""How hard a window is pressed: a level with hysteresis, whose thresholds follow the faults.

The level rises as soon as a threshold is passed, and falls only when use is well below it, so that
it does not flicker. Where the model faults often, what left the window is missed: the thresholds
rise, and less is done under pressure; where it never does, they sink.

Invariants:
 (1) The thresholds are ascending, and each within `ADAPTS` of where it began.
 (2) Two notes of the same use change the level at most once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import IntEnum
from typing import Final


class Pressure(IntEnum):
    LOW = 0
    MEDIUM = 1
    HIGH = 2
    CRITICAL = 3


THRESHOLDS: Final = (0.5, 0.75, 0.9)
"""Shares of the window at which it is medium, high, critical, as they begin."""
FALL: Final = 0.05
"""So far below its threshold use must sink for a level to end."""
ADAPTS: Final = 0.08
STEP: Final = 0.01
FAULTS_MANY: Final = 0.5
"""Faults a request, on average, from which on thresholds rise …"""
FAULTS_FEW: Final = 0.05
"""… and below which they sink."""
MEMORY: Final = 16  # requests that the average is of

Callback = Callable[[Pressure, Pressure], None]


class Gauge:
    """The pressure of one session's window. Told of each request; callbacks are told of changes."""

    def __init__(self) -> None:
        self.level = Pressure.LOW
        self.used = 0.0  # share of the window, when it was noted last
        self.shift = 0.0
        self._faults: deque[int] = deque(maxlen=MEMORY)
        self._callbacks: list[Callback] = []

    @property
    def thresholds(self) -> tuple[float, ...]:
        return tuple(round(threshold + self.shift, 3) for threshold in THRESHOLDS)

    @property
    def fault_rate(self) -> float:
        """Faults a request, lately."""
        return sum(self._faults) / len(self._faults) if self._faults else 0.0

    def on_change(self, callback: Callback) -> Callable[[], None]:
        """Call `callback(before, now)` at each change. Returns what ends that."""
        self._callbacks.append(callback)

        def end() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return end

    def note(self, used: float, faults: int) -> Pressure:
        """A request took this share of the window; `faults` were served since the one before."""
        self._faults.append(faults)
        self._adapt()
        self.used = used
        before = self.level
        self.level = self._level(used)
        if self.level is not before:
            for callback in list(self._callbacks):
                callback(before, self.level)
        return self.level

    def _level(self, used: float) -> Pressure:
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
