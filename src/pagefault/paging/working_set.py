"""The working set: the pages in the window, their tokens, and the holds on them.

Invariants, true between any two public calls:
 (1) `tokens_used` is the sum over the members.
 (2) Only members are held, each by the blocks it was in when they began, so holds nest.
 (3) Iteration is coldest first; `touch` moves a page to the end.
 (4) Admitting a member changes nothing but its recency: a page is accounted once.

The window's limit is enforced above (`pack`), which knows what else a request holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from pagefault.model.ids import PageId, TurnNo
from pagefault.paging.questions import EvictionPolicy, Resident

FAULTS_KNOWN: Final = 2  # turns for which a policy may protect a faulted page


class WorkingSet:
    def __init__(self, policy: EvictionPolicy) -> None:
        self._policy = policy
        self._members: dict[PageId, Resident] = {}
        self._holds: dict[PageId, set[object]] = {}  # page -> the blocks that hold it
        self.tokens_used = 0
        self._turn = TurnNo(0)
        self._faulted: dict[PageId, TurnNo] = {}  # in the last `FAULTS_KNOWN` turns

    def __contains__(self, page_id: object) -> bool:
        return page_id in self._members

    def __iter__(self) -> Iterator[PageId]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def tokens(self, page_id: PageId) -> int:
        """A member's tokens in the window. `KeyError` for other pages."""
        return self._members[page_id].tokens

    def admit(self, page: Resident) -> None:
        """Add a page. Never evicts: epochs make room, and are decided elsewhere."""
        if page.page_id in self._members:
            self.touch(page.page_id)
            return
        self._members[page.page_id] = page
        self.tokens_used += page.tokens
        self._policy.admitted(page)

    def touch(self, page_id: PageId) -> None:
        """Note a use of the page. Ignored if it is not a member."""
        resident = self._members.pop(page_id, None)
        if resident is not None:
            self._members[page_id] = resident
            self._policy.touched(page_id)

    def turn_began(self, turn: TurnNo) -> None:
        """A user message opened a turn. This is the policy's only clock."""
        self._policy.turn_began(turn)
        self._faulted = {p: at for p, at in self._faulted.items() if at > turn - FAULTS_KNOWN}
        self._turn = turn

    def faulted(self, page_id: PageId) -> None:
        """The model faulted a page. `admit` is called as well."""
        self._faulted[page_id] = self._turn
        self._policy.faulted(page_id)

    def evicted(self, page_ids: Iterable[PageId]) -> None:
        """An epoch evicts these pages. Called before they leave."""
        for page_id in page_ids:
            self._policy.evicted(page_id)

    def spared_tokens(self) -> int:
        """The tokens that the policy would never free; 0 without recent faults."""
        if not self._faulted:
            return 0
        free = self._policy.victims(self._members.keys(), self.tokens_used)
        return self.tokens_used - sum(self._members[page_id].tokens for page_id in free)

    def residents(self) -> Iterator[Resident]:
        return iter(self._members.values())

    def evict(self, page_id: PageId) -> bool:
        """Ask a page to leave. False, a refusal, if the page is held; True once it is out."""
        if self.is_held(page_id):
            return False
        self._remove(page_id)
        return True

    def invalidate(self, page_id: PageId) -> None:
        """Make a page leave. Cannot be refused; its holds end."""
        self._holds.pop(page_id, None)
        self._remove(page_id)

    def clear(self) -> None:
        """Remove every page and reset every count: a new epoch."""
        for page_id in list(self._members):
            self.invalidate(page_id)

    def is_held(self, page_id: PageId) -> bool:
        return page_id in self._holds

    @contextmanager
    def hold(self, *page_ids: PageId) -> Iterator[None]:
        """These pages refuse eviction for the length of the block. Only members can be held."""
        block = object()  # a count would release another's hold after `invalidate` and `admit`
        held = {page_id for page_id in page_ids if page_id in self._members}
        for page_id in held:
            self._holds.setdefault(page_id, set()).add(block)
        try:
            yield
        finally:
            for page_id in held:
                blocks = self._holds.get(page_id, set())
                blocks.discard(block)
                if not blocks:
                    self._holds.pop(page_id, None)

    def victims(self, evictable: list[PageId], tokens_needed: int) -> list[PageId]:
        """The policy's choice of pages to evict, among those that may leave."""
        return self._policy.victims(set(evictable) - self._holds.keys(), tokens_needed)

    def check(self) -> None:
        """Every invariant, slowly."""
        assert self.tokens_used == sum(r.tokens for r in self._members.values()), "(1)"
        assert self._holds.keys() <= self._members.keys(), "(2)"
        assert all(self._holds.values()), "(2)"
        assert all(page_id == r.page_id for page_id, r in self._members.items()), "(4)"

    def _remove(self, page_id: PageId) -> None:
        resident = self._members.pop(page_id, None)
        if resident is not None:
            self.tokens_used -= resident.tokens
            self._policy.departed(page_id)
