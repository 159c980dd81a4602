"""What a session hands to others: context packs, a handoff, a synopsis, a digest."""

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
    """The verbs that put together what a session holds, in so many tokens, with its sources. They
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
    ) -> ContextPack:
        """What this session holds that bears on `query`: what was decided, what is worked at, which
        files changed, what is open, and the pages that bear on it, each line with what it rests on.
        Its text comes to `budget` tokens at most.

        `pack_type` is "task", for a query, or "boot", to begin with, which needs none and has what
        was said last; by itself the one or the other as there is a query. Where nothing bears on
        it, `matched` is 0 and what was said last is in it. `at` is when it is made (ISO 8601, or
        milliseconds since 1970), else now: the same session, question and time give the same bytes.

        No claim is in it that is stale, or that nobody confirmed, unless `unproved` asks for them.
        Nothing is that waits in quarantine or was withdrawn. Raises `BadInput`, and where memory
        brings nothing in.
        """
        asked = asked_for(
            self._runtime, pack_type, query=query, at=at, unproved=unproved, budget=budget
        )
        return await self._packed(asked)

    async def handoff(self, *, budget: int = BUDGET_TOKENS, at: Time = "") -> ContextPack:
        """What somebody needs who goes on with this session: what changed, what failed, what is
        next, what was decided, and what was said last. Otherwise as `pack`.
        """
        return await self._packed(asked_for(self._runtime, PackType.HANDOFF, at=at, budget=budget))

    async def synopsis(self, *, budget: int = BUDGET_TOKENS, at: Time = "") -> ContextPack:
        """What this session is about, and how its work is run: its summaries, documents, commands
        that were run often, and what holds. Told from the log each time, so it is never out of
        date. Otherwise as `pack`.
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
        """What changed here since a time, and by these `commits`: files, tests that fail now or
        pass again, decisions that were made or taken back. Otherwise as `pack`.
        """
        asked = asked_for(self._runtime, PackType.DIGEST, at=at, since=since, budget=budget)
        return await self._packed(asked, commits)

    async def _packed(self, asked: PackAsked, commits: Sequence[Commit] = ()) -> ContextPack:
        check_recalls(self._state.control, "session")
        names = {self.session_id: handle(self.name, self.session_id)}
        quoted = Quoted(self._runtime, names, is_several=False)
        found = await self._items.gather(asked, quoted, searches=True)
        return await asyncio.to_thread(lambda: made(self._runtime, asked, found, commits=commits))
