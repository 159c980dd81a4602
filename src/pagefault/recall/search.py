"""Search: a question in words, the pages that may answer it, and why each is among them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Final

from pagefault.model.ids import Seq
from pagefault.model.kinds import Kind, Modality
from pagefault.model.page import DERIVED_ORDER, PageRow, Scope
from pagefault.store.api import PageFilter, PageIndex
from pagefault.store.place import place_of

if TYPE_CHECKING:
    from pagefault.recall.rank import Ranked
    from pagefault.recall.semantic import Semantic, Similar

STRETCHES_MAX: Final = 200  # of four pages, ranked at most; more find no more
SIMILAR_MAX: Final = 200  # pages found by their meaning, at most
RELEVANCE_MIN: Final = 0.1  # less than this share of what a query tells is chance
SHORTLIST: Final = 150  # places that recency and importance may reorder
RECENCY: Final = 0.001  # of the best score: enough to settle ties, too little to bury an answer
RECENCY_PAGES: Final = 200.0  # over so many pages recency fades to 1/e
IMPORTANCE: Final = 0.1  # of the best score, between a page that matters not at all and wholly


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Which pages are wanted. Empty collections mean any."""

    kinds: Collection[Kind] = ()
    modalities: Collection[Modality] = ()

    def admits(self, row: PageRow) -> bool:
        return (not self.kinds or row.kind in self.kinds) and (
            not self.modalities or row.modality in self.modalities
        )


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A page that was found. `parts` add up to `score`; `relevance` is 0..1 and comparable.

    `also` are pages that say the same in the same words and were found, too, but would tell no
    more. `archive` is set where the page's text cannot be read now: the directory that is not
    there.
    """

    page: PageRow
    score: float
    relevance: float
    parts: Mapping[str, float]
    archive: str = ""
    also: tuple[PageRow, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """`hits`, best first, and how many there would be without a limit.

    Where many hundreds are found, `total` may count a few places where no page stands (any more).
    """

    hits: tuple[SearchHit, ...] = ()
    total: int = 0

    @property
    def out_of_reach(self) -> tuple[SearchHit, ...]:
        """The hits whose text is in an archive that is not there."""
        return tuple(hit for hit in self.hits if hit.archive)

    def marked(self, archives: Mapping[Seq, str]) -> SearchResult:
        """The same, with the archive of each page that is out of reach."""
        if not archives:
            return self
        hits = (replace(hit, archive=archives.get(hit.page.seq, "")) for hit in self.hits)
        return replace(self, hits=tuple(hits))


_EVERYTHING: Final = SearchFilter()
_NOTHING_FOUND: Final = SearchResult()


class Searcher:
    """Asks an index and ranks what it answers. Holds nothing of its own."""

    def __init__(self, index: PageIndex, semantic: Semantic | None = None) -> None:
        """`semantic` finds pages by meaning, where there is an embedder."""
        self._index = index
        self._semantic = semantic

    def search(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int = 5,
        wanted: SearchFilter = _EVERYTHING,
        today: date | None = None,
    ) -> SearchResult:
        """Pages in `scope` (one line of descent, or everything) that may answer, best first.

        A query without a word that stands in scope finds nothing, unless by its meaning. The same
        index and query give the same result; of equals the earlier page comes first. `today` is
        what a query's "yesterday" counts from.
        """
        # With NumPy, which only who searches should wait for.
        from pagefault.recall.question import read
        from pagefault.recall.rank import rank

        asked = read(query, today=today)
        terms = asked.terms
        if not terms:
            return _NOTHING_FOUND
        found = self._index.candidates(scope, terms, limit=STRETCHES_MAX)
        names = self._index.speakers(scope, terms)
        ranking = rank(
            found,
            partial(self._index.traits, scope, names=names),
            asked,
            speakers=[position for position, term in enumerate(terms) if term in names],
            similar=self._similar(scope, query),
            relevance_min=RELEVANCE_MIN,
        )
        is_some = bool(wanted.kinds or wanted.modalities)
        standing = self._standing(scope, ranking.places, pages=found.pages)
        total = ranking.total - len(ranking.places) + len(standing)
        shortlist = max(SHORTLIST, limit)
        admitted = self._pages(scope, standing if is_some else standing[:shortlist])
        if is_some:
            admitted = [(place, page) for place, page in admitted if wanted.admits(page)]
            total = len(admitted)
        if not admitted:
            return _NOTHING_FOUND
        best = admitted[0][0].score
        newest = (
            self._index.applied_seq() if scope.is_everything else _first(scope) + found.pages - 1
        )
        hits = [
            (
                _hit(
                    place,
                    page,
                    best=best,
                    age=newest - (page.seq if scope.is_everything else page.order),
                ),
                place.likeness,
            )
            for place, page in admitted[:shortlist]
        ]
        hits.sort(key=lambda entry: (-entry[0].score, entry[0].page.seq))
        told = once(hits)
        return SearchResult(tuple(told[: max(limit, 0)]), total - len(hits) + len(told))

    def _similar(self, scope: Scope, query: str) -> Similar | None:
        return None if self._semantic is None else self._semantic(scope, query, limit=SIMILAR_MAX)

    def _pages(self, scope: Scope, places: Sequence[Ranked]) -> list[tuple[Ranked, PageRow]]:
        """Places and the pages there, best place first."""
        rows = {
            place_of(row.session, row.order) if scope.is_everything else row.order: row
            for row in self._index.pages_at(scope, [one.place for one in places])
        }
        return [(one, rows[one.place]) for one in places if one.place in rows]

    def _standing(self, scope: Scope, places: Sequence[Ranked], *, pages: int) -> list[Ranked]:
        """Those places where there is a page: without gaps, all between the first and the last."""
        if not scope.is_everything:
            last = self._index.pages(scope, PageFilter(), limit=1, newest_first=True)
            first = _first(scope)
            if last and last[0].order == first + pages - 1:
                return [one for one in places if first <= one.place < first + pages]
        standing = self._index.standing(scope, [one.place for one in places])
        return [one for one in places if one.place in standing]


def once(hits: Sequence[tuple[SearchHit, int]]) -> list[SearchHit]:
    """Hits, best first, each with its likeness: of those that say the same the best stands for all.

    Only where its own words were found: `Yes!` says something else after every question.
    """
    first: dict[int, int] = {}
    told: list[SearchHit] = []
    for hit, likeness in hits:
        at = first.get(likeness) if hit.parts["own"] > 0 else None
        if at is not None:
            told[at] = replace(told[at], also=(*told[at].also, hit.page))
            continue
        if hit.parts["own"] > 0:
            first[likeness] = len(told)
        told.append(hit)
    return told


def _first(scope: Scope) -> int:
    """The order of the first page in a scope, if none was forgotten."""
    return DERIVED_ORDER if scope.of_derived else 0


def _hit(place: Ranked, row: PageRow, *, best: float, age: int) -> SearchHit:
    parts = {
        **place.parts,
        "recency": RECENCY * best * math.exp(-max(0, age) / RECENCY_PAGES),
        "importance": IMPORTANCE * best * (row.importance - 0.5),
    }
    return SearchHit(row, sum(parts.values()), place.relevance, parts)
