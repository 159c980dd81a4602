"""What the mechanism asks of a policy. Here, below the policies, so that it imports no opinion."""

from __future__ import annotations

from collections.abc import Set
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
    refetch: float = 1.0  # what bringing it back would cost a token, over a page of the log


class EvictionPolicy(Protocol):
    """Synchronous, pure over what it was told, and the owner of nothing but its own bookkeeping.

    What departs without having been evicted is as good as never seen, for an epoch tells again of
    all that it keeps. What was learned of pages that were evicted may be remembered, within bounds;
    it does not outlive the process, and after a restart a policy may be told so of a page that it
    never saw.
    """

    def admitted(self, page: Resident) -> None: ...  # facts, in the past tense
    def touched(self, page_id: PageId) -> None: ...
    def departed(self, page_id: PageId) -> None: ...
    def turn_began(self, turn: TurnNo) -> None: ...
    def faulted(self, page_id: PageId) -> None: ...  # by the model; it is admitted, too
    def evicted(self, page_id: PageId) -> None: ...  # an epoch chose it: it departs next

    def victims(self, evictable: Set[PageId], tokens_needed: int) -> list[PageId]:
        """Which pages should leave so that `tokens_needed` come free, first to go first.

        REQUIRES: `evictable` are residents that are clean, not pinned and not held.
        ENSURES:  the answer is drawn from `evictable`, without repeats. Too little is a legal
                  answer; reporting the shortfall is the caller's business. Asking changes no later
                  answer, and who is asked for more names the same pages first.
        """
        ...
