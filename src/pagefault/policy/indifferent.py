"""The base of policies that ignore turns, faults and evictions."""

from __future__ import annotations

from pagefault.model.ids import PageId, TurnNo


class Indifferent:
    """No-ops for every event of an `EvictionPolicy` but admission, use and departure."""

    def turn_began(self, turn: TurnNo) -> None:
        pass

    def faulted(self, page_id: PageId) -> None:
        pass

    def evicted(self, page_id: PageId) -> None:
        pass
