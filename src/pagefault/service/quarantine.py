"""What was imported and may not be recalled by the runtime itself: a fold of what people approved.

Whoever asks finds such pages: a person, and a model that searches or faults. By itself the runtime
brings none into a request, lists none, pins none, and makes no claim of one. A person approves what
stands in a session at that moment, and can take it back; what is imported later waits anew.
"""

from __future__ import annotations

from contextlib import suppress

from pagefault.model.errors import StoreCorrupt
from pagefault.model.events import ImportApproved, ImportRevoked
from pagefault.model.ids import NOTHING, Seq, SessionNo
from pagefault.model.kinds import IMPORT
from pagefault.model.page import PageRow
from pagefault.store.api import EventLog, PageIndex
from pagefault.store.store import STORE

RULINGS = ("import_approved", "import_revoked")


class Quarantine:
    """Safe from several threads."""

    def __init__(self, log: EventLog, index: PageIndex) -> None:
        self._log = log
        self._index = index
        self._approved: dict[SessionNo, Seq] = {}  # by the record that did so last
        self._read = NOTHING

    def holds(self, row: PageRow) -> bool:
        """Whether the runtime must leave a page where it is."""
        return row.origin == IMPORT and row.seq >= self.approved(row.session)

    def approved(self, session: SessionNo) -> Seq:
        """The record before which all that was imported into a session is approved; 0 if none."""
        for seq in self._index.events(STORE, types=RULINGS, after=self._read):
            with suppress(StoreCorrupt):  # what it ruled is lost: then nothing is approved by it
                match self._log.get(seq).body:
                    case ImportApproved(sessions=sessions):
                        self._approved |= dict.fromkeys(sessions, seq)
                    case ImportRevoked(sessions=sessions):
                        self._approved |= dict.fromkeys(sessions, NOTHING)
            self._read = seq
        return self._approved.get(session, NOTHING)
