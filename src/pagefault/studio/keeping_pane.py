"""The keeping tab: control modes, retention rules, imports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rich.text import Text

from pagefault.model.reprs import counted
from pagefault.service.lookup.imported import ImportedSession
from pagefault.studio import acts
from pagefault.studio.desk import Desk
from pagefault.studio.dialogs import Ask, Choose
from pagefault.studio.lines import Column, Lines
from pagefault.studio.pane import Do, Pane
from pagefault.studio.rows import Listed, Row
from pagefault.views.shown import KeepingView, SegmentKind

_COLUMNS = (
    Column("what", 10),
    Column("state", 12, from_width=40),
    Column("of"),
)
MODES: Final = (
    ("assist", "assist: record conversations, and bring memories back"),
    ("capture_only", "capture only: record, but bring nothing back"),
    ("paused", "paused: bring memories back, but record nothing"),
    ("incognito", "incognito: likewise, for a conversation that leaves no trace"),
    ("off", "off: neither record nor bring back"),
)


@dataclass(frozen=True, slots=True)
class _Mode:
    session_id: str  # "" for every session


@dataclass(frozen=True, slots=True)
class _Rule:
    session_id: str
    kind: str
    days: int | None


class KeepingPane(Pane):
    """A line per mode, rule and import; Enter changes it."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, _COLUMNS, empty="Nothing is kept.", name="keeping")

    async def refill(self) -> None:
        keeping = await self.desk.feed.keeping(self.desk.session_id)
        self.notes(
            f"{counted(len(keeping.imports), 'imported session')}, {keeping.waiting:,} not approved"
            " · Enter changes the selected line"
        )
        self.lines.show(Listed(self._rows(keeping)), at=self.lines.cursor)

    def _rows(self, keeping: KeepingView) -> list[Row]:
        mine = self.desk.session_id
        rows = [
            Row(_Mode(mine), ("mode", _words(keeping.control), "this session")),
            Row(
                _Mode(""),
                ("mode", _words(keeping.control_of_all), "all sessions, including new ones"),
            ),
        ]
        rules = {(rule.session_id, rule.kind): rule.days for rule in keeping.rules}
        rules.setdefault(("", ""), 0)
        rules.setdefault((mine, ""), -1)
        for (session_id, kind), days in rules.items():
            of = (
                f"session {keeping.names.get(session_id, session_id)}"
                if session_id
                else "all pages"
            )
            of = f"pages of kind {kind}" if kind else of
            kept = "forever" if days == 0 else "default" if days < 0 else counted(days, "day")
            told = None if days < 0 else days
            rows.append(Row(_Rule(session_id, kind, told), ("retention", kept, of)))
        for one in keeping.imports:
            told_of = one.title or one.conversation or one.name
            of = f"{one.source} · {told_of} · {counted(one.pages, 'page')}"
            state = "approved" if one.is_approved else "waiting"
            tone = SegmentKind.TOOL_RESULTS if one.is_approved else SegmentKind.BROUGHT_BACK
            rows.append(Row(one, ("import", state, of), tone))
        return rows

    def on_lines_moved(self, event: Lines.Moved) -> None:
        event.stop()
        self.says(Text("") if event.row is None else self._tell(event.row.of))

    def _tell(self, of: object) -> Text:
        match of:
            case ImportedSession() as one:
                told = (
                    f"{one.name}\nfrom {one.source}, imported {one.imported_at}\n"
                    f"{counted(one.pages, 'page')}"
                    + (f", project {one.project}" if one.project else "")
                    + "\n\nYou can find it by search. "
                    + (
                        "The model may be shown it as well."
                        if one.is_approved
                        else "The model sees it only once you approve it."
                    )
                )
                return Text(told)
            case _Mode():
                return Text("What memory may do:\n\n" + "\n".join(told for _, told in MODES))
            case _Rule():
                return Text(
                    "Expired pages are erased when the memory is opened for writing, and within "
                    "the hour while `serve` runs. This cannot be undone."
                )
            case _:
                return Text("")

    def on_lines_opened(self, event: Lines.Opened) -> None:
        event.stop()
        match event.row.of if event.row is not None else None:
            case ImportedSession() as one:
                does = "Withdraw the approval" if one.is_approved else "Let the model see it"
                options = [("yes", does), ("", "Cancel")]
                act = acts.approve(one.session_id, is_approved=one.is_approved)
                self._ask(Choose(one.title or one.name, options), lambda _: act)
            case _Mode(session_id=session_id):
                self._ask(
                    Choose("Memory mode:", MODES),
                    lambda mode: acts.control(mode, session_id=session_id),
                )
            case _Rule(kind="", session_id=session_id, days=days):
                value = "forever" if days == 0 else "" if days is None else f"{days}d"
                hint = "7d, 30d, 90d, any number of days, or forever; none removes the rule"
                self._ask(
                    Ask("How long to keep pages:", value, hint),
                    lambda keep: acts.retain(keep, session_id=session_id),
                )
            case _Rule():
                self.notify("`pagefault retention set --kind` changes rules for a kind.")

    def _ask(self, screen: Ask | Choose, act: Callable[[str], acts.Act]) -> None:
        def done(answer: str | None) -> None:
            if answer:
                self.post_message(Do(act(answer)))

        self.app.push_screen(screen, done)


def _words(mode: str) -> str:
    return mode.replace("_", " ")
