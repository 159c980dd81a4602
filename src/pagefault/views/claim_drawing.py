"""Geometry of the graph of claims, which templates draw as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pagefault.model.ids import PageId
from pagefault.views.claim_graph import ClaimPlace, EdgeKind, plan
from pagefault.views.texts import ClaimView, head

_BOX: Final = (212.0, 40.0)  # width and height of a claim
_BOX_GAPS: Final = (56.0, 12.0)
_BOX_WORDS: Final = 32  # characters of a claim that fit into its box


@dataclass(frozen=True, slots=True)
class ClaimBox:
    """A claim in the graph; `kind` is a CSS class."""

    claim_id: PageId
    x: float
    y: float
    kind: str
    status: str
    words: str
    title: str


@dataclass(frozen=True, slots=True)
class ClaimLink:
    """An edge, as the path of a curve."""

    path: str
    kind: EdgeKind
    title: str


@dataclass(frozen=True, slots=True)
class ClaimDrawing:
    width: float
    height: float
    box_width: float
    box_height: float
    boxes: tuple[ClaimBox, ...]
    links: tuple[ClaimLink, ...]
    left_out: int


_LINKS: Final = {
    EdgeKind.SUPPORTS: "{1} rests on {0}",
    EdgeKind.REPLACED: "{1} took the place of {0}, or took it back",
    EdgeKind.CONTRADICTS: "{0} and {1} contradict each other",
}


def draw_claims(claims: Sequence[ClaimView]) -> ClaimDrawing | None:
    """The graph of claims (oldest first), an edge leading from each to what came of it. None if
    there are no edges.
    """
    told = plan(claims)
    if not told.places:
        return None
    by_id = {one.claim_id: one for one in claims}
    (wide, high), (gap_x, gap_y) = _BOX, _BOX_GAPS

    def corner(place: ClaimPlace) -> tuple[float, float]:
        return gap_x / 2 + place.column * (wide + gap_x), gap_y + place.row * (high + gap_y)

    at = {place.claim_id: corner(place) for place in told.places}
    links = []
    for edge in told.edges:
        (x, y), (to_x, to_y) = at[edge.source], at[edge.target]
        y, to_y, over = y + high / 2, to_y + high / 2, 0.0
        if to_x > x:
            if y == to_y and to_x > x + wide + gap_x:
                over = high  # bends around the boxes between them
            x, bend, back = x + wide, gap_x / 2, -gap_x / 2
        else:  # same column or back: from left side to left side
            bend = back = -gap_x / 2
        curve = f"{x + bend},{y - over} {to_x + back},{to_y - over} {to_x},{to_y}"
        path = f"M{x},{y} C{curve}"
        links.append(ClaimLink(path, edge.kind, _LINKS[edge.kind].format(edge.source, edge.target)))
    boxes = []
    for claim_id, (x, y) in at.items():
        one = by_id[claim_id]
        why = f": {one.why}" if one.why else ""
        status = "retraction" if one.status == "closing" else one.status
        boxes.append(
            ClaimBox(
                claim_id=claim_id,
                x=x,
                y=y,
                kind=f"claim-{one.status}",
                status=status,
                words=head(one.text.partition(": ")[2] or one.text, _BOX_WORDS),  # without its kind
                title=f"{claim_id} · {status}{why} · {one.text}",
            )
        )
    return ClaimDrawing(
        width=4 + max(x for x, _ in at.values()) + wide,
        height=4 + max(y for _, y in at.values()) + high,
        box_width=wide,
        box_height=high,
        boxes=tuple(boxes),
        links=tuple(links),
        left_out=told.left_out,
    )
