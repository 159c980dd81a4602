"""The window strip: what one request held, by kind, in proportion to its limit."""

from __future__ import annotations

from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from pagefault.studio.reading import PieceKind, RequestWindow
from pagefault.studio.tones import COLOURS, LETTERS, has_colours


class WindowStrip(Widget):
    """Draws a request's window; with `in_words`, says the same as a sentence."""

    DEFAULT_CSS = """
    WindowStrip { height: auto; border: round $foreground 25%; padding: 0 1;
                  border-title-color: $text-muted; }
    """
    shows: reactive[RequestWindow | None] = reactive(None)
    in_words: reactive[bool] = reactive(False, layout=True)

    def watch_shows(self, shows: RequestWindow | None) -> None:
        if self._lines() != self.content_size.height:
            self.refresh(layout=True)  # else nothing moves, which is most of what a key costs
        self.border_title = "Window" if shows is None else f"Window {shows.when}"

    def _lines(self) -> int:
        return len(self.render().wrap(self.app.console, max(self.content_size.width, 10)))

    def render(self) -> Text:
        shows = self.shows
        if shows is None:
            return Text("reading what the window holds …", style="dim")
        if self.in_words:
            return Text(shows.sentence())
        width = max(self.content_size.width, 10)
        return Text("\n").join([drawn(shows, width), _legend(shows, width)])


def drawn(shows: RequestWindow, width: int) -> Text:
    """The bar: a cell for so many tokens, and every kind that is there at least one."""
    colours = has_colours()
    of = max(shows.limit, shows.tokens, 1)
    counted = [(kind, shows.tokens_of(kind)) for kind in PieceKind]
    bar = Text()
    for kind, tokens in counted:
        if tokens > 0:
            cells = max(1, round(tokens / of * width))
            glyph = "█" if colours else LETTERS[kind]
            bar.append(glyph * cells, style=COLOURS[kind] if colours else "")
    if not shows.pieces:
        bar.append("▒" * round(shows.tokens / of * width), style="dim")
    bar.truncate(width)
    bar.append("░" * (width - bar.cell_len), style="dim")
    return bar


def _legend(shows: RequestWindow, width: int) -> Text:
    """What the colours stand for, on as many lines as it takes."""
    colours = has_colours()
    of = f" of {shows.limit:,}" if shows.limit else ""
    lines = [Text(f"{shows.tokens:,}{of} tokens")]
    if not shows.pieces:
        lines[-1].append("  reading …", style="dim")
    for kind in PieceKind:
        tokens = shows.tokens_of(kind)
        if not tokens:
            continue
        part = Text().append(
            "■" if colours else f"{LETTERS[kind]}:", COLOURS[kind] if colours else ""
        )
        part.append(f" {kind} {tokens:,}")
        if lines[-1].cell_len + part.cell_len + 2 <= width:
            lines[-1].append("  ").append(part)
        else:
            lines.append(part)
    return Text("\n").join(lines)
