"""What a page tells that the question does not: what knows nothing stands below what does.

Much of a score is borrowed: an answer need not repeat the words of its question, so a page is worth
what stands around it, too. But so is whatever else was said there. Four measures, none of which
knows a phrase of any language:

 - **Information.** Of a page without a word of the question only its other words can answer it.
   Each counts by how rare it is in this conversation, of the rarest as 1; from `ENOUGH` on the page
   says something, and below it is worth so much less. "Noted." says half of that where it was said
   once, and next to nothing where it is said every day.
 - **Statement before neighbour.** Where a page that asks nothing has every word of the question, a
   page that has none stands below it, whatever it stands beside: "I don't know", in any language,
   below what is known. One that says nothing of its own, or was not read, and whose neighbours
   tell too little, is not offered at all.
 - **Question and quotation.** A page that asks, and has no more to say than the question that it is
   found by, is the question: nothing is told there. One of whose words half are the question's
   stands below a statement of them all. An answer that cites a page, or takes what it adds to the
   question's words from one, stands just below it.
 - **Told before exchanged.** What a user asks a model, and what that replies in the same turn, have
   the question's words because they were asked for, and lend them to one another: five questions
   and five refusals are ten pages about it. Who asks does not know, and a model knows what it was
   told, or else it was not told here. So a short page of such an exchange stands below the best
   page that tells `STATES` of its words unasked, and is half as relevant at the most (a choice, not
   a measurement; it moves no page): not all of them, as an exchange has the interrogatives, which a
   sentence that answers has not, and other endings of the words. What is the query word for word,
   without a mark at its end, was asked, too. People who talk under their names know what they
   reply, and are no exchange.

A short refusal in words that are rare in its conversation counts as an answer wherever nothing
tells what was asked for, and what a model knew by itself stands below a page that only mentions it.
On five LoCoMo conversations all this together costs up to half a point of what is found at ten and
gains as much at five; on conversations with assistants it gains three at five and one at ten. Both
had a part in choosing its numbers, so neither is a check on them. On recordings, which had none, it
costs nothing.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from typing import Final

from pagefault.language.analyzer import analyze, is_telling, query_terms
from pagefault.model.kinds import Role
from pagefault.model.page import Page, Scope
from pagefault.recall.rank import Ranked
from pagefault.recall.reading import Reading
from pagefault.store.api import PageIndex
from pagefault.store.likely import rarity
from pagefault.store.place import place_in

ENOUGH: Final = 2.0  # words as rare as any: a page of so many says something
ASKS_MORE: Final = 1.0  # of the same, by which a question is another one
ECHO: Final = 0.5  # of the words of a question: it asks what is asked now
ECHO_MIN: Final = 0.25  # what the question itself is worth, of what its words are
WEIGHED_MAX: Final = 20  # of the best pages, however few are asked for
SHORT_TOKENS: Final = 48  # what is longer says something
STATES: Final = 0.3  # of what an exchange has of the question's words
TOLD_MIN: Final = 0.2  # of the question's words: it is about them
EXCHANGES_MAX: Final = 50  # of the best pages, and of those that ask
ALL_TOLD: Final = 0.99  # of the question's words: rounding apart, each
BELOW: Final = 0.005  # of the best score: more than recency moves a page
NEIGHBOUR_MIN: Final = 0.2  # of the best page's relevance
NEIGHBOUR_STATED_MIN: Final = 0.6  # the same, where a page has every word of the question
QUOTED: Final = 0.8  # of what an answer adds to the question's words
QUOTING_MAX: Final = 10  # of the best pages are looked at for quotations
QUOTE_TOKENS: Final = 200  # an answer of more says something of its own
EXCHANGED: Final = 0.5  # of the relevance of what tells as much unasked
BORROWED: Final = ("neighbourhood", "reply", "sitting")
"""The parts that a page without a word of the question has of those around it."""


def settled(
    index: PageIndex,
    reading: Reading | None,
    scope: Scope,
    query: str,
    found: Sequence[Ranked],
    *,
    languages: Sequence[str] = (),
) -> list[Ranked]:
    """The same places, best first, as what they tell is worth; without those whose neighbourhood
    tells too little. Of the best, short ones are read. `languages` are those of the scope.
    """
    if not found:
        return []
    ranked = list(found)
    echoes: set[int] = set()
    tell: set[int] = set()
    if reading is not None:
        weighing = _Weighing(index, reading, scope, query, languages)
        ranked, echoes, tell = weighing.weighed(ranked), weighing.echoes, weighing.tell
    stating = max((one.score for one in ranked if _states_all(one)), default=None)
    least = NEIGHBOUR_MIN if stating is None else NEIGHBOUR_STATED_MIN
    least *= max(one.relevance for one in ranked)
    ranked = [
        one
        for one in ranked
        if not _is_neighbour(one) or one.place in tell or one.relevance >= least
    ]
    if stating is not None:
        most = stating - BELOW * abs(stating)
        ranked = _below(ranked, most, [_is_wordless(one) or one.place in echoes for one in ranked])
    if reading is not None:
        ranked = _statements_first(index, reading, scope, query, ranked)
        ranked = _sources_first(index, reading, scope, query, ranked, languages)
    return ranked


def _is_wordless(one: Ranked) -> bool:
    """Whether it has neither a word of the question nor a name that leads to it."""
    return one.parts["own"] <= 0 and one.parts["link"] <= 0


def _states_all(one: Ranked) -> bool:
    """Whether it has every word of the question, and asks nothing itself."""
    return not one.asks and one.told >= ALL_TOLD


def _is_neighbour(one: Ranked) -> bool:
    """Whether nothing but what stands around it makes it bear on the question."""
    return _is_wordless(one) and one.parts.get("meaning", 0.0) <= 0


def _ordered(ranked: Collection[Ranked]) -> list[Ranked]:
    return sorted(ranked, key=lambda one: (-one.score, one.place))


# --- information --------------------------------------------------------------------------------


class _Weighing:
    """Weighs pages by the words that they add to the question's, as they come to the top: `tell`
    are those that say something of their own, `echoes` those that ask what is asked now.

    A weight is 1 at most, so a page that was weighed and still leads does lead: no other is read.
    """

    def __init__(
        self,
        index: PageIndex,
        reading: Reading,
        scope: Scope,
        query: str,
        languages: Sequence[str],
    ) -> None:
        self._index = index
        self._reading = reading
        self._scope = scope
        self._asked = frozenset(query_terms(query, languages))
        self.echoes: set[int] = set()
        self.tell: set[int] = set()

    def weighed(self, ranked: list[Ranked]) -> list[Ranked]:
        seen: set[int] = set()
        while new := [one for one in ranked[:WEIGHED_MAX] if one.place not in seen]:
            seen.update(one.place for one in new)
            weights = self._weights([one for one in new if _is_wordless(one) or one.asks])
            ranked = _ordered([_times(one, weights.get(one.place, 1.0)) for one in ranked])
        return ranked

    def _weights(self, ranked: Sequence[Ranked]) -> dict[int, float]:
        if not ranked:
            return {}
        at = {one.place: one for one in ranked}
        added: dict[int, frozenset[str]] = {}
        for row in self._index.pages_at(self._scope, list(at)):
            place = place_in(self._scope, row)
            if row.tokens > SHORT_TOKENS:
                self.tell.add(place)
            elif (page := self._reading.page(row)) is not None:
                terms = telling(page.text)
                added[place] = terms - self._asked
                if at[place].asks and len(terms & self._asked) >= ECHO * len(terms):
                    self.echoes.add(place)
        rare = self._rarities(frozenset[str]().union(*added.values()))
        information = {place: sum(rare[one] for one in terms) for place, terms in added.items()}
        self.tell.update(place for place, much in information.items() if much >= ENOUGH)
        return {place: _weight(at[place], much) for place, much in information.items()}

    def _rarities(self, terms: Collection[str]) -> dict[str, float]:
        """How rare these are, of what stands in one page alone."""
        ordered = sorted(terms)
        found = self._index.candidates(self._scope, ordered, limit=0)
        rarest = rarity(found.pages, 1)
        return {
            term: min(rarity(found.pages, frequency) / rarest, 1.0)
            for term, frequency in zip(ordered, found.frequencies, strict=True)
        }


def telling(text: str) -> frozenset[str]:
    """The terms of a text that are no stop words; none, if all are."""
    return frozenset(query_terms(text)) if is_telling(text) else frozenset()


def _weight(one: Ranked, information: float) -> float:
    if _is_wordless(one):
        return min(information / ENOUGH, 1.0)
    return min(max(information / ASKS_MORE, ECHO_MIN), 1.0)


def _times(one: Ranked, weight: float) -> Ranked:
    """The same, with so much of what it borrows; a question, of all that it is worth."""
    if weight >= 1:
        return one
    scaled = BORROWED if _is_wordless(one) else tuple(one.parts)
    parts = {
        name: value * weight if name in scaled and value > 0 else value
        for name, value in one.parts.items()
    }
    relevance = one.relevance * weight
    return one._replace(score=sum(parts.values()), parts=parts, relevance=relevance)


# --- exchanges ----------------------------------------------------------------------------------


def _statements_first(
    index: PageIndex, reading: Reading, scope: Scope, query: str, ranked: list[Ranked]
) -> list[Ranked]:
    """The same, but nothing of an exchange, nor what only stands beside some words, is worth more
    than the best page that tells as much unasked.
    """
    exchanged = _exchanged(index, reading, scope, query, ranked)
    if not exchanged:
        return ranked
    most = max(one.told for one in ranked if one.place in exchanged)
    stating = (
        one
        for one in ranked[:EXCHANGES_MAX]
        if one.place not in exchanged and not one.asks and one.told >= max(STATES * most, TOLD_MIN)
    )
    best = next(stating, None)
    if best is None:
        return ranked
    which = [one.place in exchanged or _is_wordless(one) for one in ranked]
    capped = [
        one._replace(relevance=min(one.relevance, EXCHANGED * best.relevance)) if is_one else one
        for one, is_one in zip(ranked, which, strict=True)
    ]
    return _below(capped, best.score - BELOW * abs(best.score), which)


def _exchanged(
    index: PageIndex, reading: Reading, scope: Scope, query: str, ranked: Sequence[Ranked]
) -> set[int]:
    """Where, among the best, words of the question are asked of a model, and where that replies.

    Both short: what is longer says something. Who speaks under a name is a person, in a transcript
    of people, and knows what they reply.
    """
    asking = {one.place for one in [one for one in ranked if one.asks][:EXCHANGES_MAX]}
    asking &= {one.place for one in ranked if one.told >= TOLD_MIN}
    asking |= _said_before(index, reading, scope, query, ranked[:EXCHANGES_MAX])
    if not asking:
        return set()
    best = asking.union(one.place for one in ranked[:EXCHANGES_MAX])
    rows = [row for row in index.pages_at(scope, list(best)) if row.tokens <= SHORT_TOKENS]
    unnamed = {place_in(scope, row): row for row in rows if _is_unnamed(reading.page(row))}
    asked: dict[tuple[int, int], int] = {}  # in this turn, by the record
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


def _said_before(
    index: PageIndex, reading: Reading, scope: Scope, query: str, ranked: Sequence[Ranked]
) -> set[int]:
    """Where the query itself was said, word for word and with no mark at its end: many write
    questions so, and some scripts have no mark for them.
    """
    words, whole = analyze(query), [one.place for one in ranked if _states_all(one)]
    return {
        place_in(scope, row)
        for row in index.pages_at(scope, whole)
        if row.tokens <= SHORT_TOKENS
        and (page := reading.page(row)) is not None
        and not unicodedata.category(page.text.rstrip()[-1:] or ".").startswith("P")
        and analyze(page.text) == words
    }


def _is_unnamed(page: Page | None) -> bool:
    return page is not None and not page.speaker


# --- statements and sources ---------------------------------------------------------------------


def _below(ranked: Sequence[Ranked], most: float, which: Sequence[bool]) -> list[Ranked]:
    """The same, but none of `which` is worth more than that."""
    return _ordered(
        [
            one.plus("stated", most - one.score) if is_one and one.score > most else one
            for one, is_one in zip(ranked, which, strict=True)
        ]
    )


def _sources_first(
    index: PageIndex,
    reading: Reading,
    scope: Scope,
    query: str,
    ranked: list[Ranked],
    languages: Sequence[str],
) -> list[Ranked]:
    """What an answer among the best rests on, just above it."""
    best = {one.place: one for one in ranked[:QUOTING_MAX]}
    rows = {place_in(scope, row): row for row in index.pages_at(scope, list(best))}
    answers = [
        place
        for place, row in rows.items()
        if row.role is Role.ASSISTANT and row.tokens <= QUOTE_TOKENS and best[place].told > 0
    ]
    if not answers or len(rows) < 2:
        return ranked
    pages = {place: page for place, row in rows.items() if (page := reading.page(row)) is not None}
    asked = frozenset(query_terms(query, languages))
    lifted = dict(best)
    for place in sorted(answers, key=lambda place: best[place].score):
        if place not in pages:
            continue
        answer, quoted = lifted[place], _Quoted(reading, pages[place], asked)
        for other, page in pages.items():
            source = lifted[other]
            if source.score < answer.score and quoted.rests_on(page, best[other], best[place]):
                more = answer.score - source.score + BELOW * ranked[0].score
                lifted[other] = source.plus("quoted", more)
    return _ordered([lifted.get(one.place, one) for one in ranked])


class _Quoted:
    """What an answer says, and where it has that from."""

    def __init__(self, reading: Reading, answer: Page, asked: frozenset[str]) -> None:
        self._answer = answer
        self._cited = frozenset(reading.cited(answer))
        self._adds = telling(answer.text) - asked

    def rests_on(self, page: Page, source: Ranked, answer: Ranked) -> bool:
        """Whether it cites this page of its session, or says again what was said there before to
        the same question, by somebody who did not ask it.
        """
        row, of = page.row, self._answer.row
        if row.seq >= of.seq or source.asks:
            return False
        if row.session == of.session and row.page_id in self._cited:
            return True
        says_more = row.role is not Role.ASSISTANT and source.told >= answer.told > 0
        if not says_more or not self._adds:
            return False
        return len(self._adds & telling(page.text)) >= QUOTED * len(self._adds)
