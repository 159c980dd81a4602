"""Where the terms of a query stand, read from SQLite's full-text index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Final

import apsw
import numpy as np

from pagefault.store.likely import Numbers
from pagefault.store.place import Span
from pagefault.store.sql import Queries
from pagefault.store.tokens import COUNT_MAX, token

_SQL: Final = Queries("index.sql")


class SqlitePostings:
    """`Postings` of some terms in some spans, at one moment of the file.

    Places are told by their distance from their span's origin. Each list is read by one statement
    that returns one value, during which the interpreter's lock is free.
    """

    def __init__(
        self, db: apsw.Connection, spans: Sequence[Span], terms: Sequence[str], *, is_all: bool
    ) -> None:
        """`is_all` says that the spans hold every page there is."""
        self._db = db
        self._spans = spans
        self._terms = terms
        self._is_all = is_all
        self._fresh: dict[str, list[int]] = defaultdict(list)
        wanted = {token(term, n) for term in terms for n in range(1, COUNT_MAX + 1)}
        for span in spans:
            for place, text in _SQL.rows(db, "fresh", span.origin, span.first, span.last):
                for word in wanted.intersection(text.split(" ")):
                    self._fresh[word].append(place)

    def size(self, term: int, count: int) -> int:
        word = token(self._terms[term], count)
        return self._stored(word) + len(self._fresh.get(word, ()))

    def places(self, term: int, count: int) -> Numbers:
        word = token(self._terms[term], count)
        return self._matching(_quoted(word), word)

    def beside(self, term: int, count: int, others: Collection[tuple[int, int]]) -> Numbers:
        word = token(self._terms[term], count)
        beside = " OR ".join(_quoted(token(self._terms[t], n)) for t, n in others)
        return self._matching(f"({beside}) AND {_quoted(word)}", word)

    def _stored(self, word: str) -> int:
        if self._is_all:
            row = _SQL.first(self._db, "count_term", word)
            return 0 if row is None else int(row[0])
        return sum(
            count
            for span in self._spans
            for (count,) in _SQL.rows(
                self._db, "count_posting", _quoted(word), span.first, span.last
            )
        )

    def _matching(self, expression: str, word: str) -> Numbers:
        """Where the expression matches, and where its last word waits to be indexed."""
        found = [
            _numbers(text)
            for span in self._spans
            for (text,) in _SQL.rows(
                self._db, "posting", expression, span.origin, span.first, span.last
            )
        ]
        waiting = self._fresh.get(word)
        if len(found) == 1 and not waiting:
            return found[0]
        return np.unique(np.concatenate([*found, np.array(waiting or (), dtype=np.int64)]))


def _numbers(text: str) -> Numbers:
    """A JSON array of whole numbers."""
    inner = text[1:-1]
    if not inner:
        return np.empty(0, dtype=np.int64)
    return np.fromstring(inner, dtype=np.int64, sep=",")


def _quoted(word: str) -> str:
    return f'"{word}"'
