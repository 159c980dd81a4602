"""A deferred page: a placeholder at once, the page once it is loaded."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pagefault.model.defaults import PLACEHOLDER_TIMEOUT_MS
from pagefault.model.ids import PageId
from pagefault.model.page import Page
from pagefault.model.signatures import checked


@dataclass(frozen=True, slots=True)
class DeferredPage:
    """A page for a streamed answer, which cannot wait. Loading continues if a caller gives up."""

    page_id: PageId
    placeholder: str
    loading: asyncio.Future[Page]

    @property
    def is_ready(self) -> bool:
        return self.loading.done()

    async def page(self) -> Page:
        """The page, without a timeout. Raises the error of loading it."""
        return await asyncio.shield(self.loading)

    @checked
    async def page_or_placeholder(self, timeout_ms: float = PLACEHOLDER_TIMEOUT_MS) -> Page | str:
        """The page if it loads within `timeout_ms`, else the placeholder; call again later.

        Raises the error of loading it.
        """
        done, _ = await asyncio.wait([self.loading], timeout=timeout_ms / 1000)
        return self.loading.result() if done else self.placeholder


def placeholder(page_id: PageId) -> str:
    """The text in place of a page that is still loading."""
    return f"({page_id}: loading)"
