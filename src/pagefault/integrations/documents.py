"""Texts by key, in a session of their own: what frameworks call a store.

A text is a document, whose first line is its key as JSON. A new version supersedes the old one, so
only the newest is searched; a deleted text is forgotten, with all its versions. The keys are
cached, and read again when another process wrote.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Final

from pagefault.integrations.home import HOMES, Home
from pagefault.integrations.pager import Root
from pagefault.model.errors import RecordGone, SessionNotFound
from pagefault.model.ids import NOTHING, PageId
from pagefault.model.kinds import EventType, Role
from pagefault.model.page import PageRow
from pagefault.service.arguments import an_origin
from pagefault.service.session import Session
from pagefault.service.turn.drafts import Incoming

_ALL: Final = 1 << 40
OF_ITSELF: Final = ("words", "meaning")  # why a text is found itself, and not as a neighbour


@dataclass(slots=True)
class Document:
    """A text and its metadata. Times are milliseconds since 1970."""

    page_id: PageId
    text: str
    beside: Any
    created_ms: int
    updated_ms: int


class Documents:
    """Its verbs run on the memory's loop: `home.waited` and `home.awaited` call them there."""

    def __init__(self, memory: Root | Home, session: str, origin: str) -> None:
        an_origin(origin)
        self.home = HOMES.take(memory)
        self._name = session
        self._origin = origin
        self._session: Session | None = None
        self._folded = NOTHING  # the record up to which `_known` is current
        self._known: dict[str, Document] = {}
        self._by_order: dict[int, str] = {}  # keys, by the order of their first pages
        self._lock = asyncio.Lock()

    async def all(self) -> dict[str, Document]:
        """Every text by its key, in the order of their first versions."""
        async with self._lock:
            await self._read()
            return self._known

    async def put(self, key: str, text: str, *, beside: Any = None) -> str:
        """Store a text and its metadata. Returns it as stored: without secrets."""
        async with self._lock:
            await self._read()
            memory = await self.home.memory()
            session = self._session = await memory.session(self._name, mode="passive")
            old = self._known.get(key)
            text = memory.written(text)
            if old is not None and (old.text, old.beside) == (text, beside):
                return text
            said = Incoming(
                text=f"{json.dumps([key, beside], ensure_ascii=False)}\n{text}",
                role=Role.USER,
                event_type=EventType.DOCUMENT,
                supersedes=old.page_id if old else "",
            )
            await session.say([said], origin=self._origin)
            await self._read()
            return text

    async def delete(self, key: str) -> bool:
        """Forget a text and all its versions. Returns whether it existed."""
        async with self._lock:
            await self._read()
            gone = self._known.get(key)
            if gone is None or self._session is None:
                return False
            memory = await self.home.memory()
            await memory.forget(self._session, gone.page_id)
            self._folded = NOTHING
            await self._read()
            return True

    async def clear(self) -> None:
        """Forget every text."""
        async with self._lock:
            await self._read()
            if self._session is not None:
                await (await self.home.memory()).forget(self._session)
            self._session, self._folded = None, NOTHING
            self._known, self._by_order = {}, {}

    async def search(self, query: str, limit: int) -> dict[str, float]:
        """Keys of texts relevant to a query, the likeliest first, and how likely each is."""
        async with self._lock:
            await self._read()
            if self._session is None:
                return {}
            found = await self._session.recall(query, limit=4 * limit)  # texts may have parts
            scores: dict[str, float] = {}
            for hit in found.hits:
                if hit.why not in OF_ITSELF:
                    continue
                for row in (hit.page, *hit.also):
                    key = self._by_order.get(row.order - row.part)
                    if key is not None:
                        scores.setdefault(key, hit.relevance)
            return dict(list(scores.items())[:limit])

    def close(self) -> None:
        """Close the memory, if it was opened here and has no other user."""
        HOMES.close(self.home)

    async def _read(self) -> None:
        memory = await self.home.memory()
        try:
            if self._session is None:
                self._session = await memory.session(self._name, create=False)
            await self._session.owned.refresh()
            self._session.owned.check_there()
        except SessionNotFound:
            self._session = None
            self._known, self._by_order = {}, {}
            return
        if self._session.owned.folded == self._folded:
            return
        rows = await memory.pages(self._session, limit=_ALL)
        known: dict[str, Document] = {}
        orders: dict[int, str] = {}
        texts = {one.page_id: (key, one) for key, one in self._known.items()}
        parts = {row.order: row for row in rows}
        for row in rows:
            if row.part:
                continue
            told = texts.get(row.page_id)
            key, one = told if told is not None else await self._document(row, parts)
            if one is None:
                continue
            if key in known:
                one.created_ms = known[key].created_ms
            known[key] = one
            orders[row.order] = key
        self._known, self._by_order = known, orders
        self._folded = self._session.owned.folded

    async def _document(
        self, row: PageRow, parts: dict[int, PageRow]
    ) -> tuple[str, Document | None]:
        memory = await self.home.memory()
        orders = range(row.order, row.order + row.parts)
        try:
            texts = [(await memory.read(parts[order])).text for order in orders]
            head, _, text = "".join(texts).partition("\n")
            key, beside = json.loads(head)
        except (RecordGone, KeyError, ValueError):  # being forgotten; or not a document of ours
            return "", None
        return str(key), Document(row.page_id, text, beside, row.at_ms, row.at_ms)
