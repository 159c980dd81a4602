"""The text of pages, for the steps of a search that look at more than the index tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pagefault.model.ids import PageId
from pagefault.model.page import Page, PageRow


class Reading(Protocol):
    """Called from several threads."""

    def page(self, row: PageRow) -> Page | None:
        """The page of a row; None where its text is out of reach."""
        ...

    def cited(self, page: Page) -> Sequence[PageId]:
        """The pages that this one names as what it rests on."""
        ...
