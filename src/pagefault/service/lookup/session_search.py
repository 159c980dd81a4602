"""Search of one session: its messages, and the claims that answer the query.

Messages and derived pages are searched separately, because scores are comparable only within one
kind. Claims relevant to a query come before the pages; other derived pages are found only by asking
for their kind.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pagefault.model.ids import Seq
from pagefault.model.kinds import RUNTIME, Kind, Modality, Profile
from pagefault.model.page import Scope, is_shared
from pagefault.model.wanted import ANY, SearchFilter
from pagefault.recall.search import SearchHit, SearchResult
from pagefault.service.derived.claims import Claims
from pagefault.service.lookup.closed_hits import ClosedHits
from pagefault.service.ownership import Owned
from pagefault.service.runtime import Runtime
from pagefault.service.window.claim_pages import CLAIM

ANSWERS_MAX: Final = 3  # claims in a search that asks for no kind
ANSWERS_COVERAGE: Final = 0.5  # of the query's words that any claim has: below, it answers little
SAID: Final = frozenset({Kind.TRANSCRIPT, Kind.ARTIFACT})
"""The kinds of pages that were said or handed in; others are derived."""


class Finder:
    def __init__(self, owned: Owned, runtime: Runtime, claims: Claims) -> None:
        self._owned = owned
        self._runtime = runtime
        self._claims = claims

    async def find(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int,
        wanted: SearchFilter = ANY,
        profile: Profile | None = None,
    ) -> SearchResult:
        """Wanted pages relevant to a query. Without kinds: messages, preceded by the few claims
        that answer, if any do. Claims are those that hold now; but any profile except the measured
        one ranks all claims ever made along with the rest. A page with words of a closed claim says
        so (`SearchHit.lapse`).
        """
        search, kinds = self._runtime.search, frozenset(map(Kind, wanted.kinds))
        is_measured = (profile or self._runtime.profile) is Profile.MEASURED
        is_text = not wanted.modalities or Modality.TEXT in wanted.modalities
        found: list[SearchHit] = []
        total = 0
        if self.has_claims and is_measured and (Kind.CLAIM in kinds or (not kinds and is_text)):
            most = limit if kinds else ANSWERS_MAX
            claims = await self._runtime.in_search_thread(
                lambda: self.claims(scope, query, limit=most, wanted=wanted)
            )
            found += [hit for hit in claims if kinds or hit.coverage >= ANSWERS_COVERAGE]
            total += len(found)
        made = kinds - SAID - ({Kind.CLAIM} if is_measured else frozenset())
        for part, some in ((scope, SAID & kinds), (scope.derived, made)):
            if some or (not kinds and not part.of_derived):
                these = replace(wanted, kinds=tuple(some))
                result = await search(part, query, limit=limit, wanted=these, profile=profile)
                hits = [result.hits]
                total += result.total
                for region in [] if part.of_derived else self._runtime.reach(scope):
                    result = await search(region, query, limit=limit, wanted=these, profile=profile)
                    hits.append(result.hits)
                    total += result.total
                found += merged(hits)
        closures, closed = self._owned.state.closures, ClosedHits(self._runtime)
        noted: list[SearchHit] = []
        for hit in found[: max(limit, 0)]:
            if is_shared(hit.page.page_id):  # another session's claims decide: this may read much
                lapse = await asyncio.to_thread(closed.lapse, hit.page)
            else:
                lapse = hit.lapse or closures.lapse_of(hit.page.page_id)
            noted.append(hit if lapse == hit.lapse else replace(hit, lapse=lapse))
        return SearchResult(tuple(noted), total)

    @property
    def has_claims(self) -> bool:
        """Whether the session ever had a claim."""
        return CLAIM in self._owned.state.numbers

    def claims(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int,
        wanted: SearchFilter = ANY,
        strict: bool = False,
    ) -> list[SearchHit]:
        """The claims relevant to a query by their own words, best first. A closed claim is replaced
        by the one that closed it, unless that is a note of ours. With history it is in the result
        itself, marked. `strict` is as for `Searcher.search`. Blocks on the store.
        """
        state = self._owned.state
        if not self.has_claims:
            return []
        claims = replace(wanted, kinds=(Kind.CLAIM,), history=True)
        result = self._runtime.search_blocking(
            *(scope.derived, self._claims.telling(query, state)),
            limit=limit,
            wanted=claims,
            profile=Profile.MEASURED,
            strict=strict,
        )
        # Only by their own words: the pages next to a claim are other claims.
        hits = [hit for hit in result.hits if hit.parts["own"] > 0]
        rows = self._claims.current([hit.page for hit in hits], state)
        current = {old: new for old, new in rows if new.seq <= _last(scope)}
        found: dict[str, SearchHit] = {}
        for hit in hits:
            row = current.get(hit.page.page_id)
            if row is not None and row.page_id != hit.page.page_id:
                closed = replace(hit.page, superseded=row.seq)
                row = closed if wanted.history else None if row.origin == RUNTIME else row
            if row is not None and claims.admits(row):
                lapse = state.closures.lapse_of(row.page_id)
                found.setdefault(row.page_id, replace(hit, page=row, lapse=lapse))
        return list(found.values())


def merged(found: Sequence[Sequence[SearchHit]]) -> list[SearchHit]:
    """Hits of several scopes as one list: always the likeliest of the next ones, and for ties the
    one of the earlier scope. Scores belong to one scope and cannot be compared; each scope keeps
    its order. A page that several of them see is listed once.
    """
    if len(found) == 1:
        return list(found[0])
    left = [deque(hits) for hits in found]
    order: dict[Seq, SearchHit] = {}
    while waiting := [hits for hits in left if hits]:
        hit = max(waiting, key=lambda hits: hits[0].relevance).popleft()
        order.setdefault(hit.page.seq, hit)
    return list(order.values())


def _last(scope: Scope) -> int:
    return max(upto for _, upto in scope.parts)
