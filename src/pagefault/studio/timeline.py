"""The timeline: a bar per request, with rewrites, returning pages, and the current position."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from pagefault.model.reprs import counted
from pagefault.studio.tones import COLOURS, HERE, REWRITE, has_colours
from pagefault.views.shown import MapView, SegmentKind
from pagefault.views.texts import why_rewritten

_EIGHTHS = " ▁▂▃▄▅▆▇█"


class Timeline(Widget):
    """Draws requests; `at` is the viewed column. Clicking travels there."""

    DEFAULT_CSS = """
    Timeline { height: 6; border: round $foreground 25%; padding: 0 1;
               border-title-color: $text-muted; }
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

    def render(self) -> Text:
        shows = self.shows
        if shows is None:
            return Text("loading requests …", style="dim")
        if not shows.map.columns:
            return Text("No requests yet.", style="dim")
        if self.in_words:
            return Text(sentence(shows, self.at))
        width, height = max(self.content_size.width, 8), max(self.content_size.height - 1, 1)
        return Text("\n").join(
            [*_bars(shows, self.at, width, height), _under(shows, self.at, width)]
        )

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


def _scale(columns: int, width: int) -> tuple[int, int]:
    """The number of columns per bar, and a bar's width in cells."""
    step = -(-columns // max(width, 1))
    return step, max(1, min(4, width // -(-columns // step)))


def _bars(shows: MapView, at: int, width: int, height: int) -> list[Text]:
    colours = has_colours()
    step, wide = _scale(len(shows.map.columns), width)
    highest = max(one.tokens for one in shows.map.columns) or 1
    rows = [Text() for _ in range(height)]
    for first in range(0, len(shows.map.columns), step):
        group = shows.map.columns[first : first + step]
        eighths = max(1, round(group[-1].tokens / highest * height * 8))
        is_here = first <= at < first + step
        style = ""
        if colours:
            has_rewrite = any(one.rewrite for one in group)
            style = REWRITE if has_rewrite else COLOURS[SegmentKind.CONVERSATION]
            style = HERE if is_here else style
        for number, row in enumerate(rows):
            level = min(8, max(0, eighths - (height - 1 - number) * 8))
            row.append(_EIGHTHS[level] * wide, style=style)
    return rows


def _under(shows: MapView, at: int, width: int) -> Text:
    """The line below: current position, rewrites, and returning pages."""
    colours = has_colours()
    step, wide = _scale(len(shows.map.columns), width)
    line = [" "] * width
    for first in range(0, len(shows.map.columns), step):
        x = first // step * wide
        numbers = range(first, min(first + step, len(shows.map.columns)))
        if any(shows.map.columns[number].rewrite for number in numbers):
            line[x] = "┆"
        if any(shows.brought[number] for number in numbers):
            line[x] = "↩"
        if at in numbers:
            line[x] = "▲"
    here = at // step * wide
    one = shows.map.columns[at]
    told = f" request {one.last}"
    if at == len(shows.map.columns) - 1:
        told += ", now"
    if one.rewrite:
        told += " · rewritten"
        why = f": {why_rewritten(one.rewrite)}"
        told += why if len(told + why) <= max(here, width - here - 1) else ""
    elif shows.brought[at]:
        told += f" · {shows.brought[at]} brought back"
    start = here + 1 if here + 1 + len(told) <= width else max(here - len(told), 0)
    line[start : start + len(told)] = told[: width - start]
    text = Text("".join(line)[:width])
    if colours:
        text.highlight_regex("↩", COLOURS[SegmentKind.BROUGHT_BACK])
        text.highlight_regex("┆", REWRITE)
        text.highlight_regex("▲", HERE)
    return text
