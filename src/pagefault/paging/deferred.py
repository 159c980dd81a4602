"""A page on its way: a placeholder at once, the page when it is there."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pagefault.model.defaults import PLACEHOLDER_TIMEOUT_MS
from pagefault.model.ids import PageId
from pagefault.model.page import Page
from pagefault.model.signatures import checked


@dataclass(frozen=True, slots=True)
class DeferredPage:
    """For who streams an answer and cannot wait. Reading goes on whoever waits, or gives up."""

    page_id: PageId
    placeholder: str
    loading: asyncio.Future[Page]

    @property
    def is_ready(self) -> bool:
        return self.loading.done()

    async def page(self) -> Page:
        """The page, however long it takes. Raises what reading it raises."""
        return await asyncio.shield(self.loading)

    @checked
    async def page_or_placeholder(self, timeout_ms: float = PLACEHOLDER_TIMEOUT_MS) -> Page | str:
        """The page if it is there within `timeout_ms`, else the placeholder; ask again later.

        Raises what reading it raised.
        """
        done, _ = await asyncio.wait([self.loading], timeout=timeout_ms / 1000)
        return self.loading.result() if done else self.placeholder


def placeholder(page_id: PageId) -> str:
    """What stands where a page will be."""
    return f"({page_id}: loading)"
