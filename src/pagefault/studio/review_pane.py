"""The review of a session: what changed, what was handed over, what failed, as its calls tell."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType

from pagefault.model.reprs import counted
from pagefault.service.inspection.work_events import WorkEvent
from pagefault.studio.lines import Column, Lines
from pagefault.studio.pane import Find, Pane, ShowPages
from pagefault.studio.reading import (
    Desk,
    Listed,
    PageRef,
    PieceKind,
    Review,
    Row,
    has_failed,
    is_shipping,
    minute_of,
)

_COLUMNS = (
    Column("page", 8),
    Column("when", 16, from_width=64),
    Column("", 8),
    Column("what"),
)
_NONE = "No command, change of a file or run of tests in this session."


class ReviewPane(Pane):
    """Events, the newest first; `only` one of changed, shipped, failed, or all of these."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "only('changed')", "Changed"),
        Binding("s", "only('shipped')", "Shipped"),
        Binding("f", "only('failed')", "Failed"),
        Binding("o", "pages", "Its pages"),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, _COLUMNS, empty=_NONE, name="review")
        self.only = ""
        self._review: Review | None = None

    async def refill(self) -> None:
        self.notes("reading what was done …")
        self._review = await self.desk.review()
        self._show()

    def _show(self) -> None:
        review = self._review
        if review is None:
            return
        files = len({one.path for one in review.changed})
        told = (
            f"{counted(files, 'file')} changed · {len(review.shipped):,} shipped · "
            f"{len(review.failed):,} failed"
        )
        if review.more:
            told += f", in the last {review.events:,} events"
        self.notes(told + (f" · only {self.only}" if self.only else ""))
        parts = {"changed": review.changed, "shipped": review.shipped, "failed": review.failed}
        wanted = [parts[self.only]] if self.only else parts.values()
        found = {(one.seq, one.path): one for part in wanted for one in part}
        every = sorted(found.values(), key=lambda one: one.seq, reverse=True)
        self.lines.show(Listed([self._line(one) for one in every]))

    def _line(self, one: WorkEvent) -> Row:
        state = "failed" if has_failed(one) else "shipped" if is_shipping(one.argv) else "changed"
        cells = (one.page_id, minute_of(one.at_ms), state, self.desk.shown(summary(one)))
        tone = PieceKind.BACK if state == "failed" else PieceKind.RESULTS
        return Row(one, cells, tone=tone)

    @property
    def event(self) -> WorkEvent | None:
        row = self.lines.row
        return row.of if row is not None and isinstance(row.of, WorkEvent) else None

    def on_lines_moved(self, event: Lines.Moved) -> None:
        event.stop()
        one = self.event
        text = Text("")
        if one is not None:
            text = Text(self.desk.shown(summary(one)), style="bold")
            told = [("by", str(one.origin)), ("said in", one.page_id), ("result", one.result_id)]
            told += [("exit code", "" if one.exit_code is None else str(one.exit_code))]
            told += [("failing", ", ".join(one.failing[:20]))]
            for name, value in told:
                if value:
                    text.append(f"\n{name:<11}", style="dim not bold")
                    text.append(self.desk.shown(value), style="not bold")
            if one.withdrawn:
                text.append("\nA person withdrew what tells how it went.", style="not bold")
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
        """Find the pages that name this file, or this command."""
        one = self.event
        if one is not None:
            self.post_message(Find(f'"{one.path or " ".join(one.argv[:3])}"'))


def summary(one: WorkEvent) -> str:
    """An event in a line."""
    if one.path:
        return f"{one.change} {one.path}"
    if one.runner or one.tests_failed or one.tests_passed:
        return f"{one.runner or 'tests'}: {one.tests_passed} passed, {one.tests_failed} failed"
    return " ".join(one.argv) or one.script or one.text or str(one.event_type)
