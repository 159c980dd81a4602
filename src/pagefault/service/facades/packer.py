"""Packages of a session for others: context packs, a handoff, a synopsis, a digest."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pagefault.activity.commits import Commit
from pagefault.model.kinds import PackType
from pagefault.model.signatures import checked_verbs
from pagefault.model.wanted import Time
from pagefault.pack.context_pack import ContextPack
from pagefault.service.facades.parts import SessionParts, check_open
from pagefault.service.packs.gathered import PackAsked
from pagefault.service.packs.quoted_pages import Quoted, handle
from pagefault.service.packs.request import BUDGET_TOKENS, asked_for, check_recalls, made


@checked_verbs(usable=check_open)
class Packer(SessionParts):
    """The verbs that assemble what a session holds within a token budget, with its sources. They
    write nothing.
    """

    async def pack(
        self,
        query: str = "",
        *,
        pack_type: str = "",
        budget: int = BUDGET_TOKENS,
        at: Time = "",
        unproved: bool = False,
        root: str = "",
    ) -> ContextPack:
        """A context pack: what this session holds that is relevant to `query`. It has decisions,
        current work, changed files, open questions and relevant pages, each line with its sources,
        in at most `budget` tokens.

        `pack_type` is "task", for a query, or "boot", to begin with, which needs none and has the
        latest messages; by default "task" if there is a query. If nothing is relevant, `matched` is
        0 and the pack has the latest messages. `at` is its date (ISO 8601, or milliseconds since
        1970), by default now: the same session, query and time give the same bytes.

        Stale and unconfirmed claims are in it only with `unproved`. With a project's folder `root`,
        claims are checked as by `validate_claims` first, without a record of it: one whose file no
        longer says it, or whose branch is gone, counts as failed. Quarantined and withdrawn pages
        are never in it. Raises `BadInput`, and if the memory's mode recalls nothing.
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
        return await self._packed(asked)

    async def handoff(self, *, budget: int = BUDGET_TOKENS, at: Time = "") -> ContextPack:
        """What the next person to work on this session needs: what changed, what failed, what is
        next, what was decided, and what was said last. Otherwise as `pack`.
        """
        return await self._packed(asked_for(self._runtime, PackType.HANDOFF, at=at, budget=budget))

    async def synopsis(self, *, budget: int = BUDGET_TOKENS, at: Time = "") -> ContextPack:
        """What this session is about, and how its work is run: its summaries, documents, frequent
        commands, and claims. Read from the log each time, so it is never out of date. Otherwise as
        `pack`.
        """
        return await self._packed(asked_for(self._runtime, PackType.SYNOPSIS, at=at, budget=budget))

    async def digest(
        self,
        since: Time = "",
        *,
        commits: Sequence[Commit] = (),
        budget: int = BUDGET_TOKENS,
        at: Time = "",
    ) -> ContextPack:
        """What changed here since a time, and by these `commits`: files, tests that now fail or
        pass again, decisions made or retracted. Otherwise as `pack`.
        """
        asked = asked_for(self._runtime, PackType.DIGEST, at=at, since=since, budget=budget)
        return await self._packed(asked, commits)

    async def _packed(self, asked: PackAsked, commits: Sequence[Commit] = ()) -> ContextPack:
        check_recalls(self._state.control, "session")
        names = {self.session_id: handle(self.name, self.session_id)}
        quoted = Quoted(self._runtime, names)
        found = await self._items.gather(asked, quoted, searches=True)
        return await asyncio.to_thread(
            lambda: made(self._runtime, asked, found, quoted, commits=commits)
        )
