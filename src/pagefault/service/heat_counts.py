"""Counters of hot and cold memory since this memory was opened, for monitoring."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pagefault.model.events import HeatMoved
from pagefault.model.kinds import Heat

_SPILLS = frozenset({"asked", "room"})


@dataclass(slots=True)
class HeatCounts:
    """Counters as `service/inspection/metrics.py` defines them, over all sessions of one
    opening.
    """

    spills: int = 0
    recalls: int = 0
    recalls_found: int = 0
    promotions: int = 0

    def hit_percent(self) -> float:
        """The percentage of recalls that found something; NaN before the first."""
        return 100 * self.recalls_found / self.recalls if self.recalls else float("nan")

    def moved(self, records: Iterable[HeatMoved]) -> None:
        for record in records:
            hot = sum(move.to is Heat.HOT for move in record.moves)
            self.promotions += hot if record.why != "added" else 0
            is_out = any(move.to in (Heat.WARM, Heat.COLD) for move in record.moves)
            self.spills += record.why in _SPILLS and is_out

    def recalled(self, *, found: bool) -> None:
        self.recalls += 1
        self.recalls_found += found
