"""A session's row: a fold of its records, the same for every index."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, assert_never

from pagefault.model.events import (
    Aside,
    EpochBegun,
    Erased,
    Event,
    MemoryAction,
    Packed,
    PageBody,
    Priced,
    Relayed,
    Reported,
    SessionConfigured,
    SessionLeased,
    SessionOpened,
    SetAside,
    Taken,
)
from pagefault.model.ids import NOTHING, Seq, SessionNo, TurnNo
from pagefault.model.kinds import DERIVED_TYPES, EventType
from pagefault.model.page import DERIVED_ORDER, SessionRow

BEGUN: Final = ("forget_begun", "scrub_begun")
DONE: Final = ("forget_done", "scrub_done")
RECEIPTS: Final = (*BEGUN, *DONE)
"""Records that outlive their session: they prove what was done to it."""
ORIGIN_RULINGS: Final = ("origin_raised", "origin_revoked")
"""Records after which no window may show what it showed, as after a receipt."""

REGION_RULINGS: Final = ("region_set", "session_assigned", "mount_set", "consent_set")
"""Records that determine which sessions may see which regions."""

NUMBERED: Final = re.compile(r"(\w*)_(\d+)")
"""A page's id: its prefix, and its number."""

_SAID_TYPES: Final = frozenset(map(str, EventType)) - frozenset(map(str, DERIVED_TYPES))


def is_orphan(event: Event) -> bool:
    """Whether a record of a session without a row creates one, the session's opening being lost.

    Of a forgotten session only `Erased` records remain; records set aside create nothing.
    """
    return event.session != 0 and not isinstance(event.body, Erased | SetAside)


BEGAN_LATER: Final = "it is of a session that began later"
PLACE_TAKEN: Final = "its place among the pages was another's already"
ID_TAKEN: Final = "its page's id was another's already"


@dataclass(slots=True)
class SessionTally:
    """A session while its records are being folded.

    Invariant: `turns` and `pages` never fall, so forgotten pages keep their numbers.
    """

    session: SessionNo
    session_id: str
    name: str
    parent: SessionNo
    parent_seq: Seq
    turns: int
    pages: int
    opened_at_ms: int
    last_used_ms: int
    last_seq: Seq
    epoch_seq: Seq = NOTHING
    lease_seq: Seq = NOTHING

    @classmethod
    def open(cls, event: Event, body: SessionOpened, *, turns: int, pages: int) -> SessionTally:
        """A session from its first record; a fork begins with the counts of its parent."""
        return cls(
            session=SessionNo(event.seq),
            session_id=body.session_id,
            name=body.name,
            parent=body.parent,
            parent_seq=body.parent_seq,
            turns=turns,
            pages=pages,
            opened_at_ms=event.at_ms,
            last_used_ms=event.at_ms,
            last_seq=event.seq,
            lease_seq=event.seq,
        )

    @classmethod
    def recovered(cls, session: SessionNo, seq: Seq, at_ms: int) -> SessionTally:
        """A session whose opening was lost, from its first remaining record. Its name, and its
        parent, are unknown.
        """
        name = f"recovered-{session}"
        return cls(
            session=session,
            session_id=name,
            name=name,
            parent=SessionNo(0),
            parent_seq=NOTHING,
            turns=0,
            pages=0,
            opened_at_ms=at_ms,
            last_used_ms=at_ms,
            last_seq=seq,
            lease_seq=Seq(session),
        )

    def recall(self, taken: Taken) -> None:
        """Restore the counts that this session had before a page that it sees was forgotten."""
        self.pages = max(self.pages, taken.order + 1)
        self.turns = max(self.turns, taken.turns)

    def paged(self, seq: Seq, at_ms: int, turn: TurnNo, order: int) -> None:
        """Fold in one record of this session that is a page."""
        self.last_seq = seq
        self.last_used_ms = at_ms
        if order < DERIVED_ORDER:
            self.turns = max(self.turns, turn + 1)
            self.pages = max(self.pages, order + 1)

    def absorb(self, event: Event) -> None:
        """Fold in one record of this session, in log order."""
        self.last_seq = event.seq
        if not (isinstance(event.body, SessionLeased) and not event.body.holder):
            self.last_used_ms = event.at_ms  # giving up a lease is no use
        match event.body:
            case PageBody(order=order):
                self.paged(event.seq, event.at_ms, event.turn, order)
            case Erased(type=name) if name in _SAID_TYPES:
                self.turns = max(self.turns, event.turn + 1)
                self.pages += 1  # orders have no gaps: this record once took the next one
            case EpochBegun():
                self.epoch_seq = event.seq
            case SessionLeased():
                self.lease_seq = event.seq
            case Erased():
                pass  # not a transcript page: it had no number in the session
            case SessionOpened() | SessionConfigured():
                pass  # the row was made from it; the window is not in any row
            case Packed() | Reported() | Priced() | Relayed():
                pass  # no request is in any row
            case undecided:  # none of these affects a session's row
                if not isinstance(undecided, MemoryAction | Aside):
                    assert_never(undecided)

    def row(self) -> SessionRow:
        return SessionRow(
            session=self.session,
            session_id=self.session_id,
            name=self.name,
            parent=self.parent,
            parent_seq=self.parent_seq,
            turns=self.turns,
            pages=self.pages,
            opened_at_ms=self.opened_at_ms,
            last_used_ms=self.last_used_ms,
            last_seq=self.last_seq,
            epoch_seq=self.epoch_seq,
            lease_seq=self.lease_seq,
        )
