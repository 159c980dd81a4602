"""Rows of lists, and their sources: the feed's values as cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from pagefault.model.ids import PageId
from pagefault.views.browser import Browser
from pagefault.views.shown import HitView, SegmentKind, WindowSegment
from pagefault.views.texts import Excerpt


@dataclass(frozen=True, slots=True)
class PageRef:
    """A listed page; `session_id` is set if it is from another session than the viewed one."""

    page_id: PageId
    session_id: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a list. `marks` are the matches in the last cell; `tone` names the first cell's
    colour.
    """

    of: Any
    cells: tuple[str, ...]
    tone: str = ""
    marks: tuple[tuple[int, int], ...] = ()


class LineSource(Protocol):
    """A source of rows, read a few at a time."""

    @property
    def count(self) -> int: ...
    async def rows(self, first: int, number: int) -> Sequence[Row | None]:
        """Up to `number` rows from `first` on; None for one that is gone."""
        ...


@dataclass(frozen=True, slots=True)
class Listed:
    """Rows that are all in memory."""

    all: Sequence[Row] = ()

    @property
    def count(self) -> int:
        return len(self.all)

    async def rows(self, first: int, number: int) -> Sequence[Row | None]:
        return self.all[first : first + number]


@dataclass(frozen=True, slots=True)
class AllPages:
    """Every page of the session, newest first, read as it becomes visible. Orders are consecutive;
    a forgotten page leaves a gap.
    """

    browser: Browser
    count: int

    async def rows(self, first: int, number: int) -> Sequence[Row | None]:
        newest = self.count - 1 - first
        oldest = max(newest - number + 1, 0)
        found = await self.browser.listed(oldest, newest - oldest + 1)
        return [one if one is None else page_row(one) for one in reversed(found)]


@dataclass(frozen=True, slots=True)
class WindowPages:
    """The pages in one request's window, in their order there."""

    browser: Browser
    segments: Sequence[WindowSegment]

    @property
    def count(self) -> int:
        return len(self.segments)

    async def rows(self, first: int, number: int) -> Sequence[Row | None]:
        seen = self.segments[first : first + number]
        found = await self.browser.excerpts([one.pages[0] for one in seen])
        return [page_row(one, piece) for one, piece in zip(found, seen, strict=True)]


def page_row(one: Excerpt, piece: WindowSegment | None = None) -> Row:
    """A page's row, as part of the window if `piece` is given."""
    tokens = one.tokens if piece is None else piece.tokens
    since = f"turn {one.turn}" if one.turn >= 0 else ""
    tone = _tone(one.page_id) if piece is None else piece.kind
    return Row(PageRef(one.page_id), (one.page_id, one.who, f"{tokens:,}", since, one.text), tone)


def hit_row(hit: HitView, session_id: str) -> Row:
    """The row of a search hit; `session_id` is the viewed session."""
    text, marks = "", []
    for piece, matches in hit.pieces:
        if matches:
            marks.append((len(text), len(text) + len(piece)))
        text += piece
    day = f"{datetime.fromtimestamp(hit.at_ms / 1000).astimezone():%d %b %y}"
    return Row(
        PageRef(hit.page_id, hit.session_id if hit.session_id != session_id else ""),
        (hit.page_id, hit.who, f"{hit.tokens:,}", day, text),
        tone=_tone(hit.page_id),
        marks=tuple(marks),
    )


def minute_of(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000).astimezone():%Y-%m-%d %H:%M}"


def _tone(page_id: PageId) -> str:
    stem = page_id.rpartition("_")[0]
    return {
        "clm": SegmentKind.CLAIMS,
        "sum": SegmentKind.SUMMARIES,
        "idx": SegmentKind.SUMMARIES,
        "prc": SegmentKind.SUMMARIES,
        "tool": SegmentKind.TOOL_RESULTS,
    }.get(stem, SegmentKind.CONVERSATION)
