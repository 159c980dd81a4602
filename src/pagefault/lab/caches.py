"""A cache under a policy, run over a reference string: the number of misses.

The policies are a session's (`pagefault.policy`), and get the same facts in the same order: a page
is admitted, then room is made for it among the others. Demand paging: nothing is read ahead, and
every referenced page is admitted.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from pagefault.model.ids import PageId
from pagefault.model.kinds import Kind, Modality
from pagefault.paging.questions import EvictionPolicy, Resident


def alike(references: Sequence[PageId]) -> dict[PageId, Resident]:
    """Pages without metadata, each of weight one."""
    return {
        page_id: Resident(
            page_id=page_id,
            tokens=1,
            kind=Kind.TRANSCRIPT,
            modality=Modality.TEXT,
            importance=0.5,
        )
        for page_id in dict.fromkeys(references)
    }


def misses(
    policy: EvictionPolicy,
    references: Sequence[PageId],
    pages: Mapping[PageId, Resident],
    capacity: int,
) -> int:
    """The misses of a cache that holds `capacity` tokens.

    REQUIRES: no page weighs more than the capacity.
    """
    admitted, touched, victims = policy.admitted, policy.touched, policy.victims
    evicted, departed = policy.evicted, policy.departed
    resident: dict[PageId, int] = {}
    others = resident.keys()
    used = missed = 0
    for page_id in references:
        if page_id in resident:
            touched(page_id)
            continue
        missed += 1
        page = pages[page_id]
        used += page.tokens
        admitted(page)
        if used > capacity:
            for leaving in victims(others, used - capacity):
                evicted(leaving)
                departed(leaving)
                used -= resident.pop(leaving)
        resident[page_id] = page.tokens
    return missed


def next_uses(references: Sequence[PageId]) -> list[int]:
    """For each reference, the next reference of its page; past the end if there is none."""
    never = len(references)
    following = [never] * never
    last: dict[PageId, int] = {}
    for at in range(never - 1, -1, -1):
        following[at] = last.get(references[at], never)
        last[references[at]] = at
    return following


def optimal_misses(references: Sequence[PageId], capacity: int) -> int:
    """The fewest possible misses if every page weighs one.

    MIN: evict the page whose next reference is farthest. Optimal under demand paging (L. A. Belady
    1966; R. Mattson et al., IBM Systems Journal 9(2), 1970).
    """
    following = next_uses(references)
    resident: dict[PageId, int] = {}  # with its next reference
    farthest: list[tuple[int, PageId]] = []  # may have outdated entries
    missed = 0
    for page_id, after in zip(references, following, strict=True):
        if page_id not in resident:
            missed += 1
            while len(resident) >= capacity:
                when, leaving = heapq.heappop(farthest)
                if resident.get(leaving) == -when:
                    del resident[leaving]
        resident[page_id] = after
        heapq.heappush(farthest, (-after, page_id))
    return missed
