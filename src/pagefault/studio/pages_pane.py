"""The page browser: pages of the window, of the session, or matching a filter."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Final

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from pagefault.model.ids import PageId
from pagefault.model.reprs import counted
from pagefault.studio import acts
from pagefault.studio.desk import Desk
from pagefault.studio.dialogs import Choose
from pagefault.studio.lines import CHUNK, Column, Lines
from pagefault.studio.pane import Do, Find, Pane, ShowPages, quoted
from pagefault.studio.rows import (
    AllPages,
    Listed,
    PageRef,
    Row,
    WindowPages,
    hit_row,
    minute_of,
    page_row,
)
from pagefault.studio.strip import when
from pagefault.views.filters import PageQuery, parsed
from pagefault.views.shown import PageView, WindowView

HITS: Final = 500
"""Most hits of a search or filter that are shown; for more, refine the query."""

_COLUMNS = (
    Column("page", 8),
    Column("from", 11, from_width=44),
    Column("tokens", 6, from_width=56, right=True),
    Column("since", 10, from_width=76),
    Column("text"),
)


class PagesPane(Pane):
    """Pages matching the filter if there is one, else the window's if `in_window`, else all."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Find"),
        Binding("escape", "clear", "Clear", show=False),
        Binding("w", "window", "Window/all"),
        Binding("p", "pin", "Pin"),
        Binding("t", "tags", "Related"),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, _COLUMNS, empty="No pages.", name="pages")
        self.filter = Input(
            placeholder="/ words, topic:oak, task:#42, on:2026-03-05, source:web, scope:all",
            id="filter",
            compact=True,
        )
        self.window: WindowView | None = None
        self.in_window = True
        self._view: PageView | None = None
        self._ref = PageRef(PageId(""))

    def compose(self) -> ComposeResult:
        yield self.filter
        yield from super().compose()

    def show_window(self, window: WindowView) -> None:
        """Follow to another moment."""
        self.window = window
        if self.in_window and not self.filter.value and window.segments:
            self.reads(self.refill, "refill")

    async def refill(self) -> None:
        query = parsed(self.filter.value)
        if query is not None:
            self.notes("searching …")
            found, total = await self._found(query)
            where = "every session" if query.everywhere else "this session"
            of = f"{found.count:,} of {total:,}" if found.count < total else f"{total:,}"
            wider = "" if total or query.everywhere else " · scope:all searches every session"
            self.notes(f"{of} found in {where}{wider} · Escape clears the filter")
            self.lines.show(found)
        elif self.in_window:
            window = self.window
            if window is None or not window.segments:
                self.notes("loading the window … w: all pages")
                return
            pages = [one for one in window.segments if one.pages]
            source = WindowPages(await self.desk.browser(), pages)
            first = await source.rows(0, CHUNK)
            self.notes(f"{counted(len(pages), 'page')} {when(window)} · w: all pages")
            self.lines.show(source, first=first)
        else:
            browser = await self.desk.browser()
            every = AllPages(browser, await browser.count())
            self.notes(f"{counted(every.count, 'page')}, newest first · w: window only")
            self.lines.show(every)

    async def _found(self, query: PageQuery) -> tuple[Listed, int]:
        if query.page_id:
            [one] = await (await self.desk.browser()).excerpts([PageId(query.page_id)])
            return Listed([page_row(one)]), 1
        here = self.desk.session_id
        found = await self.desk.feed.found(query, "" if query.everywhere else here, limit=HITS)
        return Listed([hit_row(hit, here) for hit in found.hits]), found.total

    def find(self, text: str) -> None:
        self.filter.value = text
        self.lines.focus()
        self.reads(self.refill, "refill")

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
        self.reads(partial(self._preview, event.row), "preview")

    async def _preview(self, row: Row) -> None:
        ref: PageRef = row.of
        view = await (await self.desk.browser(ref.session_id)).page(ref.page_id)
        self._view, self._ref = view, ref
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
        if self._ref.session_id:
            self.notify("This page belongs to another session: S opens it.")
        else:
            self.post_message(Do(acts.pin(self._ref.page_id)))

    def action_tags(self) -> None:
        """Offer this page's topics, tasks and names as filters."""
        view = self._view
        if view is None:
            return
        options = [(f"task:{one}", f"task   {one}") for one in view.tasks]
        options += [(f"topic:{one}", f"topic  {one}") for one in view.topics]
        options += [(f'"{one}"', f"named  {one}") for one in view.names]
        options += [(str(one), f"page   {one}") for one in view.rests_on]
        question = f"Related to {view.page.page_id}"
        if options:
            self.app.push_screen(Choose(question, options), self._follow)
        else:
            self.notify("This page has no topics, tasks or names.")

    def _follow(self, chosen: str | None) -> None:
        if chosen:
            self.post_message(Find(chosen))


def told(view: PageView, *, most: int | None = None) -> Text:
    """A page as text: header, words, evidence. Shows at most `most` characters of the words."""
    page = view.page
    about = f"{page.who} · {minute_of(page.at_ms)} · turn {page.turn} · "
    about += f"{counted(page.tokens, 'token')} · {view.origin}"
    about += " · superseded by an edit" if view.is_superseded else ""
    text = Text(page.page_id, style="bold").append(f"\n{about}\n\n", style="dim not bold")
    words = view.text if most is None else view.text[:most]
    text.append(words, style="not bold")
    if len(words) < len(view.text):
        text.append(
            f"\n… {len(view.text) - len(words):,} more characters: press Enter", style="dim"
        )
    for name, found in (
        ("rests on", view.rests_on),
        ("topics", view.topics),
        ("tasks", view.tasks),
        ("names", view.names),
    ):
        if found:
            text.append(f"\n\n{name}  ", style="dim not bold")
            text.append(", ".join(found), style="not bold")
    if view.evidence:
        text.append("\n\nsaid in", style="dim not bold").append(quoted(view.evidence))
    return text
