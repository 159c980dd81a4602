"""A session store of the Claude Agent SDK: searchable transcripts in a memory.

    options = ClaudeAgentOptions(session_store=PagefaultSessionStore(memory="./memory"))

Entries are stored unchanged, but for secrets. The messages of users, the model and tools in them
are also stored as pages, in one session for each transcript.
"""

from __future__ import annotations

import asyncio
import json
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from pagefault.integrations.documents import Documents
from pagefault.integrations.entries import Entries
from pagefault.integrations.pager import Pager, Root, session_name
from pagefault.model.errors import SessionNotFound, not_installed
from pagefault.proxy.wires.messages import Messages

try:
    from claude_agent_sdk.types import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStoreEntry,
        SessionStoreListEntry,
    )
except ImportError as missing:
    raise not_installed("this needs the Claude Agent SDK", "claude-agent-sdk") from missing

_TRANSCRIPTS: Final = "claude-agent-sdk"
_NOT_SAID: Final = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")


class PagefaultSessionStore:
    """A `SessionStore`, with all optional verbs but those for summaries. `memory` is a root, as
    `pagefault.open` takes it, or an open memory. Deleted entries are forgotten.
    """

    def __init__(self, *, memory: Root = None) -> None:
        self._pager = Pager(Messages(), memory, 0)
        self._home = self._pager.home
        self._names = Documents(self._home, _TRANSCRIPTS, "local_file")
        self._kept: dict[str, Entries] = {}
        self._lock = asyncio.Lock()

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        if entries:
            await self._home.awaited(self._append(_told(key), list(entries)))

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        return await self._home.awaited(self._load(_told(key)))

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        return await self._home.awaited(self._list(project_key))

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        found = await self._home.awaited(self._names_under(key["project_key"], key["session_id"]))
        return [subpath for subpath in found if subpath]

    if TYPE_CHECKING:  # declared by the protocol, but optional: the SDK reads transcripts then

        async def list_session_summaries(self, project_key: str) -> Any: ...

    async def delete(self, key: SessionKey) -> None:
        await self._home.awaited(self._delete(key))

    def close(self) -> None:
        """Close the memory, if it was opened here and has no other user."""
        self._pager.close()

    # --- on the memory's loop -----------------------------------------------------------------

    async def _append(self, key: str, entries: list[Any]) -> None:
        async with self._lock:
            kept = await self._entries(key, begin=True)
            assert kept is not None
            there = {one.get("uuid") for one in await kept.all()} - {None}
            new: list[Any] = []
            for entry in entries:  # a batch may be sent again after it was stored
                if entry.get("uuid") is None or entry["uuid"] not in there:
                    new.append(entry)
                    there |= {entry.get("uuid")} - {None}
            mode = await self._pager.mode_of(_said_in(key))
            said = [message for one in await kept.add(new, mode) if (message := _message(one))]
            if not said:
                return
            if problem := await self._pager.keep(_said_in(key), {"messages": said}):
                warnings.warn(
                    f"a transcript is not searched: {problem}", RuntimeWarning, stacklevel=2
                )

    async def _load(self, key: str) -> list[SessionStoreEntry] | None:
        async with self._lock:
            kept = await self._entries(key)
            return None if kept is None else await kept.all() or None

    async def _list(self, project_key: str) -> list[SessionStoreListEntry]:
        rows = {row.name: row for row in await (await self._home.memory()).sessions()}
        found: list[SessionStoreListEntry] = []
        for key, one in (await self._names.all()).items():
            project, session_id, subpath = json.loads(key)
            if project == project_key and not subpath and (row := rows.get(one.text)):
                found.append({"session_id": session_id, "mtime": row.last_used_ms})
        return found

    async def _names_under(self, project_key: str, session_id: str) -> list[str]:
        keys = map(json.loads, await self._names.all())
        return [key[2] for key in keys if key[:2] == [project_key, session_id]]

    async def _delete(self, given: SessionKey) -> None:
        project, session_id = given["project_key"], given["session_id"]
        subpath = given.get("subpath", "")
        under = [subpath] if subpath else await self._names_under(project, session_id)
        async with self._lock:
            for one in under:
                key = json.dumps([project, session_id, one])
                kept = await self._entries(key)
                if kept is None:
                    continue
                await kept.clear()
                self._kept.pop(key, None)
                memory = await self._home.memory()
                with suppress(SessionNotFound):
                    await memory.forget(session_name(memory, _said_in(key)))
                await self._names.delete(key)

    async def _entries(self, key: str, *, begin: bool = False) -> Entries | None:
        known = (await self._names.all()).get(key)
        if known is None:
            if not begin:
                return None
            memory = await self._home.memory()
            name = await self._names.put(key, f"{_TRANSCRIPTS}:{memory.keyed(key)}")
        else:
            name = known.text
        if key not in self._kept:
            self._kept[key] = Entries(self._home, name)
        return self._kept[key]


def _told(key: SessionKey) -> str:
    return json.dumps([key["project_key"], key["session_id"], key.get("subpath", "")])


def _said_in(key: str) -> str:
    """The session for the messages of a transcript, before it becomes a valid name."""
    project, session_id, subpath = json.loads(key)
    return f"{session_id}: {project} {subpath}" if subpath else f"{session_id}: {project}"


def _message(entry: Any) -> Any:
    """The message in an entry, in the Messages format; None if it has none."""
    message = entry.get("message")
    if entry.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        return None
    return None if any(entry.get(mark) for mark in _NOT_SAID) else message
