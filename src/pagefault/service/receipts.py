"""A fold of forget receipts: the ancestry of forgotten sessions, as their forks still see it, the
turns in which something was forgotten, and the origins of erased texts.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from contextlib import suppress

from pagefault.model.errors import StoreCorrupt
from pagefault.model.events import Descent, Event, ForgetBegun
from pagefault.model.ids import NOTHING, Seq, SessionNo, TurnNo
from pagefault.model.kinds import Actor
from pagefault.model.trust import is_untrusted
from pagefault.store.api import EventLog, PageIndex
from pagefault.store.references import targets
from pagefault.store.store import STORE


class Receipts:
    """The fold, as far as asked for. Thread-safe."""

    def __init__(self, log: EventLog, index: PageIndex) -> None:
        self._log = log
        self._index = index
        self._descents: dict[SessionNo, Descent] = {}
        self._turns: dict[SessionNo, set[TurnNo]] = {}
        self._erased: dict[SessionNo, list[Event]] = {}  # texts of untrusted channels and of models
        self._targets: dict[Seq, bool] = {}  # not read yet, and whether they went with a session
        self._read = NOTHING

    def descent(self, session: SessionNo) -> Descent | None:
        """Where a forgotten session was forked, if it was a fork."""
        self._read_on()
        return self._descents.get(session)

    def turns(self, session: SessionNo) -> Set[TurnNo]:
        """The turns of a session in which something was forgotten; none for a forgotten session."""
        self._read_targets()
        return self._turns.get(session, frozenset())

    def erased(self, session: SessionNo) -> Sequence[Event]:
        """What is left of erased texts of untrusted channels and models in a session, in
        log order.
        """
        self._read_targets()
        return sorted(self._erased.get(session, ()), key=lambda event: event.seq)

    def _read_targets(self) -> None:
        self._read_on()
        for target, is_whole in list(self._targets.items()):
            with suppress(StoreCorrupt):
                event = self._log.get(target)
                if not is_whole:
                    self._turns.setdefault(event.session, set()).add(event.turn)
                if event.actor is Actor.MODEL or is_untrusted(event.origin):
                    self._erased.setdefault(event.session, []).append(event)
            self._targets.pop(target, None)

    def _read_on(self) -> None:
        for seq in self._index.events(STORE, types=("forget_begun",), after=self._read):
            with suppress(StoreCorrupt):  # what it says is lost, and it was no session's text
                body = self._log.get(seq).body
                if isinstance(body, ForgetBegun):
                    self._descents |= {descent.session: descent for descent in body.lineage}
                    self._targets |= dict.fromkeys(targets(body), bool(body.sessions))
            self._read = seq
