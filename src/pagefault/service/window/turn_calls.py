"""How much of a turn's limits the model's calls of memory have used up."""

from __future__ import annotations

from collections.abc import Sequence

from pagefault.model.events import CallRefused, Event, Faulted, Searched
from pagefault.paging.fault import FaultBudget, FaultLimits


class TurnCalls:
    def __init__(self, searches_max: int, limits: FaultLimits) -> None:
        self._searches_max = searches_max
        self._spent: list[int] = []  # tokens of each fault served in this turn
        self.searches_left = searches_max
        self.budget = FaultBudget(limits)
        self.served = 0  # faults, in all turns since this state began
        self.refused = 0

    def limit(self, limits: FaultLimits) -> None:
        """Other limits hold from now on, for what is left of this turn, too."""
        self.budget = FaultBudget(limits, spent=self._spent)

    def renew(self, calls: Sequence[Event] = ()) -> None:
        """A turn began, and made these calls so far."""
        self._spent.clear()
        self.budget.renew()
        self.searches_left = self._searches_max
        for event in calls:
            match event.body:
                case Searched():
                    self.searches_left -= 1
                case Faulted(refusal="", already_mapped=False, tokens=tokens):
                    self._spend(tokens)

    def fold(self, call: Searched | Faulted | CallRefused) -> None:
        """One more call was answered."""
        match call:
            case Searched():
                self.searches_left -= 1
            case Faulted(refusal="", already_mapped=False, tokens=tokens):
                self._spend(tokens)
                self.served += 1
            case Faulted() if call.refusal:
                self.refused += 1

    def _spend(self, tokens: int) -> None:
        self._spent.append(tokens)
        self.budget.spend(tokens)
