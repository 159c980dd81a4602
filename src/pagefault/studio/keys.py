"""Keys: a line at the foot with those that work now, and a help text with all."""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.screen import Screen
from textual.widget import Widget

from pagefault.views.filters import HELP


class KeyLine(Widget):
    """The contents of Textual's `Footer`, drawn as one line. `Footer` remounts a widget per key
    whenever focus changes, which cost more than the rest of a tab change. Clicking a key presses
    it.
    """

    DEFAULT_CSS = """
    KeyLine { dock: bottom; height: 1; background: $footer-background;
              color: $footer-description-foreground; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: list[tuple[str, str, str]] = []  # key, label, description
        self._places: list[tuple[range, str]] = []

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def _changed(self, screen: Screen[object]) -> None:
        keys = {
            one.binding.action: (
                one.binding.key,
                self.app.get_key_display(one.binding),
                one.binding.description,
            )
            for one in reversed(screen.active_bindings.values())
            if one.enabled and (one.binding.show or one.binding.key == "ctrl+p")
        }
        told = list(keys.values())[::-1]
        if told != self._keys:
            self._keys = told
            self.refresh()

    def render(self) -> Text:
        text, self._places = Text(no_wrap=True, overflow="ellipsis"), []
        for key, shown, does in _fitting(self._keys, self.content_size.width):
            start = text.cell_len
            text.append(f" {shown}", style="bold").append(f" {does}")
            self._places.append((range(start, text.cell_len), key))
        return text

    def on_click(self, event: events.Click) -> None:
        for cells, key in self._places:
            if event.x in cells:
                self.app.simulate_key(key)


def _fitting(keys: list[tuple[str, str, str]], width: int) -> list[tuple[str, str, str]]:
    """Those that there is room for: the last ones give way, but not the help, which has them all,
    nor the way out.
    """
    shown = list(keys)
    while sum(cell_len(f" {key} {does}") for _, key, does in shown) > width:
        spare = [one for one in shown if one[0] not in ("question_mark", "q")]
        if not spare:
            break
        shown.remove(spare[-1])
    return shown


def help_text() -> Text:
    """All keys, grouped by task."""
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
            ("1 … 5", "Pages, Claims, Review, Keeping, Concerns (or a)"),
            ("← →", "previous or next request; with Shift, ten at a time; n: now"),
            ("↑ ↓ Enter", "select a line, open it; the mouse works too"),
            ("S", "open another session"),
            ("d", "describe window and requests in words, for screen readers"),
            ("ctrl+p", "all commands by name, and themes"),
            ("r ? q", "reload, show this help, quit"),
        ),
    ),
    (
        "Pages",
        (
            ("/", "filter pages; Escape clears it"),
            ("w", "switch between the window's pages and all pages"),
            ("t", "related topics, tasks, files and pages"),
            ("p", "pin or unpin a page"),
        ),
    ),
    ("Filters", HELP),
    (
        "Claims",
        (
            ("v e x", "validate, edit, retract"),
            ("u", "undo the last change"),
            ("t", "show claims as a tree, each below those it rests on"),
            ("o", "switch between standing and all claims"),
        ),
    ),
    (
        "Review",
        (
            ("c s f", "only what changed, shipped or failed; again for everything"),
            ("o", "find pages that mention this file or command"),
            ("y", "replay the conversation"),
            ("h", "write a handoff for whoever continues the session"),
        ),
    ),
    ("Keeping", (("Enter", "change a mode or a rule, approve an import"),)),
)
