"""What is held true, the words that say so, and what a person does about it."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType

from pagefault.model.reprs import counted
from pagefault.service.derived.claims import ClaimInfo
from pagefault.studio import acts
from pagefault.studio.acts import CLAIM_ACTS
from pagefault.studio.dialogs import Ask, Choose
from pagefault.studio.lines import Column, Lines
from pagefault.studio.pane import Do, Pane, ShowPages, quoted
from pagefault.studio.reading import Desk, Listed, PageRef, PieceKind, Row

_COLUMNS = (
    Column("claim", 8),
    Column("kind", 10, from_width=50),
    Column("status", 10),
    Column("whose", 8, from_width=64),
    Column("what"),
)


class ClaimsPane(Pane):
    """Claims, the newest first; with `only_standing`, those that hold."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(one.key, f"act({one.key!r})", one.name) for one in CLAIM_ACTS),
        Binding("u", "undo", "Undo"),
        Binding("o", "standing", "Standing/all"),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, _COLUMNS, empty="Nothing is held true yet.", name="claims")
        self.only_standing = True

    async def refill(self) -> None:
        every = [one for one in await self.desk.claims() if one.status != "closing"]
        standing = [one for one in every if one.status == "standing"]
        shown = standing if self.only_standing else every
        proposed = sum(one.authority != "user" for one in standing)
        self.notes(
            f"{len(standing):,} standing, {proposed:,} of them proposed · "
            + (f"o: all {len(every):,}" if self.only_standing else "o: only the standing ones")
        )
        self.lines.show(Listed([self._line(one) for one in reversed(shown)]), at=self.lines.cursor)

    def _line(self, one: ClaimInfo) -> Row:
        cells = (one.claim_id, one.type, one.status, one.authority, self.desk.shown(one.text))
        return Row(one, cells, tone=PieceKind.CLAIMS)

    @property
    def claim(self) -> ClaimInfo | None:
        row = self.lines.row
        return row.of if row is not None and isinstance(row.of, ClaimInfo) else None

    def on_lines_moved(self, event: Lines.Moved) -> None:
        event.stop()
        one = self.claim
        if one is None:
            self.says(Text(""))
        else:
            self.reads(self._tell(one), "preview")

    async def _tell(self, one: ClaimInfo) -> None:
        text = Text(f"{one.claim_id} · {one.status}", style="bold")
        text.append(f"\n{self.desk.shown(one.text)}\n", style="not bold")
        told = [("kind", one.type), ("subject", self.desk.shown(one.subject))]
        told += [
            ("whose", f"{one.authority}, through {one.origin}"),
            ("said in", f"turn {one.turn}"),
        ]
        told += [("instead of", one.supersedes), ("closed by", one.closed_by)]
        for name, value in told:
            if value:
                text.append(f"\n{name:<11}", style="dim not bold").append(value, style="not bold")
        text.append("\n").append(quoted(await self.desk.claim_quotes(one)))
        can = [f"{act.key}: {act.does}" for act in CLAIM_ACTS if act.is_for(one)]
        text.append("\n" + "\n".join(can), style="dim not bold")
        self.says(text)

    def on_lines_opened(self, event: Lines.Opened) -> None:
        event.stop()
        one = self.claim
        if one is not None:
            pages = [one.claim_id, *dict.fromkeys(span.page_id for span in one.evidence)]
            self.post_message(ShowPages([PageRef(page_id) for page_id in pages]))

    def action_standing(self) -> None:
        self.only_standing = not self.only_standing
        self.reads(self.refill(), "refill")

    def action_undo(self) -> None:
        self.post_message(Do(acts.undo))

    def action_act(self, key: str) -> None:
        one = self.claim
        [act] = [act for act in CLAIM_ACTS if act.key == key]
        if one is None:
            return
        if not act.is_for(one):
            self.notify(
                f"{act.name} is not for {one.claim_id}: it is {one.status}, {one.authority}."
            )
            return

        def done(text: str | None) -> None:
            if text:
                self.post_message(Do(act.act(one, text)))

        said = self.desk.shown(one.value)
        rests = f"It rests on {counted(len(one.evidence), 'quotation')}, which stay."
        if act.asks:
            self.app.push_screen(Ask(f"{act.name} {one.claim_id}: {act.does}", said, rests), done)
        else:
            options = [("yes", f"Yes, {act.does}"), ("", "No, leave it")]
            self.app.push_screen(Choose(f"{act.name} {one.claim_id}? {said}", options), done)
