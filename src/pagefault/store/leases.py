"""Leases: which sessions this opening of a memory may write to.

A session has one writer at a time: the opening that its last lease in the log names. A lease is
taken over when its holder has ended, or has not beaten for the length of a lease. The record that
does so is the fence: before it writes anything, a writer checks, under the root's lock, that the
last lease is still its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from pagefault.model.errors import SessionBusy
from pagefault.model.ids import Seq, SessionNo
from pagefault.model.page import SessionRow
from pagefault.store.api import Presence


@dataclass(frozen=True, slots=True)
class Leased:
    """A session that may be written to. `before` is its last record except the lease itself: a
    caller that has folded less has missed something.
    """

    before: Seq
    seq: Seq


class Leases:
    """The state of our own leases. `presence` is None if there is one process only."""

    def __init__(self, instance: str, presence: Presence | None, lease_s: float) -> None:
        self.instance = instance
        self.presence = presence
        self._lease_s = lease_s
        self._ours: dict[SessionNo, Seq] = {}  # with the lease's record
        self._doubted: set[SessionNo] = set()

    def took(self, session: SessionNo, seq: Seq) -> None:
        """Note that the record at `seq` leased a session to us."""
        self._ours[session] = seq
        self._doubted.discard(session)

    def lost(self, session: SessionNo) -> None:
        """Note that the lease is lost."""
        self._ours.pop(session, None)
        self._doubted.discard(session)

    def doubt(self) -> None:
        """Others wrote: any of our leases may have been taken over."""
        self._doubted = set(self._ours)

    def is_ours(self, session: SessionNo) -> bool:
        """Whether it is certainly ours. If not, `is_still_ours` may know better."""
        return session in self._ours and session not in self._doubted

    def is_still_ours(self, row: SessionRow) -> bool:
        """The same, given the index's current row."""
        if self._ours.get(row.session) != row.lease_seq:
            self.lost(row.session)
            return False
        self._doubted.discard(row.session)
        return True

    def check_free(self, row: SessionRow, instance: str) -> None:
        """Raise `SessionBusy` if another opening holds the lease and is responsive."""
        if self.presence is None or not instance:
            return
        other = self.presence.find(instance)
        if other is not None and other.beat_age_s <= self._lease_s:
            raise self.busy(row.name or row.session_id, str(other))

    def busy(self, name: str, who: str) -> SessionBusy:
        """The error for a session that another opening writes to."""
        return SessionBusy(
            f"session {name!r} is being written to by {who}",
            hint="close it there (a running proxy keeps its sessions), write to another session, "
            f"or fork this one; a process that is stopped loses it after {self._lease_s:g} seconds",
        )

    def taken_over(self, name: str, instance: str) -> SessionBusy:
        """The error for a session of ours, taken over because we were not seen for too long."""
        return SessionBusy(
            f"session {name!r} was taken over while this process was suspended, by "
            f"{self.who(instance)}",
            hint="nothing was written; reopen the session once it is free, or fork it",
        )

    def who(self, instance: str) -> str:
        """A description of an opening, if it still lives."""
        other = self.presence.find(instance) if self.presence is not None else None
        return str(other or "another process, since ended")
