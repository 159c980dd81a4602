"""The vectors of pages, in a separate file beside the index.

The index is rebuilt whenever its tables change. Embedding a whole memory again may take hours, or
cost money, so vectors are kept apart.

An invariant besides those of `VectorStore`: two rows are compared only if they come from the same
embedder. `pruned` counts how often embedders were dropped, as another may then get their codes:
every cached value belongs to one count.
"""

from __future__ import annotations

import json
import os
import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import apsw

from pagefault.model.errors import StoreBusy, StoreError
from pagefault.model.ids import NOTHING, Seq, SessionNo
from pagefault.model.page import Scope
from pagefault.store.api import Nearest, VectorsUnusable, never
from pagefault.store.embedded.connections import SUFFIXES, Connections, add_checksums
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.files import is_file, open_file
from pagefault.store.embedded.lock import open_to_lock, take
from pagefault.store.embedded.sql import Queries
from pagefault.store.place import ALL, Span, said_span, session_span, spans_with_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pagefault.store.vector_cache import VectorCache

SCHEMA: Final = 2
"""Changes with the tables. No migration: the vectors are recomputed."""

_UNCHECKED: Final = 1
"""The schema of files from before page checksums: its tables are the same."""

VECTOR_CACHES_BYTES_MAX: Final = 256 * 1024 * 1024
"""The size of the vector caches in memory, least recently used out first."""

_SQL: Final = Queries("vectors.sql")


class SqliteVectors:
    """A `VectorStore`. Made by `create` or `open`."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._cache_lock = threading.Lock()
        self._caches: OrderedDict[tuple[int, Span], VectorCache] = OrderedDict()
        self._dropped: tuple[int, ...] = ()  # meta values when the caches were filled
        with connections.bare() as db:
            db.execute(_SQL["secure"])

    @classmethod
    def create(
        cls, path: Path, *, root_id: str, forgotten: Seq = NOTHING, disk: Disk | None = None
    ) -> SqliteVectors:
        """An empty store in a new file. `forgotten` is the last forget so far."""
        os.close(open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        connections = Connections(path, read_only=False, disk=disk)
        with connections.write() as db:
            db.execute(_SQL["schema"])
            for name, value in _facts(root_id).items():
                db.execute(_SQL["set_meta"], (name, value))
            db.execute(_SQL["set_meta"], ("forgotten", forgotten))
        return cls(connections)

    @classmethod
    def open(
        cls, path: Path, *, root_id: str, read_only: bool = False, disk: Disk | None = None
    ) -> SqliteVectors:
        """The store in an existing file. `VectorsUnusable` if it cannot be read, or is not ours."""
        try:
            if not read_only:
                add_checksums(path)  # embedding again may take hours
            connections = Connections(path, read_only=read_only, may_be_unchecked=True, disk=disk)
        except StoreBusy:
            raise
        except StoreError as failure:
            raise VectorsUnusable(f"{failure}") from failure
        try:
            with connections.read() as db:
                facts = {name: _meta(db, name) for name in ("schema", "root_id")}
            is_older = facts["schema"] == _UNCHECKED
            for name, value in _facts(root_id).items():
                if facts[name] != value and not (name == "schema" and is_older):
                    raise VectorsUnusable(f"{path} has {name} {facts[name]!r}, not {value!r}")
            if is_older and not read_only:  # versions without checksums may no longer write here
                with connections.write() as db:
                    db.execute(_SQL["set_meta"], ("schema", SCHEMA))
            return cls(connections)
        except BaseException as error:
            connections.close()
            if isinstance(error, StoreError) and not isinstance(error, StoreBusy):
                raise VectorsUnusable(f"{error}") from error
            raise

    def close(self) -> None:
        self._connections.close()

    def check(self) -> list[str]:
        """The problems that SQLite finds in the file, if any."""
        with self._connections.apart(never) as db:
            return [text for (text,) in db.execute(_SQL["check_file"]) if text != "ok"]

    # --- putting ------------------------------------------------------------------------------

    def forgotten(self) -> Seq:
        """The last forget that was carried out here, as the record that began it."""
        with self._connections.read() as db:
            return Seq(_meta(db, "forgotten"))

    def last_order(self, embedder: str, session: SessionNo) -> int:
        """The order of a session's last page with a vector; -1 if none has one."""
        first, last, origin = said_span(session)
        with self._connections.read() as db:
            row = _SQL.first(db, "last_place", _code(db, embedder), first, last)
        return -1 if row is None or row[0] is None else int(row[0]) - origin

    def put(
        self,
        embedder: str,
        pages: Sequence[tuple[int, Seq]],
        vectors: NDArray[np.float32],
        *,
        forgotten: Seq,
    ) -> bool:
        """Store vectors of the pages (place and record) that follow `last_order`; whether it did.
        It does not if something was forgotten since `forgotten` was read.
        """
        blobs = vectors.astype("<f2")
        with self._connections.write() as db:
            if _meta(db, "forgotten") != forgotten:
                return False
            db.execute(_SQL["add_embedder"], (embedder,))
            code = _code(db, embedder)
            db.executemany(
                _SQL["put"],
                [
                    (code, place, seq, blob.tobytes())
                    for (place, seq), blob in zip(pages, blobs, strict=True)
                ],
            )
        self._connections.checkpoint_if_due()
        return True

    # --- forgetting ---------------------------------------------------------------------------

    def forget(self, begun: Seq, seqs: Collection[Seq], sessions: Collection[SessionNo]) -> None:
        """Drop every byte of these records' vectors, and of these sessions as a whole.

        `begun` is the record that began the forget. Idempotent.
        """
        with self._connections.write() as db:
            db.executemany(_SQL["forget_seq"], ((seq,) for seq in seqs))
            for session in sessions:
                first, last, _ = session_span(session)
                db.execute(_SQL["forget_range"], (first, last))
            db.execute(_SQL["set_meta"], ("forgotten", max(begun, _meta(db, "forgotten"))))
        self._erase()

    def keep_only(self, embedder: str) -> None:
        """Drop the vectors of all other models."""
        with self._connections.write() as db:
            code = _code(db, embedder)
            db.execute(_SQL["forget_others"], (code,))
            db.execute(_SQL["forget_names"], (code,))
            db.execute(_SQL["set_meta"], ("pruned", 1 + (_meta(db, "pruned") or 0)))
        self._erase()

    def _erase(self) -> None:
        with self._connections.bare() as db:
            db.execute(_SQL["vacuum"])
        self._connections.empty_log()
        with self._cache_lock:
            self._caches.clear()

    # --- asking -------------------------------------------------------------------------------

    def counts(self) -> dict[str, int]:
        """The number of vectors of each model."""
        with self._connections.read() as db:
            return dict(_SQL.rows(db, "embedders"))

    def places(self) -> frozenset[int]:
        """Every place with a vector."""
        with self._connections.read() as db:
            return frozenset(place for (place,) in _SQL.rows(db, "places"))

    def nearest(
        self,
        embedder: str,
        scope: Scope,
        query: NDArray[np.float32],
        *,
        limit: int,
        only: NDArray[np.int64] | None = None,
    ) -> Nearest:
        """The `limit` places in scope whose pages are most similar to `query`. Needs their vectors.

        With `only` (ascending places of the scope), also the `limit` most similar ones of those.
        """
        from pagefault.store.vector_cache import merged

        found = []
        with self._cache_lock, self._connections.read() as db:
            code = _code(db, embedder)
            # After either, an embedder's code or a row's number may belong to another.
            dropped = (_meta(db, "forgotten"), _meta(db, "pruned") or 0)
            if dropped != self._dropped:
                self._caches.clear()
                self._dropped = dropped
            for span, upto in spans_with_vectors(scope):
                cache = self._cache(db, code, span)
                wanted = None if only is None else only + span.origin
                places, alike = cache.nearest(
                    query, upto, limit, lambda at: _read(db, code, at), wanted
                )
                found.append((places - span.origin, alike))
        return merged(found, limit, only)

    def _cache(self, db: apsw.Connection, code: int, span: Span) -> VectorCache:
        """The vectors of a span, including those put since the cache was filled."""
        from pagefault.store.vector_cache import VectorCache

        cache = self._caches.setdefault((code, span), VectorCache())
        self._caches.move_to_end((code, span))
        if span == ALL:
            rows = _SQL.rows(db, "later", cache.last, code)
            last = rows[-1][0] if rows else cache.last
            rows = [row[1:] for row in rows]
        else:
            rows = _SQL.rows(db, "between", code, cache.last, span.first, span.last)
            last = rows[-1][0] if rows else cache.last
        cache.add(rows, last)
        while len(self._caches) > 1 and self._size() > VECTOR_CACHES_BYTES_MAX:
            self._caches.popitem(last=False)
        return cache

    def _size(self) -> int:
        return sum(cache.nbytes for cache in self._caches.values())


class VectorFile:
    """The `VectorPlace` of a root: a file in its folder, and a lock for the turn to embed."""

    def __init__(self, root: Path, *, root_id: str, disk: Disk) -> None:
        self._file = root / "vectors.db"
        self._lock = root / "embedding.lock"
        self._root_id = root_id
        self._disk = disk
        self._fd = -1  # while we have the turn, or wait for it

    def find(self, *, read_only: bool) -> SqliteVectors | None:
        there = is_file(self._file) if read_only else os.path.lexists(self._file)
        if not there:
            return None
        return SqliteVectors.open(
            self._file, root_id=self._root_id, read_only=read_only, disk=self._disk
        )

    def make(self, forgotten: Seq) -> SqliteVectors:
        return SqliteVectors.create(
            self._file, root_id=self._root_id, forgotten=forgotten, disk=self._disk
        )

    def drop(self) -> None:
        try:
            for suffix in SUFFIXES:
                self._disk.unlink(self._file.with_name(self._file.name + suffix))
            self._disk.sync_directory(self._file.parent)
        except OSError as failure:
            raise StoreError(f"{self._file} cannot be deleted: {failure.strerror}") from failure

    def take_turn(self) -> bool:
        if self._fd < 0:
            self._fd = open_to_lock(self._lock)
        return take(self._fd)

    def end_turn(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)  # which releases the lock
            self._fd = -1


def _read(db: apsw.Connection, code: int, places: Sequence[int]) -> list[tuple[int, bytes]]:
    return [(place, blob) for place, blob in _SQL.rows(db, "at", code, json.dumps(list(places)))]


def _code(db: apsw.Connection, embedder: str) -> int:
    row = _SQL.first(db, "embedder", embedder)
    return 0 if row is None else int(row[0])


def _facts(root_id: str) -> dict[str, int | str]:
    return {"schema": SCHEMA, "root_id": root_id}


def _meta(db: apsw.Connection, name: str) -> Any:
    row = _SQL.first(db, "meta", name)
    return None if row is None else row[0]
