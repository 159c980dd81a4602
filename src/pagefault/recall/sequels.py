"""What came of a page: the answer that takes it up, and what was said later of the same thing.

A search finds pages by the words of a question. What was settled need not have them: *which queue?*
– *NATS or RabbitMQ.* – *NATS, then.*; and a change of mind may call the thing by what was chosen for
it before: *NATS fell over last night, RabbitMQ does it now.* Both have a word that few pages have,
and it stands in a page that was found. So from the pages that lead, two steps go on:

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

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pagefault.language.analyzer import query_terms
from pagefault.model.ids import PageId
from pagefault.model.kinds import Role
from pagefault.model.page import Page, PageRow, Scope
from pagefault.recall.novelty import SHORT_TOKENS, telling
from pagefault.recall.reading import PagesAt, Reading
from pagefault.store.api import PageIndex
from pagefault.store.likely import rarity
from pagefault.store.place import place_in

LEADING: Final = 5  # pages whose sequels are looked for
REACH: Final = 4  # pages after it, in which one is taken up
RARE_MAX: Final = 8  # pages with a word: what more of them have is no bond
LATER_MAX: Final = 4  # pages that were said later
STRETCHES_MAX: Final = 100


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
        self._rare: dict[str, int] = {}

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
        between = [row] if row.role is Role.ASSISTANT else []
        for one in after.values():
            if one.session != row.session:
                break
            if one.role is Role.USER:
                if not between or one.tokens > SHORT_TOKENS:
                    break
                said = frozenset[str]().union(*map(self._telling, between))
                asked = self._asked if between[0] is row else self._telling(row)
                shared = (self._telling(one) & said) - asked
                return [one] if self._rare_of(shared) and not self._only_asks(one) else []
            if one.role is Role.ASSISTANT:
                between.append(one)
        return []

    def later(self, rows: Sequence[PageRow]) -> list[PageRow]:
        """What people said after one of these that has a rare word of it, most such words first."""
        adds = {row.page_id: self._telling(row) - self._asked for row in rows}
        rare = sorted(self._rare_of(frozenset[str]().union(*adds.values())))
        if not rare:
            return []
        column = {term: at for at, term in enumerate(rare)}
        found = self._index.candidates(self._scope, rare, limit=STRETCHES_MAX, count_max=1)
        worth = {
            term: rarity(found.pages, frequency) / rarity(found.pages, 1)
            for term, frequency in zip(rare, found.frequencies, strict=True)
        }
        candidates = self._pages.rows(found.places.tolist())
        has = dict(zip(found.places.tolist(), (found.counts > 0).tolist(), strict=True))
        told: dict[PageId, tuple[float, int, PageRow]] = {}
        for row in rows:
            mine = [column[term] for term in adds[row.page_id] if term in column]
            place = place_in(self._scope, row)
            for at, one in candidates.items():
                if at <= place or one.role is not Role.USER:
                    continue
                much = sum(worth[rare[c]] for c in mine if has[at][c])
                if much > told.get(one.page_id, (0.0,))[0]:
                    told[one.page_id] = (much, at, one)
        best = sorted(told.values(), key=lambda one: (-one[0], -one[1]))
        known = {row.page_id for row in rows}
        chosen = [
            row for _, _, row in best if row.page_id not in known and not self._only_asks(row)
        ]
        return chosen[:LATER_MAX]

    def _rare_of(self, terms: Collection[str]) -> set[str]:
        """Those of these terms that few pages have, and not one alone."""
        unknown = sorted(term for term in terms if term not in self._rare)
        if unknown:
            found = self._index.candidates(self._scope, unknown, limit=0)
            self._rare |= dict(zip(unknown, found.frequencies, strict=True))
        return {term for term in terms if 1 < self._rare[term] <= RARE_MAX}

    def _telling(self, row: PageRow) -> frozenset[str]:
        if row.page_id not in self._terms:
            page = self._reading.page(row)
            self._terms[row.page_id] = telling(page.text) if page is not None else frozenset()
        return self._terms[row.page_id]

    def _only_asks(self, row: PageRow) -> bool:
        page = self._reading.page(row)
        return page is None or page.text.rstrip()[-1:] in _QUESTION_MARKS


_QUESTION_MARKS: Final = frozenset("?？؟՞፧꘏⁇⁈⁉")
