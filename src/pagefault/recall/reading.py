"""The text of pages, for the steps of a search that look at more than the index tells."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from pagefault.model.ids import PageId
from pagefault.model.page import Page, PageRow, Scope
from pagefault.store.api import PageIndex
from pagefault.store.place import place_in


class Reading(Protocol):
    """Called from several threads."""

    def page(self, row: PageRow) -> Page | None:
        """The page of a row; None where its text is out of reach."""
        ...

    def cited(self, page: Page) -> Sequence[PageId]:
        """The pages that this one names as what it rests on."""
        ...


class PagesAt:
    """The rows of a scope's pages by place, each looked up once: for one search."""

    def __init__(self, index: PageIndex, scope: Scope) -> None:
        self._index = index
        self._scope = scope
        self._rows: dict[int, PageRow | None] = {}

    def rows(self, places: Collection[int]) -> dict[int, PageRow]:
        """Of these places, in their order, those where a page stands."""
        unknown = [place for place in places if place not in self._rows]
        if unknown:
            self._rows |= dict.fromkeys(unknown)
            for row in self._index.pages_at(self._scope, unknown):
                self._rows[place_in(self._scope, row)] = row
        found = ((place, self._rows[place]) for place in sorted(places))
        return {place: row for place, row in found if row is not None}
