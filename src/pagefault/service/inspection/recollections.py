"""Recollections: the turns in which pages were brought back, and what the answer cites of them.

A fold of the log. Blocks on the store.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from pagefault.model.events import Event, OriginalBody, Relayed, Said
from pagefault.model.ids import PageId, TurnNo
from pagefault.model.kinds import Role
from pagefault.model.page import SessionRow
from pagefault.pack.citations import cited_pages
from pagefault.service.inspection.brought import BroughtFold
from pagefault.service.inspection.residents import Residents
from pagefault.service.restore import records
from pagefault.service.runtime import Runtime


class CitedAs(StrEnum):
    """What a page was to the request whose answer cites it."""

    BROUGHT_BACK = "brought_back"
    IN_WINDOW = "in_window"
    NOT_SHOWN = "not_shown"  # it exists; for a proxied session, no more is known
    NO_SUCH_PAGE = "no_such_page"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """A turn in which pages were brought back, as `inspection/brought.py` defines it. `question` is
    the page of the user's message, "" if the turn has none; `answer` the last page of the answer,
    "" until there is one. `asked` are the pages that the model asked for; the runtime brought the
    others.
    """

    turn: TurnNo
    at_ms: int
    question: PageId
    answer: PageId
    brought: tuple[PageId, ...]
    asked: tuple[PageId, ...]
    cited: tuple[tuple[PageId, CitedAs], ...]


def recollections(runtime: Runtime, row: SessionRow) -> list[Recollection]:
    """Those of a session, oldest first; a fork lists its own."""
    fold = RecollectionFold(row, Residents(runtime.limits))
    for event in records(runtime, runtime.scope(row.session)):
        fold.fold(event)
    return fold.told()


@dataclass(slots=True)
class _Turn:
    turn: TurnNo
    at_ms: int
    question: PageId = PageId("")
    answer: PageId = PageId("")
    brought: dict[PageId, None] = field(default_factory=dict)
    asked: dict[PageId, None] = field(default_factory=dict)
    cited: dict[PageId, CitedAs] = field(default_factory=dict)


@dataclass(slots=True)
class RecollectionFold:
    """A fold over the records of a session, its ancestors' before them."""

    session: SessionRow
    residents: Residents
    _pages: set[PageId] = field(default_factory=set)
    _brought: BroughtFold = field(default_factory=BroughtFold)
    _turns: dict[TurnNo, _Turn] = field(default_factory=dict)
    _is_proxied: bool = False

    def fold(self, event: Event) -> None:
        self.residents.fold(event)
        body, brought = event.body, self._brought.fold(event)
        if isinstance(body, OriginalBody):
            self._pages.add(body.page_id)
        if event.session != self.session.session or event.turn < 0:
            return
        turn = self._turns.setdefault(event.turn, _Turn(event.turn, event.at_ms))
        turn.brought |= dict.fromkeys(one.page_id for one in brought)
        turn.asked |= dict.fromkeys(one.page_id for one in brought if one.reason is not None)
        match body:
            case Said(role=Role.USER, part=0) if not turn.question:
                turn.question, turn.at_ms = body.page_id, event.at_ms
            case Said(role=Role.ASSISTANT):
                turn.answer = body.page_id
                for page_id in cited_pages(body.text):
                    turn.cited[page_id] = self._cited_as(turn, page_id)
            case Relayed():
                self._is_proxied = True
            case _:
                pass  # it neither asks nor answers

    def _cited_as(self, turn: _Turn, page_id: PageId) -> CitedAs:
        if page_id in turn.brought:
            return CitedAs.BROUGHT_BACK
        if not self._is_proxied and page_id in self.residents:
            return CitedAs.IN_WINDOW
        return CitedAs.NOT_SHOWN if page_id in self._pages else CitedAs.NO_SUCH_PAGE

    def told(self) -> list[Recollection]:
        """The session's own so far, oldest first."""
        return [
            Recollection(
                turn=one.turn,
                at_ms=one.at_ms,
                question=one.question,
                answer=one.answer,
                brought=tuple(one.brought),
                asked=tuple(one.asked),
                cited=tuple(one.cited.items()),
            )
            for one in self._turns.values()
            if one.brought
        ]
