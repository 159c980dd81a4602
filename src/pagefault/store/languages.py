"""The languages of a scope: a query is analysed in each of them."""

from __future__ import annotations

from pagefault.model.page import Scope
from pagefault.store.api import PageIndex
from pagefault.store.tokens import LANGUAGES, OTHER_LANGUAGE


def languages_in(index: PageIndex, scope: Scope) -> tuple[str, ...]:
    """The codes of the languages of its pages, except the defaults of scripts."""
    if not any(index.candidates(scope, [OTHER_LANGUAGE], limit=0).frequencies):
        return ()  # as in most scopes: one query of the index
    found = index.candidates(scope, [*LANGUAGES.values()], limit=0)
    return tuple(code for code, count in zip(LANGUAGES, found.frequencies, strict=True) if count)
