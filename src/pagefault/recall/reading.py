"""Access to the text of pages, for steps of a search that need more than the index."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Final, Protocol

from pagefault.language.analyzer import is_telling, query_terms, query_words
from pagefault.language.sought import Sought
from pagefault.model.ids import PageId
from pagefault.model.page import Page, PageRow, Scope
from pagefault.store.api import PageIndex
from pagefault.store.place import place_in
from pagefault.store.said import said_by

QUESTION_MARKS: Final = frozenset("?？؟՞፧꘏⁇⁈⁉")
_END: Final = re.compile(rf"(?<=[.!…।]) |(?<=[{''.join(sorted(QUESTION_MARKS))}。！])\s*|\n+")


class Wording:
    """The words of a text. Each analysis is made when it is first asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._in_languages: dict[tuple[str, ...], frozenset[Sought]] = {}

    @cached_property
    def telling(self) -> frozenset[str]:
        """The terms without stop words; empty if all are."""
        return frozenset(query_terms(self._text)) if is_telling(self._text) else frozenset()

    def telling_in(self, languages: Sequence[str]) -> frozenset[Sought]:
        """Likewise, stemmed in all these languages: a short text may not reveal its language, and
        its words must match those of a longer one that does.
        """
        if not languages:  # with one language each word has one form, at half the work
            return frozenset[Sought](self.telling)
        key = tuple(languages)
        if key not in self._in_languages:
            words = query_words(self._text, languages) if is_telling(self._text) else ()
            self._in_languages[key] = frozenset(words)
        return self._in_languages[key]

    @cached_property
    def details(self) -> frozenset[str]:
        """Names, numbers and negations."""
        return frozenset(said_by(self._text).told)

    @cached_property
    def only_asks(self) -> bool:
        """Whether every sentence ends with a question mark."""
        sentences = [one for one in _END.split(self._text.strip()) if any(map(str.isalnum, one))]
        return all(one[-1] in QUESTION_MARKS for one in sentences)


class Reading(Protocol):
    """Reads pages. Called from several threads."""

    def page(self, row: PageRow) -> Page | None:
        """The page of a row; None if its text is out of reach."""
        ...

    def wording(self, page: Page) -> Wording:
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
