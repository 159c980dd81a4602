"""Which languages stand in a scope: a query is asked in each of them."""

from __future__ import annotations

from pagefault.model.page import Scope
from pagefault.store.api import PageIndex
from pagefault.store.tokens import LANGUAGES


def languages_in(index: PageIndex, scope: Scope) -> tuple[str, ...]:
    """The codes of those in which a page of the scope is, but for the defaults of scripts."""
    marks = [*LANGUAGES.values()]
    found = index.candidates(scope, marks, limit=0)
    return tuple(code for code, count in zip(LANGUAGES, found.frequencies, strict=True) if count)
