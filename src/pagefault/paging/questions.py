"""What the mechanism asks of a policy. Here, below the policies, so that it imports no opinion."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from pagefault.model.ids import PageId, TurnNo
from pagefault.model.kinds import Kind, Modality
from pagefault.model.page import NOT_TOLD, About


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """What a policy is told of a page that entered the window."""

    page_id: PageId
    tokens: int  # what it takes in the window, label included
    kind: Kind
    modality: Modality
    importance: float  # 0 to 1
    about: About = NOT_TOLD  # found when it is asked: most pages never are


class EvictionPolicy(Protocol):
    """Synchronous, pure over what it was told, and the owner of nothing but its own bookkeeping."""

    def admitted(self, page: Resident) -> None: ...  # facts, in the past tense
    def touched(self, page_id: PageId) -> None: ...
    def departed(self, page_id: PageId) -> None: ...
    def turn_began(self, turn: TurnNo) -> None: ...
    def faulted(self, page_id: PageId) -> None: ...  # by the model; it is admitted, too
    def evicted(self, page_id: PageId) -> None: ...  # it left for good: an epoch chose it

    def victims(self, evictable: Collection[PageId], tokens_needed: int) -> list[PageId]:
        """Which pages should leave so that `tokens_needed` come free, first to go first.

        REQUIRES: `evictable` are residents that are clean, not pinned and not held.
        ENSURES:  the answer is drawn from `evictable`, without repeats. Too little is a legal
                  answer; reporting the shortfall is the caller's business.
        """
        ...
