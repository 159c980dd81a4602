"""How many of the nearest vectors are found by signs, and how long both ways take.

    python -m benchmarks.nearest VECTORS.npy

The file holds an array of float32, a unit vector in each row. The first 100 are asked of the rest,
once compared one by one and once by signs (`store/shelf.py`); `recall` is the share of the exact
first 50 that signs find. Rows are handed over from memory: reading them from a file comes on top.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from statistics import mean, median
from typing import Any

import numpy as np

from pagefault.store.shelf import SHORTLIST, Shelf, Vectors

QUERIES = 100
LIMIT = 50


def measure(vectors: Vectors, shortlist: int) -> dict[str, Any]:
    queries, rest = vectors[:QUERIES], vectors[QUERIES:]
    blobs = [row.astype("<f2").tobytes() for row in rest]
    rows = [(number, number + 1, blob) for number, blob in enumerate(blobs)]

    def read(places: Sequence[int]) -> list[tuple[int, bytes]]:
        return [(place, blobs[place]) for place in places]

    exact = Shelf(exact_max=len(rest))
    exact.add(rows, len(rows))
    began = time.perf_counter()
    signs = Shelf(exact_max=0, shortlist=shortlist)
    signs.add(rows, len(rows))
    filling_s = time.perf_counter() - began
    found: dict[Shelf, list[set[int]]] = {exact: [], signs: []}
    took: dict[Shelf, list[float]] = {exact: [], signs: []}
    for query in queries:
        for shelf in (exact, signs):
            began = time.perf_counter()
            places, _ = shelf.nearest(query, None, LIMIT, read)
            took[shelf].append(1_000 * (time.perf_counter() - began))
            found[shelf].append(set(places.tolist()))
    pairs = zip(found[exact], found[signs], strict=True)
    return {
        "vectors": len(rest),
        "shortlist": shortlist,
        "recall": round(mean(len(a & b) / LIMIT for a, b in pairs), 4),
        "exact_p50_ms": round(median(took[exact]), 2),
        "signs_p50_ms": round(median(took[signs]), 2),
        "exact_bytes": exact.nbytes,
        "signs_bytes": signs.nbytes,
        "filling_s": round(filling_s, 2),
    }


if __name__ == "__main__":
    given = np.load(sys.argv[1]).astype(np.float32)
    for shortlist in (1_000, 2_000, SHORTLIST):
        sys.stdout.write(json.dumps(measure(given, shortlist)) + "\n")
