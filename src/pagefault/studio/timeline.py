"""The timeline: a bar per request, with rewrites, returning pages, and the current position."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from pagefault.model.reprs import counted
from pagefault.studio.tones import COLOURS, REWRITE, has_colours
from pagefault.views.shown import MapView, SegmentKind
from pagefault.views.texts import why_rewritten

_EIGHTHS = " ▁▂▃▄▅▆▇█"


class Timeline(Widget):
    """Draws requests; `at` is the viewed column. Clicking travels there.

    The drawing is made of lines of cells, because a rich text with a style for each of hundreds of
    bars took most of the time of a step.
    """

    DEFAULT_CSS = """
    Timeline { height: 6; border: round $foreground 25%; padding: 0 1;
               border-title-color: $text-muted; border-subtitle-color: $text; }
    """
    shows: reactive[MapView | None] = reactive(None)
    at: reactive[int] = reactive(0)
    in_words: reactive[bool] = reactive(False)

    class Travelled(Message):
        """Another request was selected."""

        def __init__(self, at: int) -> None:
            super().__init__()
            self.at = at

    def on_mount(self) -> None:
        self.border_title = "Requests · ←/→ travel in time"

    def watch_shows(self) -> None:
        self._tell()

    def watch_at(self) -> None:
        self._tell()

    def watch_in_words(self) -> None:
        self._tell()

    def _tell(self) -> None:
        """Describe the viewed request in the frame, where it covers no marks."""
        is_drawn = self.shows is not None and self.shows.map.columns and not self.in_words
        self.border_subtitle = label(self.shows, self.at) if self.shows and is_drawn else ""

    def render(self) -> Text:
        """What is shown in place of the drawing."""
        shows = self.shows
        if shows is None:
            return Text("loading requests …", style="dim")
        return Text(sentence(shows, self.at) if shows.map.columns else "No requests yet.")

    def render_line(self, y: int) -> Strip:
        shows = self.shows
        if shows is None or self.in_words or not shows.map.columns:
            return super().render_line(y)
        width, height = max(self.content_size.width, 8), max(self.content_size.height, 3)
        cells = _line(shows, self.at, y, width, height)
        base = self.rich_style
        segments = [
            Segment("".join(text for text, _ in run), base + Style.parse(colour))
            for colour, run in groupby(cells, key=itemgetter(1))
        ]
        return Strip(segments).adjust_cell_length(width, base)

    def on_click(self, event: events.Click) -> None:
        if self.shows is None or not self.shows.map.columns:
            return
        offset = event.get_content_offset(self)
        if offset is not None:
            step, wide = _scale(len(self.shows.map.columns), self.content_size.width)
            at = offset.x // wide * step + step - 1
            self.post_message(self.Travelled(min(at, len(self.shows.map.columns) - 1)))


def sentence(shows: MapView, at: int) -> str:
    """A request in words, for people who cannot see the bar."""
    one, back = shows.map.columns[at], shows.brought[at]
    told = f"Request {one.last} of {shows.map.requests:,}, turn {one.turn}: {one.tokens:,} tokens"
    if one.tokens:
        told += f", {one.shared_tokens / one.tokens:.0%} same as in the previous request"
    if back:
        told += f", {counted(back, 'message')} brought back"
    return told + (f". Rewritten: {why_rewritten(one.rewrite)}." if one.rewrite else ".")


def label(shows: MapView, at: int) -> str:
    """The request in a few words, below its bar."""
    one, back = shows.map.columns[at], shows.brought[at]
    told = [f"request {one.last}" + (", now" if at == len(shows.map.columns) - 1 else "")]
    told += [f"rewritten: {why_rewritten(one.rewrite)}"] if one.rewrite else []
    told += [f"{back} brought back"] if back else []
    return " · ".join(told)


def _scale(columns: int, width: int) -> tuple[int, int]:
    """The number of columns per bar, and a bar's width in cells."""
    step = -(-columns // max(width, 1))
    return step, max(1, min(4, width // -(-columns // step)))


def _line(shows: MapView, at: int, y: int, width: int, height: int) -> Iterator[tuple[str, str]]:
    """The cells of a line, each bar's with their colour: rewrites above the bars, the current
    position and returning pages below them.
    """
    columns = shows.map.columns
    step, wide = _scale(len(columns), width)
    highest = max(one.tokens for one in columns) or 1
    rows = height - 2  # of the bars
    for first in range(0, len(columns), step):
        group = columns[first : first + step]
        is_here, is_rewritten = first <= at < first + step, any(one.rewrite for one in group)
        if y == 0:
            glyph, colour = "┆" if is_rewritten else " ", REWRITE
        elif y < height - 1:
            eighths = max(1, round(group[-1].tokens / highest * rows * 8))
            glyph = _EIGHTHS[min(8, max(0, eighths - (rows - y) * 8))]
            colour = REWRITE if is_rewritten else COLOURS[SegmentKind.CONVERSATION]
            colour = "" if is_here else colour  # the theme's own, which stands out in each
        elif is_here:
            glyph, colour = "▲", ""
        else:
            glyph = "↩" if any(shows.brought[first : first + step]) else " "
            colour = COLOURS[SegmentKind.BROUGHT_BACK]
        is_bar = 0 < y < height - 1
        text = glyph * wide if is_bar else glyph.ljust(wide)
        yield text, colour if has_colours() else ""
