"""Sequels of a page: the reply that takes it up, and later statements about the same thing.

A search finds pages by the words of a question. What was settled need not have them: *which queue?*
– *NATS or RabbitMQ.* – *NATS, then.*; and a change of mind may use the word chosen before: *NATS
fell over last night, RabbitMQ does it now.* Both share a rare word with a page that was found. Two
steps lead on from the best pages:

- **Taken up.** A user's next message follows a page if it is short and shares a rare word with the
  reply, or with the page itself if that was a reply.
- **Later.** A person's later statement with a rare word that a leading page adds to the question
  may change what that page says.

Of two found pages about the same thing, the later is `newer`: they share a rare word, and each
names something that the other does not, or one is negated. This says only which was said later;
whether it replaces the other is for the reader to decide.

Nothing here knows a phrase of any language. A word is rare if few pages of this conversation have
it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from pagefault.language.analyzer import query_words
from pagefault.language.sought import Sought
from pagefault.model.ids import PageId
from pagefault.model.kinds import Role
from pagefault.model.page import PageRow, Scope
from pagefault.recall.analyzed import AnalyzedText, has_question_mark
from pagefault.recall.novelty import SHORT_TOKENS
from pagefault.recall.reading import PagesAt, Reading
from pagefault.store.api import PageIndex
from pagefault.store.place import place_in
from pagefault.store.rarity import rarity

# Chosen on phrasings of the north star; docs/decisions/065, 096 and 112 have the figures, also for
# phrasings that were written afterwards.
LEADING: Final = 5  # pages whose sequels are looked for
REACH: Final = 4  # pages after one in which it can be taken up
RARE_MAX: Final = 8  # pages with a term; a more common one links nothing
LATER_MAX: Final = 4  # later pages, at most
AT_ONCE: Final = 12  # of them looked up
STRETCHES_MAX: Final = 100
COMPARED_MAX: Final = 24  # pages that are compared for which is newer
BEARING: Final = 0.45  # of the best page's bearing: with this much, a page is about the same
LEAST: Final = 0.1  # in rare words: least bearing of a page, if found by other words
NAMED_MAX: Final = 3  # pages named as older than one


Words = frozenset[Sought]


class Sequels:
    """Sequels of pages found by one question. Reads index and pages: not for an event loop."""

    def __init__(
        self,
        index: PageIndex,
        reading: Reading,
        scope: Scope,
        query: str,
        languages: Sequence[str] = (),
    ) -> None:
        self._index = index
        self._reading = reading
        self._scope = scope
        self._languages = languages
        self._asked = frozenset(query_words(query, languages))
        self._pages = PagesAt(index, scope)
        self._analyzed: dict[PageId, AnalyzedText | None] = {}
        self._takes_up: dict[PageId, PageRow] = {}
        self._frequencies: dict[Sought, int] = {}
        self._worths: dict[Sought, float] = {}
        self._rare: dict[PageId, Words] = {}
        self._total = 0  # pages in scope; known after the first look-up

    def with_sequels(self, found: Sequence[PageRow], leading: Sequence[PageRow]) -> list[PageRow]:
        """The found pages, best first, each leading one followed by the page that takes it up. Of
        what was said later about either, the last stands beside the page it is about, because it
        tells where the matter stands; the rest comes after all found pages.
        """
        lead = leading[:LEADING]
        # What follows each is looked up at once.
        self._pages.rows({at for row in lead for at in self._reach_of(row)})
        sequels = {row.page_id: self.taken_up(row) for row in lead}
        from_lead = {row.page_id: row.page_id for row in lead}
        from_lead |= {one.page_id: lead for lead, rows in sequels.items() for one in rows}
        later = self.later([*lead, *(row for rows in sequels.values() for row in rows)])
        for of, one in _beside(later):
            sequels[from_lead[of]].append(one)
        ordered: dict[PageId, PageRow] = {}
        for row in found:
            for one in (row, *sequels.get(row.page_id, ())):
                ordered.setdefault(one.page_id, one)
        for _, one in later:
            ordered.setdefault(one.page_id, one)
        return list(ordered.values())

    def taken_up(self, row: PageRow) -> list[PageRow]:
        """The user's next message, if it takes up this page or the reply to it."""
        after = self._pages.rows(self._reach_of(row))
        replied = [row] if row.role is Role.ASSISTANT else []
        for one in after.values():
            if one.session != row.session:
                break
            if one.role is Role.ASSISTANT:
                replied.append(one)
            elif one.role is Role.USER:
                if not replied or one.tokens > SHORT_TOKENS or self._asks(one):
                    break
                said = Words().union(*map(self._telling, replied))
                known = self._asked if replied[0] is row else self._telling(row)
                if not self._bonds((self._telling(one) & said) - known):
                    break
                self._takes_up[one.page_id] = row
                return [one]
        return []

    def _reach_of(self, row: PageRow) -> range:
        """The places at which a page can be taken up."""
        place = place_in(self._scope, row)
        return range(place + 1, place + 1 + REACH)

    def later(self, rows: Sequence[PageRow]) -> list[tuple[PageId, PageRow]]:
        """What people said later with a rare word of one of these pages, and which page that is.
        Pages that share the most rare words come first, each weighted by its source's bearing on
        the question: any page shares a number with some other by chance.
        """
        adds = {row.page_id: self._telling(row) - self._asked for row in rows}
        rare = sorted(self._bonds(Words().union(*adds.values())), key=_spelled)
        if not rare:
            return []
        found = self._index.candidates(self._scope, rare, limit=STRETCHES_MAX, count_max=1)
        places = found.places.tolist()
        has: list[list[int]] = [[] for _ in places]  # positions in `rare`
        for at, one in zip(*(axis.tolist() for axis in found.counts.nonzero()), strict=True):
            has[at].append(one)
        told: dict[int, float] = {}  # weight of what a page shares with its closest source
        source: dict[int, PageId] = {}  # that source
        tells = {row.page_id: self._tells(row) & self._asked for row in rows}
        self._look_up(Words().union(*tells.values()))
        for row in rows:
            place = place_in(self._scope, row)
            bears = max(self._weight(tells[row.page_id]), LEAST)
            worth = [bears * self._worth(one) if one in adds[row.page_id] else 0.0 for one in rare]
            for at, there in zip(places, has, strict=True):
                if at > place:
                    much = sum(map(worth.__getitem__, there))
                    if much > told.get(at, 0.0):
                        told[at], source[at] = much, row.page_id
        known = {row.page_id for row in rows}
        chosen = (
            (source[at], row)
            for at, row in self._rows(sorted(told, key=lambda at: (-told[at], -at)))
            if row.page_id not in known and self._is_persons(row) and not self._asks(row)
        )
        return list(islice(chosen, LATER_MAX))

    def _rows(self, places: Sequence[int]) -> Iterator[tuple[int, PageRow]]:
        """The pages at these places, in this order, read a few at a time: callers rarely go beyond
        the first ones.
        """
        for first in range(0, len(places), AT_ONCE):
            rows = self._pages.rows(places[first : first + AT_ONCE])
            yield from ((at, rows[at]) for at in places[first : first + AT_ONCE] if at in rows)

    def newer(self, rows: Sequence[PageRow]) -> dict[PageId, tuple[PageId, ...]]:
        """For each of these pages (best first) that is newer than others of them: the ids of those,
        the latest first.
        """
        told = [row for row in rows[:COMPARED_MAX] if not self._asks(row)]
        asked = {row.page_id: self._tells(row) & self._asked for row in told}
        self._look_up(Words().union(*asked.values()))
        bears = {page_id: self._weight(some) for page_id, some in asked.items()}
        # An asking page may be this very question, with more of its words than any answer.
        stated = [bears[row.page_id] for row in told if not self._asks_at_all(row)]
        least = BEARING * max(stated or bears.values(), default=0.0)
        if not least:
            return {}
        told.sort(key=lambda row: row.order)
        found: dict[PageId, tuple[PageId, ...]] = {}
        for at, new in enumerate(told):
            if not self._is_persons(new):
                continue
            earlier: list[PageId] = []
            for old in reversed(told[:at]):
                is_about_it = self._weight(asked[old.page_id] & asked[new.page_id]) >= least
                bearing = max(bears[old.page_id], bears[new.page_id])
                is_same = is_about_it or (bearing >= least and self._names_again(old, new))
                if is_same and self._differ(old, new):
                    earlier.append(old.page_id)
                    if len(earlier) == NAMED_MAX:
                        break
            if earlier:
                found[new.page_id] = tuple(earlier)
        return found

    def _names_again(self, old: PageRow, new: PageRow) -> bool:
        """Whether both share a rare word that is not in the question."""
        return bool(self._bonds((self._telling(old) & self._telling(new)) - self._asked))

    def _differ(self, old: PageRow, new: PageRow) -> bool:
        """Whether they differ: one names, counts or negates what the other does not, or each has
        rare words of its own.
        """
        if self._details(old) != self._details(new):
            return True
        one, other = self._rare_in(old), self._rare_in(new)
        return not (one <= other or other <= one)

    # --- words ----------------------------------------------------------------------------------

    def _look_up(self, terms: Collection[Sought]) -> None:
        unknown = [one for one in terms if one not in self._frequencies]
        if unknown:
            found = self._index.candidates(self._scope, unknown, limit=0)
            self._frequencies |= dict(zip(unknown, found.frequencies, strict=True))
            self._total = found.pages

    def _few(self, terms: Collection[Sought]) -> set[Sought]:
        """The terms that few pages have."""
        self._look_up(terms)
        return {term for term in terms if self._frequencies[term] <= RARE_MAX}

    def _rare_in(self, row: PageRow) -> Words:
        """The rare words of a page."""
        if row.page_id not in self._rare:
            self._rare[row.page_id] = frozenset(self._few(self._telling(row)))
        return self._rare[row.page_id]

    def _bonds(self, terms: Collection[Sought]) -> set[Sought]:
        """Rare terms that occur in more than one page."""
        return {term for term in self._few(terms) if self._frequencies[term] > 1}

    def _worth(self, term: Sought) -> float:
        """The rarity of a term already looked up, relative to one in a single page."""
        if term not in self._worths:
            frequency = self._frequencies[term]
            self._worths[term] = rarity(self._total, frequency) / rarity(self._total, 1)
        return self._worths[term]

    def _weight(self, terms: Iterable[Sought]) -> float:
        return sum(map(self._worth, terms))

    # --- pages ----------------------------------------------------------------------------------

    def _telling(self, row: PageRow) -> Words:
        """The words of a page, in all languages of the scope."""
        text = self._analyzed_of(row)
        return Words() if text is None else text.telling_in(self._languages)

    def _analyzed_of(self, row: PageRow) -> AnalyzedText | None:
        """The words of a page; None if it cannot be read."""
        if row.page_id not in self._analyzed:
            page = self._reading.page(row)
            text = None if page is None else self._reading.analyzed(page)
            self._analyzed[row.page_id] = text
        return self._analyzed[row.page_id]

    def _tells(self, row: PageRow) -> Words:
        """The page's words, with the question's words in the page it takes up."""
        asked = self._takes_up.get(row.page_id)
        return self._telling(row) | (self._telling(asked) & self._asked if asked else frozenset())

    def _details(self, row: PageRow) -> frozenset[str]:
        """The names, numbers and negations in a page."""
        text = self._analyzed_of(row)
        return frozenset() if text is None else text.details

    def _is_persons(self, row: PageRow) -> bool:
        """Whether a user said it, or a named speaker."""
        page = self._reading.page(row)
        return row.role is Role.USER or (page is not None and bool(page.speaker))

    def _asks(self, row: PageRow) -> bool:
        """Whether it only asks, or cannot be read."""
        text = self._analyzed_of(row)
        return text is None or text.only_asks

    def _asks_at_all(self, row: PageRow) -> bool:
        page = self._reading.page(row)
        return page is not None and has_question_mark(page.text)


def _beside(later: Sequence[tuple[PageId, PageRow]]) -> Sequence[tuple[PageId, PageRow]]:
    """Those that stand beside the page they are about: the one said last, if there is any."""
    return sorted(later, key=lambda one: one[1].order)[-1:]


def _spelled(word: Sought) -> tuple[str, ...]:
    """The sort key of words."""
    return (word,) if isinstance(word, str) else word
