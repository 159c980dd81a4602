"""The JSON entries that a framework stores for a conversation, unchanged.

Each is an artifact of a session that holds nothing else, so it comes back exactly, but for secrets,
and no search finds it: its text is stored as pages elsewhere. Removed entries are forgotten.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from pagefault.integrations.home import Home
from pagefault.model.errors import RecordGone, SessionNotFound
from pagefault.model.ids import NOTHING, PageId
from pagefault.model.kinds import ControlMode
from pagefault.service.session import Session

_ALL: Final = 1 << 40


class Entries:
    """The entries of one session. Its verbs run on the memory's loop, one at a time."""

    def __init__(self, home: Home, session: str) -> None:
        self._home = home
        self._name = session
        self._known: dict[PageId, Any] = {}
        self._folded = NOTHING  # the record up to which these are current
        self._session: Session | None = None

    async def all(self) -> list[Any]:
        await self._read()
        return list(self._known.values())

    async def add(self, entries: Sequence[Any], mode: ControlMode) -> list[Any]:
        """Returns all entries. They are kept in the control mode of the conversation: in a mode
        that keeps nothing, they end with the process.
        """
        await self._read()
        memory = await self._home.memory()
        for entry in entries:
            control = None
            if self._session is None or self._session.kept_as is not None:
                captured = self._session is None or ControlMode(self._session.control).captures
                control = str(mode) if captured is not mode.captures else None
            self._session = await memory.session(self._name, mode="passive", control=control)
            data = memory.written(json.dumps(entry, ensure_ascii=False)).encode()
            kind = str(entry.get("role") or entry.get("type"))
            await self._session.artifact(data, name=kind, media_type="application/json")
        return await self.all()

    async def pop(self) -> Any:
        """Remove and forget the newest entry; None if there is none."""
        await self._read()
        if self._session is None or not self._known:
            return None
        page_id, entry = list(self._known.items())[-1]
        await (await self._home.memory()).forget(self._session, page_id)
        return entry

    async def clear(self) -> None:
        with suppress(SessionNotFound):
            await (await self._home.memory()).forget(self._name)
        self._known, self._folded, self._session = {}, NOTHING, None

    async def _read(self) -> None:
        memory = await self._home.memory()
        try:
            self._session = await memory.session(self._name, create=False)
            await self._session.owned.refresh()
            self._session.owned.check_there()
        except SessionNotFound:
            self._known, self._folded, self._session = {}, NOTHING, None
            return
        if self._session.owned.folded == self._folded:
            return
        found: dict[PageId, Any] = {}
        for row in await memory.pages(self._session, limit=_ALL):
            with suppress(RecordGone):
                known = self._known.get(row.page_id)
                found[row.page_id] = known or json.loads(
                    await self._session.artifact_bytes(row.page_id)
                )
        self._known, self._folded = found, self._session.owned.folded
