"""A memory map as a small SVG: the representation of the value in a notebook.

The report draws the same shapes with quotations beside them (`views/charts.py`); here nothing is
quoted, so nothing has to be read. Plain colours, because a notebook's own style sheet is not ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pagefault.model.reprs import counted

if TYPE_CHECKING:
    from pagefault.service.inspection.memory_map import MemoryMap

_WIDTH: Final = 720
_HEIGHT_MAX: Final = 360
_COLOURS: Final = {"on disk": "#8a857a40", "in the window": "#3f86ad", "brought back": "#e0702f"}


def draw(of: MemoryMap) -> str:
    """One row for each message, one column for each request; a sentence if there is none."""
    said = f"{counted(of.messages, 'message')}, {counted(of.requests, 'request')}"
    if not of.rows or not of.columns:
        return f"<p>Memory map: {said}. Nothing to draw yet.</p>"
    rewrites = [number for number, one in enumerate(of.columns) if one.rewrite]
    title = f"Memory map: {said}, {counted(len(rewrites), 'rewrite')}"
    body = min(_HEIGHT_MAX, max(40, 6 * len(of.rows)))
    wide, high = _WIDTH / len(of.columns), body / len(of.rows)
    shapes = dict.fromkeys(_COLOURS, "")
    for number, row in enumerate(of.rows):
        y = f"{number * high:.1f}"
        spans = [("on disk", row.since, len(of.columns) - 1)]
        spans += [(str(one.place).replace("_", " "), one.first, one.last) for one in row.spans]
        for name, first, last in spans:
            name = name.replace("in window", "in the window")
            width = (last + 1 - first) * wide
            if width > 0:
                x = first * wide
                shapes[name] += f"M{x:.1f} {y}h{width:.1f}v{high:.1f}h{-width:.1f}z"
    paths = "".join(
        f'<path fill="{_COLOURS[name]}" d="{d}"><title>{name}</title></path>'
        for name, d in shapes.items()
        if d
    )
    lines = "".join(f"M{number * wide:.1f} 0v{body}" for number in rewrites)
    legend = " ".join(
        f'<span style="color:{colour[:7]}">■</span> {name}' for name, colour in _COLOURS.items()
    )
    return (
        f'<figure style="margin:0"><svg role="img" aria-label="{title}" width="{_WIDTH}" '
        f'style="max-width:100%" viewBox="0 0 {_WIDTH} {body}" preserveAspectRatio="none">'
        f'<title>{title}</title>{paths}<path d="{lines}" stroke="#8a857a" stroke-dasharray="3 3"/>'
        f"</svg><figcaption>{title} · a row for each message, a column for each request · {legend} "
        "· ┆ rewrite</figcaption></figure>"
    )
