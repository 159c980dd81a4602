"""The tabs as a line; clicking one selects it, as its number does."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget


class TabLine(Widget):
    """Draws the tabs; `at` is the selected one. Textual's own have a widget per tab and an
    underline that is laid out on every change, which took a third longer.
    """

    DEFAULT_CSS = "TabLine { height: 1; padding: 0 1; background: $surface; color: $text-muted; }"
    at: reactive[str] = reactive("pages")

    class Chosen(Message):
        """A tab was selected."""

        def __init__(self, tab: str) -> None:
            super().__init__()
            self.tab = tab

    def __init__(self, titles: Mapping[str, str]) -> None:
        super().__init__()
        self.titles = titles
        self._places: list[tuple[range, str]] = []

    def render(self) -> Text:
        text, self._places = Text(no_wrap=True, overflow="ellipsis"), []
        told = [f" {number} {title} " for number, title in enumerate(self.titles.values(), 1)]
        gap = " " if len("".join(told)) + len(told) <= self.content_size.width else ""
        for name, words in zip(self.titles, told, strict=True):
            start = text.cell_len
            text.append(words, style="bold reverse" if name == self.at else "")
            self._places.append((range(start, text.cell_len), name))
            text.append(gap)
        return text

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        for cells, name in self._places:
            if offset is not None and offset.x in cells:
                self.post_message(self.Chosen(name))
