"""Vectors for the pages of a memory, made in the background, and search by them.

Invariants:
 (1) An append never waits for an embedder, and never fails because of one. A search waits for the
     vectors of its query and of the questions in it, one call, for `QUERY_WAIT_S` at most.
 (2) After a failure the embedder is not called for a while, longer each time; search uses words
     alone meanwhile, and `failure` says why. While an answer is late, no other is asked for.
 (3) In one memory, one thread of one process embeds at a time, so nothing is paid for twice.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pagefault.model.clock import Clock
from pagefault.model.errors import (
    EngineError,
    EngineGarbled,
    EngineUnreachable,
    PagefaultError,
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreReadOnly,
)
from pagefault.model.events import PageBody
from pagefault.model.ids import Seq, SessionNo
from pagefault.model.page import PageRow, Scope
from pagefault.model.progress import Progress
from pagefault.model.threads import start
from pagefault.recall.semantic import Similar
from pagefault.service.derived.bounded_calls import BoundedCalls, CallRejected, CallTimedOut
from pagefault.store.api import PageFilter, VectorStore
from pagefault.store.place import place_of
from pagefault.store.store import Store
from pagefault.store.turn import WriteTurn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pagefault.engine.embedding import Embedder, TextKind

BATCH: Final = 64
"""Pages embedded at a time: as many as one call of a remote model takes."""

TEXT_CHARS_MAX: Final = 24_000
QUERY_WAIT_S: Final = 5.0
"""How long a search waits for its query's vector: the model may have to be loaded first."""

WEIGHT: Final = 0.05
"""The weight of meaning beside words (`Similar.weight`), for an embedder without a `weight`."""

QUERIES_AT_ONCE: Final = 4
QUERIES_KEPT: Final = 256
REST_S: Final = 5.0
"""How long an embedder is not called after a failure, doubled each time up to `REST_S_MAX`."""

REST_S_MAX: Final = 300.0

_CONTRACT: Final = (
    "`pagefault.Embedder` documents what an embedder does; "
    "`pagefault.testing.embedder_contract` tests one"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingStatus:
    """The progress of a memory's vectors."""

    embedder: str  # its name; empty while its model is unavailable
    embedded: int  # pages
    missing: int  # pages without a vector
    failure: str = ""  # of the embedder's last failure, if it failed
    hint: str = ""


class Embedding:
    """Implements `recall.semantic.Semantic`. Its thread begins with the first `wake`."""

    def __init__(self, embedder: Embedder, store: Store, clock: Clock, *, owned: bool) -> None:
        """`owned` means that the embedder is closed with this. The store's vectors are open, if
        possible.
        """
        self._embedder = embedder
        self._store = store
        self._clock = clock
        self._owned = owned
        self._turn = WriteTurn(store.vector_place)
        self._stop = threading.Event()
        self._stops: set[threading.Event] = {self._stop}
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None
        # Sessions without a missing page: at so many pages, and after this forget.
        self._whole: dict[SessionNo, tuple[int, Seq]] = {}
        self._queries: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._asking = threading.Lock()
        self._query_calls = BoundedCalls(QUERIES_AT_ONCE)
        self.failure: PagefaultError | None = None
        self._rest_s = 0.0
        self._again_s = 0.0  # when the embedder may be asked again

    def close(self) -> None:
        """End the thread, after the current batch. Harmless when repeated."""
        self.stop()
        self._wanted.set()
        close = getattr(self._embedder, "close", None)
        if self._owned and close is not None:
            close()  # which ends waits for an answer
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def flush(self) -> None:
        """Drop cached queries: a message that was forgotten may be one."""
        with self._asking:
            self._queries = OrderedDict()  # a running call still fills the old one

    def stop(self) -> None:
        """Embed no more batches. Returns at once."""
        for one in list(self._stops):
            one.set()

    # --- embedding ----------------------------------------------------------------------------

    def wake(self) -> None:
        """Something was appended: embed missing pages in the background. Returns at once."""
        if self._thread is None and not self._stop.is_set():
            thread = threading.Thread(target=self._work, name="pagefault-embed", daemon=True)
            try:
                start(thread)
            except RuntimeError:  # no thread is available: another append tries again
                return
            self._thread = thread
        self._wanted.set()

    def _work(self) -> None:
        while not self._stop.is_set():
            self._wanted.wait()
            self._wanted.clear()
            rest_s = self._again_s - self._clock.monotonic_s()
            if rest_s > 0 and self._stop.wait(rest_s):
                return
            try:
                while not self._stop.is_set() and self._batch(self._stop):
                    pass
            except StoreClosed:
                return
            except Exception as failure:  # nobody awaits it: `failure` has it
                self._failed(failure)
                self._wanted.set()

    def embed_all(self, progress: Progress, stop: threading.Event, *, prune: bool = False) -> int:
        """Embed every page that has no vector, now. Returns how many there were. Blocks; `stop`
        ends it. With `prune`, other embedders' vectors are deleted after that.

        Raises what the embedder or the store raises; earlier vectors are kept.
        """
        self._stops.add(stop)
        total = self._missing()
        done = 0
        progress(0, total)
        while not stop.is_set() and (count := self._batch(stop)):
            done += count
            progress(done, max(done, total))
        if prune and not stop.is_set():
            self._vectors().keep_only(self._embedder.name)
        return done

    def _batch(self, stop: threading.Event) -> int:
        """Embed some of the missing pages, and return how many; 0 once there are none."""
        self._store.look()
        with self._turn.taken(stop) as had:
            if not had:
                return 0
            vectors = self._vectors()
            while True:
                forgotten = vectors.forgotten()  # before the pages are listed: see `VectorStore`
                rows = next(self._lists(vectors, forgotten), [])
                if not rows:
                    if isinstance(self.failure, StoreError):  # the store works again
                        self._recovered()
                    return 0
                texts = [self._text(row) for row in rows]
                made = self._rows(texts, "page")
                at = [(place_of(row.session, row.order), row.seq) for row in rows]
                if vectors.put(self._embedder.name, at, made, forgotten=forgotten):
                    self._recovered()
                    return len(rows)
                if stop.is_set():
                    return 0

    def _vectors(self) -> VectorStore:
        store = self._store
        if store.vectors is None or store.refusal is not None or store.reads_only:
            raise StoreReadOnly(
                "vectors cannot be written here",
                hint="open this memory for writing; if that is so, make room for vectors.db",
            )
        return store.vectors

    def _lists(self, vectors: VectorStore, forgotten: Seq) -> Iterator[list[PageRow]]:
        """The next missing pages, by session."""
        name = self._embedder.name
        for session in self._store.index.sessions():
            known = session.pages, forgotten  # a scrub drops the vectors of whole sessions
            if self._whole.get(session.session) == known:
                continue
            rows = self._store.index.pages(
                Scope.whole(session.session),
                PageFilter(after_order=vectors.last_order(name, session.session)),
                limit=BATCH,
            )
            if rows:
                yield rows
            else:
                self._whole[session.session] = known

    def _rows(self, texts: list[str], kind: TextKind) -> NDArray[np.float32]:
        """Raises `EngineError` for any mistake of a caller's embedder."""
        import numpy as np

        try:
            made = np.asarray(self._embedder.embed(texts, kind=kind), dtype=np.float32)
        except PagefaultError:
            raise
        except Exception as failure:
            raise _of_the_embedder(failure) from failure
        if made.ndim != 2 or len(made) != len(texts):
            raise EngineGarbled(
                f"the embedder answered {len(texts)} texts by numbers of the shape {made.shape}",
                hint=_CONTRACT,
            )
        return made

    def _text(self, row: PageRow) -> str:
        """The text to embed for a page: empty for a damaged one, so it is similar to nothing."""
        try:
            body = self._store.log.get(row.seq).body
        except StoreCorrupt:
            return ""
        return text_to_embed(body) if isinstance(body, PageBody) else ""

    # --- search -------------------------------------------------------------------------------

    def __call__(
        self,
        scope: Scope,
        queries: Sequence[str],
        *,
        limit: int,
        only: NDArray[np.int64] | None = None,
    ) -> list[Similar]:
        """As `Semantic`: the pages nearest to each, of those that have a vector so far."""
        import numpy as np

        nothing = Similar(np.empty(0, np.int64), np.empty(0, np.float64))
        try:
            if self._store.vectors is None:
                return [nothing] * len(queries)
            known = self._embedded(queries)
            return [
                self._nearest(scope, known[query], limit, only) if query in known else nothing
                for query in queries
            ]
        except StoreClosed:
            raise
        except PagefaultError as failure:  # search uses words alone
            self.failure = failure
            return [nothing] * len(queries)

    def _nearest(
        self, scope: Scope, asked: NDArray[np.float32], limit: int, only: NDArray[np.int64] | None
    ) -> Similar:
        import numpy as np

        from pagefault.store.likely import among

        vectors = self._store.vectors
        assert vectors is not None
        found = vectors.nearest(self._embedder.name, scope, asked, limit=limit, only=only)
        order = np.argsort(found.places)
        scores = np.clip(found.similarities[order].astype(np.float64), 0.0, 1.0)
        places, weight = found.places[order], getattr(self._embedder, "weight", WEIGHT)
        scale = None if only is None else _scale(scores, scores[among(places, only)], limit)
        return Similar(places, scores, weight, scale)

    def _embedded(self, queries: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The vectors of queries: cached ones, and others if they can be had soon."""
        with self._asking:
            known = {query: self._queries[query] for query in queries if query in self._queries}
        missing = [query for query in dict.fromkeys(queries) if query not in known]
        if not missing or self._clock.monotonic_s() < self._again_s:
            return known
        try:
            return known | self._query_calls(lambda: self._embed_queries(missing), QUERY_WAIT_S)
        except CallTimedOut:
            self._failed(EngineUnreachable(f"no vector of a query within {QUERY_WAIT_S:g} s"))
        except CallRejected:
            pass  # the late call has reported it
        except Exception as failure:
            self._failed(failure)
        return known

    def _embed_queries(self, queries: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        kept = self._queries  # the current one: see `flush`
        rows = self._rows([query[:TEXT_CHARS_MAX] for query in queries], "query")
        made = dict(zip(queries, rows, strict=True))
        with self._asking:
            kept.update(made)
            while len(kept) > QUERIES_KEPT:
                kept.popitem(last=False)
        self._recovered()
        return made

    # --- status -------------------------------------------------------------------------------

    def status(self) -> EmbeddingStatus:
        """Never raises: if the embedder cannot return its name, or the pages cannot be counted, the
        reason is in `failure`.
        """
        name, embedded, pages = "", 0, 0
        unread: StoreError | None = None
        try:
            name = self._embedder.name
        except Exception as failure:
            self._failed(failure)
        try:
            pages = self._pages()
            if self._store.vectors is not None:
                embedded = self._store.vectors.counts().get(name, 0)
        except StoreError as failure:  # not the embedder's fault: it may still be called
            unread = failure
        failed = unread or self.failure  # its thread may replace it
        return EmbeddingStatus(
            embedder=name,
            embedded=embedded,
            missing=max(0, pages - embedded),
            failure=failed.message if failed is not None else "",
            hint=failed.hint if failed is not None else "",
        )

    def _missing(self) -> int:
        return max(0, self._pages() - self._vectors().counts().get(self._embedder.name, 0))

    def _pages(self) -> int:
        """All pages that were said or handed in."""
        index = self._store.index
        return sum(
            index.candidates(Scope.whole(one.session), (), limit=0).pages
            for one in index.sessions()
        )

    def _failed(self, failure: Exception) -> None:
        if not isinstance(failure, PagefaultError):  # of a caller's embedder
            failure = _of_the_embedder(failure)
        self._rest_s = min(max(REST_S, 2 * self._rest_s), REST_S_MAX)
        self._again_s = self._clock.monotonic_s() + self._rest_s
        self.failure = failure  # last: readers of it find the embedder resting

    def _recovered(self) -> None:
        self.failure = None
        self._rest_s = self._again_s = 0.0


def _of_the_embedder(failure: Exception) -> EngineError:
    return EngineError(f"the embedder failed: {type(failure).__name__}: {failure}", hint=_CONTRACT)


def text_to_embed(body: PageBody) -> str:
    """A page's text with its speaker: questions about a person are similar to that."""
    text = body.text[:TEXT_CHARS_MAX]
    return f"{body.speaker}: {text}" if body.speaker else text


def _scale(
    scores: NDArray[np.float64], wanted: NDArray[np.float64], limit: int
) -> tuple[float, float] | None:
    """The scores of an average and of a near page, for a query that has only some pages as
    candidates.

    If there are many candidates, the `limit` nearest show the average, as they do for all pages. If
    there are few, all are in the result, near or not: then the average is that of any page of the
    scope.
    """
    import numpy as np

    if not len(scores):
        return None
    if len(wanted) >= limit:
        middle = float(np.median(np.sort(wanted)[-limit:]))
    elif len(scores) < limit:  # all pages of the scope
        middle = float(np.median(scores))
    else:
        middle = 0.0  # the common part was subtracted (`store/vector_cache.py`)
    return middle, float(scores.max())
