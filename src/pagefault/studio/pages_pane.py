"""The page browser: pages of the window, of the session, or those that a filter finds."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from pagefault.model.reprs import counted
from pagefault.studio import acts
from pagefault.studio.dialogs import Choose
from pagefault.studio.filters import parsed
from pagefault.studio.lines import Column, Lines
from pagefault.studio.pane import Do, Find, Pane, ShowPages, quoted
from pagefault.studio.reading import Desk, PageRef, PageView, RequestWindow, Row, WindowPages

_COLUMNS = (
    Column("page", 8),
    Column("from", 11, from_width=44),
    Column("tokens", 6, from_width=56, right=True),
    Column("since", 10, from_width=76),
    Column("text"),
)


class PagesPane(Pane):
    """Shows the window's pages as long as `in_window`, all others else; a filter before both."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Find"),
        Binding("escape", "clear", "Clear", show=False),
        Binding("w", "window", "Window/all"),
        Binding("p", "pin", "Pin"),
        Binding("t", "tags", "Related"),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, _COLUMNS, empty="No page here.", name="pages")
        self.filter = Input(
            placeholder="/ words, topic:oak, task:#42, on:2026-03-05, source:web, scope:all",
            id="filter",
            compact=True,
        )
        self.window: RequestWindow | None = None
        self.in_window = True
        self._view: PageView | None = None

    def compose(self) -> ComposeResult:
        yield self.filter
        yield from super().compose()

    def show_window(self, window: RequestWindow) -> None:
        """The moment that is looked at is another."""
        self.window = window
        if self.in_window and not self.filter.value and window.pieces:
            self.reads(self.refill(), "refill")

    async def refill(self) -> None:
        query = parsed(self.filter.value)
        if query is not None:
            self.notes("searching …")
            found, total = await self.desk.found(query)
            where = "every session" if query.everywhere else "this session"
            of = f"{found.count:,} of {total:,}" if found.count < total else f"{total:,}"
            self.notes(f"{of} found in {where} · Escape clears the filter")
            self.lines.show(found)
        elif self.in_window:
            if self.window is None or not self.window.pieces:
                self.notes("reading what the window holds … w: all pages")
                return
            pages = self.window.pages
            self.notes(f"{counted(len(pages), 'page')} {self.window.when} · w: all pages")
            self.lines.show(WindowPages(self.desk, pages))
        else:
            every = await self.desk.all_pages()
            self.notes(f"{counted(every.count, 'page')}, the newest first · w: the window's")
            self.lines.show(every)

    def find(self, text: str) -> None:
        self.filter.value = text
        self.lines.focus()
        self.reads(self.refill(), "refill")

    # --- the filter -------------------------------------------------------------------------------

    def action_filter(self) -> None:
        self.filter.focus()

    def action_clear(self) -> None:
        if self.filter.value:
            self.find("")
        self.lines.focus()

    def action_window(self) -> None:
        self.in_window = not self.in_window
        self.find("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.find(event.value)

    # --- the chosen page --------------------------------------------------------------------------

    def on_lines_moved(self, event: Lines.Moved) -> None:
        event.stop()
        if event.row is None or not isinstance(event.row.of, PageRef):
            self._view = None
            self.says(Text("" if event.row is None else "…", style="dim"))
            return
        self.reads(self._preview(event.row), "preview")

    async def _preview(self, row: Row) -> None:
        view = self._view = await self.desk.page(row.of)
        if view is None:
            self.says(Text(f"{row.cells[0]} was forgotten, or cannot be read here.", style="dim"))
        else:
            self.says(told(view, most=4_000))

    def on_lines_opened(self, event: Lines.Opened) -> None:
        event.stop()
        if event.row is not None and isinstance(event.row.of, PageRef):
            self.post_message(ShowPages([event.row.of]))

    def action_pin(self) -> None:
        if self._view is None:
            return
        if self._view.ref.session_id:
            self.notify("It is of another session: S opens that one.")
        else:
            self.reads(self._pin(self._view.ref), "pin")

    async def _pin(self, ref: PageRef) -> None:
        self.post_message(Do(acts.pin(ref.page_id, await self.desk.status())))

    def action_tags(self) -> None:
        """Offer what leads from this page to others: its topics, its tasks, what it names."""
        view = self._view
        if view is None:
            return
        options = [(f"task:{one}", f"task   {one}") for one in view.tasks]
        options += [(f"topic:{one}", f"topic  {one}") for one in view.topics]
        options += [(f'"{one}"', f"named  {one}") for one in view.names]
        options += [(str(one), f"page   {one}") for one in view.rests_on]
        if options:
            self.app.push_screen(Choose(f"What {view.ref.page_id} leads to", options), self._follow)
        else:
            self.notify("It names no topic, task or file.")

    def _follow(self, chosen: str | None) -> None:
        if chosen:
            self.post_message(Find(chosen))


def told(view: PageView, *, most: int | None = None) -> Text:
    """A page as text: about it, its words, what they rest on. `most` characters of its words."""
    text = Text(f"{view.ref.page_id}", style="bold")
    text.append(f"\n{view.about}\n\n", style="dim not bold")
    words = view.text if most is None else view.text[:most]
    text.append(words, style="not bold")
    if len(words) < len(view.text):
        text.append(f"\n… {len(view.text) - len(words):,} more characters: Enter", style="dim")
    for name, found in (
        ("rests on", view.rests_on),
        ("topics", view.topics),
        ("tasks", view.tasks),
        ("names", view.names),
    ):
        if found:
            text.append(f"\n\n{name}  ", style="dim not bold")
            text.append(", ".join(found), style="not bold")
    if view.quotes:
        text.append("\n\nsaid in", style="dim not bold").append(quoted(view.quotes))
    return text
