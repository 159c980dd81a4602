"""Whose part of a memory a client reads.

All of it, for who has the memory and asks for all; else some sessions, which are told by their
names, by whose they are, or by their project. Whose a session is says its assignment, or, where a
proxy wrote it down, the principal in its name. Asked anew each time: a session may be assigned to
somebody else, and there may be new ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pagefault.model.errors import SessionNotFound
from pagefault.model.page import SessionRow
from pagefault.service.lookup.names import briefs
from pagefault.service.memory import Memory

NOTES: Final = "notes"  # the session that `remember` writes to, where none is named


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What is given has to hold of a session, all of it; nothing given is everything. A `user` may
    be whoever a key of a proxy's client belongs to.
    """

    sessions: tuple[str, ...] = ()  # names or ids
    user: str = ""
    project: str = ""

    @property
    def is_everything(self) -> bool:
        return self == Reach()


class VisibleSessions:
    """The sessions of a memory within a reach."""

    def __init__(self, memory: Memory, reach: Reach, whose: Callable[[str], str]) -> None:
        """`whose` tells the user in the name of a session that a proxy wrote down, or ""."""
        self._memory = memory
        self._reach = reach
        self._whose = whose
        self.is_everything = reach.is_everything
        self.user = reach.user

    @property
    def notes(self) -> str:
        """The session that is for notes of whoever this is; "" where sessions are told otherwise
        than by whose they are.
        """
        if self._reach.sessions or self._reach.project:
            return ""
        return f"{NOTES}@{self.user}" if self.user else NOTES

    async def rows(self) -> list[SessionRow]:
        """The most recently used first."""
        rows, reach = await self._memory.sessions(), self._reach
        if reach.sessions:
            rows = [
                row for row in rows if not {row.name, row.session_id}.isdisjoint(reach.sessions)
            ]
        if reach.user or reach.project:
            assigned = await self._memory.assignments()
            nobodys = "", ""
            rows = [row for row in rows if self._holds(row, *assigned.get(row.session_id, nobodys))]
        return rows

    def _holds(self, row: SessionRow, project: str, user: str) -> bool:
        reach, owner = self._reach, user or self._whose(row.name)
        return reach.project in ("", project) and reach.user in ("", owner)

    async def row(self, handle: str) -> SessionRow:
        """The session of a name or an id, or of the short name that a pack cites. Raises
        `SessionNotFound`, whoever has it.
        """
        rows = await self.rows()
        by_id = [row for row in rows if row.session_id == handle]
        found = by_id or [row for row in rows if row.name == handle]
        if not found:
            found = [row for row in rows if handle in briefs(row.name)]
            if len(found) != 1:
                raise SessionNotFound(handle)
        return found[0]
