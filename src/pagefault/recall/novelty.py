"""Novelty: what a page adds to the question, so that pages which know nothing rank below the rest.

Much of a score is borrowed: an answer need not repeat the question's words, so a page gains from
its neighbours. But so does anything else that was said there. Four measures correct this; none
knows a phrase of any language:

- **Information.** A page without a word of the question can answer it only by its other words. Each
  counts by its rarity in this conversation, the rarest as 1. A page that reaches `ENOUGH` says
  something; below it, what it borrows is scaled down in proportion. "Noted." gets half if it was
  said once, and next to nothing if it is said every day.
- **Statement before neighbour.** If some page that is no question has every word of the question, a
  page without any ranks below it, whatever it is beside: "I don't know", in any language, below
  what is known. A page that says nothing of its own, or was not read, and whose neighbours cover
  too little is not offered at all.
- **Question and quotation.** A page that asks, and adds nothing to the question it is found by, is
  the question itself and answers nothing. One that asks, and half of whose words are the
  question's, ranks below a statement with all of them. An answer that cites a page, or takes from
  one what it adds to the question's words, ranks just below it.
- **Statement before exchange.** A user's question to a model and the reply in the same turn have
  the question's words because they were asked for, and boost each other: five questions and five
  refusals are ten pages on the subject. But the user does not know the answer, and the model either
  was told it on another page, or has it from elsewhere. So a short page of such an exchange ranks
  below the best page that states `STATES` of its words unasked, and gets at most half its relevance
  (a choice, not a measurement; it moves no page). All of its words would be too many: an exchange
  has interrogatives and other inflections, which an answering sentence lacks. A page that is the
  query word for word, without final punctuation, counts as asked, too. People who talk under names
  know what they reply; they form no exchange.

What it gets wrong: a short refusal in words that are rare in its conversation counts as an answer
if no page states what was asked for; and an answer from a model's own knowledge ranks below a page
that only mentions its subject. On five LoCoMo conversations all this costs up to half a point of
evidence at ten and gains as much at five; on conversations with assistants it gains three at five
and one at ten. Both had a part in choosing the numbers, so neither checks them. On recordings,
which had none, it costs nothing.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np

from pagefault.language.analyzer import analyze, query_terms
from pagefault.model.ids import PageId
from pagefault.model.kinds import Role
from pagefault.model.page import Page, PageRow, Scope
from pagefault.recall.ranking import Ranked, Ranking
from pagefault.recall.reading import PagesAt, Reading
from pagefault.store.api import PageIndex
from pagefault.store.likely import Flags, Numbers
from pagefault.store.rarity import rarity

ENOUGH: Final = 2.0  # in words of maximal rarity: a page with this much says something
ASKS_MORE: Final = 1.0  # likewise: a question with this much beyond the query is another question
ECHO: Final = 0.5  # of an asking page's words that are in the query: it repeats it
ECHO_MIN: Final = 0.25  # least factor for a repeated question
WEIGHED_MAX: Final = 20  # best pages that are weighed, however small the limit
SHORT_TOKENS: Final = 48  # a longer page says something
STATES: Final = 0.3  # of an exchange's coverage of the question
TOLD_MIN: Final = 0.2  # coverage of the question at which a page is about it
EXCHANGES_MAX: Final = 50  # of the best pages, and of those that ask
ALL_TOLD: Final = 0.99  # coverage that counts as every word, allowing for rounding
BELOW: Final = 0.005  # of the best score: more than recency moves a page
NEIGHBOUR_MIN: Final = 0.2  # of the best page's relevance
NEIGHBOUR_STATED_MIN: Final = 0.6  # the same, if a page has every word of the question
QUOTED: Final = 0.8  # of what an answer adds to the question's words
QUOTING_MAX: Final = 10  # best pages that are searched for quotations
QUOTE_TOKENS: Final = 200  # a longer answer says something of its own
EXCHANGED: Final = 0.5  # of the relevance of the page that states it unasked
BORROWED: Final = ("neighbourhood", "reply", "sitting")
"""Parts of a score that come from neighbouring pages."""


def settled(
    index: PageIndex,
    reading: Reading | None,
    pages: PagesAt,
    scope: Scope,
    query: str,
    ranked: Ranking,
    *,
    languages: Sequence[str] = (),
) -> Ranking:
    """Rerank the places by what their pages add, best first, and drop those whose neighbourhood
    covers too little. Reads the short pages among the best. `languages` are those of the scope.
    """
    if not len(ranked):
        return ranked
    asked = frozenset(query_terms(query, languages))
    echoes: set[int] = set()
    tell: set[int] = set()
    if reading is not None:
        weighing = _Weighing(index, reading, pages, scope, asked)
        ranked, echoes, tell = weighing.weighed(ranked), weighing.echoes, weighing.tell
    stating = ranked.scores[_states_all(ranked)]
    least = NEIGHBOUR_STATED_MIN if len(stating) else NEIGHBOUR_MIN
    tells = ranked.relevances >= least * ranked.relevances.max()
    ranked = ranked.taken(~_is_neighbour(ranked) | _stand_at(ranked, tell) | tells)
    if len(stating):
        best = float(stating.max())
        which = _is_wordless(ranked) | _stand_at(ranked, echoes)
        ranked = _below(ranked, best - BELOW * abs(best), which)
    if reading is not None:
        ranked = _statements_first(reading, pages, query, ranked)
        ranked = _sources_first(reading, pages, asked, ranked)
    return ranked


def _is_wordless(ranked: Ranking) -> Flags:
    """Pages with neither a word of the question nor a link to them."""
    return (ranked.part("own") <= 0) & (ranked.part("link") <= 0)


def _states_all(ranked: Ranking) -> Flags:
    """Pages with every word of the question that ask nothing themselves."""
    return ~ranked.asks & (ranked.told >= ALL_TOLD)


def _is_neighbour(ranked: Ranking) -> Flags:
    """Pages found through their neighbours only."""
    return _is_wordless(ranked) & (ranked.part("meaning") <= 0)


def _stand_at(ranked: Ranking, places: Collection[int]) -> Flags:
    return np.isin(ranked.places, list(places))


# --- information --------------------------------------------------------------------------------


class _Weighing:
    """Weighs leading pages by the words they add to the question's. `tell` collects those that say
    something of their own, `echoes` those that ask the same.

    Weights are at most 1, so a page that still leads after weighing does lead, and no other is
    read.
    """

    def __init__(
        self,
        index: PageIndex,
        reading: Reading,
        pages: PagesAt,
        scope: Scope,
        asked: frozenset[str],
    ) -> None:
        self._index = index
        self._reading = reading
        self._pages = pages
        self._scope = scope
        self._asked = asked
        self.echoes: set[int] = set()
        self.tell: set[int] = set()

    def weighed(self, ranked: Ranking) -> Ranking:
        seen: set[int] = set()
        while not seen.issuperset(best := ranked.places[:WEIGHED_MAX].tolist()):
            wordless, asks = _is_wordless(ranked), ranked.asks
            new = [
                row
                for row, place in enumerate(best)
                if place not in seen and (wordless[row] or asks[row])
            ]
            seen.update(best)
            weights = self._weights(new, ranked, wordless)
            ranked = _times(ranked, new, weights, wordless).ordered()
        return ranked

    def _weights(self, rows: Sequence[int], ranked: Ranking, wordless: Flags) -> list[float]:
        """The weight of each of these rows, at most 1."""
        if not rows:
            return []
        places = ranked.places[rows].tolist()
        found = self._pages.rows(places)
        added: dict[int, frozenset[str]] = {}
        for at, place in zip(rows, places, strict=True):
            row = found.get(place)
            if row and row.tokens > SHORT_TOKENS:
                self.tell.add(place)
            elif row and (page := self._reading.page(row)) is not None:
                terms = self._reading.analyzed(page).telling
                added[place] = terms - self._asked
                if ranked.asks[at] and len(terms & self._asked) >= ECHO * len(terms):
                    self.echoes.add(place)
        rare = self._rarities(frozenset[str]().union(*added.values()))
        information = {place: sum(rare[one] for one in terms) for place, terms in added.items()}
        self.tell.update(place for place, much in information.items() if much >= ENOUGH)
        return [
            _weight(information[place], is_wordless=bool(wordless[at]))
            if place in information
            else 1.0
            for at, place in zip(rows, places, strict=True)
        ]

    def _rarities(self, terms: Collection[str]) -> dict[str, float]:
        """The rarity of each term, relative to one that occurs in a single page."""
        if not terms:
            return {}
        ordered = sorted(terms)
        found = self._index.candidates(self._scope, ordered, limit=0)
        rarest = rarity(found.pages, 1)
        return {
            term: min(rarity(found.pages, frequency) / rarest, 1.0)
            for term, frequency in zip(ordered, found.frequencies, strict=True)
        }


def _weight(information: float, *, is_wordless: bool) -> float:
    if is_wordless:
        return min(information / ENOUGH, 1.0)
    return min(max(information / ASKS_MORE, ECHO_MIN), 1.0)


def _times(
    ranked: Ranking, rows: Sequence[int], weights: Sequence[float], wordless: Flags
) -> Ranking:
    """Scale what these rows borrow by their weights; for questions, their whole score."""
    lighter = [at for at, weight in zip(rows, weights, strict=True) if weight < 1]
    if not lighter:
        return ranked
    weight = np.array([one for one in weights if one < 1])
    parts, scores, relevances = (
        one.copy() for one in (ranked.parts, ranked.scores, ranked.relevances)
    )
    is_borrowed = np.array([name in BORROWED for name in ranked.names])
    is_scaled = (is_borrowed[:, None] | ~wordless[lighter]) & (parts[:, lighter] > 0)
    parts[:, lighter] *= np.where(is_scaled, weight, 1.0)
    scores[lighter] = parts[:, lighter].sum(axis=0)
    relevances[lighter] *= weight
    return replace(ranked, parts=parts, scores=scores, relevances=relevances)


# --- exchanges ----------------------------------------------------------------------------------


def _statements_first(reading: Reading, pages: PagesAt, query: str, ranked: Ranking) -> Ranking:
    """Rank every page of an exchange, and every page without the question's words, below the best
    page that states as much unasked.
    """
    exchanged = _stand_at(ranked, _exchanged(reading, pages, query, ranked))
    if not exchanged.any():
        return ranked
    most = float(ranked.told[exchanged].max())
    states = ~exchanged & ~ranked.asks & (ranked.told >= max(STATES * most, TOLD_MIN))
    stating = np.flatnonzero(states[:EXCHANGES_MAX])
    if not len(stating):
        return ranked
    score, relevance = (float(one[stating[0]]) for one in (ranked.scores, ranked.relevances))
    which = exchanged | _is_wordless(ranked)
    capped = np.where(
        which, np.minimum(ranked.relevances, EXCHANGED * relevance), ranked.relevances
    )
    return _below(replace(ranked, relevances=capped), score - BELOW * abs(score), which)


def _exchanged(reading: Reading, pages: PagesAt, query: str, ranked: Ranking) -> set[int]:
    """Among the best, places where a user asks a model for the question's words, and the replies.

    Only short pages: a longer one says something. A speaker with a name is a person in a
    transcript, who knows what they reply.
    """
    rows = np.flatnonzero(ranked.asks)[:EXCHANGES_MAX]
    asking = set(ranked.places[rows[ranked.told[rows] >= TOLD_MIN]].tolist())
    best = ranked.places[:EXCHANGES_MAX]
    whole = best[_states_all(ranked)[:EXCHANGES_MAX]]
    asking |= _said_before(reading, pages, query, whole)
    if not asking:
        return set()
    unnamed = {
        place: row
        for place, row in pages.rows(asking.union(best.tolist())).items()
        if row.tokens <= SHORT_TOKENS and _is_unnamed(reading.page(row))
    }
    asked: dict[tuple[int, int], int] = {}  # the first asking record of each turn
    for place, row in unnamed.items():
        if place in asking and row.role is Role.USER:
            turn = row.session, row.turn
            asked[turn] = min(row.seq, asked.get(turn, row.seq))
    return {
        place
        for place, row in unnamed.items()
        if (place in asking and row.role is Role.USER)
        or (row.role is Role.ASSISTANT and row.seq > asked.get((row.session, row.turn), row.seq))
    }


def _said_before(reading: Reading, pages: PagesAt, query: str, whole: Numbers) -> set[int]:
    """Places, of those that have all its words, whose text is the query word for word without final
    punctuation. Many people write questions so, and some scripts have no question mark.
    """
    if not len(whole):
        return set()
    words = analyze(query)
    return {
        place
        for place, row in pages.rows(whole.tolist()).items()
        if row.tokens <= SHORT_TOKENS
        and (page := reading.page(row)) is not None
        and not unicodedata.category(page.text.rstrip()[-1:] or ".").startswith("P")
        and analyze(page.text) == words
    }


def _is_unnamed(page: Page | None) -> bool:
    return page is not None and not page.speaker


# --- statements and sources ---------------------------------------------------------------------


def _below(ranked: Ranking, most: float, which: Flags) -> Ranking:
    """Cap the scores of `which` at `most`."""
    less = np.where(which & (ranked.scores > most), most - ranked.scores, 0.0)
    return ranked.plus("stated", less).ordered()


def _sources_first(
    reading: Reading, pages: PagesAt, asked: frozenset[str], ranked: Ranking
) -> Ranking:
    """Rank the sources of an answer among the best just above it."""
    best = {one.place: one for one in ranked.rows(range(min(QUOTING_MAX, len(ranked))))}
    rows = pages.rows(best)
    answers = [
        place
        for place, row in rows.items()
        if row.role is Role.ASSISTANT and row.tokens <= QUOTE_TOKENS and best[place].told > 0
    ]
    if not answers or len(rows) < 2:
        return ranked
    scores = {place: one.score for place, one in best.items()}
    more = dict.fromkeys(best, 0.0)
    for place in sorted(answers, key=lambda place: best[place].score):
        answer = _Quoted(reading, rows[place], best[place], asked)
        for other, row in rows.items():
            if scores[other] < scores[place] and answer.rests_on(row, best[other]):
                lift = scores[place] - scores[other] + BELOW * float(ranked.scores[0])
                scores[other] += lift
                more[other] += lift
    lifts = np.zeros(len(ranked))
    lifts[: len(best)] = list(more.values())
    return ranked.plus("quoted", lifts).ordered()


class _Quoted:
    """An answer and its possible sources. Texts are read lazily."""

    def __init__(
        self, reading: Reading, row: PageRow, answer: Ranked, asked: frozenset[str]
    ) -> None:
        self._reading = reading
        self._row = row
        self._answer = answer
        self._asked = asked

    def rests_on(self, row: PageRow, source: Ranked) -> bool:
        """Whether the answer cites this page of its session, or repeats what somebody who did not
        ask said in it before.
        """
        if row.seq >= self._row.seq or source.asks:
            return False
        if row.session == self._row.session and row.page_id in self._cited:
            return True
        if row.role is Role.ASSISTANT or not source.told >= self._answer.told > 0:
            return False
        page = self._reading.page(row) if self._adds else None
        if page is None:
            return False
        return len(self._adds & self._reading.analyzed(page).telling) >= QUOTED * len(self._adds)

    @cached_property
    def _page(self) -> Page | None:
        return self._reading.page(self._row)

    @cached_property
    def _cited(self) -> frozenset[PageId]:
        return frozenset(self._reading.cited(self._page) if self._page else ())

    @cached_property
    def _adds(self) -> frozenset[str]:
        page = self._page
        return self._reading.analyzed(page).telling - self._asked if page else frozenset()
