"""Session titles for people: the name that somebody gave, else the first words; and which session
is the last conversation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from pagefault.model.kinds import MCP, Role
from pagefault.model.page import SessionRow
from pagefault.service.lookup.imported import IMPORT_PREFIX
from pagefault.service.lookup.names import PROXIED, forked, given_name
from pagefault.service.memory import Memory
from pagefault.store.api import PageFilter
from pagefault.views.texts import Clean, SessionTexts, head

_TITLE: Final = 60  # characters
_CLIENTS: Final = {"claude": "Claude Code", "codex": "Codex", "opencode": "opencode"}


def title_of(texts: SessionTexts) -> str:
    """The title, cleaned; "" for a session without a name or messages. Blocks on the store."""
    return texts.clean(given_name(texts.row.name)) or _first_words(texts)


def _first_words(texts: SessionTexts) -> str:
    pages = texts.runtime.index.pages(texts.scope, PageFilter(), limit=8)
    first = next((one for one in pages if one.role is Role.USER), None)
    page = texts.read(first)
    return "" if page is None else head(texts.shown(page.text).strip(), _TITLE)


def client_of(name: str) -> str:
    """The program that the conversation is from, if the session's name shows it."""
    if name.startswith(IMPORT_PREFIX):
        return f"imported from {name.removeprefix(IMPORT_PREFIX).partition(':')[0]}"
    match = PROXIED.fullmatch(name)
    return _CLIENTS.get(match["kind"] or "", "") if match else ""


async def titles_by_words(
    memory: Memory, rows: Sequence[SessionRow], clean: Clean
) -> dict[str, str]:
    """Titles of proxied and imported sessions, by session id: given names, or first words."""

    def look() -> dict[str, str]:
        told = ((row, SessionTexts(memory._runtime, row, clean)) for row in rows)
        return {
            row.session_id: title_of(texts)
            for row, texts in told
            if row.name.startswith(IMPORT_PREFIX) or PROXIED.fullmatch(row.name)
        }

    return await asyncio.to_thread(look)


async def last_conversation(memory: Memory, rows: Sequence[SessionRow]) -> SessionRow | None:
    """The first of these rows, the most recently used first, that is neither a fork nor notes of
    MCP clients alone; if there is none, the first that is no fork.
    """
    apart = forked(rows)
    whole = [row for row in rows if row.session not in apart]

    def look() -> SessionRow | None:
        return next((row for row in whole if not _are_notes(memory, row)), next(iter(whole), None))

    return await asyncio.to_thread(look)


def _are_notes(memory: Memory, row: SessionRow) -> bool:
    """Whether MCP clients wrote the first page and the last: nobody reads all pages for this."""
    runtime = memory._runtime
    ends = [
        page
        for newest_first in (True, False)
        for page in runtime.index.pages(
            runtime.scope(row.session), PageFilter(), limit=1, newest_first=newest_first
        )
    ]
    return bool(ends) and all(page.origin == MCP for page in ends)
