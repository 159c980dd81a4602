"""Packages of several sessions for others: packs, a synopsis, a digest."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence, Set
from dataclasses import replace
from typing import Final

from pagefault.activity.commits import Commit
from pagefault.model.ids import SessionNo
from pagefault.model.kinds import REGION_PREFIX, PackType
from pagefault.model.page import Scope
from pagefault.model.signatures import checked_verbs
from pagefault.model.wanted import SearchFilter, Time
from pagefault.pack.context_pack import ContextPack
from pagefault.recall.search import SearchHit, SearchResult
from pagefault.service.lookup.names import brief_names, forked
from pagefault.service.lookup.questions import listed, with_sources
from pagefault.service.packs.gathered import (
    HITS,
    RECENT,
    SAID_ONLY,
    TIERS,
    FixedClock,
    Gathered,
    PackAsked,
    recent_reason,
    says_last,
)
from pagefault.service.packs.quoted_pages import Quoted, handle
from pagefault.service.packs.request import BUDGET_TOKENS, Measure, asked_for, check_recalls, made
from pagefault.service.root.parts import MemoryParts, check_open

SESSIONS_READ: Final = 8
"""Sessions whose claims and work are in a pack of several: the most recently used. Pages relevant
to the query come from all of them.
"""


@checked_verbs(usable=check_open)
class Librarian(MemoryParts):
    """The verbs that assemble what several sessions hold. They write nothing."""

    async def pack(
        self,
        query: str = "",
        *,
        pack_type: str = "",
        sessions: Collection[str] | None = None,
        budget: int = BUDGET_TOKENS,
        at: Time = "",
        unproved: bool = False,
        root: str = "",
    ) -> ContextPack:
        """Like `Session.pack`, for these sessions (names or ids), or for all: pages of any of them,
        and claims, work and open questions of the eight most recently used. In a pack of all
        sessions, a fork contributes only pages that bear on the query. A ref has the session's
        short name before the page: "planning/msg_3".
        """
        asked = asked_for(
            self._runtime,
            pack_type,
            query=query,
            at=at,
            unproved=unproved,
            root=root,
            budget=budget,
        )
        return await self._packed(asked, sessions)

    async def synopsis(
        self,
        *,
        sessions: Collection[str] | None = None,
        budget: int = BUDGET_TOKENS,
        at: Time = "",
    ) -> ContextPack:
        """Like `Session.synopsis`, for several sessions together, e.g. those of a project."""
        asked = asked_for(self._runtime, PackType.SYNOPSIS, at=at, budget=budget)
        return await self._packed(asked, sessions)

    async def digest(
        self,
        since: Time = "",
        *,
        commits: Sequence[Commit] = (),
        sessions: Collection[str] | None = None,
        budget: int = BUDGET_TOKENS,
        at: Time = "",
    ) -> ContextPack:
        """Like `Session.digest`, for several sessions together."""
        asked = asked_for(self._runtime, PackType.DIGEST, at=at, since=since, budget=budget)
        return await self._packed(asked, sessions, commits=commits)

    async def _packed(
        self,
        asked: PackAsked,
        sessions: Collection[str] | None,
        *,
        commits: Sequence[Commit] = (),
        measure: Measure | None = None,
    ) -> ContextPack:
        check_recalls(await self._given_control(), "memory")
        wanted = replace(SAID_ONLY, sessions=None if sessions is None else tuple(sessions))
        scope = await self._asked(wanted)
        every = await asyncio.to_thread(self._runtime.index.sessions)
        apart = forked(every) if sessions is None else set()
        rows = [
            row
            for row in every
            if row.session not in apart
            and not row.name.startswith(REGION_PREFIX)
            and (sessions is None or not {row.name, row.session_id}.isdisjoint(sessions))
        ]
        names = {row.session_id: handle(row.name, row.session_id) for row in every}
        short = {one: handle(name, one) for one, name in brief_names(every).items()}
        runtime = replace(self._runtime, clock=FixedClock(asked.at_ms))
        quoted = Quoted(runtime, names, short)
        tiers, found = TIERS[asked.pack_type], Gathered()
        for row in rows[:SESSIONS_READ]:
            session = await self._find_session(row.session_id)
            if session._state.control.recalls:
                found.add(await session._items.gather(asked, quoted, searches=False))
        if asked.query:
            hits = await runtime.search(scope, asked.query, limit=HITS, wanted=wanted)
            told: SearchResult = await with_sources(runtime, hits, None, asked.query)
            found.add_found(
                await asyncio.to_thread(lambda: [*quoted.hits(told.hits, tiers, asked.query)])
            )
        if says_last(asked, found.matched):
            last = await self._said_last(scope, wanted, apart)
            recent = await asyncio.to_thread(
                lambda: [*quoted.recent(last, tiers, recent_reason(asked))]
            )
            found.items.extend(recent)
        return await asyncio.to_thread(
            lambda: made(self._runtime, asked, found, quoted, commits=commits, measure=measure)
        )

    async def _said_last(
        self, scope: Scope, wanted: SearchFilter, apart: Set[SessionNo]
    ) -> list[SearchHit]:
        """The latest messages, without those of the sessions `apart`."""
        limit = RECENT
        while True:
            told = (await listed(self._runtime, scope, wanted, limit=limit, newest_first=True)).hits
            hits = [hit for hit in told if hit.page.session not in apart]
            if len(hits) >= RECENT or len(told) < limit:
                return hits[:RECENT]
            limit *= 4
