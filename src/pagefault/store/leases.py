"""Leases: which sessions this opening of a memory may write to.

A session has one writer at a time: the opening that its last lease in the log names. A lease is
taken over when its holder has ended, or has not beaten for the length of a lease. The record that
does so is the fence: before it writes anything, a writer checks, under the root's lock, that the
last lease is still its own. A holder that lives long gives up leases that it does not use, by a
record that names nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Final

from pagefault.model.defaults import LEASE_IDLE_S
from pagefault.model.errors import SessionBusy
from pagefault.model.ids import Seq, SessionNo
from pagefault.model.page import SessionRow
from pagefault.store.api import Presence

GIVE_UP_EVERY_S: Final = LEASE_IDLE_S / 6
"""Between two looks of a long-lived process for leases that it no longer uses."""


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

    def held(self) -> list[SessionNo]:
        """The sessions whose lease is ours, as far as is known."""
        return list(self._ours)

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
            idle_s = max(0.0, (self.presence.now_ms() - row.last_used_ms) / 1_000)
            raise self._busy(row.called, str(other), idle_s)

    def _busy(self, name: str, who: str, idle_s: float) -> SessionBusy:
        """The error for a session that another opening writes to."""
        again_s = ceil(max(0.0, LEASE_IDLE_S - idle_s) + GIVE_UP_EVERY_S)
        return SessionBusy(
            f"session {name!r} is being written to by {who}",
            hint=f"if that is a proxy, try again in {again_s} seconds: it gives up a session "
            f"{LEASE_IDLE_S:g} seconds after its last answer. Otherwise close it there, write to "
            "another session, or fork this one; a process that is stopped loses it after "
            f"{self._lease_s:g} seconds",
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
