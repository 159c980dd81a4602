"""A list of any length that requests and draws only the visible lines.

Lines come in chunks. A line that has not arrived is drawn as a dot and requested; chunks that
arrive after the list's contents changed are dropped.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from textwrap import wrap
from typing import ClassVar, Final

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from pagefault.model.errors import PagefaultError
from pagefault.studio.background import begin
from pagefault.studio.rows import LineSource, Listed, Row
from pagefault.studio.tones import COLOURS, has_colours
from pagefault.views.shown import SegmentKind

CHUNK: Final = 32
CHUNKS_KEPT: Final = 32
_PENDING: Final = Row(None, ("…",))
_MISSING: Final = Row(None, ("", "", "", "", "(forgotten)"))


@dataclass(frozen=True, slots=True)
class Column:
    """A column, shown if the list is at least `from_width` wide. The last takes the rest."""

    title: str
    width: int = 0
    from_width: int = 0
    right: bool = False


class Lines(ScrollView):
    """The list. `cursor` is the selected line."""

    HELP = "Arrows, page keys, Home and End move; Enter opens; the mouse does both."
    DEFAULT_CSS = """
    Lines { height: 1fr; background: $surface; }
    Lines:focus { background-tint: $foreground 3%; }
    Lines > .lines--head { color: $text-muted; text-style: bold; }
    Lines > .lines--cursor { background: $primary 35%; color: $text; text-style: bold; }
    Lines > .lines--soft { color: $text-muted; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"lines--head", "lines--cursor", "lines--soft"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "ends(0)", "First", show=False),
        Binding("end,G", "ends(1)", "Last", show=False),
        Binding("enter", "open", "Open", show=False),
        Binding("left", "app.travel(-1)", "Earlier", show=False),  # lines fit: no scrolling
        Binding("right", "app.travel(1)", "Later", show=False),
    ]
    can_focus = True
    cursor: reactive[int] = reactive(0)

    class Moved(Message):
        """Another line was selected; None if it has not arrived, or is gone."""

        def __init__(self, lines: Lines, row: Row | None) -> None:
            super().__init__()
            self.lines, self.row = lines, row

        @property
        def control(self) -> Lines:
            return self.lines

    class Opened(Moved):
        """The selected line is to be opened."""

    def __init__(self, columns: Sequence[Column], *, empty: str, id: str) -> None:
        super().__init__(id=id)
        self.columns = tuple(columns)
        self.empty = empty  # placeholder for a list that was read, and is empty
        self._source: LineSource = Listed()
        self._chunks: OrderedDict[int, Sequence[Row | None]] = OrderedDict()
        self._asked: set[int] = set()
        self._shows = 0  # increases with each change of contents

    def on_mount(self) -> None:
        self._resize()

    def show(self, source: LineSource, *, at: int = 0, first: Sequence[Row | None] = ()) -> None:
        """List these rows, with `at` selected. `first` is their first chunk, if it was read."""
        self._source = source
        self._chunks.clear()
        if first:
            self._chunks[0] = first
        self._asked.clear()
        self._shows += 1
        self._resize()
        self.set_reactive(Lines.cursor, max(0, min(at, source.count - 1)))
        self._follow()
        self.refresh()
        self.post_message(self.Moved(self, self.row))

    @property
    def count(self) -> int:
        return self._source.count

    @property
    def row(self) -> Row | None:
        """The selected line, if it has arrived."""
        return self._row(self.cursor) if self.count else None

    def _resize(self) -> None:
        size = Size(0, self.count + 1)
        if self.show_vertical_scrollbar is (size.height > self.size.height > 0):
            self.set_reactive(Lines.virtual_size, size)  # else the whole screen is laid out anew
            if self.show_vertical_scrollbar:
                self.vertical_scrollbar.window_virtual_size = size.height
        else:
            self.virtual_size = size

    def _row(self, index: int) -> Row | None:
        number, offset = divmod(index, CHUNK)
        chunk = self._chunks.get(number)
        if chunk is None:
            if number not in self._asked and index < self.count:
                self._asked.add(number)
                begin(self, partial(self._fetch, number, self._shows), f"lines-{self.id}")
            return _PENDING
        return chunk[offset] if offset < len(chunk) else None  # gone or unreadable

    async def _fetch(self, number: int, shows: int) -> None:
        try:
            rows: Sequence[Row | None] = await self._source.rows(number * CHUNK, CHUNK)
        except PagefaultError as error:
            self.notify(str(error), severity="warning", markup=False)
            rows = ()
        if shows != self._shows:
            return
        self._chunks[number] = rows
        self._asked.discard(number)
        while len(self._chunks) > CHUNKS_KEPT:
            self._chunks.popitem(last=False)
        self.refresh()
        if number == self.cursor // CHUNK:
            self.post_message(self.Moved(self, self.row))

    # --- moving -----------------------------------------------------------------------------------

    def validate_cursor(self, cursor: int) -> int:
        return max(0, min(cursor, self.count - 1))

    def watch_cursor(self) -> None:
        self._follow()
        self.refresh()
        row = self.row
        if row is not _PENDING:
            self.post_message(self.Moved(self, row))

    def _follow(self) -> None:
        height = max(self.size.height - 1, 1)
        top = self.scroll_offset.y
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, force=True)

    def action_move(self, by: int) -> None:
        self.cursor += by

    def action_page(self, by: int) -> None:
        self.cursor += by * max(self.size.height - 2, 1)

    def action_ends(self, last: int) -> None:
        self.cursor = (self.count - 1) * last

    def action_open(self) -> None:
        row = self.row
        if row is not None and row is not _PENDING:
            self.post_message(self.Opened(self, row))

    def on_click(self, event: events.Click) -> None:
        index = event.y - 1 + self.scroll_offset.y
        if event.y < 1 or index >= self.count:
            return
        if index == self.cursor:
            self.action_open()
        self.cursor = index

    # --- drawing ----------------------------------------------------------------------------------

    def _widths(self, width: int) -> list[tuple[int, int]]:
        """The columns that fit, by number, each with its width."""
        last = len(self.columns) - 1
        shown = [
            (number, one.width)
            for number, one in enumerate(self.columns)
            if number != last and width >= one.from_width
        ]
        rest = width - 2 - sum(wide + 1 for _, wide in shown)
        return [*shown, (last, max(rest, 1))]

    def _toned(self, *part: str) -> Style:
        """The style of a part, opaque over what is below it, so that each theme can be read."""
        return self.get_visual_style(*part).rich_style

    def render_line(self, y: int) -> Strip:
        width, base = self.scrollable_content_region.width, self._toned()
        if y == 0:
            style = self._toned("lines--head")
            cells = tuple(one.title for one in self.columns)
            return self._strip(Row(None, cells), width, style, "  ")
        index = y - 1 + self.scroll_offset.y
        if index >= self.count:
            told = [] if self.count or not self._shows else wrap(self.empty, max(width - 2, 1))
            text = told[index] if index < len(told) else ""
            style = self._toned("lines--soft")
            return Strip([Segment(set_cell_size(f"  {text}", width), style)], width)
        row, is_here = self._row(index) or _MISSING, index == self.cursor
        style = self._toned("lines--cursor") if is_here else base
        return self._strip(row, width, style, "› " if is_here else "  ")

    def _strip(self, row: Row, width: int, style: Style, lead: str) -> Strip:
        parts = [Segment(lead, style)]
        widths = self._widths(width)
        for number, wide in widths:
            text = row.cells[number] if number < len(row.cells) else ""
            if number == len(self.columns) - 1:
                parts += _marked(text, row.marks, wide, style)
                continue
            if cell_len(text) > wide:
                text = set_cell_size(text, wide - 1) + "…"
            gap = " " * (wide - cell_len(text))
            told = gap + text if self.columns[number].right else text + gap
            toned = style
            if number == 0 and row.tone and lead.isspace() and has_colours():
                toned += Style(color=COLOURS[SegmentKind(row.tone)])
            parts.append(Segment(told + " ", toned))
        return Strip(parts).adjust_cell_length(width, style)


def _marked(text: str, marks: Sequence[tuple[int, int]], width: int, style: Style) -> list[Segment]:
    if cell_len(text) > width:
        text = set_cell_size(text, max(width - 1, 0)) + "…"
    bold = style + Style(bold=True, underline=True)
    parts, at = [], 0
    for start, end in marks:
        if start >= len(text):
            break
        parts += [Segment(text[at:start], style), Segment(text[start:end], bold)]
        at = end
    return [*parts, Segment(text[at:], style)]
