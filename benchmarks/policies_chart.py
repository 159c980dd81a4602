"""Miss ratio against capacity, drawn from the figures of `pagefault bench policies`.

    pagefault bench policies --traces DIR --replay FILE --json > FIGURES.json
    python benchmarks/policies_chart.py FIGURES.json CHART.svg

One panel for each trace that was played at three sizes or more, and one for the recorded windows,
the mean over conversations with epochs as they were. Plain SVG; the same figures give the same
bytes.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from dataclasses import dataclass
from html import escape
from pathlib import Path
from statistics import mean
from typing import Any

COLOURS = {
    "lru": "#1f77b4",
    "importance_weighted_lru": "#17becf",
    "sieve": "#ff7f0e",
    "s3_fifo": "#2ca02c",
    "arc": "#9467bd",
    "optimum": "#222222",
    "belady": "#222222",
    "bound": "#888888",
}
DASHED = {"optimum": "5 3", "belady": "5 3", "bound": "2 3"}
WIDTH, HEIGHT, LEFT, TOP, GAP, FOOT = 290, 230, 52, 40, 62, 84


@dataclass(frozen=True)
class Panel:
    title: str
    sizes: list[int]
    across: str  # what sizes are
    lines: dict[str, list[float]]


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
        found.append(Panel(name, sizes, "pages that fit", lines))
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
    return Panel("recorded windows", sizes, "window, tokens", lines)


def draw(found: list[Panel]) -> str:
    wide = LEFT + len(found) * (WIDTH + GAP)
    high = TOP + HEIGHT + FOOT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}"'
        f' viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="11">',
        f'<rect width="{wide}" height="{high}" fill="white"/>',
    ]
    for number, panel in enumerate(found):
        parts += _panel(panel, LEFT + number * (WIDTH + GAP))
    parts += _legend(found, TOP + HEIGHT + 58)
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel, left: int) -> list[str]:
    first, last = math.log(panel.sizes[0]), math.log(panel.sizes[-1])
    values = [value for line in panel.lines.values() for value in line]
    low = math.floor(min(values) * 10) / 10
    top = math.ceil(max(values) * 10) / 10

    def x(size: int) -> float:
        return left + WIDTH * (math.log(size) - first) / (last - first)

    def y(value: float) -> float:
        return TOP + HEIGHT * (top - value) / (top - low)

    parts = [
        f'<text x="{left}" y="{TOP - 14}" font-size="13" font-weight="bold">'
        f"{escape(panel.title)}</text>"
    ]
    for tenth in range(round(low * 10), round(top * 10) + 1):
        at = y(tenth / 10)
        parts += [
            f'<line x1="{left}" x2="{left + WIDTH}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>',
            f'<text x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{tenth / 10:.1f}</text>',
        ]
    parts += [
        f'<text x="{x(size):.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{size:,}</text>'
        for size in panel.sizes
    ]
    parts.append(
        f'<text x="{left + WIDTH / 2}" y="{TOP + HEIGHT + 32}" text-anchor="middle">'
        f"share of references missed, by {escape(panel.across)}</text>"
    )
    for name, line in panel.lines.items():
        points = " ".join(
            f"{x(size):.1f},{y(value):.1f}" for size, value in zip(panel.sizes, line, strict=True)
        )
        dash = f' stroke-dasharray="{DASHED[name]}"' if name in DASHED else ""
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{COLOURS[name]}"'
            f' stroke-width="1.8"{dash}/>'
        )
    return parts


def _legend(found: list[Panel], at: int) -> list[str]:
    names = dict.fromkeys(name for panel in found for name in panel.lines)
    parts, left = [], LEFT
    for name in names:
        dash = f' stroke-dasharray="{DASHED[name]}"' if name in DASHED else ""
        parts += [
            f'<line x1="{left}" x2="{left + 24}" y1="{at - 4}" y2="{at - 4}"'
            f' stroke="{COLOURS[name]}" stroke-width="2"{dash}/>',
            f'<text x="{left + 30}" y="{at}">{escape(name)}</text>',
        ]
        left += 52 + 7 * len(name)
    return parts


if __name__ == "__main__":
    figures, chart = map(Path, sys.argv[1:])
    chart.write_text(draw(panels(json.loads(figures.read_text()))))
