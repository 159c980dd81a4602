"""What is left of a turn's limits on the model's calls of memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from pagefault.model.events import CallRefused, Event, Faulted, Searched
from pagefault.paging.fault import FaultBudget, FaultLimits


class TurnCalls:
    """A fold of the calls; the budget outlives a change of its limits."""

    def __init__(self, searches_max: int, limits: FaultLimits) -> None:
        self._searches_max = searches_max
        self._spent: list[int] = []  # tokens of each fault served in this turn
        self.searches_left = searches_max
        self.budget = FaultBudget(limits)
        self.served = 0  # faults, in all turns since this state began
        self.refused = 0

    def limit(self, limits: FaultLimits) -> None:
        """Apply other limits from now on, to what is left of this turn, too."""
        self.budget = FaultBudget(limits, spent=self._spent)

    def renew(self, calls: Sequence[Event] = ()) -> None:
        """Begin a turn that has made these calls so far."""
        self._spent.clear()
        self.budget.renew()
        self.searches_left = self._searches_max
        for event in calls:
            if isinstance(event.body, Searched | Faulted):
                self._count(event.body)

    def fold(self, call: Searched | Faulted | CallRefused) -> None:
        """Count a call that was answered."""
        if isinstance(call, CallRefused):
            return
        self._count(call)
        if isinstance(call, Faulted):
            self.refused += bool(call.refusal)
            self.served += not (call.refusal or call.already_mapped)

    def _count(self, call: Searched | Faulted) -> None:
        match call:
            case Searched():
                self.searches_left -= 1
            case Faulted(refusal="", already_mapped=False, tokens=tokens):
                self._spent.append(tokens)
                self.budget.spend(tokens)
            case Faulted():
                pass  # refused, or in the window already: it brought nothing
            case other:
                assert_never(other)
