"""Which hits of a search lists for people show, and in which order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar

from pagefault.model.errors import PagefaultError
from pagefault.model.ids import PageId, SessionNo, TurnNo
from pagefault.model.kinds import Role
from pagefault.pack.citations import cited_pages
from pagefault.recall.search import SearchHit
from pagefault.service.memory import Memory
from pagefault.views.shown import HitView

H = TypeVar("H", SearchHit, HitView)


def worth_showing(hits: Sequence[H]) -> Sequence[H]:
    """The hits without those whose relevance is printed as 0.00; all, if there are no others."""
    return [hit for hit in hits if round(hit.relevance, 2)] or hits


# Only in lists for people: the ranking itself is measured, and an answer that quotes a page does
# bear on the question. But a reader who sees the same words twice wants to see first who said them.


async def sources_first(memory: Memory, hits: Sequence[SearchHit]) -> tuple[SearchHit, ...]:
    """The hits in their order, except that an answer that cites other hits, and the question that
    it answers, come directly after the best of these.
    """
    parents = {row.session: row.parent for row in await memory.sessions()}
    places = {(hit.page.session, hit.page.page_id): at for at, hit in enumerate(hits)}
    cited: dict[tuple[SessionNo, TurnNo], set[int]] = defaultdict(set)
    for hit in hits:
        if hit.page.role is not Role.ASSISTANT:
            continue
        try:
            text = (await memory.read(hit.page)).text
        except PagefaultError:  # forgotten meanwhile, or its archive is away
            continue
        found = (_place(places, parents, hit.page.session, one) for one in cited_pages(text))
        cited[hit.page.session, hit.page.turn].update(at for at in found if at is not None)
    return _ordered(hits, cited)


def _place(
    places: Mapping[tuple[SessionNo, PageId], int],
    parents: Mapping[SessionNo, SessionNo],
    session: SessionNo,
    page_id: PageId,
) -> int | None:
    """The place of the hit that the id names in a session: its own page, or one it has from the
    session it was forked from.
    """
    while session:
        if (session, page_id) in places:
            return places[session, page_id]
        session = parents.get(session, SessionNo(0))
    return None


def _ordered(
    hits: Sequence[SearchHit], cited: Mapping[tuple[SessionNo, TurnNo], set[int]]
) -> tuple[SearchHit, ...]:
    waiting: dict[int, list[int]] = defaultdict(list)  # for their best source
    order: dict[int, None] = {}
    for at, hit in enumerate(hits):
        turn = hit.page.session, hit.page.turn
        sources = [
            one
            for one in cited.get(turn, ())
            if (hits[one].page.session, hits[one].page.turn) != turn
        ]
        if sources and not any(one in order for one in sources):
            waiting[min(sources)].append(at)
            continue
        ready = [at]
        while ready:
            one = ready.pop()
            order[one] = None
            ready += reversed(waiting.pop(one, []))
    rest = (at for at in range(len(hits)) if at not in order)  # answers that cite one another
    return tuple(hits[at] for at in [*order, *rest])
