"""What search finds by its depth, drawn from the figures of `pagefault bench retrieval`.

    pagefault bench retrieval --data FILE --json > FIGURES.json
    python -m benchmarks.recall_chart FIGURES.json CHART.svg

One panel for lines: the share of the evidence, and the questions of which some or all is found. One
for sittings, and one for the kinds of questions.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.curves import Panel, Style, draw

CATEGORIES = {"1": "several places", "2": "times", "3": "world knowledge", "4": "one place"}
STYLE = Style(
    colours={
        "share of evidence": "#1f77b4",
        "some of it": "#2ca02c",
        "all of it": "#d62728",
        "several places": "#ff7f0e",
        "times": "#9467bd",
        "world knowledge": "#8c564b",
        "one place": "#17becf",
    },
    dashes={"some of it": "5 3", "all of it": "2 3"},
)
MEASURES = {"frac": "share of evidence", "any": "some of it", "all": "all of it"}


def panels(told: dict[str, Any]) -> list[Panel]:
    depths = sorted(map(int, told["turn"]["frac"]))

    def line(figures: dict[str, float]) -> list[float]:
        return [figures[str(depth)] / 100 for depth in depths]

    found = [
        Panel(
            title,
            depths,
            f"found among so many {title}",
            {name: line(told[unit][measure]) for measure, name in MEASURES.items()},
        )
        for unit, title in (("turn", "lines"), ("session", "sittings"))
    ]
    kinds = {
        name: line(told["by_category"][key]["frac"])
        for key, name in CATEGORIES.items()
        if key in told["by_category"]
    }
    return [*found, Panel("kinds of questions", depths, "share of evidence, by lines", kinds)]


if __name__ == "__main__":
    figures, chart = map(Path, sys.argv[1:])
    chart.write_text(draw(panels(json.loads(figures.read_text())), STYLE))
