"""A cache under a policy, played over a reference string: how often a page was not there.

The policies are those of a session (`pagefault.policy`), told the same facts in the same order: a
page is admitted, and then room is made for it among the others. Demand paging: nothing is read
ahead, and what is asked for always comes in.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from pagefault.model.ids import PageId
from pagefault.model.kinds import Kind, Modality
from pagefault.paging.questions import EvictionPolicy, Resident


def alike(references: Sequence[PageId]) -> dict[PageId, Resident]:
    """Pages of which nothing is known: each weighs one."""
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
    """How many references found their page absent, in a cache that holds `capacity` tokens.

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
    """For each reference, where its page is asked for next; past the end if it never is."""
    never = len(references)
    following = [never] * never
    last: dict[PageId, int] = {}
    for at in range(never - 1, -1, -1):
        following[at] = last.get(references[at], never)
        last[references[at]] = at
    return following


def optimal_misses(references: Sequence[PageId], capacity: int) -> int:
    """The fewest misses that anybody can have, where every page weighs one.

    MIN: what is asked for last leaves first. Optimal among all that bring in every page when it is
    asked for and not before (L. A. Belady 1966; R. Mattson et al., IBM Systems Journal 9(2), 1970).
    """
    following = next_uses(references)
    resident: dict[PageId, int] = {}  # and where it is asked for next
    farthest: list[tuple[int, PageId]] = []  # entries may be out of date
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
