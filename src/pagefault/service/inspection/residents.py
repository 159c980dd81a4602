"""Pages that a window shows in full, from the records alone, without folding a state.

Questions about a session's past (figures, the history of a page) read every record, and this is a
dictionary where a state is a window. For a proxied session it is unknown, because the client packs
the requests: do not use it there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, assert_never

from pagefault.model.defaults import WINDOW_TOKENS
from pagefault.model.events import (
    Aside,
    CallRefused,
    ClaimRuled,
    DerivedBody,
    EpochBegun,
    Event,
    Faulted,
    FormationBegun,
    FormationEnded,
    HeatMoved,
    HeatRecalled,
    MemoryCalled,
    Packed,
    PageBody,
    Pinned,
    Priced,
    Relayed,
    Reported,
    Searched,
    SessionConfigured,
    SessionOpened,
    Unpinned,
)
from pagefault.model.ids import PageId, Seq
from pagefault.model.kinds import IMPORT, Level
from pagefault.service.limits import Limits

_MOVED: Final = Seq(0)  # it is out of its place


class Residents:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.window_tokens = WINDOW_TOKENS  # until a record says otherwise
        self.pages: dict[PageId, Seq] = {}  # the place of each; 0 out of its place

    def __contains__(self, page_id: PageId) -> bool:
        return page_id in self.pages

    def __len__(self) -> int:
        return len(self.pages)

    def fold(self, event: Event) -> None:
        """Fold one more record."""
        match event.body:
            case PageBody() if event.origin == IMPORT:
                pass  # it enters no window by itself
            case DerivedBody():
                pass  # an epoch, a fault or a recall shows it
            case PageBody() as body:
                if body.part < self._limits.parts_entering(body, self.window_tokens):
                    self.pages[body.page_id] = event.seq
            case Packed(recalled=recalled):
                self._moved(item.page_id for item in recalled)
            case EpochBegun() as body:
                self._fold_epoch(body)
            case Faulted(relayed=False) as body:
                self._fold_faulted(event, body)
            case SessionOpened(window_tokens=tokens) | SessionConfigured(window_tokens=tokens):
                self.window_tokens = tokens
            case Relayed() | Faulted():
                pass  # the client decides which pages are in it
            case Searched() | CallRefused() | Pinned() | Unpinned() | ClaimRuled():
                pass  # it moves no page: the next request moves pins
            case HeatMoved() | HeatRecalled() | MemoryCalled():
                pass  # hot items are in the next request
            case Reported() | Priced() | FormationBegun() | FormationEnded():
                pass  # no page is part of it, or moves by it
            case undecided:  # none of these moves a page
                if not isinstance(undecided, Aside):
                    assert_never(undecided)

    def _fold_epoch(self, body: EpochBegun) -> None:
        in_place = {p: seq for p, seq in self.pages.items() if seq and seq >= body.verbatim_from}
        self.pages = {}
        self._moved(body.core)
        self._moved(s.page_id for s in body.summaries if s.level != Level.REFERENCE)
        self._moved(item.page_id for item in body.kept)
        self.pages |= in_place

    def _fold_faulted(self, event: Event, body: Faulted) -> None:
        if body.refusal or body.already_mapped or body.level == Level.REFERENCE:
            return
        shown = body.page_id if body.level == Level.FULL else body.shows
        self.pages[shown] = event.cause

    def _moved(self, page_ids: Iterable[PageId]) -> None:
        for page_id in page_ids:
            self.pages[page_id] = _MOVED
