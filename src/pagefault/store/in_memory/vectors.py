"""Vectors of pages in lists, for memories that leave nothing on disk."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pagefault.model.ids import NOTHING, Seq, SessionNo
from pagefault.model.page import Scope
from pagefault.store.api import Nearest
from pagefault.store.place import Span, said_span, session_span, spans_with_vectors
from pagefault.store.vector_cache import VectorCache, merged


class _Row(NamedTuple):
    place: int
    seq: int
    vector: bytes


class MemoryVectors:
    """A `VectorStore`."""

    def __init__(self, forgotten: Seq = NOTHING) -> None:
        self._lock = threading.RLock()
        self._forgotten = forgotten
        self._rows: dict[str, list[_Row]] = {}  # by embedder, in the order of `put`
        self._caches: dict[tuple[str, Span], tuple[VectorCache, dict[int, bytes]]] = {}

    def forgotten(self) -> Seq:
        return self._forgotten

    def last_order(self, embedder: str, session: SessionNo) -> int:
        first, last, origin = said_span(session)
        with self._lock:
            places = [row.place for row in self._rows.get(embedder, ())]
        return max((place - origin for place in places if first <= place <= last), default=-1)

    def put(
        self,
        embedder: str,
        pages: Sequence[tuple[int, Seq]],
        vectors: NDArray[np.float32],
        *,
        forgotten: Seq,
    ) -> bool:
        with self._lock:
            if self._forgotten != forgotten:
                return False
            self._rows.setdefault(embedder, []).extend(
                _Row(place, seq, vector.tobytes())
                for (place, seq), vector in zip(pages, vectors.astype("<f2"), strict=True)
            )
            return True

    def forget(self, begun: Seq, seqs: Collection[Seq], sessions: Collection[SessionNo]) -> None:
        gone = frozenset(seqs)
        spans = [session_span(session) for session in sessions]
        with self._lock:
            self._forgotten = max(begun, self._forgotten)
            self._caches.clear()
            for embedder, rows in self._rows.items():
                self._rows[embedder] = [
                    row
                    for row in rows
                    if row.seq not in gone
                    and not any(span.first <= row.place <= span.last for span in spans)
                ]

    def keep_only(self, embedder: str) -> None:
        with self._lock:
            self._rows = {name: rows for name, rows in self._rows.items() if name == embedder}
            self._caches.clear()

    def counts(self) -> dict[str, int]:
        with self._lock:
            return {embedder: len(rows) for embedder, rows in self._rows.items()}

    def places(self) -> frozenset[int]:
        with self._lock:
            return frozenset(row.place for rows in self._rows.values() for row in rows)

    def nearest(
        self,
        embedder: str,
        scope: Scope,
        query: NDArray[np.float32],
        *,
        limit: int,
        only: NDArray[np.int64] | None = None,
    ) -> Nearest:
        found = []
        with self._lock:
            for span, upto in spans_with_vectors(scope):
                cache, held = self._cache(embedder, span)
                wanted = None if only is None else only + span.origin
                read = partial(_read, held)
                places, alike = cache.nearest(query, upto, limit, read, wanted)
                found.append((places - span.origin, alike))
        return merged(found, limit, only)

    def _cache(self, embedder: str, span: Span) -> tuple[VectorCache, dict[int, bytes]]:
        """The vectors of a span, including those put since the cache was filled; and by place."""
        cache, held = self._caches.setdefault((embedder, span), (VectorCache(), {}))
        rows = self._rows.get(embedder, [])
        later = [row for row in rows[cache.last + 1 :] if span.first <= row.place <= span.last]
        cache.add(later, len(rows) - 1)
        held.update((row.place, row.vector) for row in later)
        return cache, held

    def check(self) -> list[str]:
        return []

    def close(self) -> None: ...


def _read(held: dict[int, bytes], places: Sequence[int]) -> list[tuple[int, bytes]]:
    return [(place, held[place]) for place in places]


class MemoryVectorPlace:
    """The `VectorPlace` of one opening, which is not shared."""

    def find(self, *, read_only: bool) -> None:
        return None

    def make(self, forgotten: Seq) -> MemoryVectors:
        return MemoryVectors(forgotten)

    def drop(self) -> None: ...

    def take_turn(self) -> bool:
        return True

    def end_turn(self) -> None: ...
