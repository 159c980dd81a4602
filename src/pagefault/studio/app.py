"""The studio's application: one memory, one session, the moment being viewed, and the keys."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import ClassVar, Final

from rich.text import Text
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static

from pagefault.model.errors import PagefaultError
from pagefault.model.reprs import counted
from pagefault.service.memory import Memory
from pagefault.service.session import Session
from pagefault.studio.acts import Act
from pagefault.studio.background import begin
from pagefault.studio.claims_pane import ClaimsPane
from pagefault.studio.concerns_pane import ConcernsPane
from pagefault.studio.desk import Desk
from pagefault.studio.dialogs import Choose, FullText
from pagefault.studio.keeping_pane import KeepingPane
from pagefault.studio.keys import KeyLine, help_text
from pagefault.studio.pages_pane import PagesPane, told
from pagefault.studio.pane import Do, Find, GoTo, Pane, ShowPages
from pagefault.studio.review_pane import ReviewPane
from pagefault.studio.strip import WindowStrip
from pagefault.studio.tab_line import TabLine
from pagefault.studio.timeline import Timeline
from pagefault.views.feed import Feed
from pagefault.views.shown import RequestLine, WindowView
from pagefault.views.texts import Clean

LOOK_S: Final = 2.0
"""Interval between checks for other processes' writes. A check reads the head of the log."""

SESSIONS: Final = 1_000  # that can be chosen from
SETTLED_S: Final = 0.05  # delay after the last key before a past window is read

Writing = Callable[[], AbstractAsyncContextManager[Memory]]
"""Opens the memory for writing. Raises `PagefaultError` if it must not be opened."""


class StudioApp(App[None]):
    """Views `memory`, opened read-only, and one of its sessions. Acts go through `writing`. `clean`
    is applied to every text.
    """

    TITLE = "pagefault studio"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - Textual declares it of an instance
        (0, "-narrow"),
        (96, "-normal"),
        (150, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012 - likewise
        (0, "-short"),
        (26, "-tall"),
    ]
    CSS = """
    #title { height: 1; background: $primary 25%; padding: 0 1; text-style: bold; }
    .-narrow Timeline { height: 5; }
    .-narrow Pane > .halves { layout: vertical; }
    .-narrow Pane Lines { width: 1fr; height: 3fr; }
    .-narrow Pane .preview { width: 1fr; height: 2fr; border-left: none;
                             border-top: solid $foreground 15%; }
    .-short WindowStrip { max-height: 4; }
    .-short WindowStrip.-words { max-height: 9; }
    .-short.-narrow #pages-pane .preview, .-short.-narrow #review-pane .preview { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "travel(-1)", "Earlier"),
        Binding("right", "travel(1)", "Later"),
        Binding("shift+left", "travel(-10)", "Ten back", show=False),
        Binding("shift+right", "travel(10)", "Ten forward", show=False),
        Binding("n", "travel(1000000)", "Now"),
        *(
            Binding(str(number), f"tab({tab!r})", title, show=False)
            for number, (tab, title) in enumerate(
                (
                    ("pages", "Pages"),
                    ("claims", "Claims"),
                    ("review", "Review"),
                    ("keeping", "Keeping"),
                    ("concerns", "Concerns"),
                ),
                1,
            )
        ),
        Binding("slash", "find", "Find", show=False),  # find pages, from any tab
        Binding("a", "tab('concerns')", "Concerns", show=False),
        Binding("S", "sessions", "Sessions"),
        Binding("r", "reload", "Reload", show=False),
        Binding("d", "words", "In words", show=False),
        Binding("question_mark", "keys", "Help"),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(self, memory: Memory, session: Session, *, writing: Writing, clean: Clean) -> None:
        super().__init__()
        self.animation_level = "none"  # else every frame is drawn and, remotely, sent
        self.desk = Desk(Feed(memory, clean=clean), session.session_id, clean)
        self._writing = writing
        self._seen = memory.records  # records at the last check
        self._wanted = asyncio.Event()
        self.pages = PagesPane(self.desk)
        self.panes: dict[str, Pane] = {
            "pages": self.pages,
            "claims": ClaimsPane(self.desk),
            "review": ReviewPane(self.desk),
            "keeping": KeepingPane(self.desk),
            "concerns": ConcernsPane(self.desk),
        }
        # Kept, because a query searches the topmost screen, which may be a dialog.
        self.head = Static(id="title", markup=False)
        self.strip, self.timeline = WindowStrip(), Timeline()
        self.tabs = TabLine(_TABS)
        self.in_words = False  # strip and timeline as sentences

    def compose(self) -> ComposeResult:
        yield self.head
        yield self.strip
        yield self.timeline
        yield self.tabs
        for name, pane in self.panes.items():
            pane.display = name == self.tab
            yield pane
        yield KeyLine()

    def on_mount(self) -> None:
        self.pages.lines.focus()
        self.strip.in_words = self.timeline.in_words = self.in_words
        self.call_after_refresh(self._begin)  # reading competes with drawing
        begin(self, self._travel, "travel")
        self.set_interval(LOOK_S, self._look)

    async def on_unmount(self) -> None:
        await self.desk.feed.aclose()

    def _begin(self) -> None:
        """Read the viewed session, visible parts first."""
        self.timeline.shows = None
        self.strip.shows = None
        for pane in self.panes.values():
            pane.is_stale = True
        self.panes[self.tab].look()
        self.reads(self._tell_title, "title")
        self.reads(self._read_requests, "requests")

    def reads(self, work: Callable[[], Awaitable[None]], group: str) -> None:
        """Run in the background, replacing the task last started under this name. Read errors are
        shown.
        """
        begin(self, partial(self._told, work), group, only=True)

    async def _told(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except PagefaultError as error:
            self._warn(error)

    @property
    def tab(self) -> str:
        return self.tabs.at

    async def _tell_title(self) -> None:
        feed, session_id = self.desk.feed, self.desk.session_id
        card, control = await feed.card(session_id), await feed.control(session_id)
        self.head.update(
            f"pagefault studio · {card.title} · {counted(card.turns, 'turn')} · "
            f"{counted(card.pages, 'page')} · memory {control.replace('_', ' ')}",
            layout=False,
        )
        now = await feed.next_window(session_id)
        if now is not None and self.strip.shows is None:
            self._show(now)

    async def _read_requests(self) -> None:
        shows = await self.desk.feed.map(self.desk.session_id, rows=0)
        was_last = self.timeline.shows is None or self.timeline.at >= self._last
        self.timeline.shows = shows
        if was_last:
            self.timeline.at = max(self._last, 0)
        self.timeline.refresh()
        self._wanted.set()

    @property
    def _last(self) -> int:
        return len(self.timeline.shows.map.columns) - 1 if self.timeline.shows is not None else -1

    # --- time -------------------------------------------------------------------------------------

    def action_travel(self, by: int) -> None:
        self._go(self.timeline.at + by)

    def on_timeline_travelled(self, event: Timeline.Travelled) -> None:
        self._go(event.at)

    def _go(self, at: int) -> None:
        shows = self.timeline.shows
        if shows is None or not shows.map.columns:
            return
        at = max(0, min(at, self._last))
        if at == self.timeline.at:
            return
        self.timeline.at = at
        column = shows.map.columns[at]
        line = RequestLine(
            number=column.last, turn=column.turn, tokens=column.tokens, seq=column.seq
        )
        limit = self.strip.shows.window_tokens if self.strip.shows is not None else 0
        self._show(  # until it is read
            WindowView(
                session_id=self.desk.session_id, request=line, window_tokens=limit, segments=()
            )
        )
        self._wanted.set()

    def _show(self, window: WindowView) -> None:
        self.strip.shows = window
        self.pages.show_window(window)

    async def _travel(self) -> None:
        """Read the last window asked for, one at a time, as long as the studio runs."""
        while True:
            await self._wanted.wait()
            await asyncio.sleep(SETTLED_S)
            self._wanted.clear()
            shows, at = self.timeline.shows, self.timeline.at
            if shows is None or not shows.map.columns:
                continue
            feed, session_id = self.desk.feed, self.desk.session_id
            try:
                window = await feed.next_window(session_id) if at == self._last else None
                if window is None:
                    number = shows.map.columns[at].last
                    window = await feed.window(session_id, number, whole=True)
            except PagefaultError as error:
                self._warn(error)
                continue
            if window is not None and at == self.timeline.at and shows is self.timeline.shows:
                self._show(window)

    async def _look(self) -> None:
        """Pick up what other processes wrote."""
        seq = await self.desk.feed.seq()
        if seq != self._seen:
            self._seen = seq
            await self._told(self._tell_title)
            for pane in self.panes.values():
                pane.is_stale = True
            if self.pages.lines.cursor == 0 or self.tab != "pages":
                self.panes[self.tab].look()
            self.reads(self._read_requests, "requests")

    # --- tabs and dialogs -------------------------------------------------------------------------

    def action_tab(self, name: str) -> None:
        self._turn_to(name)
        self.panes[name].lines.focus()

    def action_find(self) -> None:
        self._turn_to("pages")
        self.pages.filter.focus()

    def _turn_to(self, name: str) -> None:
        self.panes[self.tab].display = False
        self.tabs.at = name
        self.panes[name].display = True
        self.panes[name].look()

    def on_tab_line_chosen(self, event: TabLine.Chosen) -> None:
        self.action_tab(event.tab)

    def on_go_to(self, event: GoTo) -> None:
        self.action_tab(event.tab)

    def on_find(self, event: Find) -> None:
        self.action_tab("pages")
        self.pages.find(event.text)

    def on_show_pages(self, event: ShowPages) -> None:
        self.reads(partial(self._read_pages, event), "reading")

    async def _read_pages(self, event: ShowPages) -> None:
        """Show pages in full; the first one's history follows once it is read."""
        first = event.refs[0]
        browsers = [await self.desk.browser(ref.session_id) for ref in event.refs]
        views = [await b.page(ref.page_id) for b, ref in zip(browsers, event.refs, strict=True)]
        texts = [told(view) for view in views if view is not None]
        if not texts:
            self.notify("This page was forgotten, or cannot be read here.", severity="warning")
            return
        screen = FullText(first.page_id, Text("\n\n").join(texts))
        await self.push_screen(screen)
        try:
            story = await browsers[0].story(first.page_id)
        except PagefaultError as error:
            story = [str(error)]
        if screen.is_attached:
            screen.more(Text("history\n" + "\n".join(story), style="dim"))

    def action_sessions(self) -> None:
        self.reads(self._choose_session, "sessions")

    async def _choose_session(self) -> None:
        options = [
            (
                one.session_id,
                f"{one.title} · {counted(one.turns, 'turn')}" + (" · a fork" if one.parent else ""),
            )
            for one in await self.desk.feed.sessions(limit=SESSIONS)
        ]
        chosen = await self.push_screen_wait(Choose("Which session?", options))
        if chosen:
            self.desk.session_id = chosen
            self._begin()

    def action_reload(self) -> None:
        self._begin()

    def action_words(self) -> None:
        """Toggle strip and timeline between drawings and sentences."""
        self.in_words = not self.in_words
        self.strip.in_words = self.timeline.in_words = self.in_words

    def action_keys(self) -> None:
        self.push_screen(FullText("Keys", help_text()))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        yield from super().get_system_commands(screen)
        for name, title in _TABS.items():
            yield SystemCommand(title, _ABOUT[name], lambda name=name: self.action_tab(name))
        yield SystemCommand("Find pages", "Type a filter", self._find_pages)
        yield SystemCommand("Open another session", "Choose one", self.action_sessions)
        yield SystemCommand("Travel to now", "The newest request", lambda: self._go(self._last))
        yield SystemCommand("Travel to the beginning", "The first request", lambda: self._go(0))
        yield SystemCommand("In words", "Window and timeline as sentences", self.action_words)
        yield SystemCommand("Reload", "Everything on screen", self.action_reload)

    def _find_pages(self) -> None:
        self.action_tab("pages")
        self.pages.filter.focus()

    # --- writing ----------------------------------------------------------------------------------

    def on_do(self, event: Do) -> None:
        begin(self, partial(self._do, event.act), "do")

    async def _do(self, act: Act) -> None:
        """Open the memory for writing, perform the act, and close it; on failure, show why."""
        try:
            async with self._writing() as memory:
                session = await memory.session(self.desk.session_id, create=False)
                said = await act(memory, session)
        except PagefaultError as error:
            self._warn(error, "Nothing was changed. ")
            return
        self.notify(self.desk.shown(said), markup=False)
        await self._look()

    def _warn(self, error: PagefaultError, before: str = "") -> None:
        said = f"{before}{error}" + (f"\n{error.hint}" if error.hint else "")
        self.notify(self.desk.clean(said), severity="error", timeout=10, markup=False)


_TABS: Final = {
    "pages": "Pages",
    "claims": "Claims",
    "review": "Review",
    "keeping": "Keeping",
    "concerns": "Concerns",
}
_ABOUT: Final = {
    "pages": "Pages of the window and of the session",
    "claims": "What is held true: validate, edit, retract",
    "review": "What changed, what shipped, what failed",
    "keeping": "Modes, retention, imports waiting for approval",
    "concerns": "Problems, and what to do about them",
}
