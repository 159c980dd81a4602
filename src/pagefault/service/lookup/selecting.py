"""Every page that passes a filter, rather than the best few: for bulk actions."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pagefault.language.analyzer import query_words
from pagefault.model.errors import BadInput
from pagefault.model.page import PageRow, Scope
from pagefault.model.wanted import SearchFilter
from pagefault.service.lookup.imported import sessions_from
from pagefault.service.lookup.questions import parts_of
from pagefault.service.runtime import Runtime
from pagefault.store.languages import languages_in

_ALL: Final = 1 << 40  # stretches of an index: more than any has


def select(runtime: Runtime, scope: Scope, wanted: SearchFilter, query: str = "") -> list[PageRow]:
    """The pages in scope that pass a filter and contain every word of `query`, in any of its forms,
    including earlier versions of edited pages. Blocks on the index.

    Unlike a search this ranks nothing, and has no limit. Raises `BadInput` for a query without a
    word.
    """
    import numpy as np

    index = runtime.index
    wanted = replace(wanted, history=True)
    found: list[PageRow] = []
    whole = [scope] if scope.is_wide else [scope, scope.derived]
    for part in parts_of(scope, wanted) if wanted.kinds else whole:
        places = index.matching(part, wanted).places
        if query:
            terms = query_words(query, languages_in(index, part))
            if not terms:
                raise BadInput(
                    f"{query!r} contains no searchable word", hint="use a more telling word"
                )
            holding = index.candidates(part, terms, limit=_ALL, count_max=1)
            every = (holding.counts > 0).all(axis=1)
            places = np.intersect1d(places, holding.places[every], assume_unique=True)
        found += index.pages_at(part, places.tolist())
    if wanted.imported_from:
        sessions = sessions_from(runtime, wanted.imported_from)
        found = [row for row in found if row.session in sessions]
    return found
