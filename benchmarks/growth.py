"""What pages cost as they become more: runs `bench kernel` at each size and draws the curves.

    python benchmarks/growth.py FIGURES.json CHART.svg [PAGES ...]

keeps what was measured in FIGURES.json, next to what was there before (a size measured again
replaces the old), and draws CHART.svg from it. Without PAGES only the chart is drawn. Needs
`pip install matplotlib`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot

PANELS = {
    "append, ms": ("append_p50_ms", "append_p95_ms", "append_p999_ms", "fsync_p50_ms"),
    "fault, ms": ("fault_p50_ms", "fault_p95_ms"),
    "search, ms": (
        "search_p50_ms",
        "search_p95_ms",
        "session_search_p50_ms",
        "session_search_p95_ms",
    ),
    "request, ms": ("request_p50_ms", "request_p95_ms", "first_request_ms"),
    "turns or records a second": ("ingest_per_s", "rebuild_per_s"),
    "memory of the process, MB": ("rss_mb",),
}


def measure(pages: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "pagefault.cli", "bench", "kernel", "--json"]
    done = subprocess.run([*command, "--pages", str(pages)], stdout=subprocess.PIPE, check=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def draw(runs: list[dict[str, Any]], path: Path) -> None:
    sizes = [run["pages"] for run in runs]
    figure, axes = pyplot.subplots(2, 3, figsize=(12, 6.5), layout="constrained")
    for panel, (title, names) in zip(axes.flat, PANELS.items(), strict=True):
        for name in names:
            panel.plot(sizes, [run[name] for run in runs], marker="o", markersize=3, label=name)
        panel.set(title=title, xscale="log", xlabel="pages", ylim=(0, None))
        panel.grid(alpha=0.3)
        panel.legend(fontsize="x-small", frameon=False)
    figure.savefig(path, metadata={"Date": None})


def main(figures: Path, chart: Path, sizes: list[int]) -> None:
    runs = (
        {run["pages"]: run for run in json.loads(figures.read_text())} if figures.exists() else {}
    )
    for pages in sizes:
        runs[pages] = measure(pages)
        ordered = [runs[size] for size in sorted(runs)]
        figures.write_text(json.dumps(ordered, indent=1) + "\n")
    draw([runs[size] for size in sorted(runs)], chart)


if __name__ == "__main__":
    mpl.rcParams["svg.hashsalt"] = "growth"  # the same figures give the same bytes
    main(Path(sys.argv[1]), Path(sys.argv[2]), [int(size) for size in sys.argv[3:]])
