"""What the receipts of forgettings tell: what forgotten sessions descended from, as their forks see
it still, and in which turns something was forgotten.
"""

from __future__ import annotations

from collections.abc import Set
from contextlib import suppress

from pagefault.model.errors import StoreCorrupt
from pagefault.model.events import Descent, ForgetBegun
from pagefault.model.ids import NOTHING, Seq, SessionNo, TurnNo
from pagefault.store.api import EventLog, PageIndex
from pagefault.store.references import targets
from pagefault.store.store import STORE


class Receipts:
    """A fold of them, as far as somebody asked. Safe from several threads."""

    def __init__(self, log: EventLog, index: PageIndex) -> None:
        self._log = log
        self._index = index
        self._descents: dict[SessionNo, Descent] = {}
        self._turns: dict[SessionNo, set[TurnNo]] = {}
        self._targets: dict[Seq, None] = {}  # whose turns were not asked for yet
        self._read = NOTHING

    def descent(self, session: SessionNo) -> Descent | None:
        """Where a session that is forgotten was forked off, if it was a fork."""
        self._read_on()
        return self._descents.get(session)

    def turns(self, session: SessionNo) -> Set[TurnNo]:
        """The turns of a session in which something was forgotten; none of one that is gone."""
        self._read_on()
        for target in list(self._targets):
            with suppress(StoreCorrupt):
                event = self._log.get(target)
                self._turns.setdefault(event.session, set()).add(event.turn)
            self._targets.pop(target, None)
        return self._turns.get(session, frozenset())

    def _read_on(self) -> None:
        for seq in self._index.events(STORE, types=("forget_begun",), after=self._read):
            with suppress(StoreCorrupt):  # what it tells is lost, and was no session's text
                body = self._log.get(seq).body
                if isinstance(body, ForgetBegun):
                    self._descents |= {descent.session: descent for descent in body.lineage}
                    self._targets |= {} if body.sessions else dict.fromkeys(targets(body))
            self._read = seq
