"""Many vectors in memory, and nearest-neighbour search in them: exact for few, by signs first for
many.

Of many vectors only the signs of their numbers are kept (32 times smaller), relative to their mean.
Those whose signs differ least from the query's are read from the file and compared exactly. There
is no structure to build, so one more vector costs nothing and a forgotten one leaves nothing.
(Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002.)

Vectors of texts are all alike to some degree, the more so within one conversation. What they share,
their mean and the few directions of largest variance, says nothing about a text's content, and is
removed before every comparison (Mu and Viswanath, "All-but-the-Top", ICLR 2018).

`benchmarks/nearest.py` measures both, and docs/decisions/027-embeddings.md has the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pagefault.store.api import Nearest
from pagefault.store.likely import among

EXACT_MAX: Final = 20_000
"""Vectors that are compared one by one, at a millisecond per thousand and in full size. Above this,
signs take less time, including the reads of the file.
"""

SHORTLIST: Final = 4_000
"""Above that, how many vectors are read and compared exactly."""

SHARED_DIRECTIONS: Final = 3
"""As many as that paper uses for vectors of 300 numbers."""

SHARED_MIN: Final = 64
"""Pages needed to estimate what they share; fewer are compared unchanged."""

SHARED_SAMPLE: Final = 2_048  # of them that are sampled for it

_NOTHING: Final = 1e-4  # anything smaller is rounding error

_ROOM: Final = 1.5  # growth factor of a full array

Places = NDArray[np.int64]
Vectors = NDArray[np.float32]
Signs = NDArray[np.uint64]

Read = Callable[[Sequence[int]], Sequence[tuple[int, bytes]]]
"""The stored vectors of these places, by place."""


class Shared(NamedTuple):
    """What many pages' vectors have in common."""

    mean: Vectors
    directions: Vectors  # orthonormal rows

    @classmethod
    def of(cls, vectors: Vectors) -> Shared:
        """From vectors that carry information, as not all do."""
        telling = vectors[vectors.any(axis=1)].astype(np.float64)
        if len(telling) < SHARED_MIN:
            return cls.nothing(vectors.shape[1])
        mean = telling.mean(axis=0)
        apart = telling - mean
        _, directions = np.linalg.eigh(apart.T @ apart)  # largest variance last
        shared = directions[:, -SHARED_DIRECTIONS:].T
        return cls(mean.astype(np.float32), shared.astype(np.float32))

    @classmethod
    def nothing(cls, width: int) -> Shared:
        return cls(np.zeros(width, np.float32), np.zeros((0, width), np.float32))

    def alike(self, vectors: Vectors, query: Vectors) -> Vectors:
        """The cosine of each with the query, without what is shared; 0 if nothing is left."""
        apart = query - self.mean
        asked = apart - self.directions.T @ (self.directions @ apart)
        lengths = np.einsum("ij,ij->i", vectors, vectors) - 2 * vectors @ self.mean
        lengths += self.mean @ self.mean
        along = vectors @ self.directions.T - self.directions @ self.mean
        lengths -= np.einsum("ij,ij->i", along, along)
        scale = np.sqrt(np.maximum(lengths, 0) * (asked @ asked))
        products = vectors @ asked - self.mean @ asked
        alike = np.zeros(len(vectors), np.float32)
        tells = vectors.any(axis=1) & (scale > _NOTHING)
        np.divide(products, scale, out=alike, where=tells)
        return alike


class VectorCache:
    """The vectors of one span of places, in memory: unchanged while few, as signs once many.

    Invariants: `len(self)` places, as many seqs, and as many vectors or signs; seqs ascend where
    places do.
    """

    def __init__(self, *, exact_max: int = EXACT_MAX, shortlist: int = SHORTLIST) -> None:
        self.last = -1  # identifies where the next addition begins
        self._exact_max = exact_max
        self._shortlist = shortlist
        self._count = 0
        self._width = 0
        self._places: Places = np.empty(0, np.int64)
        self._seqs: Places = np.empty(0, np.int64)
        self._vectors: Vectors = np.empty((0, 0), np.float32)  # while these are few
        self._signs: Signs = np.empty((0, 0), np.uint64)  # once they are many
        self._mean: Vectors = np.empty(0, np.float32)
        self._is_many = False
        self._shared: dict[int, Shared] = {}  # by the number of first pages it was estimated from

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        arrays = (self._places, self._seqs, self._vectors, self._signs)
        return sum(array.nbytes for array in arrays)

    def add(self, rows: Sequence[tuple[int, int, bytes]], last: int) -> None:
        """Add place, seq and stored vector of further pages, in order. An empty vector, or one of
        another length than the first, matches nothing and takes no room.
        """
        self.last = last
        if not self._width:
            self._width = max((len(blob) for _, _, blob in rows), default=0) // 2
            self._vectors = np.empty((0, self._width), np.float32)
        rows = [row for row in rows if len(row[2]) == 2 * self._width and any(row[2])]
        if not rows:
            return
        vectors = self._decoded([blob for _, _, blob in rows])
        before, self._count = self._count, self._count + len(rows)
        self._places = _grown(self._places, before, np.array([p for p, _, _ in rows], np.int64))
        self._seqs = _grown(self._seqs, before, np.array([s for _, s, _ in rows], np.int64))
        if not self._is_many:
            self._vectors = _grown(self._vectors, before, vectors)
            if self._count > self._exact_max:
                whole = self._vectors[: self._count]
                self._is_many, self._mean = True, whole.mean(axis=0)
                self._signs = self._signs_of(whole)
                self._vectors = np.empty((0, self._width), np.float32)
        else:
            self._signs = _grown(self._signs, before, self._signs_of(vectors))

    def nearest(
        self,
        query: Vectors,
        upto: int | None,
        limit: int,
        read: Read,
        only: Places | None = None,
    ) -> tuple[Places, Vectors]:
        """The `limit` places most similar to `query`, of records up to `upto`, and their
        similarity, unordered. With `only` (ascending places), also the `limit` most similar of
        those.

        By signs, those of `only` compete among themselves, so that others do not displace them. All
        are compared exactly if they fit a shortlist.
        """
        count = self._count
        if upto is not None:
            count = int(np.searchsorted(self._seqs[:count], upto, side="right"))
        if not count or len(query) != self._width:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        shared = self._shared_by(count, read)
        places = self._places[:count]
        if not self._is_many:
            similarities = shared.alike(self._vectors[:count], query)
        else:
            differ = self._differing(query, count)
            chosen = _least_of_both(differ, max(self._shortlist, limit), places, only)
            places, vectors = self._read(places[chosen], read)
            similarities = shared.alike(vectors, query)
        best = _least_of_both(-similarities, limit, places, only)
        return places[best], similarities[best]

    def _shared_by(self, count: int, read: Read) -> Shared:
        """What the first pages, at least half of `count`, have in common. It depends on them alone,
        so the same pages always give the same answer.
        """
        size = 1 << (count.bit_length() - 1)
        if size < SHARED_MIN:
            return Shared.nothing(self._width)
        if size not in self._shared:
            sample = np.arange(0, size, max(1, size // SHARED_SAMPLE))
            if self._is_many:
                _, vectors = self._read(self._places[sample], read)
            else:
                vectors = self._vectors[sample]
            self._shared[size] = Shared.of(vectors)
        return self._shared[size]

    def _read(self, places: Places, read: Read) -> tuple[Places, Vectors]:
        found = read(np.sort(places).tolist())
        vectors = self._decoded([blob for _, blob in found])
        return np.array([place for place, _ in found], np.int64), vectors

    def _decoded(self, blobs: Sequence[bytes]) -> Vectors:
        length = 2 * self._width
        fitting = [blob if len(blob) == length else bytes(length) for blob in blobs]
        stored = np.frombuffer(b"".join(fitting), dtype="<f2")
        return stored.reshape(len(blobs), self._width).astype(np.float32)

    def _signs_of(self, vectors: Vectors) -> Signs:
        """A bit per number, set if it is above the mean, packed into words."""
        bits = np.packbits(vectors > self._mean, axis=1)
        padded = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), np.uint8)
        padded[:, : bits.shape[1]] = bits
        return padded.view(np.uint64)

    def _differing(self, query: Vectors, count: int) -> NDArray[np.uint16]:
        """In how many signs each vector differs from the query."""
        asked = self._signs_of(query[None, :])[0]
        differ = np.zeros(count, np.uint16)
        for word in range(len(asked)):
            differ += np.bitwise_count(self._signs[:count, word] ^ asked[word])
        return differ


def merged(
    found: Sequence[tuple[Places, Vectors]], limit: int, only: Places | None = None
) -> Nearest:
    """The best of several caches, best first: see `VectorStore.nearest`."""
    at = np.concatenate([np.empty(0, np.int64), *(places for places, _ in found)])
    similarities = np.concatenate([np.empty(0, np.float32), *(alike for _, alike in found)])
    order = np.lexsort((at, -similarities))
    best = order[: max(limit, 0)]
    if only is not None:
        wanted = order[np.isin(at[order], only)][: max(limit, 0)]
        best = order[np.isin(order, np.append(best, wanted))]
    return Nearest(at[best], similarities[best])


def _grown(array: NDArray[Any], used: int, more: NDArray[Any]) -> NDArray[Any]:
    """The array with `more` after the `used` ones; with spare room, so that adding one at a time
    does not copy everything each time.
    """
    if used + len(more) > len(array):
        larger = np.zeros((int(_ROOM * (used + len(more))) + 1, *more.shape[1:]), more.dtype)
        larger[:used] = array[:used]
        array = larger
    array[used : used + len(more)] = more
    return array


def _least_of_both(
    values: NDArray[Any], limit: int, places: Places, only: Places | None
) -> NDArray[np.int64]:
    """The indexes of the `limit` least, and of the `limit` least at places of `only`, without
    duplicates.
    """
    least = _least(values, limit)
    if only is None:
        return least
    within = np.flatnonzero(among(places, only))
    return np.union1d(least, within[_least(values[within], limit)])


def _least(values: NDArray[Any], limit: int) -> NDArray[np.int64]:
    """The indexes of the `limit` least; ties go to the first."""
    if len(values) <= limit:
        return np.arange(len(values))
    if limit <= 0:
        return np.empty(0, np.int64)
    bound = np.partition(values, limit - 1)[limit - 1]
    below = np.flatnonzero(values < bound)
    equal = np.flatnonzero(values == bound)[: limit - len(below)]
    return np.concatenate([below, equal])
