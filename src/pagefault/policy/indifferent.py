"""What most policies make of turns, faults and evictions: nothing."""

from __future__ import annotations

from pagefault.model.ids import PageId, TurnNo


class Indifferent:
    """To what an `EvictionPolicy` is told beside who enters, is used and leaves."""

    def turn_began(self, turn: TurnNo) -> None:
        pass

    def faulted(self, page_id: PageId) -> None:
        pass

    def evicted(self, page_id: PageId) -> None:
        pass
