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

from pagefault.language.analyzer import query_terms
from pagefault.model.ids import PageId
from pagefault.model.kinds import Role
from pagefault.model.page import PageRow, Scope
from pagefault.recall.novelty import SHORT_TOKENS, telling
from pagefault.recall.reading import PagesAt, Reading
from pagefault.store.api import PageIndex
from pagefault.store.likely import rarity
from pagefault.store.likeness import told_by
from pagefault.store.place import place_in

# Chosen on two of the north star's phrasings, `script` and `talk`. Of `club`, written later by the
# same hand, .91 of the sources are visible: docs/decisions/065 has the figures.
LEADING: Final = 5  # pages whose sequels are looked for
REACH: Final = 4  # pages after it, in which one is taken up
RARE_MAX: Final = 8  # pages with a term: one of more pages ties nothing together
LATER_MAX: Final = 4  # pages that were said later
STRETCHES_MAX: Final = 100
COMPARED_MAX: Final = 24  # pages of which it is told which are newer
BEARING: Final = 0.45  # of the best page's bearing on the question: so much is about the same
NAMED_MAX: Final = 3  # pages that one is newer than


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
        self._asked = frozenset(query_terms(query, languages))
        self._pages = PagesAt(index, scope)
        self._terms: dict[PageId, frozenset[str]] = {}
        self._told: dict[PageId, frozenset[str]] = {}
        self._named: dict[PageId, frozenset[str]] = {}
        self._takes_up: dict[PageId, PageRow] = {}
        self._frequencies: dict[str, int] = {}
        self._worths: dict[str, float] = {}
        self._rare: dict[PageId, frozenset[str]] = {}
        self._total = 0  # pages in scope, once a term was looked up

    def with_sequels(self, found: Sequence[PageRow], leading: Sequence[PageRow]) -> list[PageRow]:
        """What was found, best first, each page that leads with what takes it up, and after them
        what was said later.
        """
        lead = leading[:LEADING]
        taken = {row.page_id: self.taken_up(row) for row in lead}
        whole = [*lead, *(row for rows in taken.values() for row in rows)]
        later = self.later(whole)
        ordered: dict[PageId, PageRow] = {}
        left = len(lead)
        for row in found:
            for one in (row, *taken.get(row.page_id, ())):
                ordered.setdefault(one.page_id, one)
            if row.page_id in taken:
                left -= 1
                if not left:
                    ordered |= {one.page_id: one for one in later if one.page_id not in ordered}
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
                said = frozenset[str]().union(*map(self._telling, replied))
                known = self._asked if replied[0] is row else self._telling(row)
                if not self._bonds((self._telling(one) & said) - known):
                    break
                self._takes_up[one.page_id] = row
                return [one]
        return []

    def later(self, rows: Sequence[PageRow]) -> list[PageRow]:
        """What people said after one of these that has a rare word of it, most such words first."""
        adds = {row.page_id: self._telling(row) - self._asked for row in rows}
        rare = sorted(self._bonds(frozenset[str]().union(*adds.values())))
        if not rare:
            return []
        found = self._index.candidates(self._scope, rare, limit=STRETCHES_MAX, count_max=1)
        candidates = self._pages.rows(found.places.tolist())
        has = dict(zip(found.places.tolist(), (found.counts > 0).tolist(), strict=True))
        told: dict[int, float] = {}  # how much each has of the page that it shares most with
        for row in rows:
            place = place_in(self._scope, row)
            worth = [self._worth(term) if term in adds[row.page_id] else 0.0 for term in rare]
            for at in candidates:
                if at > place:
                    much = sum(w for w, there in zip(worth, has[at], strict=True) if there)
                    told[at] = max(much, told.get(at, 0.0))
        known = {row.page_id for row in rows}
        best = sorted((at for at in told if told[at]), key=lambda at: (-told[at], -at))
        chosen = (
            row
            for row in map(candidates.__getitem__, best)
            if row.page_id not in known and self._is_persons(row) and not self._asks(row)
        )
        return list(islice(chosen, LATER_MAX))

    def newer(self, rows: Sequence[PageRow]) -> dict[PageId, tuple[PageId, ...]]:
        """Which of these pages (best first) others of them are newer than: the ids of those, the
        last said first.
        """
        told = [row for row in rows[:COMPARED_MAX] if not self._asks(row)]
        asked = {row.page_id: self._tells(row) & self._asked for row in told}
        self._look_up(frozenset[str]().union(*asked.values()))
        bears = {page_id: self._weight(some) for page_id, some in asked.items()}
        least = BEARING * max(bears.values(), default=0.0)
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
        """Whether both have a rare word that the question has not, which one of them writes as a
        name, or several such words.
        """
        bonds = self._bonds((self._telling(old) & self._telling(new)) - self._asked)
        return len(bonds) > 1 or any(not bonds.isdisjoint(self._names(one)) for one in (old, new))

    def _differ(self, old: PageRow, new: PageRow) -> bool:
        """Whether one names, counts or denies what the other does not, or they have rare words of
        their own: else they say the same.
        """
        if self._details(old) != self._details(new):
            return True
        one, other = self._rare_in(old), self._rare_in(new)
        return not (one <= other or other <= one)

    # --- words ----------------------------------------------------------------------------------

    def _look_up(self, terms: Collection[str]) -> None:
        unknown = sorted(term for term in terms if term not in self._frequencies)
        if unknown:
            found = self._index.candidates(self._scope, unknown, limit=0)
            self._frequencies |= dict(zip(unknown, found.frequencies, strict=True))
            self._total = found.pages

    def _few(self, terms: Collection[str]) -> set[str]:
        """Those of these terms that few pages have."""
        self._look_up(terms)
        return {term for term in terms if self._frequencies[term] <= RARE_MAX}

    def _rare_in(self, row: PageRow) -> frozenset[str]:
        """What a page tells that few pages have."""
        if row.page_id not in self._rare:
            self._rare[row.page_id] = frozenset(self._few(self._telling(row)))
        return self._rare[row.page_id]

    def _bonds(self, terms: Collection[str]) -> set[str]:
        """Those that few pages have, and not one alone."""
        return {term for term in self._few(terms) if self._frequencies[term] > 1}

    def _worth(self, term: str) -> float:
        """How rare a term is that was looked up, of what stands in one page alone."""
        if term not in self._worths:
            frequency = self._frequencies[term]
            self._worths[term] = rarity(self._total, frequency) / rarity(self._total, 1)
        return self._worths[term]

    def _weight(self, terms: Iterable[str]) -> float:
        return sum(map(self._worth, terms))

    # --- pages ----------------------------------------------------------------------------------

    def _telling(self, row: PageRow) -> frozenset[str]:
        if row.page_id not in self._terms:
            page = self._reading.page(row)
            self._terms[row.page_id] = telling(page.text) if page is not None else frozenset()
        return self._terms[row.page_id]

    def _tells(self, row: PageRow) -> frozenset[str]:
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

    def _names(self, row: PageRow) -> frozenset[str]:
        """The terms of these."""
        if row.page_id not in self._named:
            self._named[row.page_id] = frozenset(query_terms(" ".join(self._details(row))))
        return self._named[row.page_id]

    def _is_persons(self, row: PageRow) -> bool:
        """Whether a user said it, or somebody with a name."""
        page = self._reading.page(row)
        return row.role is Role.USER or (page is not None and bool(page.speaker))

    def _asks(self, row: PageRow) -> bool:
        """Whether it asks and tells nothing, or cannot be read."""
        page = self._reading.page(row)
        return page is None or only_asks(page.text)


def only_asks(text: str) -> bool:
    """Whether every sentence ends with a question mark."""
    sentences = [one for one in _END.split(text.strip()) if any(map(str.isalnum, one))]
    return all(one[-1] in _QUESTION_MARKS for one in sentences)


_QUESTION_MARKS: Final = frozenset("?？؟՞፧꘏⁇⁈⁉")
_END: Final = re.compile(rf"(?<=[.!…।]) |(?<=[{''.join(sorted(_QUESTION_MARKS))}。！])\s*|\n+")
