"""The claims tab: claims, their evidence, and what a person does about them."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.text import Text
from textual.binding import Binding, BindingType

from pagefault.model.reprs import counted
from pagefault.studio import acts
from pagefault.studio.acts import CLAIM_ACTS
from pagefault.studio.desk import Desk
from pagefault.studio.dialogs import Ask, Choose
from pagefault.studio.lines import Column, Lines
from pagefault.studio.pane import Do, Pane, ShowPages, quoted
from pagefault.studio.rows import Listed, PageRef, Row
from pagefault.views.claim_graph import descendants, tree
from pagefault.views.shown import ClaimsView, SegmentKind
from pagefault.views.texts import ClaimView

LISTED: Final = 500  # newest ones; each is read with its evidence

_COLUMNS = (
    Column("claim", 8),
    Column("kind", 10, from_width=50),
    Column("status", 10),
    Column("whose", 8, from_width=64),
    Column("what"),
)


class ClaimsPane(Pane):
    """Claims, newest first; with `only_standing`, only those that hold."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(one.key, f"act({one.key!r})", one.name) for one in CLAIM_ACTS),
        Binding("u", "undo", "Undo"),
        Binding("o", "standing", "Standing/all"),
        Binding("t", "tree", "Tree/list"),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, _COLUMNS, empty="No claims yet.", name="claims")
        self.only_standing, self.as_tree = True, False
        self._view: ClaimsView | None = None

    async def refill(self) -> None:
        told = self._view = await self.desk.feed.claims(self.desk.session_id, limit=LISTED)
        every = [one for one in told.claims if one.status != "closing"]
        standing = [one for one in every if one.is_standing]
        proposed = sum(one.authority != "user" for one in standing)
        count = counted(len(every), "claim")
        count += f" of {told.total:,}" if told.total > LISTED else ""
        if self.as_tree:
            self.notes(f"{count}, each below the claims it rests on · t: list")
            by_id = {one.claim_id: one for one in every}
            rows = [
                self._line(by_id[branch.claim_id], branch.depth, is_again=branch.is_again)
                for branch in tree(every[::-1])
            ]
        else:
            self.notes(
                f"{count} · {len(standing):,} standing, {proposed:,} of them proposed · "
                + ("o: all" if self.only_standing else "o: only standing")
            )
            rows = [self._line(one) for one in (standing if self.only_standing else every)]
        self.lines.show(Listed(rows), at=self.lines.cursor)

    def _line(self, one: ClaimView, depth: int = 0, *, is_again: bool = False) -> Row:
        text = "  " * (depth - 1) + "└ " * bool(depth) + one.text
        text += " (see above)" if is_again else f" — {one.why}" if self.as_tree and one.why else ""
        is_proposed = one.is_standing and one.authority != "user"
        status = "proposed" if is_proposed else one.status
        cells = (one.claim_id, one.type, status, one.authority, text)
        return Row(one, cells, tone=SegmentKind.CLAIMS)

    @property
    def claim(self) -> ClaimView | None:
        row = self.lines.row
        return row.of if row is not None and isinstance(row.of, ClaimView) else None

    def on_lines_moved(self, event: Lines.Moved) -> None:
        event.stop()
        one = self.claim
        self.says(Text("") if one is None else self._tell(one))

    def _tell(self, one: ClaimView) -> Text:
        text = Text(f"{one.claim_id} · {one.status}", style="bold")
        text.append(f"\n{one.text}\n", style="not bold")
        resting = descendants(self._view.edges, one.claim_id) if self._view is not None else []
        told = [("why", one.why), ("kind", one.type), ("subject", one.subject)]
        told += [
            ("whose", f"{one.authority}, through {one.origin}"),
            ("said in", f"turn {one.turn}"),
        ]
        told += [("instead of", one.supersedes), ("closed by", one.closed_by)]
        told += [("rests on", ", ".join(one.derived_from)), ("supports", ", ".join(resting))]
        told += [("against", ", ".join(one.contradicts))]
        for name, value in told:
            if value:
                text.append(f"\n{name:<11}", style="dim not bold").append(value, style="not bold")
        text.append("\n").append(quoted(one.evidence))
        can = [f"{act.key}: {act.does}" for act in CLAIM_ACTS if act.is_for(one)]
        return text.append("\n" + "\n".join(can), style="dim not bold")

    def on_lines_opened(self, event: Lines.Opened) -> None:
        event.stop()
        one = self.claim
        if one is not None:
            pages = [one.claim_id, *dict.fromkeys(span.page_id for span in one.evidence)]
            self.post_message(ShowPages([PageRef(page_id) for page_id in pages]))

    def action_standing(self) -> None:
        self.only_standing = not self.only_standing
        self.reads(self.refill, "refill")

    def action_tree(self) -> None:
        self.as_tree = not self.as_tree
        self.reads(self.refill, "refill")

    def action_undo(self) -> None:
        self.post_message(Do(acts.undo))

    def action_act(self, key: str) -> None:
        one = self.claim
        [act] = [act for act in CLAIM_ACTS if act.key == key]
        if one is None:
            return
        if not act.is_for(one):
            self.notify(
                f"{act.name} does not apply to {one.claim_id} ({one.status}, {one.authority})."
            )
            return

        def done(text: str | None) -> None:
            if text:
                self.post_message(Do(act.act(one, text)))

        said = one.value
        rests = f"Its evidence ({counted(len(one.evidence), 'quotation')}) stays the same."
        if act.asks:
            question = f"{act.name} {one.claim_id}: {act.does}"
            self.app.push_screen(Ask(question, said, rests, is_replaced=False), done)
        else:
            options = [("yes", f"Yes, {act.does}"), ("", "No, cancel")]
            self.app.push_screen(Choose(f"{act.name} {one.claim_id}? {said}", options), done)
