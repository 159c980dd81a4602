"""Durations of verbs: the latest ones, by what was measured."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

_KEPT_MAX: Final = 100_000  # durations of one kind

SHARES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}


class Stopwatch:
    """A meter that keeps the durations it is given."""

    def __init__(self) -> None:
        self.seconds: dict[str, deque[float]] = {}

    def __call__(self, what: str, seconds: float) -> None:
        self.seconds.setdefault(what, deque(maxlen=_KEPT_MAX)).append(seconds)

    def quantile_ms(self, what: str, share: float) -> float | None:
        """In milliseconds; None if nothing of that name was measured."""
        durations = sorted(self.seconds.get(what, ()))
        if not durations:
            return None
        return round(1000 * durations[min(int(share * len(durations)), len(durations) - 1)], 3)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """For each kind, the number of measurements, and their quantiles in milliseconds."""
        return {
            what: {"count": len(self.seconds[what])}
            | {f"{name}_ms": self.quantile_ms(what, share) for name, share in SHARES.items()}
            for what in sorted(self.seconds)
        }
