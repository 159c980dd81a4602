"""Postings of query terms, read from SQLite's full-text index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import apsw
import numpy as np

from pagefault.language.sought import beginning
from pagefault.model.ids import SessionNo
from pagefault.store.embedded.doclists import Doclists
from pagefault.store.embedded.postings_cache import PostingsCache, SessionPostings
from pagefault.store.embedded.sql import Queries
from pagefault.store.likely import Numbers, distinct
from pagefault.store.place import ALL, ORDER_BITS, Span, said_span
from pagefault.store.precedence import give_way
from pagefault.store.tokens import token

_SQL: Final = Queries("index.sql")
SPANS_MAX: Final = 8  # up to which a word is looked up span by span
_NOWHERE: Final = np.empty(0, dtype=np.int64)


class SqlitePostings:
    """The postings of terms in some spans, from one snapshot of the file, each read once.

    Places are relative to their span's origin, ascending. A long list of a whole term is read from
    the leaves of the index. Any other is read by one statement that returns one value, and releases
    the GIL meanwhile; that of a session's transcript is cached for later snapshots.
    """

    def __init__(self, db: apsw.Connection, spans: Sequence[Span], cache: PostingsCache) -> None:
        self._db = db
        self._spans = spans
        self._doclists = Doclists(db)
        self._lists: dict[str, Numbers] = {}
        self._fresh: dict[Span, tuple[list[tuple[int, str]], str]] = {}  # one by one, and joined
        self._parts: list[tuple[Span, Span, SessionPostings | None]] = []
        """Each span, the span of its session to read from the file, and that session's lists if
        they are cached, which have the rest of it.
        """
        if len(spans) <= SPANS_MAX or any(span.origin for span in spans):
            [(applied, erased)] = _SQL.rows(db, "applied_and_erased")
            for span in spans:
                session = SessionNo(span.first >> ORDER_BITS)
                whole, lists = said_span(session), None
                if span.first == whole.first and span != ALL:
                    end = span.last + 1 - span.first
                    lists = cache.of(session, end=end, applied=applied, erased=erased)
                if lists is not None:
                    whole = whole._replace(last=whole.first + lists.begins() - 1)
                self._parts.append((span, whole, lists))

    def places(self, term: str, count: int) -> Numbers:
        """Places where the term occurs at least `count` times. If it is a prefix, places of any
        word with that prefix, which counts once.
        """
        begins = beginning(term)
        if begins and count > 1:
            return _NOWHERE
        word = token(term, count)
        if word not in self._lists:
            give_way()
            found = self._found(word)
            self._lists[word] = found[0] if len(found) == 1 else distinct(np.concatenate(found))
        return self._lists[word]

    def frequencies(self, any_of: Sequence[Sequence[str]]) -> tuple[int, ...]:
        """In how many places any of the terms of each group occurs."""
        counts: Sequence[int | None] = [None] * len(any_of)
        if len(self._parts) == 1 and (lists := self._parts[0][2]) is not None:
            # No list is cached for the empty word, as none is for several terms together.
            counts = lists.counts([terms[0] if len(terms) == 1 else "" for terms in any_of])
        return tuple(
            len(self.places_of_any(terms, 1)) if count is None else count
            for terms, count in zip(any_of, counts, strict=True)
        )

    def places_of_any(self, terms: Sequence[str], count: int) -> Numbers:
        """Places where any of the terms occurs at least `count` times."""
        if len(terms) == 1:
            return self.places(terms[0], count)
        return distinct(np.concatenate([self.places(term, count) for term in terms]))

    def _found(self, word: str) -> list[Numbers]:
        """A word's list in each span. If many spans share an origin, its whole list is read once,
        as a statement for each of hundreds takes longer.
        """
        if not self._parts:
            return [within(self._read(word, ALL), self._spans)]
        found = []
        for span, whole, lists in self._parts:
            if lists is None:
                found.append(self._read(word, span))
                continue
            orders = lists.find(word)
            if orders is None:
                orders = lists.keep(word, self._read(word, whole))
            found.append(orders if span.origin else orders + whole.first)
        return found

    def _read(self, word: str, span: Span) -> Numbers:
        """A word's list in a span, with the pages that wait to enter the full-text index."""
        begins = beginning(word)
        if span not in self._fresh:
            rows = _SQL.rows(self._db, "fresh", span.origin, span.first, span.last)
            # A blank before each word, and one after the last.
            texts = [(place, f" {text} ") for place, text in rows]
            self._fresh[span] = texts, "".join(text for _, text in texts)
        sought = f" {begins}" if begins else f" {word} "
        texts, joined = self._fresh[span]
        fresh = [at for at, text in texts if sought in text] if sought in joined else []
        places = self._doclists.find(word) if span == ALL and not begins else None
        if places is None:
            words = f'"{begins}" *' if begins else f'"{word}"'
            [(text,)] = _SQL.rows(self._db, "posting", words, span.origin, span.first, span.last)
            places = numbers(text)
        return distinct(np.concatenate([places, np.array(fresh, np.int64)])) if fresh else places


def within(places: Numbers, spans: Sequence[Span]) -> Numbers:
    """The places among these, ascending, that are in one of the (disjoint) spans."""
    ordered = sorted(spans)
    first, last = (np.array([one[at] for one in ordered], dtype=np.int64) for at in (0, 1))
    at = np.searchsorted(first, places, side="right") - 1
    return places[(at >= 0) & (places <= last[at])] if ordered else _NOWHERE


def numbers(text: str) -> Numbers:
    """A JSON array of integers."""
    inner = text[1:-1]
    if not inner:
        return np.empty(0, dtype=np.int64)
    return np.fromstring(inner, dtype=np.int64, sep=",")
