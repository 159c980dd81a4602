"""Writes messages idempotently: their pages, and the claims they make."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress

from pagefault.model.errors import BadInput, PlanOutdated
from pagefault.model.events import Draft, OriginalBody
from pagefault.model.ids import NOTHING, PageId, Seq
from pagefault.model.kinds import Origin
from pagefault.model.page import is_derived
from pagefault.service.derived.claims import Claims, WouldBlock
from pagefault.service.inspection.relayed import Telling
from pagefault.service.ownership import Owned
from pagefault.service.runtime import Runtime
from pagefault.service.turn.drafts import PREVIOUS, Incoming, placed, write_down
from pagefault.service.window.content import page_of
from pagefault.service.window.host_calls import allotted
from pagefault.service.window.plan import plan_backlog


class Saying:
    def __init__(self, owned: Owned, runtime: Runtime, claims: Claims) -> None:
        self._owned = owned
        self._runtime = runtime
        self._claims = claims
        # The first page of the newest text that was logged here, and the order after its last.
        self._newest: tuple[str, int] | None = None

    async def say(
        self,
        items: Sequence[Incoming],
        origin: Origin,
        *,
        cause: Seq = NOTHING,
        telling: Telling | None = None,
    ) -> tuple[list[list[PageId]], list[Incoming]]:
        """The pages of each of these messages, written now or before; and the new items.

        A `cause` makes them parts of an exchange with the host's tools. The events in `telling` are
        written before them, in the same batch.
        """
        planned = self._runtime.journal.forgets
        known, fresh = await self.known(items)
        drafts = write_down(
            fresh,
            origin,
            session=self._owned.session,
            state=self._owned.state,
            counter=self._runtime.counter,
            clean=self._runtime.journal.clean,
        )
        if cause != NOTHING:
            drafts = allotted(drafts, self._owned.state, cause)
        drafts += await self._claim(drafts, _blocks(drafts, fresh))
        told, resting = await telling.drafts(self._owned) if telling is not None else ([], None)
        keep = self._runtime.pages.keeper()  # before anything being written can be forgotten
        events = await self._owned.commit([*told, *drafts], planned=resting)
        if any(item.follows for item in fresh):  # its client's own JSON refers to these texts
            for event in events:
                if isinstance(event.body, OriginalBody):
                    keep(page_of(event, event.body))
        if telling is not None:
            telling.written(events)
        if self._owned.state.is_backlogged:
            backlog = plan_backlog(self._owned.state, self._owned.session)
            with suppress(PlanOutdated):  # the next text, or request, plans it again
                await self._owned.commit(backlog, planned=planned)
        texts: list[list[PageId]] = []
        for event in events:
            if not isinstance(event.body, OriginalBody):
                continue
            if event.body.part == 0:
                texts.append([])
            texts[-1].append(event.body.page_id)
        if texts:
            self._newest = texts[-1][0], self._owned.state.order_next
        written = iter(texts)
        by_key: dict[str, list[PageId]] = {}
        made: list[list[PageId]] = []
        for item, pages in zip(items, known, strict=True):
            key = "" if item.follows == PREVIOUS else item.key  # equal keys are of other pages then
            pages = pages or by_key.get(key) or next(written)
            by_key |= {key: pages} if key else {}
            made.append(pages)
        return made, fresh

    async def _claim(self, drafts: Sequence[Draft], blocks: Collection[PageId]) -> list[Draft]:
        """Drafts of the claims in these messages. Another thread waits for the store, if
        need be.
        """
        if self._claims.is_current(self._owned.state):
            with suppress(WouldBlock):
                return self._claims.drafts(drafts, self._owned.state, blocks, may_block=False)
        return await asyncio.to_thread(self._claims.drafts, drafts, self._owned.state, blocks)

    async def known(self, items: Sequence[Incoming]) -> tuple[list[list[PageId]], list[Incoming]]:
        """For each item the pages that it became before, if it did; and the items to write now.
        Raises `BadInput` for a key that was used for a claim.
        """
        known: list[list[PageId]] = []
        fresh: list[Incoming] = []
        keys: set[str] = set()
        pages: list[PageId] = []
        for item in items:
            if item.follows == PREVIOUS and not pages:  # nothing follows a new page yet
                known.append([])
                fresh.append(item)
                continue
            item = placed(item, pages[0]) if pages else item
            pages = []
            if item.key:
                self._runtime.journal.clean(item.key)
                if not self._is_next(item):
                    find = self._runtime.pages_of_key
                    pages = await asyncio.to_thread(find, self._owned.session, item.key)
                if pages and is_derived(pages[0]):
                    raise BadInput(
                        f"this key was used for {pages[0]}, which is not a message",
                        hint="a key belongs to a single call: use another",
                    )
            known.append(pages)
            if not pages and item.key not in keys:
                fresh.append(item)
            keys |= {item.key} if item.key else set()
        return known, fresh

    def _is_next(self, item: Incoming) -> bool:
        """Whether an item follows the newest page of the session. Then it cannot have been written
        before: its key includes the page that it follows, and nothing follows the newest page yet.
        Forgotten pages keep their place in the order, so they do not change the answer.
        """
        return (item.follows, self._owned.state.order_next) == self._newest


def _blocks(drafts: Sequence[Draft], items: Sequence[Incoming]) -> set[PageId]:
    """The pages that are only part of a message, given their items."""
    bodies = [draft.body for draft in drafts if isinstance(draft.body, OriginalBody)]
    firsts = [body.page_id for body in bodies if body.part == 0]
    return {one for one, item in zip(firsts, items, strict=True) if not item.is_whole}
