"""Miss ratio against capacity, drawn from the figures of `pagefault bench policies`.

    pagefault bench policies --traces DIR --replay FILE --json > FIGURES.json
    python -m benchmarks.policies_chart FIGURES.json CHART.svg

One panel for each trace that was played at three sizes or more, and one for the recorded windows,
the mean over conversations with epochs as they were. Plain SVG; the same figures give the same
bytes.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.curves import Panel, Style, draw

STYLE = Style(
    colours={
        "lru": "#1f77b4",
        "importance_weighted_lru": "#17becf",
        "sieve": "#ff7f0e",
        "s3_fifo": "#2ca02c",
        "arc": "#9467bd",
        "optimum": "#222222",
        "belady": "#222222",
        "bound": "#888888",
    },
    dashes={"optimum": "5 3", "belady": "5 3", "bound": "2 3"},
)
MISSED = "share of references missed"


def panels(told: dict[str, Any]) -> list[Panel]:
    found = []
    for name, trace in told.get("traces", {}).items():
        sizes = sorted(map(int, trace["sizes"]))
        if len(sizes) < 3:
            continue
        rows = [trace["sizes"][str(size)] for size in sizes]
        # On traces pages are alike, and all kinds of LRU are one.
        lines = {
            policy: [row["policies"][policy]["miss_ratio"] for row in rows]
            for policy in ("lru", "sieve", "s3_fifo", "arc")
        }
        lines["optimum"] = [row["optimum_miss_ratio"] for row in rows]
        found.append(Panel(name, sizes, f"{MISSED}, by pages that fit", lines))
    if "windows" in told:
        found.append(_windows(told["windows"]))
    return found


def _windows(told: dict[str, Any]) -> Panel:
    by_size: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for one in told["recorded"]:
        by_size[one["window_tokens"]].append(one)
    sizes = sorted(by_size)
    names = ("lru", "importance_weighted_lru", "sieve", "s3_fifo", "arc", "belady")
    lines = {
        name: [
            mean(one["in_batches"]["policies"][name]["miss_ratio"] for one in by_size[size])
            for size in sizes
        ]
        for name in names
    }
    lines["bound"] = [
        mean(one["in_batches"]["bound_misses"] / one["references"] for one in by_size[size])
        for size in sizes
    ]
    return Panel("recorded windows", sizes, f"{MISSED}, by the window's tokens", lines)


if __name__ == "__main__":
    figures, chart = map(Path, sys.argv[1:])
    chart.write_text(draw(panels(json.loads(figures.read_text())), STYLE))
