"""The page browser of one session: lists pages, reads them, and shows their history.

Only a page's history needs a fold of the session's log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from pagefault.model.ids import PageId
from pagefault.model.kinds import Kind, Role
from pagefault.model.trust import is_untrusted
from pagefault.service.memory import Memory
from pagefault.service.session import Session
from pagefault.views.shown import PageView
from pagefault.views.texts import Excerpt, SessionTexts, rewrite_words

REPLAYED: Final = 200  # messages per replay


class Browser:
    """A snapshot of one session's pages; made by `Feed.browser`."""

    def __init__(self, memory: Memory, session: Session, texts: SessionTexts) -> None:
        self._memory, self._session, self._texts = memory, session, texts

    async def count(self) -> int:
        """The number of page orders given out. Forgotten pages keep theirs, as a gap."""
        return (await self._session.status()).pages

    async def listed(self, first: int, number: int) -> list[Excerpt | None]:
        """`number` pages by order, starting at `first`; None for forgotten ones."""
        rows = await self._memory.pages(self._session, after=first - 1, limit=number)
        by_order = {row.order: row for row in rows}

        def look() -> list[Excerpt | None]:
            orders = range(first, first + number)
            return [
                self._texts.excerpt_of(row.page_id, self._texts.read(row)) if row else None
                for row in map(by_order.get, orders)
            ]

        return await asyncio.to_thread(look)

    async def excerpts(self, page_ids: Sequence[PageId]) -> list[Excerpt]:
        """The beginnings of these pages, in the order given."""
        return await asyncio.to_thread(lambda: list(map(self._texts.excerpt, page_ids)))

    async def page(self, page_id: str) -> PageView | None:
        """A page with its text; None if there is none that can be read."""
        return await asyncio.to_thread(self._page, PageId(page_id))

    async def story(self, page_id: str) -> list[str]:
        """The history of a page, one line per event, oldest first. Raises `NoSuchPage`."""
        moved = await self._session.history(page_id)
        told = (
            f"turn {one.turn:<4} {one.what.replace('_', ' ')}"
            + (f", {rewrite_words(one.by)}" if one.by else "")
            for one in moved
        )
        return list(map(self._texts.clean, told))

    async def replay(self, *, limit: int = REPLAYED) -> list[PageView]:
        """The latest messages between user and assistant, oldest first, without tool results, text
        of untrusted origin, and pages that a person withdrew.
        """
        rows = await self._memory.pages(self._session, limit=4 * limit, newest_first=True)
        is_withdrawn = self._texts.runtime.quarantine.is_withdrawn
        said = [
            row
            for row in rows
            if row.kind is Kind.TRANSCRIPT
            and row.role in (Role.USER, Role.ASSISTANT)
            and not row.superseded
            and not is_untrusted(row.origin)
            and not is_withdrawn(row)
        ]
        wanted = [row.page_id for row in reversed(said[:limit])]
        views = await asyncio.to_thread(lambda: list(map(self._page, wanted)))
        return [one for one in views if one is not None]

    def _page(self, page_id: PageId) -> PageView | None:
        page = self._texts.page(page_id)
        if page is None:
            return None
        derived, shown = page.derived, self._texts.shown
        return PageView(
            page=self._texts.excerpt_of(page_id, page),
            text=self._texts.clean(page.text),
            origin=str(page.row.origin),
            is_superseded=bool(page.row.superseded),
            rests_on=() if derived is None else tuple(dict.fromkeys(derived.provenance)),
            evidence=() if derived is None else tuple(map(self._texts.span, derived.evidence)),
            topics=tuple(map(shown, page.topic_tags)),
            tasks=tuple(map(shown, page.task_refs)),
            names=tuple(map(shown, page.entities)),
        )
