"""Ages of the pages in a window: the tokens said since each was last used."""

from __future__ import annotations

from collections.abc import Container

from pagefault.model.ids import PageId


class Ages:
    def __init__(self) -> None:
        self._said_tokens = 0  # since this state began
        self._used_at: dict[PageId, int] = {}  # the value of that when a page was last used

    def said(self, tokens: int) -> None:
        """Add tokens that were said."""
        self._said_tokens += tokens

    def came(self, page_id: PageId) -> None:
        """Note that a page came in; it may have been there before."""
        self._used_at.setdefault(page_id, self._said_tokens)

    def used(self, page_id: PageId) -> None:
        self._used_at[page_id] = self._said_tokens

    def of(self, page_id: PageId) -> int:
        """In tokens; 0 for a page that never came."""
        return self._said_tokens - self._used_at.get(page_id, self._said_tokens)

    def keep(self, pages: Container[PageId]) -> None:
        """Drop all others."""
        self._used_at = {p: at for p, at in self._used_at.items() if p in pages}
