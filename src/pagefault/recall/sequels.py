"""What came of a page: the answer that takes it up, and what was said later of the same thing.

A search finds pages by the words of a question. What was settled need not have them: *which
queue?* – *NATS or RabbitMQ.* – *NATS, then.*; and a change of mind may call the thing by what was
chosen for it before: *NATS fell over last night, RabbitMQ does it now.* Both have a word that few
pages have, and it stands in a page that was found. So from the pages that lead, two steps go on:

 - **Taken up.** A user's next message, if it is short and has a rare word of what was replied, or
   of the page itself where that was a reply, belongs to them.
 - **Later.** What was said later by a person, with a rare word that a leading page adds to the
   question, may change what stands there.

Of two pages that were found and tell of the same, the later is `newer`: they share a rare word,
and each names something that the other does not, or one of them is denied. That says only what is
so, that one was said after the other; whether it holds instead is for the reader to say.

Nothing here knows a phrase of any language. A rare word is one of few pages of this conversation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Final

from pagefault.language.analyzer import is_telling, query_words
from pagefault.language.sought import Sought
from pagefault.model.ids import PageId
from pagefault.model.kinds import Role
from pagefault.model.page import PageRow, Scope
from pagefault.recall.novelty import SHORT_TOKENS, telling
from pagefault.recall.reading import PagesAt, Reading
from pagefault.store.api import PageIndex
from pagefault.store.likely import rarity
from pagefault.store.likeness import told_by
from pagefault.store.place import place_in

# Chosen on phrasings of the north star: docs/decisions/065 and 096 have the figures, and those of
# phrasings that were written afterwards.
LEADING: Final = 5  # pages whose sequels are looked for
REACH: Final = 4  # pages after it, in which one is taken up
RARE_MAX: Final = 8  # pages with a term: one of more pages ties nothing together
LATER_MAX: Final = 4  # pages that were said later
STRETCHES_MAX: Final = 100
COMPARED_MAX: Final = 24  # pages of which it is told which are newer
BEARING: Final = 0.45  # of the best page's bearing on the question: so much is about the same
LEAST: Final = 0.1  # of a rare word: what a page has of a question by other words than its own
NAMED_MAX: Final = 3  # pages that one is newer than


Words = frozenset[Sought]


class Sequels:
    """Of the pages that one question finds. Reads the index and pages: not for an event loop."""

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
        self._terms: dict[PageId, Words] = {}
        self._told: dict[PageId, frozenset[str]] = {}
        self._takes_up: dict[PageId, PageRow] = {}
        self._frequencies: dict[Sought, int] = {}
        self._worths: dict[Sought, float] = {}
        self._rare: dict[PageId, Words] = {}
        self._total = 0  # pages in scope, once a term was looked up

    def with_sequels(self, found: Sequence[PageRow], leading: Sequence[PageRow]) -> list[PageRow]:
        """What was found, best first, each page that leads with what takes it up and what was said
        later of either.
        """
        lead = leading[:LEADING]
        sequels = {row.page_id: self.taken_up(row) for row in lead}
        from_lead = {row.page_id: row.page_id for row in lead}
        from_lead |= {one.page_id: lead for lead, rows in sequels.items() for one in rows}
        for of, one in self.later([*lead, *(row for rows in sequels.values() for row in rows)]):
            sequels[from_lead[of]].append(one)
        ordered: dict[PageId, PageRow] = {}
        for row in found:
            for one in (row, *sequels.get(row.page_id, ())):
                ordered.setdefault(one.page_id, one)
        return list(ordered.values())

    def taken_up(self, row: PageRow) -> list[PageRow]:
        """The user's next message, if it takes this page up, or what was replied to it."""
        place = place_in(self._scope, row)
        after = self._pages.rows(range(place + 1, place + 1 + REACH))
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

    def later(self, rows: Sequence[PageRow]) -> list[tuple[PageId, PageRow]]:
        """What people said after one of these that has a rare word of it, and which that is. Most
        such words come first, each as much as that one has of the question: by chance any page
        shares a number with some.
        """
        adds = {row.page_id: self._telling(row) - self._asked for row in rows}
        rare = sorted(self._bonds(Words().union(*adds.values())), key=_spelled)
        if not rare:
            return []
        found = self._index.candidates(self._scope, rare, limit=STRETCHES_MAX, count_max=1)
        candidates = self._pages.rows(found.places.tolist())
        has = dict(zip(found.places.tolist(), (found.counts > 0).tolist(), strict=True))
        told: dict[int, float] = {}  # how much each has of the page that it shares most with
        source: dict[int, PageId] = {}  # which that is
        tells = {row.page_id: self._tells(row) & self._asked for row in rows}
        self._look_up(Words().union(*tells.values()))
        for row in rows:
            place = place_in(self._scope, row)
            bears = max(self._weight(tells[row.page_id]), LEAST)
            worth = [bears * self._worth(one) if one in adds[row.page_id] else 0.0 for one in rare]
            for at in candidates:
                if at > place:
                    much = sum(w for w, there in zip(worth, has[at], strict=True) if there)
                    if much > told.get(at, 0.0):
                        told[at], source[at] = much, row.page_id
        known = {row.page_id for row in rows}
        chosen = (
            (source[at], candidates[at])
            for at in sorted(told, key=lambda at: (-told[at], -at))
            if candidates[at].page_id not in known
            and self._is_persons(candidates[at])
            and not self._asks(candidates[at])
        )
        return list(islice(chosen, LATER_MAX))

    def newer(self, rows: Sequence[PageRow]) -> dict[PageId, tuple[PageId, ...]]:
        """Which of these pages (best first) others of them are newer than: the ids of those, the
        last said first.
        """
        told = [row for row in rows[:COMPARED_MAX] if not self._asks(row)]
        asked = {row.page_id: self._tells(row) & self._asked for row in told}
        self._look_up(Words().union(*asked.values()))
        bears = {page_id: self._weight(some) for page_id, some in asked.items()}
        # What asks may be this question, asked before: it has more of it than any answer.
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
        """Whether both have a rare word that the question has not."""
        return bool(self._bonds((self._telling(old) & self._telling(new)) - self._asked))

    def _differ(self, old: PageRow, new: PageRow) -> bool:
        """Whether one names, counts or denies what the other does not, or they have rare words of
        their own: else they say the same.
        """
        if self._details(old) != self._details(new):
            return True
        one, other = self._rare_in(old), self._rare_in(new)
        return not (one <= other or other <= one)

    # --- words ----------------------------------------------------------------------------------

    def _look_up(self, terms: Collection[Sought]) -> None:
        unknown = sorted((one for one in terms if one not in self._frequencies), key=_spelled)
        if unknown:
            found = self._index.candidates(self._scope, unknown, limit=0)
            self._frequencies |= dict(zip(unknown, found.frequencies, strict=True))
            self._total = found.pages

    def _few(self, terms: Collection[Sought]) -> set[Sought]:
        """Those of these terms that few pages have."""
        self._look_up(terms)
        return {term for term in terms if self._frequencies[term] <= RARE_MAX}

    def _rare_in(self, row: PageRow) -> Words:
        """What a page tells that few pages have."""
        if row.page_id not in self._rare:
            self._rare[row.page_id] = frozenset(self._few(self._telling(row)))
        return self._rare[row.page_id]

    def _bonds(self, terms: Collection[Sought]) -> set[Sought]:
        """Those that few pages have, and not one alone."""
        return {term for term in self._few(terms) if self._frequencies[term] > 1}

    def _worth(self, term: Sought) -> float:
        """How rare a term is that was looked up, of what stands in one page alone."""
        if term not in self._worths:
            frequency = self._frequencies[term]
            self._worths[term] = rarity(self._total, frequency) / rarity(self._total, 1)
        return self._worths[term]

    def _weight(self, terms: Iterable[Sought]) -> float:
        return sum(map(self._worth, terms))

    # --- pages ----------------------------------------------------------------------------------

    def _telling(self, row: PageRow) -> Words:
        """The words of a page, each in all languages of the scope: what a short text says need not
        tell which it is in, and its words are those of a longer one that does.
        """
        if row.page_id not in self._terms:
            page = self._reading.page(row)
            self._terms[row.page_id] = self._words(page.text) if page is not None else Words()
        return self._terms[row.page_id]

    def _words(self, text: str) -> Words:
        if not self._languages:  # where only one is spoken, each word is one, for half the work
            return Words(telling(text))
        return Words(query_words(text, self._languages)) if is_telling(text) else Words()

    def _tells(self, row: PageRow) -> Words:
        """What it tells, and what of the question stands in the page that it takes up."""
        asked = self._takes_up.get(row.page_id)
        return self._telling(row) | (self._telling(asked) & self._asked if asked else frozenset())

    def _details(self, row: PageRow) -> frozenset[str]:
        """The names, numbers and negations in a page."""
        if row.page_id not in self._told:
            page = self._reading.page(row)
            pieces = page.text.split() if page is not None else ()
            self._told[row.page_id] = frozenset(filter(None, map(told_by, pieces)))
        return self._told[row.page_id]

    def _is_persons(self, row: PageRow) -> bool:
        """Whether a user said it, or somebody with a name."""
        page = self._reading.page(row)
        return row.role is Role.USER or (page is not None and bool(page.speaker))

    def _asks(self, row: PageRow) -> bool:
        """Whether it asks and tells nothing, or cannot be read."""
        page = self._reading.page(row)
        return page is None or only_asks(page.text)

    def _asks_at_all(self, row: PageRow) -> bool:
        page = self._reading.page(row)
        return page is not None and not _QUESTION_MARKS.isdisjoint(page.text)


def _spelled(word: Sought) -> tuple[str, ...]:
    """By which words are sorted."""
    return (word,) if isinstance(word, str) else word


def only_asks(text: str) -> bool:
    """Whether every sentence ends with a question mark."""
    sentences = [one for one in _END.split(text.strip()) if any(map(str.isalnum, one))]
    return all(one[-1] in _QUESTION_MARKS for one in sentences)


_QUESTION_MARKS: Final = frozenset("?？؟՞፧꘏⁇⁈⁉")
_END: Final = re.compile(rf"(?<=[.!…।]) |(?<=[{''.join(sorted(_QUESTION_MARKS))}。！])\s*|\n+")
