"""The studio: one memory, one session, one moment of it that is looked at, and the keys."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar, Final

from rich.text import Text
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer, Static, TabbedContent, TabPane

from pagefault.model.errors import PagefaultError
from pagefault.model.ids import Seq
from pagefault.model.reprs import counted
from pagefault.service.memory import Memory
from pagefault.service.session import Session
from pagefault.studio.acts import Act
from pagefault.studio.claims_pane import ClaimsPane
from pagefault.studio.concerns_pane import ConcernsPane
from pagefault.studio.dialogs import Choose, FullText
from pagefault.studio.filters import HELP
from pagefault.studio.keeping_pane import KeepingPane
from pagefault.studio.pages_pane import PagesPane, told
from pagefault.studio.pane import Do, Find, GoTo, Pane, ShowPages
from pagefault.studio.reading import Clean, Desk, RequestWindow
from pagefault.studio.review_pane import ReviewPane
from pagefault.studio.strip import WindowStrip
from pagefault.studio.timeline import Timeline

LOOK_S: Final = 2.0
"""Between two looks at what others wrote. A look costs a read of the head of the log."""

SETTLED_S: Final = 0.05  # after the last key, before a window of the past is read
WINDOWS_KEPT: Final = 64
QUICK_S: Final = 0.5  # of processor time: requests that are read as fast are read again

Writing = Callable[[], AbstractAsyncContextManager[Memory]]
"""Opens the memory to be written. Raises `PagefaultError`, which says why it may not be."""


class StudioApp(App[None]):
    """Looks at `memory`, open for reading, and at a session of it. What is done to it goes through
    `writing`. `clean` is asked for every text.
    """

    TITLE = "pagefault studio"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - Textual declares it of an instance
        (0, "-narrow"),
        (96, "-normal"),
        (150, "-wide"),
    ]
    CSS = """
    #title { height: 1; background: $primary 25%; padding: 0 1; text-style: bold; }
    TabbedContent { height: 1fr; }
    TabPane { padding: 0; }
    .-narrow Timeline { height: 5; }
    .-narrow Pane > .halves { layout: vertical; }
    .-narrow Pane Lines { width: 1fr; height: 3fr; }
    .-narrow Pane .preview { width: 1fr; height: 2fr; border-left: none;
                             border-top: solid $foreground 15%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "travel(-1)", "Earlier"),
        Binding("right", "travel(1)", "Later"),
        Binding("shift+left", "travel(-10)", "Ten back", show=False),
        Binding("shift+right", "travel(10)", "Ten on", show=False),
        Binding("n", "travel(1000000)", "Now"),
        *(
            Binding(str(number), f"tab({tab!r})", title, show=False)
            for number, (tab, title) in enumerate(
                (
                    ("pages", "Pages"),
                    ("claims", "Claims"),
                    ("review", "Review"),
                    ("keeping", "Keeping"),
                    ("concerns", "Needs a look"),
                ),
                1,
            )
        ),
        Binding("slash", "find", "Find", show=False),  # of the pages, from any tab
        Binding("a", "tab('concerns')", "Needs a look", show=False),
        Binding("S", "sessions", "Sessions"),
        Binding("r", "reload", "Read again", show=False),
        Binding("d", "words", "In words", show=False),
        Binding("question_mark", "keys", "Help"),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(self, memory: Memory, session: Session, *, writing: Writing, clean: Clean) -> None:
        super().__init__()
        self.desk = Desk(memory, session, clean)
        self._writing = writing
        self._records = memory.records
        self._windows: OrderedDict[Seq, RequestWindow] = OrderedDict()
        self._wanted = asyncio.Event()
        self._took_s = 0.0
        self.pages = PagesPane(self.desk)
        self.panes: dict[str, Pane] = {
            "pages": self.pages,
            "claims": ClaimsPane(self.desk),
            "review": ReviewPane(self.desk),
            "keeping": KeepingPane(self.desk),
            "concerns": ConcernsPane(self.desk),
        }
        # Held, as a query would look on the screen that is on top, and that may be a dialog.
        self.head = Static(id="title", markup=False)
        self.strip, self.timeline = WindowStrip(), Timeline()
        self.tabs = TabbedContent(initial="pages")
        self.in_words = False  # strip and timeline as sentences

    def compose(self) -> ComposeResult:
        yield self.head
        yield self.strip
        yield self.timeline
        with self.tabs:
            for number, (name, title) in enumerate(_TABS.items(), 1):
                with TabPane(f"{number} {title}", id=name):
                    yield self.panes[name]
        yield Footer(compact=True)

    def on_mount(self) -> None:
        self.pages.lines.focus()
        self.strip.in_words = self.timeline.in_words = self.in_words
        self.call_after_refresh(self._begin)  # what is read competes with what is drawn
        self.run_worker(self._travel(), group="travel")
        self.set_interval(LOOK_S, self._look)

    def _begin(self) -> None:
        """Read the session that is looked at now, what is seen first."""
        self._windows.clear()
        self.timeline.shows = None
        self.strip.shows = None
        for pane in self.panes.values():
            pane.is_stale = True
        self.panes[self.tab].look()
        self.reads(self._tell_title(), "title")
        self.reads(self._read_requests(), "requests")

    def reads(self, work: Coroutine[Any, Any, None], group: str) -> None:
        """Do it beside the keys, in place of what was begun under this name before; what cannot be
        read is said.
        """
        self.run_worker(self._told(work), group=group, exclusive=True)

    async def _told(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except PagefaultError as error:
            self._warn(error)

    @property
    def tab(self) -> str:
        return self.tabs.active or "pages"

    async def _tell_title(self) -> None:
        status, control = await self.desk.status(), await self.desk.control()
        self.head.update(
            f"pagefault studio · {self.desk.called} · {counted(status.turns, 'turn')} · "
            f"{counted(status.pages, 'page')} · memory {control.replace('_', ' ')}",
            layout=False,
        )
        now = await self.desk.window_now()
        if now is not None and self.strip.shows is None:
            self._show(now)

    async def _read_requests(self) -> None:
        began = time.process_time()
        shows = await self.desk.requests()
        self._took_s = time.process_time() - began
        was_last = self.timeline.shows is None or self.timeline.at >= self._last
        self.timeline.shows = shows
        if was_last:
            self.timeline.at = max(self._last, 0)
        self.timeline.refresh()
        self._wanted.set()

    @property
    def _last(self) -> int:
        return len(self.timeline.shows.columns) - 1 if self.timeline.shows is not None else -1

    # --- time -------------------------------------------------------------------------------------

    def action_travel(self, by: int) -> None:
        self._go(self.timeline.at + by)

    def on_timeline_travelled(self, event: Timeline.Travelled) -> None:
        self._go(event.at)

    def _go(self, at: int) -> None:
        shows = self.timeline.shows
        if shows is None or not shows.columns:
            return
        at = max(0, min(at, self._last))
        if at == self.timeline.at:
            return
        self.timeline.at = at
        column = shows.columns[at]
        known = self._windows.get(column.seq)
        if known is not None and at != self._last:
            self._show(known)
            return
        limit = self.strip.shows.limit if self.strip.shows is not None else 0
        self._show(
            RequestWindow(
                request=column.last, turn=column.turn, tokens=column.tokens, limit=limit, pieces=()
            )
        )
        self._wanted.set()

    def _show(self, window: RequestWindow) -> None:
        self.strip.shows = window
        self.pages.show_window(window)

    async def _travel(self) -> None:
        """Reads the window that is wanted last, one at a time, as long as the studio runs."""
        while True:
            await self._wanted.wait()
            await asyncio.sleep(SETTLED_S)
            self._wanted.clear()
            shows, at = self.timeline.shows, self.timeline.at
            if shows is None or not shows.columns:
                continue
            seq = shows.columns[at].seq
            try:
                window = await self.desk.window_now() if at == self._last else None
                window = window or self._windows.get(seq) or await self.desk.window_at(seq)
            except PagefaultError as error:
                self._warn(error)
                continue
            if not window.is_now:
                self._windows[seq] = window
                while len(self._windows) > WINDOWS_KEPT:
                    self._windows.popitem(last=False)
            if at == self.timeline.at and shows is self.timeline.shows:
                self._show(window)

    async def _look(self) -> None:
        """Take in what others wrote; what takes long to read, when it is asked for."""
        await self._told(self._tell_title())
        if self.desk.memory.records != self._records:
            self._records = self.desk.memory.records
            self._changed()

    def _changed(self) -> None:
        for pane in self.panes.values():
            pane.is_stale = True
        if self.pages.lines.cursor == 0 or self.tab != "pages":
            self.panes[self.tab].look()
        if self._took_s <= QUICK_S:
            self.reads(self._read_requests(), "requests")
        else:
            self.notify("Requests were made since: r reads them.", timeout=LOOK_S)

    # --- tabs and dialogs -------------------------------------------------------------------------

    def action_tab(self, name: str) -> None:
        self.tabs.active = name
        self.panes[name].lines.focus()

    def action_find(self) -> None:
        self.tabs.active = "pages"
        self.pages.filter.focus()

    def on_tabbed_content_tab_activated(self, event: TabbedContent.TabActivated) -> None:
        self.panes[self.tab].look()

    def on_go_to(self, event: GoTo) -> None:
        self.action_tab(event.tab)

    def on_find(self, event: Find) -> None:
        self.action_tab("pages")
        self.pages.find(event.text)

    def on_show_pages(self, event: ShowPages) -> None:
        self.reads(self._read_pages(event), "reading")

    async def _read_pages(self, event: ShowPages) -> None:
        """Show pages in full, and what happened to the first as soon as that is read."""
        views = [await self.desk.page(ref) for ref in event.refs]
        texts = [told(view) for view in views if view is not None]
        if not texts:
            self.notify("It was forgotten, or cannot be read here.", severity="warning")
            return
        screen = FullText(event.refs[0].page_id, Text("\n\n").join(texts))
        await self.push_screen(screen)
        try:
            story = await self.desk.story(event.refs[0])
        except PagefaultError as error:
            story = [str(error)]
        if screen.is_attached:
            screen.more(Text("what happened to it\n" + "\n".join(story), style="dim"))

    def action_sessions(self) -> None:
        self.reads(self._choose_session(), "sessions")

    async def _choose_session(self) -> None:
        rows = await self.desk.sessions()
        options = [
            (
                row.session_id,
                f"{self.desk.shown(row.name or row.session_id)} · {counted(row.turns, 'turn')}"
                + (" · a fork" if row.parent else ""),
            )
            for row in rows
        ]
        chosen = await self.push_screen_wait(Choose("Which session?", options))
        if chosen:
            await self.desk.look_at(chosen)
            self._begin()

    def action_reload(self) -> None:
        self._begin()

    def action_words(self) -> None:
        """Say strip and timeline as sentences, and back."""
        self.in_words = not self.in_words
        self.strip.in_words = self.timeline.in_words = self.in_words

    def action_keys(self) -> None:
        self.push_screen(FullText("Keys", help_text()))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        yield from super().get_system_commands(screen)
        for name, title in _TABS.items():
            yield SystemCommand(title, _ABOUT[name], lambda name=name: self.action_tab(name))
        yield SystemCommand("Find pages", "Type a filter", self._find_pages)
        yield SystemCommand("Look at another session", "Choose one", self.action_sessions)
        yield SystemCommand("Travel to now", "The newest request", lambda: self._go(self._last))
        yield SystemCommand("Travel to the beginning", "The first request", lambda: self._go(0))
        yield SystemCommand("In words", "Strip and timeline as sentences", self.action_words)
        yield SystemCommand("Read again", "Everything that is shown", self.action_reload)

    def _find_pages(self) -> None:
        self.action_tab("pages")
        self.pages.filter.focus()

    # --- writing ----------------------------------------------------------------------------------

    def on_do(self, event: Do) -> None:
        self.run_worker(self._do(event.act), group="do")

    async def _do(self, act: Act) -> None:
        """Open the memory for writing, do it, and let go; or say why it was not done."""
        try:
            async with self._writing() as memory:
                session = await memory.session(self.desk.session.session_id, create=False)
                said = await act(memory, session)
        except PagefaultError as error:
            self._warn(error, "Nothing was changed. ")
            return
        self.notify(self.desk.shown(said), markup=False)
        await self._tell_title()
        self._records = self.desk.memory.records
        for pane in self.panes.values():
            pane.is_stale = True
        self.panes[self.tab].look()

    def _warn(self, error: PagefaultError, before: str = "") -> None:
        said = f"{before}{error}" + (f"\n{error.hint}" if error.hint else "")
        self.notify(self.desk.clean(said), severity="error", timeout=10, markup=False)


_TABS: Final = {
    "pages": "Pages",
    "claims": "Claims",
    "review": "Review",
    "keeping": "Keeping",
    "concerns": "Needs a look",
}
_ABOUT: Final = {
    "pages": "Pages of the window and of the session",
    "claims": "What is held true: validate, edit, retract",
    "review": "What changed, what shipped, what failed",
    "keeping": "Modes, retention, imports that wait for approval",
    "concerns": "What is amiss, and what to do about it",
}


def help_text() -> Text:
    """The keys by what one wants to do."""
    text = Text()
    for title, keys in _KEYS:
        text.append(f"{title}\n", style="bold")
        for key, does in keys:
            text.append(f"  {key:<16}{does}\n")
        text.append("\n")
    return text


_KEYS: Final = (
    (
        "Anywhere",
        (
            ("1 … 5", "Pages, Claims, Review, Keeping, Needs a look (a, too)"),
            ("← →", "travel to the request before, or after; with Shift by ten; n: now"),
            ("↑ ↓ Enter", "choose a line, open it; the mouse does both"),
            ("S", "look at another session"),
            ("d", "the window and the requests in words, for screen readers"),
            ("ctrl+p", "every command by its name, and the themes"),
            ("r ? q", "read again, this help, quit"),
        ),
    ),
    (
        "Pages",
        (
            ("/", "a filter; Escape clears it"),
            ("w", "the pages of the window, or all of them"),
            ("t", "what a page leads to: its topics, tasks, files, pages"),
            ("p", "pin a page, or unpin it"),
        ),
    ),
    ("Filters", HELP),
    (
        "Claims",
        (
            ("v e x", "validate, edit, retract"),
            ("u", "take back what was done last"),
            ("o", "only those that hold, or all"),
        ),
    ),
    (
        "Review",
        (
            ("c s f", "only what changed, shipped, failed; again: everything"),
            ("o", "the pages that name this file"),
        ),
    ),
    ("Keeping", (("Enter", "change a mode or a rule, approve an import"),)),
)
