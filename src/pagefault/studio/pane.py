"""What the tabs of the studio have in common: how they read, and what they ask of the rest."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.message import Message
from textual.widgets import Static

from pagefault.model.errors import PagefaultError
from pagefault.studio.acts import Act
from pagefault.studio.desk import Desk
from pagefault.studio.lines import Column, Lines
from pagefault.studio.rows import PageRef
from pagefault.views.texts import SpanView


class Do(Message):
    """Something is to be done to the memory."""

    def __init__(self, act: Act) -> None:
        super().__init__()
        self.act = act


class Find(Message):
    """Pages are to be found by this filter."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class ShowPages(Message):
    """These pages are to be shown in full."""

    def __init__(self, refs: Sequence[PageRef]) -> None:
        super().__init__()
        self.refs = refs


class GoTo(Message):
    """Another tab is to be looked at."""

    def __init__(self, tab: str) -> None:
        super().__init__()
        self.tab = tab


class Pane(Vertical):
    """A list, and beside or below it what the chosen line is about. `is_stale` is whether what it
    shows has changed since it was read.
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
        """Read what it shows, if that has changed."""
        if self.is_stale:
            self.is_stale = False
            self.reads(self.refill(), "refill")

    def reads(self, work: Coroutine[Any, Any, None], group: str) -> None:
        """Do it beside the keys, in place of what was begun under this name before."""
        self.run_worker(self._told(work), group=f"{self.id}-{group}", exclusive=True)

    async def _told(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except PagefaultError as error:
            told = f"{error}" + (f"\n{error.hint}" if error.hint else "")
            self.notify(self.desk.clean(told), severity="warning", markup=False)

    async def refill(self) -> None:
        """Read all that it shows."""
        raise NotImplementedError

    def says(self, text: Text) -> None:
        """What the preview shows from now on, as far as there is room: nothing moves for it."""
        self.preview.update(text, layout=False)

    def notes(self, text: str) -> None:
        """What stands above the list from now on."""
        self.note.update(Text(text), layout=False)


def quoted(spans: Sequence[SpanView]) -> Text:
    """Words that are evidence, marked in what stands around them."""
    text = Text()
    for one in spans:
        text.append(f"\n{one.page_id}  ", style="dim").append(one.before)
        text.append(one.words, style="bold reverse").append(f"{one.after}\n")
    return text
