"""A page of a session by its id: what it says, or why there is none."""

from __future__ import annotations

import asyncio
from typing import Final

from pagefault.model.errors import NoSuchPage, RecordGone
from pagefault.model.ids import PageId
from pagefault.model.page import Page, PageRow
from pagefault.service.ownership import Owned
from pagefault.service.runtime import Runtime

_DIGITS_MAX: Final = 16  # of a page's number


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
            if await asyncio.to_thread(self._was_there, page_id):
                raise RecordGone(f"page {page_id} is gone: it was forgotten")
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
        return NoSuchPage(page_id, self._owned.called)

    def _was_there(self, page_id: str) -> bool:
        """Whether a page had this id once: ids are never given again, and have no gaps."""
        stem, _, number = page_id.rpartition("_")
        counts = self._runtime.index.prefix_counts(self._owned.scope)
        is_number = number.isascii() and number.isdecimal() and len(number) < _DIGITS_MAX
        return is_number and 1 <= int(number) <= counts.get(stem, 0)
