"""How many of the nearest vectors are found by signs, and how long both ways take.

    python -m benchmarks.nearest VECTORS.npy [COUNT ...]

VECTORS.npy holds an array of float32, a unit vector in each row. The first 100 are asked of COUNT
others (or of all), which stand in a file: once all are compared one by one, once those that their
signs choose are read from the file (`store/vector_cache.py`). `recall` is the share of the exact
first 50 that signs find; `fill_s` is the first question of a process, which reads every vector.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

from pagefault.model.ids import Seq
from pagefault.model.page import EVERYTHING
from pagefault.store.embedded import cache
from pagefault.store.embedded.vectors import SqliteVectors
from pagefault.store.vector_cache import SHORTLIST, Vectors

QUERIES = 100
LIMIT = 50
MODEL = "measured"

VectorCache = cache.VectorCache


def asked(path: Path, queries: Vectors, make: partial[VectorCache]) -> dict[str, Any]:
    """What a process finds that has just opened the file, with caches made so."""
    cache.VectorCache = make  # type: ignore[assignment, misc]
    store = SqliteVectors.open(path, root_id="benchmark")
    began = time.perf_counter()
    store.nearest(MODEL, EVERYTHING, queries[0], limit=LIMIT)
    fill_s = time.perf_counter() - began
    found, took = [], []
    for query in queries:
        began = time.perf_counter()
        nearest = store.nearest(MODEL, EVERYTHING, query, limit=LIMIT)
        took.append(1_000 * (time.perf_counter() - began))
        found.append(set(nearest.places.tolist()))
    store.close()
    took.sort()
    times = {"p50_ms": round(median(took), 2), "p95_ms": round(took[int(0.95 * len(took))], 2)}
    return {"found": found, "fill_s": round(fill_s, 2), **times}


def measure(vectors: Vectors, count: int, shortlists: tuple[int, ...]) -> list[dict[str, Any]]:
    queries, rest = vectors[:QUERIES], vectors[QUERIES : QUERIES + count]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.db"
        store = SqliteVectors.create(path, root_id="benchmark")
        pages = [(number, Seq(number + 1)) for number in range(len(rest))]
        store.put(MODEL, pages, rest, forgotten=store.forgotten())
        store.close()
        exact = asked(path, queries, partial(VectorCache, exact_max=len(rest)))
        told = [{"vectors": len(rest), "compared": "all", **exact}]
        for shortlist in shortlists:
            signs = asked(path, queries, partial(VectorCache, exact_max=0, shortlist=shortlist))
            pairs = zip(exact["found"], signs["found"], strict=True)
            recall = round(mean(len(a & b) / LIMIT for a, b in pairs), 4)
            told.append({"vectors": len(rest), "compared": shortlist, "recall": recall, **signs})
    for one in told:
        del one["found"]
    return told


if __name__ == "__main__":
    given = np.load(sys.argv[1]).astype(np.float32)
    for number in [int(one) for one in sys.argv[2:]] or [len(given)]:
        for row in measure(given, number, (1_000, 2_000, SHORTLIST)):
            sys.stdout.write(json.dumps(row) + "\n")
