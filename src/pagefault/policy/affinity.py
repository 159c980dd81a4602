"""Co-eviction: pages on one topic, which are wanted together, leave together.

When a page leaves, pages in the colder half of the window that share a topic with it leave next.
Otherwise the inner policy decides the order.
"""

from __future__ import annotations

from collections.abc import Set

from pagefault.model.ids import PageId, TurnNo
from pagefault.model.page import NOT_TOLD
from pagefault.paging.questions import EvictionPolicy, Resident
from pagefault.policy.enough import enough


class Affinity:
    """An `EvictionPolicy` that wraps another."""

    def __init__(self, inner: EvictionPolicy) -> None:
        self._inner = inner
        self._pages: dict[PageId, Resident] = {}
        self._told = 0  # how many of them may have topics

    def turn_began(self, turn: TurnNo) -> None:
        self._inner.turn_began(turn)

    def faulted(self, page_id: PageId) -> None:
        self._inner.faulted(page_id)

    def evicted(self, page_id: PageId) -> None:
        self._inner.evicted(page_id)

    def admitted(self, page: Resident) -> None:
        self._pages[page.page_id] = page
        self._told += page.about is not NOT_TOLD
        self._inner.admitted(page)

    def touched(self, page_id: PageId) -> None:
        self._inner.touched(page_id)

    def departed(self, page_id: PageId) -> None:
        self._told -= self._pages.pop(page_id).about is not NOT_TOLD
        self._inner.departed(page_id)

    def victims(self, evictable: Set[PageId], tokens_needed: int) -> list[PageId]:
        if tokens_needed <= 0:
            return []
        if not self._told:
            return self._inner.victims(evictable, tokens_needed)
        everything = sum(self._pages[page_id].tokens for page_id in evictable)
        order = self._inner.victims(evictable, everything + 1)
        colder = order[: (len(order) + 1) // 2]
        if sum(self._pages[page_id].tokens for page_id in colder) <= tokens_needed:
            # All that could follow leave anyway.
            return enough(((p, self._pages[p].tokens) for p in order), tokens_needed)
        about: dict[str, list[int]] = {}  # topic -> places of the colder pages about it
        for place, page_id in enumerate(colder):
            for topic in self._pages[page_id].about.topic_tags:
                about.setdefault(topic, []).append(place)
        chosen: dict[PageId, None] = {}
        for page_id in order:
            if page_id in chosen:
                continue
            # A topic is followed once: then all of its pages have left.
            topics = self._pages[page_id].about.topic_tags
            follow = {place for topic in topics for place in about.pop(topic, ())}
            for leaving in (page_id, *(order[place] for place in sorted(follow))):
                if tokens_needed <= 0:
                    return list(chosen)
                if leaving not in chosen:
                    chosen[leaving] = None
                    tokens_needed -= self._pages[leaving].tokens
        return list(chosen)
