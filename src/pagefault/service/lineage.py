"""What forgotten sessions descended from: their forks see it still."""

from __future__ import annotations

from pagefault.model.errors import StoreCorrupt
from pagefault.model.events import Descent, ForgetBegun
from pagefault.model.ids import NOTHING, SessionNo
from pagefault.store.api import EventLog, PageIndex
from pagefault.store.store import STORE


class Lineage:
    """A fold of the receipts, as far as somebody asked. Safe from several threads."""

    def __init__(self, log: EventLog, index: PageIndex) -> None:
        self._log = log
        self._index = index
        self._descents: dict[SessionNo, Descent] = {}
        self._read = NOTHING

    def find(self, session: SessionNo) -> Descent | None:
        """Where a session that is forgotten was forked off, if it was a fork."""
        for seq in self._index.events(STORE, types=("forget_begun",), after=self._read):
            try:
                body = self._log.get(seq).body
            except StoreCorrupt:  # what it says of descents is lost, and was no session's text
                continue
            if isinstance(body, ForgetBegun):
                self._descents |= {descent.session: descent for descent in body.lineage}
            self._read = seq
        return self._descents.get(session)
