"""Access to the text of pages, for steps of a search that need more than the index."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from pagefault.model.ids import PageId
from pagefault.model.page import Page, PageRow, Scope
from pagefault.recall.analyzed import AnalyzedText
from pagefault.store.api import PageIndex
from pagefault.store.place import place_in


class Reading(Protocol):
    """Reads pages. Called from several threads."""

    def page(self, row: PageRow) -> Page | None:
        """The page of a row; None if its text is out of reach."""
        ...

    def analyzed(self, page: Page) -> AnalyzedText:
        """The words of a page's text."""
        ...

    def cited(self, page: Page) -> Sequence[PageId]:
        """The pages that this one cites as its sources."""
        ...


class PagesAt:
    """Caches the rows of a scope's pages by place, for one search."""

    def __init__(self, index: PageIndex, scope: Scope) -> None:
        self._index = index
        self._scope = scope
        self._rows: dict[int, PageRow | None] = {}

    def rows(self, places: Collection[int]) -> dict[int, PageRow]:
        """The rows at these places, in their order, without places that have no page."""
        unknown = [place for place in places if place not in self._rows]
        if unknown:
            self._rows |= dict.fromkeys(unknown)
            for row in self._index.pages_at(self._scope, unknown):
                self._rows[place_in(self._scope, row)] = row
        found = ((place, self._rows[place]) for place in sorted(places))
        return {place: row for place, row in found if row is not None}
