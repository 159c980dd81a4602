"""Geometry of a session's charts, which templates draw as SVG.

Coordinates are in the drawing's units, `WIDTH` of them across, and rounded to tenths: more
precision is invisible and costs bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from pagefault.model.ids import PageId
from pagefault.service.inspection.memory_map import MapColumn, MapPlace, MapRow, MemoryMap
from pagefault.views.shown import WindowSegment, WindowView
from pagefault.views.texts import Excerpt, why_rewritten

WIDTH: Final = 960.0
_LEFT: Final = 64.0  # room for row names
_RIGHT: Final = 12.0
_TOP: Final = 22.0  # room for the names of rewrites
_BOTTOM: Final = 22.0
_ROW_MAX: Final = 9.0
_MAP_MIN: Final = 60.0
_MAP_MAX: Final = 520.0
_CHART: Final = 170.0
_STRIP: Final = 46.0
_LABEL_ROOM: Final = 74.0  # least distance between names of rewrites


class Mapped(Protocol):
    """Anything with a map to draw: a `Picture` or a `MapView`."""

    @property
    def map(self) -> MemoryMap: ...
    @property
    def excerpts(self) -> Mapping[PageId, Excerpt]: ...
    @property
    def window_tokens(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    kind: str  # CSS class


@dataclass(frozen=True, slots=True)
class BarGroup:
    """Bars with one tooltip; for requests, `first` to `last` are those it covers."""

    title: str
    bars: tuple[Bar, ...]
    first: int = -1
    last: int = -1


@dataclass(frozen=True, slots=True)
class Mark:
    """A vertical line; its label is "" if there is no room for one."""

    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """`lines` are polylines, each "x,y x,y …"."""

    height: float
    top: float
    bottom: float
    left: float
    right: float
    groups: tuple[BarGroup, ...]
    marks: tuple[Mark, ...]
    lines: tuple[str, ...] = ()
    limit_y: float | None = None
    limit: int = 0


def draw_map(picture: Mapped) -> Drawing | None:
    """The memory map: a row per message, a column per request. None if there are neither."""
    rows, columns = picture.map.rows, picture.map.columns
    if not rows or not columns:
        return None
    body = min(_MAP_MAX, max(_MAP_MIN, len(rows) * _ROW_MAX))
    each, wide = body / len(rows), _wide(columns)
    gap = 1.0 if each > 4 else 0.0
    groups = tuple(
        BarGroup(
            _title(picture, row),
            tuple(_bars(row, _round(_TOP + number * each), _round(each - gap), wide, len(columns))),
        )
        for number, row in enumerate(rows)
    )
    return Drawing(
        height=_round(_TOP + body + _BOTTOM),
        top=_TOP,
        bottom=_round(_TOP + body),
        left=_LEFT,
        right=WIDTH - _RIGHT,
        groups=groups,
        marks=tuple(_marks(columns, wide)),
    )


def _bars(row: MapRow, y: float, height: float, wide: float, columns: int) -> Iterator[Bar]:
    if row.since < columns:
        x, right = _LEFT + row.since * wide, _LEFT + columns * wide
        yield Bar(_round(x), y, _round(right - x), height, "disk")
    for span in row.spans:
        x = _LEFT + span.first * wide
        width = (span.last + 1 - span.first) * wide
        kind = "back" if span.place is MapPlace.BROUGHT_BACK else "window"
        yield Bar(_round(x), y, _round(max(width, 1.0)), height, kind)


def _title(picture: Mapped, row: MapRow) -> str:
    excerpt = picture.excerpts.get(row.first)
    said = f"{excerpt.who}: {excerpt.text}" if excerpt is not None and excerpt.who else ""
    if row.messages == 1:
        return f"{row.first} · {row.tokens:,} tokens · {said}" if said else str(row.first)
    name = f"{row.first} … {row.last} · {row.messages} messages · {row.tokens:,} tokens"
    return f"{name} · begins: {said}" if said else name


def draw_requests(picture: Mapped) -> Drawing | None:
    """A bar per request: the tokens sent and, of those, the prefix shared with the previous one.
    The line shows what would have been sent without paging.
    """
    columns = picture.map.columns
    if not columns:
        return None
    wide = _wide(columns)
    highest = max(*(one.tokens for one in columns), *(one.without_tokens for one in columns), 1)
    limit = picture.window_tokens if picture.window_tokens <= 2 * highest else 0
    scale = _CHART / (max(highest, limit) * 1.05)
    bottom = _TOP + _CHART
    gap = 1.0 if wide > 4 else 0.0
    groups: list[BarGroup] = []
    points: list[str] = []
    for number, one in enumerate(columns):
        x, width = _round(_LEFT + number * wide), _round(max(wide - gap, 0.5))
        bars = tuple(
            Bar(x, _round(bottom - tokens * scale), width, _round(tokens * scale), kind)
            for tokens, kind in ((one.tokens, "sent"), (one.shared_tokens, "shared"))
        )
        groups.append(BarGroup(_request(one), bars, one.first, one.last))
        middle = _LEFT + (number + 0.5) * wide
        points.append(f"{_round(middle):g},{_round(bottom - one.without_tokens * scale):g}")
    return Drawing(
        height=bottom + _BOTTOM,
        top=_TOP,
        bottom=bottom,
        left=_LEFT,
        right=WIDTH - _RIGHT,
        groups=tuple(groups),
        marks=tuple(_marks(columns, wide)),
        lines=(" ".join(points),) if len(points) > 1 else (),
        limit_y=_round(bottom - limit * scale) if limit else None,
        limit=limit,
    )


def _request(one: MapColumn) -> str:
    told = f"request {one.last}: {one.tokens:,} tokens, {one.shared_tokens:,} same as before"
    if one.reported_cached_tokens is not None:
        told += f"; the provider read {one.reported_cached_tokens:,} from its cache"
    told += f"; without paging {one.without_tokens:,}"
    return told + (f"; rewritten: {why_rewritten(one.rewrite)}" if one.rewrite else "")


def _marks(columns: Sequence[MapColumn], wide: float) -> Iterator[Mark]:
    rewrites, labelled = 0, -_LABEL_ROOM
    for number, one in enumerate(columns):
        if not one.rewrite:
            continue
        rewrites += 1
        x = _LEFT + number * wide
        has_room = x - labelled >= _LABEL_ROOM and x <= WIDTH - _LABEL_ROOM
        if has_room:
            labelled = x
        yield Mark(_round(x), f"rewrite {rewrites}" if has_room else "")


def _wide(columns: Sequence[MapColumn]) -> float:
    return (WIDTH - _LEFT - _RIGHT) / len(columns)


def _round(value: float) -> float:
    return round(value, 1)


def draw_window(view: WindowView) -> Drawing:
    """A request's window as one strip, with a piece per segment, to scale."""
    whole = max(1, sum(one.tokens for one in view.segments))
    scale = WIDTH / whole
    gap = 1.0 if WIDTH / max(1, len(view.segments)) > 4 else 0.0
    groups, x = [], 0.0
    for one in view.segments:
        width = one.tokens * scale
        bar = Bar(_round(x), 0.0, _round(max(width - gap, 0.7)), _STRIP, f"seg-{one.kind}")
        groups.append(BarGroup(_segment(one), (bar,)))
        x += width
    return Drawing(
        height=_STRIP, top=0.0, bottom=_STRIP, left=0.0, right=WIDTH, groups=tuple(groups), marks=()
    )


def _segment(one: WindowSegment) -> str:
    named = f"{one.pages[0]} · " if one.pages else ""
    if len(one.pages) > 1:
        named = f"{one.pages[0]} … {one.pages[-1]}, {len(one.pages)} pages · "
    said = f" · {one.who}: {one.text}" if one.text else ""
    return f"{named}{one.kind.replace('_', ' ')} · {one.tokens:,} tokens{said}"
