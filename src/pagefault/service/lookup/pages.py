"""A page of a session by its id, or the reason that there is none."""

from __future__ import annotations

import asyncio

from pagefault.model.errors import NoSuchPage, RecordGone
from pagefault.model.ids import PageId, is_page_id, told_near
from pagefault.model.page import Page, PageRow
from pagefault.service.ownership import Owned
from pagefault.service.runtime import Runtime


class PageLookup:
    def __init__(self, owned: Owned, runtime: Runtime) -> None:
        self._owned = owned
        self._runtime = runtime

    async def get(self, page_id: str) -> Page:
        """The page at level 0. Raises `NoSuchPage`; `RecordGone` if it was forgotten."""
        self._owned.check_there()
        await self._runtime.journal.look()
        await self._owned.see_changes()
        made = self._owned.state.l1.page(PageId(page_id))
        if made is not None:
            return made
        row = await asyncio.to_thread(self._owned.state.table.find, PageId(page_id))
        if row is None:
            if is_page_id(page_id, self._owned.state.numbers):
                raise RecordGone(
                    f"page {page_id} is gone: it was forgotten",
                    hint="`Memory.pages` lists what is there",
                )
            raise self.no_such(page_id)
        return await asyncio.to_thread(self._runtime.pages.read, row)

    def row(self, page_id: PageId) -> PageRow:
        """A page's row. Blocks on the store. Raises `NoSuchPage`."""
        state = self._owned.state
        row = state.l1.find_row(page_id) or state.find_row(page_id)
        if row is None:
            raise self.no_such(page_id)
        return row

    def no_such(self, page_id: str) -> NoSuchPage:
        """The error for a page that the session does not have."""
        near = told_near(page_id, self._owned.state.numbers)
        return NoSuchPage(page_id, self._owned.called, near)
