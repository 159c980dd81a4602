"""Time as an argument."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Milliseconds since 1970, UTC. May jump: never used for order."""
        ...

    def monotonic_s(self) -> float:
        """Seconds since some fixed moment; never goes back. For durations only."""
        ...


class SystemClock:
    """The machine's clock. Only `service/bootstrap.py` chooses it."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        return time.perf_counter()
