"""Where the terms of a query stand, read from SQLite's full-text index."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from threading import Lock
from typing import Final

import apsw
import numpy as np

from pagefault.store.likely import Numbers, distinct
from pagefault.store.place import Span
from pagefault.store.sql import Queries
from pagefault.store.tokens import COUNT_MAX, token

_SQL: Final = Queries("index.sql")
_REMEMBERED_MIN: Final = 1_000  # places of a list that is worth remembering
_REMEMBERED_MAX: Final = 1_000_000  # places in all: 8 MB


class ListCache:
    """Long lists, the latest used: common words come again and again. Safe from several threads.

    Invariant: what it holds was read at one edition of the full-text index.
    """

    def __init__(self) -> None:
        self._edition = -1
        self._lists: OrderedDict[tuple[str, Span], Numbers] = OrderedDict()
        self._places = 0
        self._lock = Lock()

    def get(self, edition: int, word: str, span: Span) -> Numbers | None:
        with self._lock:
            if edition != self._edition:
                return None
            found = self._lists.get((word, span))
            if found is not None:
                self._lists.move_to_end((word, span))
            return found

    def put(self, edition: int, word: str, span: Span, places: Numbers) -> None:
        if not _REMEMBERED_MIN <= len(places) <= _REMEMBERED_MAX // 4:
            return
        with self._lock:
            if edition != self._edition:
                self._lists.clear()
                self._edition, self._places = edition, 0
            if (word, span) not in self._lists:
                self._lists[word, span] = places
                self._places += len(places)
            while self._places > _REMEMBERED_MAX:
                _, oldest = self._lists.popitem(last=False)
                self._places -= len(oldest)


class SqlitePostings:
    """The lists of some terms in some spans, at one moment of the file.

    Places are told by their distance from their span's origin, and ascend. Each list is read by one
    statement that returns one value, during which the interpreter's lock is free.
    """

    def __init__(
        self,
        db: apsw.Connection,
        spans: Sequence[Span],
        terms: Sequence[str],
        cache: ListCache,
    ) -> None:
        self._db = db
        self._spans = spans
        self._cache = cache
        [(self._edition,)] = _SQL.rows(db, "meta", "edition")
        self._fresh: dict[str, list[int]] = defaultdict(list)
        wanted = {token(term, n) for term in terms for n in range(1, COUNT_MAX + 1)}
        for span in spans:
            for place, text in _SQL.rows(db, "fresh", span.origin, span.first, span.last):
                for word in wanted.intersection(text.split(" ")):
                    self._fresh[word].append(place)

    def places(self, term: str, count: int) -> Numbers:
        """Where the term stands at least so often."""
        word = token(term, count)
        found = [self._stored(word, span) for span in self._spans]
        waiting = self._fresh.get(word)
        if len(found) == 1 and not waiting:
            return found[0]
        return distinct(np.concatenate([*found, np.array(waiting or (), dtype=np.int64)]))

    def _stored(self, word: str, span: Span) -> Numbers:
        places = self._cache.get(self._edition, word, span)
        if places is None:
            [(text,)] = _SQL.rows(
                self._db, "posting", f'"{word}"', span.origin, span.first, span.last
            )
            places = _numbers(text)
            self._cache.put(self._edition, word, span, places)
        return places


def _numbers(text: str) -> Numbers:
    """A JSON array of whole numbers."""
    inner = text[1:-1]
    if not inner:
        return np.empty(0, dtype=np.int64)
    return np.fromstring(inner, dtype=np.int64, sep=",")
