"""Which languages stand in a scope: a query is asked in each of them."""

from __future__ import annotations

from pagefault.model.page import Scope
from pagefault.store.api import PageIndex
from pagefault.store.tokens import LANGUAGES, OTHER_LANGUAGE


def languages_in(index: PageIndex, scope: Scope) -> tuple[str, ...]:
    """The codes of those in which a page of the scope is, but for the defaults of scripts."""
    if not any(index.candidates(scope, [OTHER_LANGUAGE], limit=0).frequencies):
        return ()  # as in most: one look at the index
    found = index.candidates(scope, [*LANGUAGES.values()], limit=0)
    return tuple(code for code, count in zip(LANGUAGES, found.frequencies, strict=True) if count)
