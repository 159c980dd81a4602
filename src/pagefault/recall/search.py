"""Search: from a question to the pages that may answer it, each with the reason it was found."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, Final

from pagefault.language.analyzer import query_terms, unseen_joints
from pagefault.language.kin import kin_of
from pagefault.language.sought import alternatives
from pagefault.model.ids import PageId, Seq
from pagefault.model.kinds import Kind, Profile
from pagefault.model.page import DERIVED_ORDER, PageRow, Scope
from pagefault.model.reprs import counted, html_table, inert, marked_html, minute
from pagefault.model.signatures import checked
from pagefault.model.wanted import ANY, SearchFilter
from pagefault.recall.certainty import is_sure
from pagefault.recall.likelihood import BACKGROUND, likelihoods
from pagefault.recall.reading import PagesAt, Reading
from pagefault.recall.reranking import CANDIDATES_MAX, Scored, reranked
from pagefault.recall.studio import rescored
from pagefault.store.api import Candidates, PageIndex
from pagefault.store.languages import languages_in
from pagefault.store.likeness import bucket, say_the_same
from pagefault.store.precedence import give_way

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pagefault.recall.question import Question
    from pagefault.recall.ranking import Ranked, Ranking
    from pagefault.recall.reranking import Rerank
    from pagefault.recall.semantic import Semantic, Similar

STRETCHES_MAX: Final = 200  # of four pages, ranked at most; more improve nothing
SIMILAR_MAX: Final = 200  # pages found by meaning, at most
RELEVANCE_MIN: Final = 0.1
"""Less coverage of the query than this is chance. Such pages are returned only if there are no
better ones and the search is not strict.
"""

WORDS_MIN: Final = 0.2  # of a query's words, unweighted: a page with fewer is a chance match
KIN_RECORDS_MAX: Final = 100_000
"""Largest memory in which words are also looked up by their beginnings. That reads the postings of
all such words, whatever the scope: 0.5 to 5.5 ms per word at 200,000 pages.
"""

HITS_MIN: Final = max(CANDIDATES_MAX, BACKGROUND.stop)
"""Pages to find even if fewer are wanted: reranking and relevance look at so many."""

SHORTLIST: Final = 60  # places, with their copies, that recency and importance may reorder
OWN_TOLERANCE: Final = 0.01  # relative, between two copies' scores by own words: lengths may differ
RECENCY: Final = 0.001  # of the best score: settles ties, too little to bury an answer
RECENCY_PAGES: Final = 200.0  # pages over which recency fades to 1/e
RETOLD: Final = frozenset({Kind.SUMMARY, Kind.INDEX, Kind.PROCEDURE})
"""Derived from what was said, for a window; a search of everything returns the sources instead."""

IMPORTANCE: Final = 0.1  # of the best score, between pages of no and of full importance


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A page that was found. `parts` add up to `score`, which determines the order. `relevance`
    (0..1) is the probability that the page bears on the question (`likelihood.py`). `coverage`
    (0..1) is the share of the query's weight in the page, or, counting three quarters, around it.
    All are 0 for listed pages, which were not searched for.

    `also` are the other hits with the same content (`store/likeness.py`), which add nothing.
    `archive` is the missing directory that holds the page's text, if that cannot be read now.
    `page` has the id, turn, role, origin and time; `speaker`, `occurred_at` (the page's own words
    for its time) and `session_id` (empty if the session is gone) complete its provenance.

    `excerpt` is the part of the text that matched, after the title if only the title did: one line
    of at most 240 characters. `marks` are the half-open ranges of the query's words in it. Without
    any, and for listed pages, it is the page's beginning. `why` is "words" of its own, a "link"
    from a page that has them, "meaning", or else "neighbours", which have them; empty for listed
    pages. All but "words" say little about the page itself. For an imported page, `source` is the
    program it came from and `project` the project, if known; for a page of a region, `source` is
    "region:NAME". `lapse` is why a claim no longer holds, if no other
    replaced it, or which claim closed words of another page.
    """

    page: PageRow
    score: float
    relevance: float
    parts: Mapping[str, float]
    archive: str = ""
    also: tuple[PageRow, ...] = ()
    speaker: str = ""
    occurred_at: str = ""
    session_id: str = ""
    excerpt: str = ""
    marks: tuple[tuple[int, int], ...] = ()
    why: str = ""
    coverage: float = 0.0
    source: str = ""
    project: str = ""
    lapse: str = ""

    @property
    def who(self) -> str:
        """The speaker if recorded, else the role."""
        return self.speaker or str(self.page.role)

    @property
    def when(self) -> str:
        """When it was said: in its own words if recorded, else in UTC to the minute."""
        return self.occurred_at or minute(self.page.said_ms)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, one per column."""
        return {
            "page_id": self.page.page_id,
            "session_id": self.session_id,
            "speaker": self.who,
            "occurred": self.when,
            "said_ms": self.page.said_ms,
            "turn": self.page.turn,
            "kind": str(self.page.kind),
            "origin": str(self.page.origin),
            "tokens": self.page.tokens,
            "score": self.score,
            "relevance": self.relevance,
            "coverage": self.coverage,
            "why": self.why,
            "excerpt": self.excerpt,
            "source": self.source,
            "project": self.project,
        }

    def __repr__(self) -> str:
        told = (self.page.page_id, inert(self.who, 24), inert(self.when, 24))
        return " · ".join((*told, inert(self.excerpt)))


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The best `hits` in order, and the `total` without a limit.

    `left_out` counts hits within the limit that did not fit the tokens asked for. With many
    hundreds of hits, `total` may include a few places that have no page (any more).
    """

    hits: tuple[SearchHit, ...] = ()
    total: int = 0
    left_out: int = 0

    @property
    def tokens(self) -> int:
        """The tokens of all hits at level 0."""
        return sum(hit.page.tokens for hit in self.hits)

    @property
    def out_of_reach(self) -> tuple[SearchHit, ...]:
        """The hits whose text is in a missing archive."""
        return tuple(hit for hit in self.hits if hit.archive)

    @checked
    def within(self, tokens_max: int) -> SearchResult:
        """The best hits that together fit `tokens_max`. A hit that does not fit is left out; a
        smaller one after it may still fit.
        """
        kept: list[SearchHit] = []
        left = tokens_max
        for hit in self.hits:
            if hit.page.tokens <= left:
                kept.append(hit)
                left -= hit.page.tokens
        return replace(self, hits=tuple(kept), left_out=len(self.hits) - len(kept))

    def marked(self, archives: Mapping[Seq, str]) -> SearchResult:
        """With `archive` set on each hit whose text is out of reach."""
        if not archives:
            return self
        hits = (replace(hit, archive=archives.get(hit.page.seq, "")) for hit in self.hits)
        return replace(self, hits=tuple(hits))

    def to_dicts(self) -> list[dict[str, Any]]:
        """The hits as plain values, best first, as rows of a data frame."""
        return [hit.to_dict() for hit in self.hits]

    @property
    def _count(self) -> str:
        shown, found = len(self.hits), counted(self.total, "page") + " found"
        return found if shown == self.total else f"{found}, {shown:,} shown"

    def __repr__(self) -> str:
        return "\n".join((self._count, *(f"  {hit!r}" for hit in self.hits)))

    def _repr_html_(self) -> str:
        rows = (
            (
                escape(hit.page.page_id),
                escape(hit.who),
                escape(hit.when),
                marked_html(hit.excerpt, hit.marks),
                f"{hit.page.tokens:,}",
            )
            for hit in self.hits
        )
        return html_table(("page", "who", "when", "excerpt", "tokens"), rows, self._count)


Rank = Callable[["Similar | None", bool], "Ranking"]
"""Ranks pages by words, and by similar pages if given; strictly, or by a few words."""


class Searcher:
    """Queries an index and ranks its candidates. Keeps no state."""

    def __init__(
        self,
        index: PageIndex,
        semantic: Semantic | None = None,
        reading: Reading | None = None,
        rerank: Rerank | None = None,
    ) -> None:
        """`semantic` finds pages by meaning. `reading` gives the text of pages, needed for links
        and for ranking down pages that say nothing. `rerank` judges the best hits. All are
        optional.
        """
        self._index = index
        self._semantic = semantic
        self._reading = reading
        self._rerank = rerank

    def search(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int = 5,
        wanted: SearchFilter = ANY,
        only: NDArray[np.int64] | None = None,
        today: date | None = None,
        profile: Profile = Profile.MEASURED,
        rerank: bool = True,
        strict: bool = False,
    ) -> SearchResult:
        """Search `scope` (one line of descent, several sessions, or everything) for pages that may
        answer, best first.

        A query none of whose words occur in scope finds nothing, except by meaning. If all that is
        found covers next to nothing of it, pages with a fifth of its words are returned with their
        small `coverage`; with `strict`, none are. The same index and query give the same result;
        ties go to the earlier page. Pages that `wanted` or `only` (ascending places) exclude do not
        count towards `limit`, nor does history unless asked for. In a search of everything, retold
        pages (summaries, indexes, procedures) are found only if their kind is wanted. `today`
        resolves a query's "yesterday"; `profile` sets the order of the hits. An embedder and,
        unless `rerank` is false, a reranker are called if words are not certain (`certainty.py`),
        once for a message and its questions. A profile whose parts explain the whole score always
        uses the embedder and never the reranker.
        """
        # Loads NumPy, so only searching pays for it.
        import numpy as np

        from pagefault.recall.decompose import decompose

        if wanted.is_some:
            places = self._index.matching(scope, wanted).places
            only = places if only is None else np.intersect1d(places, only, assume_unique=True)
        questions = (query, *decompose(query))
        similar: Sequence[Similar | None] = [None] * len(questions)
        semantic = self._semantic
        if semantic is not None:
            is_open = profile is not Profile.MEASURED
            if not is_open:
                with self._index.moment():
                    asked = self._asking(scope, wanted=wanted, only=only, today=today)
                    is_open = not _by_words(_ranking(asked, questions, similar, strict=True)[1])
            if is_open:  # outside any read moment: it may call a server
                similar = semantic(scope, questions, limit=SIMILAR_MAX, only=only)
        with self._index.moment():
            found, total = self._found(
                *(scope, questions, similar),
                limit=limit,
                wanted=wanted,
                only=only,
                today=today,
                profile=profile,
                strict=strict,
            )
        if rerank and profile is Profile.MEASURED and self._rerank and self._reading:
            found = reranked(found, query, reading=self._reading, rerank=self._rerank)
        give_way()
        shown = found[: max(limit, 0)]
        relevances = likelihoods(
            [one.score for one in found], [one.place.relevance for one in shown]
        )
        return SearchResult(tuple(map(_hit, shown, relevances)), total)

    def moment(self) -> AbstractContextManager[object]:
        """Within this block, searches of this thread and their sequels see one snapshot of the
        index, unless a model takes part: it may call a server, and no snapshot is kept so long.
        """
        asks_a_model = self._semantic is not None or self._rerank is not None
        return nullcontext() if asks_a_model else self._index.moment()

    def with_sequels(
        self, scope: Scope, query: str, hits: Sequence[SearchHit]
    ) -> tuple[list[PageRow], dict[PageId, tuple[PageId, ...]]]:
        """The pages of a query's hits, best first, with the sequels of those that lead by their own
        words; and which pages are newer than which others (`sequels.py`).
        """
        from pagefault.recall.sequels import Sequels

        rows = [hit.page for hit in hits]
        if self._reading is None or not rows:
            return rows, {}
        leading = [hit.page for hit in hits if hit.why == "words"]
        with self._index.moment():
            languages = languages_in(self._index, scope)
            sequels = Sequels(self._index, self._reading, scope, query, languages)
            rows = sequels.with_sequels(rows, leading)
            return rows, sequels.newer(rows)

    def _found(
        self,
        scope: Scope,
        questions: Sequence[str],
        similar: Sequence[Similar | None],
        *,
        limit: int,
        wanted: SearchFilter,
        only: NDArray[np.int64] | None,
        today: date | None,
        profile: Profile,
        strict: bool,
    ) -> tuple[list[Scored], int]:
        """The best pages for a message and the `questions` in it (the message first), at least
        `HITS_MIN` if so many are found; and how many are.
        """
        from pagefault.recall.links import linked
        from pagefault.recall.novelty import settled

        query = questions[0]
        asked = self._asking(scope, wanted=wanted, only=only, today=today)
        speakers, languages, passed = (
            asked.keywords[name] for name in ("speakers", "languages", "passed")
        )
        pages, ranking = _ranking(asked, questions, similar, strict=strict)
        unlooked = max(ranking.total - len(ranking), 0)
        rows = PagesAt(self._index, scope)
        if len(ranking) and self._reading is not None:
            known = speakers.union(query_terms(query, languages))
            ranking = linked(*(self._index, self._reading, rows, scope, ranking, known), only=only)
        if passed:
            ranking = ranking.taken(_elsewhere(ranking.places, passed))
        ranking = settled(
            *(self._index, self._reading, rows, scope, query, ranking), languages=languages
        )
        give_way()
        groups, different = copies(ranking, max(SHORTLIST, limit))
        give_way()
        total = unlooked + different
        shown = ranking.rows([row for group in groups for row in group])
        found = rows.rows([place.place for place in shown])
        admitted = [
            (place, page)
            for place in shown
            if (page := found.get(place.place)) is not None and not page.is_note
        ]
        if scope.is_wide and not wanted.kinds:  # narrower ones never have them beside sources
            admitted = [(place, page) for place, page in admitted if page.kind not in RETOLD]
        if not admitted:
            return [], 0
        give_way()
        summands = self._summands(scope, admitted, pages=pages, profile=profile)
        scores = [sum(parts.values()) for parts in summands]
        order = sorted(range(len(scores)), key=lambda at: (-scores[at], admitted[at][1].seq))
        together = grouped(
            [admitted[at][0].place for at in order], [ranking.places[g].tolist() for g in groups]
        )
        give_way()
        best = []
        for first, *also in together[: max(HITS_MIN, limit)]:
            at = order[first]
            others = tuple(admitted[order[one]][1] for one in also)
            best.append(Scored(*admitted[at], scores[at], summands[at], others))
        return best, total - len(groups) + len(together)

    def _summands(
        self,
        scope: Scope,
        admitted: Sequence[tuple[Ranked, PageRow]],
        *,
        pages: int,
        profile: Profile,
    ) -> list[dict[str, float]]:
        """The parts of each score; `pages` counts the scope, and the best place comes first."""
        if scope.is_several:  # never the log's end: others' writes must not matter
            newest: int = max(page.seq for _, page in admitted)
        else:
            newest = self._index.applied_seq() if scope.is_everything else _first(scope) + pages - 1
        recencies = [
            _recency(newest - (page.seq if scope.is_wide else page.order)) for _, page in admitted
        ]
        if profile is Profile.STUDIO_V1:
            return rescored(
                [place.parts for place, _ in admitted],
                recencies,
                [page.importance for _, page in admitted],
            )
        best = admitted[0][0].score
        return [
            _parts(place, page, best=best, recency=recency)
            for (place, page), recency in zip(admitted, recencies, strict=True)
        ]

    def _asking(
        self,
        scope: Scope,
        *,
        wanted: SearchFilter,
        only: NDArray[np.int64] | None,
        today: date | None,
    ) -> partial[tuple[int, Rank]]:
        """`_asked` for one question, bound to the current state of this scope."""
        return partial(
            self._asked,
            scope,
            speakers=self._index.speakers(scope),
            languages=languages_in(self._index, scope),
            only=only,
            today=today,
            passed=frozenset[int]() if wanted.history else self._index.history(scope),
        )

    def _asked(
        self,
        scope: Scope,
        query: str,
        *,
        speakers: frozenset[str],
        languages: Sequence[str],
        only: NDArray[np.int64] | None,
        today: date | None,
        passed: frozenset[int],
    ) -> tuple[int, Rank]:
        """The number of pages in scope, and a function that ranks those which may answer. Places in
        `passed` are history: they do not count for their neighbours.
        """
        from pagefault.recall.daily import (
            PAGES_MAX,
            any_within,
            asks_of_days_alone,
            spans_ms,
            with_word,
        )
        from pagefault.recall.kin import with_kin
        from pagefault.recall.question import read, speakers_named, subject
        from pagefault.recall.rank import rank
        from pagefault.recall.ranking import NOTHING_RANKED

        asked = read(query, today=today, languages=languages)
        if not asked.terms:
            return 0, lambda similar, strict: NOTHING_RANKED
        kin = kin_of(asked.terms) if self._index.applied_seq() <= KIN_RECORDS_MAX else {}
        found = self._index.candidates(
            scope, [*asked.terms, *kin.values()], limit=STRETCHES_MAX, near=only
        )
        found = with_kin(found, kin)
        asked, found = counting(asked, without(found, passed))
        named = speakers_named(query, speakers)
        look = partial(self._index.traits, scope, names=subject(query, named))
        speaking = [
            at
            for at, term in enumerate(asked.terms)
            if not named.keys().isdisjoint(alternatives(term))
        ]

        def ranked(similar: Similar | None, strict: bool, among: Candidates = found) -> Ranking:
            return rank(
                *(among, look, asked),
                speakers=speaking,
                similar=similar and elsewhere(similar, passed),
                relevance_min=RELEVANCE_MIN if strict else 0.0,
                words_min=0.0 if strict else WORDS_MIN,
                only=only,
            )

        if not asked.days:
            return found.pages, ranked
        spans = [*spans_ms(asked.days, today)]
        days_alone = asks_of_days_alone(asked, named)

        def with_days(similar: Similar | None, strict: bool) -> Ranking:
            """By words; if they find nothing of the named days, by having been said then, too."""
            by_words = None if days_alone else ranked(similar, strict)
            if by_words is not None and any_within(look(by_words.places.tolist()), spans):
                return by_words
            said_then = self._said_in(scope, spans, only)[-PAGES_MAX:]
            if by_words is not None and not len(said_then):
                return by_words
            return ranked(similar, strict, with_word(found, said_then))

        return found.pages, with_days

    def _said_in(
        self, scope: Scope, spans: Iterable[tuple[int, int]], only: NDArray[np.int64] | None
    ) -> NDArray[np.int64]:
        """Places of the pages said in these spans, or that mention days within them, or a week or
        weekend around them.
        """
        import numpy as np

        from pagefault.recall.daily import WEEK, days_of, mention_all

        found = []
        for since, until in spans:
            found.append(self._index.matching(scope, SearchFilter(since=since, until=until)).places)
            first, last = days_of(since, until)
            found.append(self._index.telling_of(scope, first, last))
            if last - first + 1 < WEEK:
                around = self._index.telling_of(scope, last - WEEK + 1, first + WEEK - 1)
                found.append(mention_all(self._index.traits(scope, around.tolist()), first, last))
        places = np.unique(np.concatenate([np.empty(0, np.int64), *found]))
        return places if only is None else np.intersect1d(places, only, assume_unique=True)


def _ranking(
    asked: Callable[[str], tuple[int, Rank]],
    questions: Sequence[str],
    similar: Sequence[Similar | None],
    *,
    strict: bool,
) -> tuple[int, Ranking]:
    """The number of pages in scope, and the merged ranking for a message and its questions. If
    nothing ranks and it is not `strict`, pages that have some words of the message.
    """
    from pagefault.recall.decompose import merged

    pages, ranks = zip(*map(asked, questions), strict=True)
    ranking, *others = [rank(near, True) for rank, near in zip(ranks, similar, strict=True)]
    best = merged(ranking, others)
    return pages[0], best if strict or len(best) else ranks[0](similar[0], False)


def _by_words(ranking: Ranking) -> bool:
    """Whether words alone settle which place answers."""
    first = ranking.rows(range(min(len(ranking), 2)))
    return bool(first) and is_sure([place.score for place in first], first[0].told)


def without(found: Candidates, passed: frozenset[int]) -> Candidates:
    """The candidates without these places."""
    if not passed:
        return found
    stays = _elsewhere(found.places, passed)
    return replace(found, places=found.places[stays], counts=found.counts[stays])


def elsewhere(similar: Similar, passed: frozenset[int]) -> Similar:
    """The similar pages without those at these places."""
    stays = _elsewhere(similar.places, passed)
    return replace(similar, places=similar.places[stays], scores=similar.scores[stays])


def counting(asked: Question, found: Candidates) -> tuple[Question, Candidates]:
    """The question and candidates without terms that are uninformative in this scope."""
    joints = unseen_joints(asked.terms, list(map(bool, found.frequencies)))
    if not joints:
        return asked, found
    stays = [at for at in range(len(asked.terms)) if at not in joints]
    return replace(asked, terms=tuple(asked.terms[at] for at in stays)), replace(
        found,
        frequencies=tuple(found.frequencies[at] for at in stays),
        counts=found.counts[:, stays],
    )


def _elsewhere(places: NDArray[np.int64], passed: frozenset[int]) -> NDArray[np.bool_]:
    import numpy as np

    return ~np.isin(places, list(passed))


def copies(ranking: Ranking, groups_max: int) -> tuple[list[list[int]], int]:
    """Group the rows whose pages have the same content as the group's first and cover as much of
    the question by their own words. Returns the first `groups_max` groups, and the number of all.

    Only pages found by their own words: `Yes!` means something else after every question.
    """
    own, likenesses = ranking.part("own").tolist(), ranking.likenesses.tolist()
    buckets = [*map(bucket, likenesses)]
    shared = {one for one, rows in Counter(buckets).items() if rows > 1}
    groups: list[list[int]] = []
    leading: dict[int, list[list[int]]] = {}
    total = 0
    for row, key in enumerate(buckets):
        if key not in shared or own[row] <= 0:  # nearly all rows: no list for each
            if total < groups_max:
                groups.append([row])
            total += 1
            continue
        likeness, alike = likenesses[row], leading.setdefault(key, [])
        for group in alike:
            first = group[0]
            # If they differ in a word, it must not be one of the question's.
            if likeness == likenesses[first] or (
                say_the_same(likeness, likenesses[first])
                and math.isclose(own[row], own[first], rel_tol=OWN_TOLERANCE)
            ):
                group.append(row)
                break
        else:
            alike.append([row])
            if total < groups_max:
                groups.append(alike[-1])
            total += 1
    return groups, total


def grouped(places: Sequence[int], groups: Iterable[Sequence[int]]) -> list[list[int]]:
    """Positions in `places`, together if one of the `groups` has both, by the first of each."""
    group_of = {place: number for number, group in enumerate(groups) for place in group}
    told: dict[int, list[int]] = {}
    for at, place in enumerate(places):
        told.setdefault(group_of[place], []).append(at)
    return list(told.values())


def _hit(found: Scored, relevance: float) -> SearchHit:
    return SearchHit(
        *(found.page, found.score, relevance, found.parts),
        also=found.also,
        why=why(found.place),
        coverage=found.place.relevance,
    )


def why(place: Ranked) -> str:
    """The reason a place was found."""
    for part, name in (("own", "words"), ("link", "link")):
        if place.parts.get(part, 0.0) > 0:
            return name
    near = place.parts.get("meaning", 0.0) > place.parts["neighbourhood"]
    return "meaning" if near else "neighbours"


def _first(scope: Scope) -> int:
    """The order of the first page in a scope, if none was forgotten."""
    return DERIVED_ORDER if scope.of_derived else 0


def _recency(age: int) -> float:
    """1 for the newest page, 1/e after `RECENCY_PAGES`."""
    return math.exp(-max(0, age) / RECENCY_PAGES)


def _parts(place: Ranked, row: PageRow, *, best: float, recency: float) -> dict[str, float]:
    """The parts of the measured score."""
    return {
        **place.parts,
        "recency": RECENCY * best * recency,
        "importance": IMPORTANCE * best * (row.importance - 0.5),
    }
