"""Links: pages that share no word with the question, but a name with its best pages.

*Why is the login fix late?* finds "the login fix is ABC-7", and through it "ABC-7 waits for the
vendor". Links go one step, from the best pages only, by names that few pages have: more drifts.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Final

import numpy as np

from pagefault.language.analyzer import other_languages, query_terms
from pagefault.model.page import Scope
from pagefault.recall.ranking import Ranked, Ranking, of_one_part, together
from pagefault.recall.reading import PagesAt, Reading
from pagefault.store.api import Candidates, PageIndex
from pagefault.store.likely import Numbers, among

LINKING: Final = 3  # best pages whose names are followed
RELEVANCE_MIN: Final = 0.5  # of a page whose names are followed
RARE_MAX: Final = 8  # pages with all words of a name: a name in more of them is no link
TASK: Final = 0.5  # of the linking page's score
NAME: Final = 0.1
RELEVANCE: Final = 0.5  # of the linking page's: a linked page has none of the question's words
LIFT_MAX: Final = 0.9  # of the gap to the linking page's score: recency settles ties
STRETCHES_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class _Link:
    terms: frozenset[str]  # that make up the name
    worth: float  # to a page that has them all
    score: float  # of the page that names it
    relevance: float
    named_at: int  # the place of the page that names it

    def to(self, score: float) -> float:
        """What the link adds to a page that was already found."""
        return min(self.worth, LIFT_MAX * max(self.score - score, 0.0))


def linked(
    index: PageIndex,
    reading: Reading,
    pages: PagesAt,
    scope: Scope,
    found: Ranking,
    known: Set[str],
    *,
    only: Numbers | None = None,
) -> Ranking:
    """The ranking with a part `link` for pages to which the best ones lead, including pages not
    found before. With `only` (ascending), just at these places. A name whose terms are all `known`
    (the question's own words, and speakers) is no link.
    """
    links = _links(reading, pages, found.rows(range(min(LINKING, len(found)))), known)
    if not links:
        return found
    terms = sorted(frozenset[str]().union(*(link.terms for link in links)))
    standing = index.candidates(scope, terms, limit=STRETCHES_MAX, near=only, count_max=1)
    reached = _reached(links, terms, standing)
    if only is not None:
        places = np.array(sorted(reached), dtype=np.int64)
        reached = {place: reached[place] for place in places[among(places, only)].tolist()}
    more = np.zeros(len(found))
    for row in np.flatnonzero(np.isin(found.places, list(reached))).tolist():
        more[row] = reached.pop(int(found.places[row])).to(float(found.scores[row]))
    fresh = of_one_part(
        found.names,
        list(reached),
        part="link",
        worth=[link.worth for link in reached.values()],
        relevances=[link.relevance for link in reached.values()],
    )
    return together([found.plus("link", more), fresh]).ordered()


def _links(
    reading: Reading, pages: PagesAt, best: Sequence[Ranked], known: Set[str]
) -> list[_Link]:
    """Links from the names in the best pages."""
    bearing = {one.place: one for one in best if _bears(one)}
    links: list[_Link] = []
    for place, row in pages.rows(bearing).items():
        page, named = bearing[place], reading.page(row)
        if named is None:
            continue
        relevance, languages = RELEVANCE * page.relevance, other_languages(named.text)
        for share, names in ((TASK, named.task_refs), (NAME, named.entities)):
            links += [
                _Link(terms, share * page.score, page.score, relevance, page.place)
                for name in names
                if not (terms := frozenset(query_terms(name, languages))) <= known
            ]
    return links


def _bears(one: Ranked) -> bool:
    """Whether a page bears on the question itself. A page that is only beside one may name
    anything: following its names would be a second step.
    """
    by_itself = one.parts["own"] > 0 or one.parts.get("meaning", 0.0) > 0
    return by_itself and one.relevance >= RELEVANCE_MIN


def _reached(links: Sequence[_Link], terms: Sequence[str], found: Candidates) -> dict[int, _Link]:
    """The best link to each place that is reached."""
    column = {term: at for at, term in enumerate(terms)}
    has = found.counts > 0
    # Among many matches these are not all pages with a term, but their number is exact.
    common = {
        frozenset({term})
        for term, frequency in zip(terms, found.frequencies, strict=True)
        if frequency > RARE_MAX
    }
    reached: dict[int, _Link] = {}
    for link in sorted(links, key=lambda one: -one.worth):
        places = found.places[has[:, [column[term] for term in link.terms]].all(axis=1)].tolist()
        if len(places) <= RARE_MAX and link.terms not in common:
            for place in places:
                if place != link.named_at:
                    reached.setdefault(place, link)
    return reached
