"""The protocol between mechanism and policy. Below the policies, so that paging imports none."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Protocol

from pagefault.model.construction import fast_init
from pagefault.model.ids import PageId, TurnNo
from pagefault.model.kinds import Kind, Modality
from pagefault.model.page import NOT_TOLD, About


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """A page in the window, as a policy sees it."""

    page_id: PageId
    tokens: int  # in the window, label included
    kind: Kind
    modality: Modality
    importance: float  # 0 to 1
    about: About = NOT_TOLD  # computed on demand: most pages are never asked
    refetch: float = 1.0  # cost per token of bringing it back, relative to a page in the log


class EvictionPolicy(Protocol):
    """Synchronous, a pure function of the calls it received, and stateless beyond its bookkeeping.

    A page that departs without being evicted counts as never seen, because an epoch admits again
    every page that it keeps. A policy may remember evicted pages, within bounds. That memory does
    not survive the process, so after a restart `evicted` may name a page that it never saw.
    """

    def admitted(self, page: Resident) -> None: ...  # events, in the past tense
    def touched(self, page_id: PageId) -> None: ...
    def departed(self, page_id: PageId) -> None: ...
    def turn_began(self, turn: TurnNo) -> None: ...
    def faulted(self, page_id: PageId) -> None: ...  # by the model; it is admitted, too
    def evicted(self, page_id: PageId) -> None: ...  # an epoch chose it: it departs next

    def victims(self, evictable: Set[PageId], tokens_needed: int) -> list[PageId]:
        """Which pages should leave so that `tokens_needed` come free, first to go first.

        REQUIRES: `evictable` are residents that are clean, not pinned and not held.
        ENSURES:  the answer is drawn from `evictable`, without repeats. It may fall short; the
                  caller reports the shortfall. Asking changes no later answer, and asking for
                  more names the same pages first; where pages leave together for their topics,
                  the same pages and others.
        """
        ...
