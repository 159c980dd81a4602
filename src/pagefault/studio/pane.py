"""The base of the studio's tabs, and the messages they send."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.message import Message
from textual.widgets import Static

from pagefault.model.errors import PagefaultError
from pagefault.studio.acts import Act
from pagefault.studio.background import begin
from pagefault.studio.desk import Desk
from pagefault.studio.lines import Column, Lines
from pagefault.studio.rows import PageRef
from pagefault.views.texts import SpanView


class Do(Message):
    """Perform an act on the memory."""

    def __init__(self, act: Act) -> None:
        super().__init__()
        self.act = act


class Find(Message):
    """Find pages by this filter."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class ShowPages(Message):
    """Show these pages in full."""

    def __init__(self, refs: Sequence[PageRef]) -> None:
        super().__init__()
        self.refs = refs


class GoTo(Message):
    """Switch to another tab."""

    def __init__(self, tab: str) -> None:
        super().__init__()
        self.tab = tab


class Pane(Vertical):
    """A list with a preview of the selected line beside or below it. `is_stale` is set if the
    contents changed since they were read.
    """

    DEFAULT_CSS = """
    Pane > .note { height: 1; padding: 0 1; color: $text-muted; }
    Pane > .halves { layout: horizontal; height: 1fr; }
    Pane .preview { width: 2fr; height: 1fr; border-left: solid $foreground 15%; padding: 0 1; }
    Pane Lines { width: 3fr; }
    """

    def __init__(self, desk: Desk, columns: Sequence[Column], *, empty: str, name: str) -> None:
        super().__init__(id=f"{name}-pane")
        self.desk = desk
        self.is_stale = True
        self.lines = Lines(columns, empty=empty, id=f"{name}-lines")
        self.note = Static(classes="note", markup=False)
        self.preview = Static(classes="preview", markup=False)

    def compose(self) -> ComposeResult:
        yield self.note
        with Container(classes="halves"):
            yield self.lines
            yield self.preview

    def look(self) -> None:
        """Read the contents, if they have changed."""
        if self.is_stale:
            self.is_stale = False
            self.reads(self.refill, "refill")

    def reads(self, work: Callable[[], Awaitable[None]], group: str) -> None:
        """Run in the background, replacing the task last started under this name."""
        begin(self, partial(self._told, work), f"{self.id}-{group}", only=True)

    async def _told(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except PagefaultError as error:
            told = f"{error}" + (f"\n{error.hint}" if error.hint else "")
            self.notify(self.desk.clean(told), severity="warning", markup=False)

    async def refill(self) -> None:
        """Read all contents again."""
        raise NotImplementedError

    def says(self, text: Text) -> None:
        """Set the preview's text, cut to its room so that nothing moves."""
        self.preview.update(text, layout=False)

    def notes(self, text: str) -> None:
        """Set the text above the list."""
        self.note.update(Text(text), layout=False)


def quoted(spans: Sequence[SpanView]) -> Text:
    """Evidence, highlighted in its context."""
    text = Text()
    for one in spans:
        text.append(f"\n{one.page_id}  ", style="dim").append(one.before)
        text.append(one.words, style="bold reverse").append(f"{one.after}\n")
    return text
