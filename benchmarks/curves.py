"""Curves as plain SVG: the same figures give the same bytes. Sizes are drawn by their logarithm."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT, LEFT, TOP, GAP, FOOT = 290, 230, 52, 40, 62, 84


@dataclass(frozen=True)
class Panel:
    title: str
    sizes: Sequence[int]
    caption: str  # what is drawn, by what
    lines: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Style:
    colours: Mapping[str, str]
    dashes: Mapping[str, str] = field(default_factory=dict)


def draw(found: Sequence[Panel], style: Style) -> str:
    """The panels side by side, with one legend."""
    wide = LEFT + len(found) * (WIDTH + GAP)
    high = TOP + HEIGHT + FOOT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}"'
        f' viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="11">',
        f'<rect width="{wide}" height="{high}" fill="white"/>',
    ]
    for number, panel in enumerate(found):
        parts += _panel(panel, style, LEFT + number * (WIDTH + GAP))
    parts += _legend(found, style, TOP + HEIGHT + 58)
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel, style: Style, left: int) -> list[str]:
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
        f"{escape(panel.caption)}</text>"
    )
    for name, line in panel.lines.items():
        points = " ".join(
            f"{x(size):.1f},{y(value):.1f}" for size, value in zip(panel.sizes, line, strict=True)
        )
        dash = f' stroke-dasharray="{style.dashes[name]}"' if name in style.dashes else ""
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{style.colours[name]}"'
            f' stroke-width="1.8"{dash}/>'
        )
    return parts


def _legend(found: Sequence[Panel], style: Style, at: int) -> list[str]:
    names = dict.fromkeys(name for panel in found for name in panel.lines)
    parts, left = [], LEFT
    for name in names:
        dash = f' stroke-dasharray="{style.dashes[name]}"' if name in style.dashes else ""
        parts += [
            f'<line x1="{left}" x2="{left + 24}" y1="{at - 4}" y2="{at - 4}"'
            f' stroke="{style.colours[name]}" stroke-width="2"{dash}/>',
            f'<text x="{left + 30}" y="{at}">{escape(name)}</text>',
        ]
        left += 52 + 7 * len(name)
    return parts
