"""Results of `bench bill`, summed over its seeds and drawn as one picture.

The picture is SVG without scripts. It adapts to light and dark mode, distinguishes arms by shape as
well as colour, and has a text description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from statistics import mean
from typing import Any, Final

from pagefault.lab.billing import ARMS, MODELS, PROXIED


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure's range over the seeds."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        if f"{self.low:.2f}" == f"{self.high:.2f}":
            return f"{self.mean:.2f}"
        return f"{self.mean:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One client and arm over all seeds: sums, and per model the cost relative to another arm."""

    client: str
    name: str
    seeds: int
    rewrites: int  # epochs, or the client's own compactions
    failed: int
    steps: int
    kept: int
    facts: int
    asked: int
    over_alone: dict[str, Spread]
    over_compacts: dict[str, Spread]
    over_compacts_small: dict[str, Spread]
    cached: dict[str, Spread]


def over_seeds(rows: Sequence[dict[str, Any]]) -> list[Arm]:
    """The rows of `bench_bill`, merged by client and arm."""
    ordered = sorted(rows, key=lambda row: ARMS.index(row["arm"]))
    clients = list(dict.fromkeys(row["client"] for row in rows))
    ordered.sort(key=lambda row: clients.index(row["client"]))
    told = []
    for (client, name), group in groupby(ordered, key=lambda row: (row["client"], row["arm"])):
        these = list(group)
        total = {
            field: sum(row[field] for row in these)
            for field in ("failed", "steps", "kept", "facts", "asked")
        }
        told.append(
            Arm(
                client=client,
                name=name,
                seeds=len(these),
                rewrites=sum(row["epochs"] or row["compactions"] for row in these),
                over_alone=_spreads(these, "over_alone"),
                over_compacts=_spreads(these, "over_compacts"),
                over_compacts_small=_spreads(these, "over_compacts_small"),
                cached=_spreads(these, "cached_share"),
                **total,
            )
        )
    return told


def _spreads(rows: Sequence[dict[str, Any]], field: str) -> dict[str, Spread]:
    found = {}
    for model in MODELS:
        values = [row["lists"][model][field] for row in rows]
        found[model] = Spread(mean(values), min(values), max(values))
    return found


# --- the picture ----------------------------------------------------------------------------------

_LEFT: Final = 170  # of the first panel, after the names of price lists
_WIDE: Final = 270  # width of a panel
_GAP: Final = 40
_LINE: Final = 24  # height per price list
_TOP: Final = 96
_HIGH: Final = len(MODELS) * _LINE
_BETWEEN: Final = 84  # between panels, with their axes
_SHOWN: Final = 1.2  # of the axis; anything dearer is drawn at its end
_LEGEND: Final = _LEFT + 2 * _WIDE + _GAP + 24
_STYLE: Final = """
svg { font: 12px system-ui, sans-serif; background: #fff; color: #1f2328 }
text { fill: currentColor } .title { font-size: 15px; font-weight: 600 } .name { font-weight: 600 }
.dim { fill: #59636e } .grid { stroke: #d1d9e0 } .one { stroke: #59636e; stroke-dasharray: 4 3 }
.client { stroke: #59636e; fill: #fff } .ours { stroke: #0b57c2; fill: #0b57c2 }
.other { stroke: #0b57c2; fill: #fff } .range { stroke-width: 1.5; opacity: .55 }
@media (prefers-color-scheme: dark) {
svg { background: #0d1117; color: #e6edf3 } .dim { fill: #9198a1 } .grid { stroke: #30363d }
.one { stroke: #9198a1 } .client { stroke: #9198a1; fill: #0d1117 }
.ours { stroke: #6cb0ff; fill: #6cb0ff } .other { stroke: #6cb0ff; fill: #0d1117 } }
""".strip()
_FORMS: Final = {
    "compacts": ("client", 0, '<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="4.5"/>'),
    "compacts small": ("client", 0, '<path class="{}" d="M{:.1f} {:.1f}m-4 -4h8v8h-8z"/>'),
    "pagefault": ("ours", -6, '<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="4.5"/>'),
    "quotes alone": ("other", 0, '<path class="{}" d="M{:.1f} {:.1f}m0 -5l5 9h-10z"/>'),
    "asks alone": ("other", 6, '<path class="{}" d="M{:.1f} {:.1f}m0 -5l5 5l-5 5l-5 -5z"/>'),
}
"""For each arm but the reference: its CSS class, its offset below the line, so that arms of similar
cost stay distinguishable, and its shape.
"""


def chart(arms: Sequence[Arm], *, about: str) -> str:
    """The picture of some arms; `about` describes the run in one line."""
    clients = list(dict.fromkeys(one.client for one in arms))
    high = _TOP + len(clients) * (_HIGH + _BETWEEN)
    wide = _LEGEND + 250
    heads = ("over the client alone, while it could send", "over its own compaction, whole session")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" '
        f'height="{high}" role="img" aria-labelledby="title desc">',
        '<title id="title">What agents\' sessions cost, by client and price list</title>',
        f'<desc id="desc">{escape(in_words(arms))}</desc>',
        f"<style>{_STYLE}</style>",
        _text(16, 28, "What agents’ sessions cost, and what they keep", "title"),
        _text(16, 48, about, "dim"),
    ]
    parts += [_text(_LEFT + n * (_WIDE + _GAP), 76, head, "name") for n, head in enumerate(heads)]
    for number, client in enumerate(clients):
        top = _TOP + number * (_HIGH + _BETWEEN)
        these = [one for one in arms if one.client == client]
        parts.append(_text(16, top - 6, client, "title"))
        parts += [
            _text(_LEFT - 12, top + 14 + n * _LINE, model, "dim", anchor="end")
            for n, model in enumerate(MODELS)
        ]
        parts += _panel(_LEFT, top, these, "over_alone")
        parts += _panel(_LEFT + _WIDE + _GAP, top, these, "over_compacts")
        parts += _legend(top, these)
    return "\n".join([*parts, "</svg>", ""])


def in_words(arms: Sequence[Arm]) -> str:
    """The picture's text description."""
    told = []
    for one in arms:
        costs = [spread.mean for spread in one.over_alone.values()]
        told.append(
            f"{one.client}, {one.name}: {min(costs):.2f} to {max(costs):.2f} of the cost of the "
            f"client alone, {one.kept} of {one.facts} facts kept, {one.failed} of {one.steps} "
            "requests refused"
        )
    return "; ".join(told) + "."


def _x(left: int, value: float) -> float:
    return left + min(value, _SHOWN) / _SHOWN * _WIDE


def _panel(left: int, top: int, arms: Sequence[Arm], field: str) -> list[str]:
    parts = []
    for tenths in range(0, 13, 2):
        x, kind = _x(left, tenths / 10), "one" if tenths == 10 else "grid"
        end = top + _HIGH
        parts.append(f'<path class="{kind}" d="M{x:.1f} {top}V{end}"/>')
        parts.append(_text(x, end + 16, f"{tenths / 10:.1f}", "dim", anchor="middle"))
    parts.append(
        _text(left + _WIDE / 2, top + _HIGH + 32, "of that cost; less is better", "dim", "middle")
    )
    for n, model in enumerate(MODELS):
        y = top + 10 + n * _LINE
        parts.append(f'<path class="grid" d="M{left} {y}h{_WIDE}"/>')
        for one in arms:
            if one.name not in _FORMS or (field, one.name) == ("over_compacts", "compacts"):
                continue
            kind, below, form = _FORMS[one.name]
            told: Spread = getattr(one, field)[model]
            low, high = _x(left, told.low), _x(left, told.high)
            parts.append(f'<path class="range {kind}" d="M{low:.1f} {y + below}H{high:.1f}"/>')
            parts.append(form.format(kind, _x(left, told.mean), y + below))
    return parts


def _legend(top: int, arms: Sequence[Arm]) -> list[str]:
    parts = []
    for n, one in enumerate(arms):
        y = top + 10 + n * _LINE
        if one.name in _FORMS:
            kind, _, form = _FORMS[one.name]
            parts.append(form.format(kind, _LEGEND, y))
        else:
            parts.append(f'<path class="one" d="M{_LEGEND} {y - 7}v14"/>')
        told = f"{one.name}: {one.kept} of {one.facts} facts"
        told += f", {one.failed / one.steps:.0%} refused" if one.failed else ""
        parts.append(_text(_LEGEND + 14, y + 4, told, "name" if one.name in PROXIED else ""))
    return parts


def _text(x: float, y: float, said: str, kind: str = "", anchor: str = "start") -> str:
    kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.0f}" y="{y:.0f}"{kind} text-anchor="{anchor}">{escape(said)}</text>'
