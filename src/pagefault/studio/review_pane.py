"""The review tab: what a session changed, shipped and failed at, according to its calls."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType

from pagefault.model.errors import CallerError
from pagefault.model.reprs import counted
from pagefault.studio.desk import Desk
from pagefault.studio.dialogs import Ask, FullText
from pagefault.studio.lines import Column, Lines
from pagefault.studio.pane import Find, Pane, ShowPages
from pagefault.studio.rows import Listed, PageRef, Row, minute_of
from pagefault.views.files import file_of, place
from pagefault.views.shown import SegmentKind, WorkLine, WorkView

_COLUMNS = (
    Column("page", 8),
    Column("when", 16, from_width=64),
    Column("", 8),
    Column("what"),
)
_NONE = "No commands, file changes or test runs in this session."


class ReviewPane(Pane):
    """Events, newest first; `only` limits them to changed, shipped or failed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "only('changed')", "Changed"),
        Binding("s", "only('shipped')", "Shipped"),
        Binding("f", "only('failed')", "Failed"),
        Binding("o", "pages", "Pages"),
        Binding("y", "replay", "Replay"),
        Binding("h", "hand_over", "Hand over"),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, _COLUMNS, empty=_NONE, name="review")
        self.only = ""
        self._work: WorkView | None = None

    async def refill(self) -> None:
        self.notes("loading events …")
        self._work = await self.desk.feed.work(self.desk.session_id)
        self._show()

    def _show(self) -> None:
        work = self._work
        if work is None:
            return
        told = (
            f"{counted(work.files, 'file')} changed · {work.count('shipped'):,} shipped · "
            f"{work.count('failed'):,} failed"
        )
        if work.more:
            told += f", in the last {work.events:,} events"
        self.notes(told + (f" · only {self.only}" if self.only else ""))
        lines = [one for one in work.lines if self.only in ("", one.what)]
        self.lines.show(Listed(list(map(_row, lines))))

    @property
    def event(self) -> WorkLine | None:
        row = self.lines.row
        return row.of if row is not None and isinstance(row.of, WorkLine) else None

    def on_lines_moved(self, event: Lines.Moved) -> None:
        event.stop()
        one = self.event
        text = Text("")
        if one is not None:
            text = Text(one.told, style="bold")
            told = [("by", one.origin), ("said in", one.page_id), ("result", one.result_id)]
            told += [("exit code", "" if one.exit_code is None else str(one.exit_code))]
            told += [("failing", ", ".join(one.failing[:20]))]
            for name, value in told:
                if value:
                    text.append(f"\n{name:<11}", style="dim not bold")
                    text.append(value, style="not bold")
            if one.withdrawn:
                text.append("\nIts result was withdrawn by a person.", style="not bold")
        self.says(text)

    def on_lines_opened(self, event: Lines.Opened) -> None:
        event.stop()
        one = self.event
        if one is not None:
            pages = [page_id for page_id in (one.page_id, one.result_id) if page_id]
            self.post_message(ShowPages([PageRef(page_id) for page_id in pages]))

    def action_only(self, what: str) -> None:
        self.only = "" if self.only == what else what
        self._show()

    def action_pages(self) -> None:
        """Find the pages that name this file or command."""
        one = self.event
        if one is not None:
            self.post_message(Find(f'"{one.path or one.told}"'))

    def action_replay(self) -> None:
        """Replay the conversation."""
        self.reads(self._replay, "replay")

    async def _replay(self) -> None:
        said = await (await self.desk.browser()).replay()
        text = Text("Without tool results, third-party text, and withdrawn text.\n", "dim")
        for one in said:
            text.append(f"\n{one.page.who} · {minute_of(one.page.at_ms)}", style="bold not dim")
            text.append(f" · {one.page.page_id}\n", style="dim").append(f"{one.text}\n", "not dim")
        await self.app.push_screen(FullText("What was said", text))

    def action_hand_over(self) -> None:
        """Ask for a folder and write a handoff there."""

        def done(folder: str | None) -> None:
            if folder:
                self.reads(partial(self._hand_over, Path(folder).expanduser()), "hand-over")

        hint = "Writes HANDOFF_SESSION_DAY.md there, replacing an existing one."
        self.app.push_screen(Ask("Folder for the handoff of this session:", ".", hint), done)

    async def _hand_over(self, folder: Path) -> None:
        feed, session_id = self.desk.feed, self.desk.session_id
        made, card = await feed.handoff(session_id), await feed.card(session_id)
        target = file_of(folder, "HANDOFF", card.name or session_id, made.generated_at)
        try:
            size = place(target, self.desk.clean(made.text()))
        except OSError as error:
            raise CallerError(f"{target} cannot be written: {error.strerror}") from None
        self.notify(f"{target}: {size:,} bytes", markup=False)


def _row(one: WorkLine) -> Row:
    tone = SegmentKind.BROUGHT_BACK if one.what == "failed" else SegmentKind.TOOL_RESULTS
    return Row(one, (one.page_id, minute_of(one.at_ms), one.what, one.told), tone=tone)
