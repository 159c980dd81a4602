"""The concerns tab: what needs attention, why, and where to deal with it."""

from __future__ import annotations

from rich.text import Text

from pagefault.studio.desk import Desk
from pagefault.studio.dialogs import FullText
from pagefault.studio.lines import Column, Lines
from pagefault.studio.pane import GoTo, Pane
from pagefault.studio.rows import Listed, Row
from pagefault.views.concerns import Concern
from pagefault.views.shown import SegmentKind

_COLUMNS = (Column("", 1), Column("what"))
_TABS = {"imports": "keeping", "claims": "claims"}  # by the figure of a concern


class ConcernsPane(Pane):
    """A line per concern; Enter goes to where it can be dealt with, or shows how."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, _COLUMNS, empty="Nothing needs attention.", name="concerns")

    async def refill(self) -> None:
        self.notes("loading figures …")
        found = await self.desk.feed.concerns(self.desk.session_id)
        self.notes(f"{len(found)} to look at" if found else "All is well.")
        rows = [Row(one, ("!", one.what), SegmentKind.BROUGHT_BACK) for one in found]
        self.lines.show(Listed(rows))

    def on_lines_moved(self, event: Lines.Moved) -> None:
        event.stop()
        one = event.row.of if event.row is not None else None
        self.says(_told(one) if isinstance(one, Concern) else Text(""))

    def on_lines_opened(self, event: Lines.Opened) -> None:
        event.stop()
        one = event.row.of if event.row is not None else None
        if not isinstance(one, Concern):
            return
        if one.figure in _TABS:
            self.post_message(GoTo(_TABS[one.figure]))
        else:
            self.app.push_screen(FullText("Needs attention", _told(one)))


def _told(one: Concern) -> Text:
    text = Text(one.what, style="bold")
    text.append(f"\n\n{one.why}", style="not bold")
    return text.append(f"\n\nWhat to do: {one.do}", style="not bold")
