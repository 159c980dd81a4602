"""Look-ups of pages: the latest, by time, by topic or task, or by relevance to a query.

All take the same filter, search one scope, and give the source of each hit. What was forgotten is
in no index, so no look-up finds it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pagefault.model.errors import ArchiveMissing, RecordGone
from pagefault.model.kinds import IMPORT, Kind, Profile
from pagefault.model.page import PageRow, Scope
from pagefault.model.signatures import checked_verbs
from pagefault.model.wanted import ANY, SearchFilter, Time
from pagefault.recall.excerpt import excerpt_titled
from pagefault.recall.search import SearchHit, SearchResult
from pagefault.service.arguments import a_count, one_of
from pagefault.service.lookup.closed_hits import ClosedHits
from pagefault.service.lookup.imported import places_from, told_of
from pagefault.service.lookup.session_search import SAID
from pagefault.service.lookup.topics import pages_about, words_of
from pagefault.service.runtime import Runtime
from pagefault.store.place import place_in
from pagefault.store.precedence import give_way, giving_way

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@checked_verbs(usable=lambda asking: asking._runtime.journal.ready())
class Asking:
    """The look-up verbs: a session's search what it sees, a memory's search every session.

    A memory's are for a person who may see everything: a model's own search never leaves its
    session. Page ids are unique in a session only; `hit.session_id` says which.
    """

    _runtime: Runtime

    async def _asked(self, wanted: SearchFilter) -> Scope:
        """The scope to search, as it is now."""
        raise NotImplementedError

    async def _find(
        self, scope: Scope, query: str, limit: int, wanted: SearchFilter, profile: Profile | None
    ) -> SearchResult:
        """The pages relevant to a query in a scope, best first."""
        raise NotImplementedError

    def _reach(self, scope: Scope, wanted: SearchFilter) -> list[Scope]:
        """The regions that the caller may also search now, if the filter wants messages. Blocks on
        the store. A memory's own verbs search all of them anyway.
        """
        return []

    async def recall(
        self,
        query: str = "",
        *,
        limit: int = 5,
        wanted: SearchFilter = ANY,
        topic: str = "",
        task: str = "",
        tokens: int | None = None,
        profile: str = "",
    ) -> SearchResult:
        """Pages relevant to `query`, best first, each with the parts of its score and its source.
        In a session, claims that answer it and hold now come before them.

        With `topic` or `task` ("#42", "42", "ABC-7"), only pages that have it among their tags; the
        query may then be empty. `tokens` bounds the total of the hits; omitted ones are reported.
        `profile` ("measured", "studio-v1") selects the ranking, by default the configured one.
        """
        scope = await self._asked(wanted)
        _check(limit, tokens)
        order = one_of(Profile, profile, "profile") if profile else None
        if topic or task:
            found = await _about(
                *(self._runtime, scope, wanted, query),
                regions=await asyncio.to_thread(self._reach, scope, wanted),
                topic=topic,
                task=task,
                limit=limit,
                profile=order,
            )
        else:
            found = await self._find(scope, query, limit, wanted, order)
        words = query or words_of(topic, task)
        return await with_sources(self._runtime, found, tokens, words, is_wide=scope.is_wide)

    async def _candidates(self, query: str, limit: int) -> SearchResult:
        """The same hits, for callers that quote pages themselves: no text is read to be shown."""
        return await self._find(await self._asked(ANY), query, limit, ANY, None)

    async def recent(
        self, limit: int = 10, wanted: SearchFilter = ANY, *, tokens: int | None = None
    ) -> SearchResult:
        """The latest pages that were said, newest first."""
        scope = await self._asked(wanted)
        regions = await asyncio.to_thread(self._reach, scope, wanted)
        return await listed(
            *(self._runtime, scope, wanted, regions), limit=limit, tokens=tokens, newest_first=True
        )

    async def _kinds(self, wanted: SearchFilter) -> dict[str, int]:
        """How many pages of each kind pass the filter; kinds without any are left out."""
        scope = await self._asked(wanted)  # once: it takes a while for many sessions
        regions = await asyncio.to_thread(self._reach, scope, wanted)
        told = {}
        for kind in Kind:
            of_kind = replace(wanted, kinds=(kind,))
            found = await listed(self._runtime, scope, of_kind, regions, limit=0)
            if found.total:
                told[str(kind)] = found.total
        return told

    async def by_topic(
        self, topic: str, limit: int = 10, wanted: SearchFilter = ANY, *, tokens: int | None = None
    ) -> SearchResult:
        """The pages of a topic, the most relevant first."""
        return await self.recall(topic=topic, limit=limit, wanted=wanted, tokens=tokens)

    async def by_task(
        self, task: str, limit: int = 10, wanted: SearchFilter = ANY, *, tokens: int | None = None
    ) -> SearchResult:
        """The pages that name a task ("#42" or "42", "ABC-7"), the most relevant first."""
        return await self.recall(task=task, limit=limit, wanted=wanted, tokens=tokens)

    async def timeline(
        self,
        start: Time | None = None,
        end: Time | None = None,
        wanted: SearchFilter = ANY,
        *,
        limit: int = 50,
        tokens: int | None = None,
    ) -> SearchResult:
        """The first pages that were said from `start` on and before `end`, in that order.

        Times are as in `SearchFilter`, and replace those of `wanted`.
        """
        scope = await self._asked(wanted)
        spanned = wanted.between(start, end)
        regions = await asyncio.to_thread(self._reach, scope, wanted)
        return await listed(self._runtime, scope, spanned, regions, limit=limit, tokens=tokens)


async def listed(
    runtime: Runtime,
    scope: Scope,
    wanted: SearchFilter,
    regions: Sequence[Scope] = (),
    *,
    limit: int,
    tokens: int | None = None,
    newest_first: bool = False,
) -> SearchResult:
    """Pages by the time they were said; then by their order, those of regions last."""
    _check(limit, tokens)
    work = partial(_listed, runtime, scope, wanted, regions, limit, newest_first=newest_first)
    found = await asyncio.to_thread(work)
    return await with_sources(runtime, found, tokens, is_wide=scope.is_wide)


async def _about(
    runtime: Runtime,
    scope: Scope,
    wanted: SearchFilter,
    query: str,
    *,
    regions: Sequence[Scope],
    topic: str,
    task: str,
    limit: int,
    profile: Profile | None,
) -> SearchResult:
    """Pages with this topic and this task, the most relevant to the query first, or without one, to
    topic and task. Duplicates are not dropped.
    """
    import numpy as np

    words = query or words_of(topic, task)
    hits: list[SearchHit] = []
    for part in [*parts_of(scope, wanted), *regions]:
        only = await asyncio.to_thread(_places, runtime, part, topic, task)
        if wanted.imported_from and part.is_wide:
            from_there = await asyncio.to_thread(places_from, runtime, wanted.imported_from)
            only = only[np.isin(only, from_there)]
        found = await runtime.search(
            part, words, limit=len(only), wanted=wanted, only=only, profile=profile
        )
        hits += [
            replace(hit, page=row, also=()) for hit in found.hits for row in (hit.page, *hit.also)
        ]
    hits = list({hit.page.seq: hit for hit in hits}.values())  # two regions may share a page
    hits.sort(key=lambda hit: -hit.score)  # stable: ties keep their order
    return SearchResult(tuple(hits[:limit]), len(hits))


def _check(limit: int, tokens: int | None) -> None:
    a_count(limit, called="limit")
    if tokens is not None:
        a_count(tokens, called="tokens")


def parts_of(scope: Scope, wanted: SearchFilter) -> list[Scope]:
    """The scopes that hold pages of the wanted kinds: messages, derived pages, or both."""
    if scope.is_wide or not wanted.kinds:
        return [scope]
    parts = [scope] if any(kind in SAID for kind in wanted.kinds) else []
    return parts + ([scope.derived] if any(kind not in SAID for kind in wanted.kinds) else [])


def _listed(
    runtime: Runtime,
    scope: Scope,
    wanted: SearchFilter,
    regions: Sequence[Scope],
    limit: int,
    *,
    newest_first: bool,
) -> SearchResult:
    import numpy as np

    if not wanted.kinds:
        wanted = replace(wanted, kinds=tuple(SAID))
    found: list[tuple[int, int, int, PageRow]] = []
    total = 0
    own = parts_of(scope, wanted)
    for number, part in enumerate([*own, *regions]):
        matching = runtime.index.matching(part, wanted)
        order = np.lexsort((matching.places, matching.said_ms))
        if wanted.imported_from and part.is_wide:
            only = places_from(runtime, wanted.imported_from)
            order = order[np.isin(matching.places[order], only)]
        if not wanted.history:
            history = list(runtime.index.history(part))
            order = order[~np.isin(matching.places[order], history)]
        ordered = order[::-1] if newest_first else order
        is_unseen = runtime.quarantine.is_unseen
        rows = runtime.index.pages_at(part, matching.places[ordered[:limit]].tolist())
        if any(map(is_unseen, rows)):  # they take no other page's room
            rows = runtime.index.pages_at(part, matching.places[ordered].tolist())
        is_region = number >= len(own)
        home = part if is_region else scope
        found += [
            (row.said_ms, number if is_region else 0, place_in(home, row), row)
            for row in rows
            if not (row.is_note or is_unseen(row))
        ]
        total += len(order)
    found.sort(key=lambda one: one[:3], reverse=newest_first)
    rows = list({row.seq: row for *_, row in found}.values())  # two regions may share a page
    total -= len(found) - len(rows)
    hits = tuple(SearchHit(row, 0.0, 0.0, {}) for row in rows[:limit])
    away = runtime.log.out_of_reach([hit.page.seq for hit in hits])
    return SearchResult(hits, total).marked(away)


def _places(runtime: Runtime, scope: Scope, topic: str, task: str) -> NDArray[np.int64]:
    """The places of the pages with these tags, ascending."""
    import numpy as np

    rows = pages_about(runtime, scope, topic, task)
    return np.array(sorted(place_in(scope, row) for row in rows), dtype=np.int64)


async def with_sources(
    runtime: Runtime,
    found: SearchResult,
    tokens: int | None,
    query: str = "",
    *,
    is_wide: bool = False,
) -> SearchResult:
    """As many of these as the token limit allows, each with its source and its excerpt. Hits of a
    search over several sessions (`is_wide`), and hits in regions, are marked if their words no
    longer hold.
    """
    if tokens is not None:
        found = found.within(tokens)
    return await asyncio.to_thread(_sourced, runtime, found, query, is_wide)


def _sourced(runtime: Runtime, found: SearchResult, query: str, is_wide: bool) -> SearchResult:
    closed = ClosedHits(runtime)
    numbers = {hit.page.session for hit in found.hits}
    imports = {hit.page.session for hit in found.hits if hit.page.origin == IMPORT}
    told_of_hits: list[dict[str, Any]] = []
    with giving_way(waits=True), runtime.index.moment():
        sessions = {number: runtime.index.session(number) for number in numbers}
        told = {number: told_of(runtime, number)[-1:] for number in imports}
        for hit in found.hits:
            row = sessions[hit.page.session]
            more: dict[str, Any] = {"session_id": row.session_id if row else ""}
            if row is not None and runtime.regions.is_region(row):
                more |= {"source": row.name, "lapse": hit.lapse or closed.lapse(hit.page)}
            elif is_wide and not hit.lapse:
                more["lapse"] = closed.lapse(hit.page)
            for one in told.get(hit.page.session, ()):
                more |= {"source": one.source_system, "project": one.project}
            told_of_hits.append(more)
    with giving_way(waits=True):
        hits = [
            _shown(runtime, hit, query, more)
            for hit, more in zip(found.hits, told_of_hits, strict=True)
        ]
    return replace(found, hits=tuple(hits))


def _shown(runtime: Runtime, hit: SearchHit, query: str, more: Mapping[str, Any]) -> SearchHit:
    """A hit with its excerpt, and with `more`."""
    give_way()
    try:
        page = runtime.pages.read(hit.page)
    except (RecordGone, ArchiveMissing):
        return replace(hit, **more)
    shown = excerpt_titled(page.title, page.text, query if hit.why in ("", "words") else "")
    return replace(
        hit,
        **more,
        speaker=page.speaker,
        occurred_at=page.occurred_at,
        excerpt=shown.text,
        marks=shown.marks,
    )
