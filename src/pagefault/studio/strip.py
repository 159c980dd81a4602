"""The window strip: one request's contents by kind, to the scale of its limit."""

from __future__ import annotations

from rich.text import Text
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from pagefault.studio.tones import COLOURS, LETTERS, WORDS, has_colours
from pagefault.views.shown import WindowView


class WindowStrip(Widget):
    """Draws a request's window; with `in_words`, describes it in a sentence.

    At one width it grows to the tallest that it was and stays so: a layout of the screen is most of
    what travelling costs, and nothing below it moves.
    """

    DEFAULT_CSS = """
    WindowStrip { height: auto; border: round $foreground 25%; padding: 0 1;
                  border-title-color: $text-muted; }
    """
    shows: reactive[WindowView | None] = reactive(None)
    in_words: reactive[bool] = reactive(False, layout=True)

    def __init__(self) -> None:
        super().__init__()
        self._tallest: dict[int, int] = {}  # lines, at the present width

    def watch_shows(self, shows: WindowView | None) -> None:
        if self._lines() > max(self._tallest.values(), default=0):
            self.refresh(layout=True)
        self.border_title = "Window" if shows is None else f"Window {when(shows)}"

    def watch_in_words(self, in_words: bool) -> None:
        self._tallest.clear()
        self.set_class(in_words, "-words")  # a sentence is never cut

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        lines = super().get_content_height(container, viewport, width)
        self._tallest = {width: max(lines, self._tallest.get(width, 0))}
        return self._tallest[width]

    def _lines(self) -> int:
        return len(self.render().wrap(self.app.console, max(self.content_size.width, 10)))

    def render(self) -> Text:
        shows = self.shows
        if shows is None:
            return Text("loading the window …", style="dim")
        if self.in_words:
            return Text(sentence(shows))
        width = max(self.content_size.width, 10)
        return Text("\n").join([drawn(shows, width), _legend(shows, width)])


def when(shows: WindowView) -> str:
    """The moment being viewed, in words."""
    at = "now" if shows.is_next else f"at request {shows.request.number}"
    return f"{at}, turn {shows.request.turn}"


def sentence(shows: WindowView) -> str:
    """The strip in words, for people who cannot see it."""
    tokens, limit = shows.request.tokens, shows.window_tokens
    of = f" of {limit:,}" if limit else ""
    told = ((words, shows.tokens_of(kind)) for kind, words in WORDS.items())
    parts = [f"{words} {count:,}" for words, count in told if count]
    parts += [f"free {limit - tokens:,}"] if limit > tokens else []
    return f"Window {when(shows)}: {tokens:,}{of} tokens. {', '.join(parts)}."


def drawn(shows: WindowView, width: int) -> Text:
    """The bar: cells in proportion to tokens, at least one for every kind present."""
    colours = has_colours()
    tokens_of_all = shows.request.tokens
    of = max(shows.window_tokens, tokens_of_all, 1)
    counted = [(kind, shows.tokens_of(kind)) for kind in WORDS]
    bar = Text()
    for kind, tokens in counted:
        if tokens > 0:
            cells = max(1, round(tokens / of * width))
            glyph = "█" if colours else LETTERS[kind]
            bar.append(glyph * cells, style=COLOURS[kind] if colours else "")
    if not shows.segments:
        bar.append("▒" * round(tokens_of_all / of * width), style="dim")
    bar.truncate(width)
    bar.append("░" * (width - bar.cell_len), style="dim")
    return bar


def _legend(shows: WindowView, width: int) -> Text:
    """The legend of colours, on as many lines as it takes."""
    colours = has_colours()
    of = f" of {shows.window_tokens:,}" if shows.window_tokens else ""
    lines = [Text(f"{shows.request.tokens:,}{of} tokens")]
    if not shows.segments:
        lines[-1].append("  loading …", style="dim")
    for kind, words in WORDS.items():
        tokens = shows.tokens_of(kind)
        if not tokens:
            continue
        part = Text().append(
            "■" if colours else f"{LETTERS[kind]}:", COLOURS[kind] if colours else ""
        )
        part.append(f" {words} {tokens:,}")
        if lines[-1].cell_len + part.cell_len + 2 <= width:
            lines[-1].append("  ").append(part)
        else:
            lines.append(part)
    return Text("\n").join(lines)
