"""One conversation of a client: its tree of histories, its session in the memory, its passage.

What is said is logged before it is sent on, once, whatever the client resends: the key of its node
is the record's key. What was recalled and where epochs began is logged by ids, never by text, so
that a restart puts the same bytes back and what was forgotten stays away.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pagefault.model.defaults import RECALL_TOKENS, RECALL_WINDOW_SHARE
from pagefault.model.errors import CallerError, MessageTooLarge, PagefaultError, RecordGone
from pagefault.model.kinds import (
    MODEL_GENERATED,
    USER_TYPED,
    EventType,
    Origin,
    Role,
)
from pagefault.model.page import Page
from pagefault.pack import render
from pagefault.pack.count import TokenCounter
from pagefault.proxy.history import History, Item, Json, Part, essence
from pagefault.proxy.passage import Composed, Passage
from pagefault.proxy.trie import Match, Node, Trie
from pagefault.proxy.wire import Answered, Wire
from pagefault.service.memory import Memory
from pagefault.service.session import Session
from pagefault.service.turn import encodable
from pagefault.service.writing import Said

RECALLED: Final = "pagefault:recall"
EPOCH: Final = "pagefault:epoch"
CANDIDATES: Final = 50
CALL_CHARS_MAX: Final = 4_000  # of a call's arguments that are kept: an edit quotes whole files
QUERY_CHARS_MAX: Final = 4_000
QUOTED: Final = "[From earlier in this conversation, quoted because it may bear on what follows:]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A request, as it goes on: `body` is None where the client's own bytes do."""

    match: Match
    composed: Composed | None
    body: Json | None
    recalled: int = 0  # pages
    aside: bool = False  # a request to sum up: nobody said it, and its answer is no answer


class Conversation:
    """For one event loop. `problem` is why the latest logging failed, or ""."""

    def __init__(
        self, *, memory: Memory, name: str, wire: Wire, counter: TokenCounter, window_tokens: int
    ) -> None:
        self.name = name
        self.problem = ""
        self.trie = Trie()
        self.passage = Passage(wire, counter, window_tokens)
        self._wire = wire
        self._counter = counter
        self._memory = memory
        self._session: Session | None = None
        self._pages: dict[str, list[str]] = {}  # by the key of the node that says it
        self._names: dict[str, str] = {}  # of tools, by the id of a call
        self._lock = asyncio.Lock()

    async def receive(self, body: Json, history: History) -> Passed:
        """Take a request in, and say what to send on."""
        async with self._lock:
            placed = history.placed
            match = self.trie.match(placed)
            aside = bool(placed) and placed[-1].asks_for_summary
            await self._log(match.path, placed)
            if not self.passage.window_tokens:
                return Passed(match=match, composed=None, body=None, aside=aside)
            recalled, epoch = 0, ""
            opening = None if aside else self.passage.opening(history, match)
            room = self._recall_room() if opening is not None else 0
            if not aside:  # a summary is made of what the model has seen: nothing leaves before it
                epoch = self.passage.plan(body, history, match, room)
            if epoch:
                note = {"at": match.path[-1].key, "from": self.passage.starts[match.path[-1].key]}
                await self._note(EPOCH, f"epoch {match.path[-1].key}", {**note, "why": epoch})
            if opening is not None:
                recalled = await self._recall(opening, history, match, room)
            composed = self.passage.compose(body, history, match, epoch=epoch)
            return Passed(
                match=match,
                composed=composed,
                body=self._wire.put(body, composed.messages) if composed.changed else None,
                recalled=recalled,
                aside=aside,
            )

    async def answered(self, passed: Passed, answered: Answered) -> None:
        """Take in what the model answered, if it came to its end."""
        async with self._lock:
            if passed.composed is not None:
                self.passage.observe(passed.composed, answered.input_tokens)
            if not answered.complete or passed.aside:
                return
            placed = [item for item in answered.items if item.place]
            nodes = self.trie.follow(passed.match.path, placed)
            await self._log(nodes, placed)

    # --- the log ------------------------------------------------------------------------------

    async def _log(self, nodes: Sequence[Node], items: Sequence[Item]) -> None:
        """Write down what is not written yet. A failure is noted, and nothing waits for it."""
        for item in items:
            if item.part is Part.CALL:
                self._names[item.call_id] = item.name
        try:
            for node, item in zip(nodes, items, strict=True):
                if node.key in self._pages:
                    continue
                if node.source is not node and node.source.key in self._pages:
                    self._pages[node.key] = self._pages[node.source.key]
                    continue
                session = await self._opened()
                self._pages.setdefault(node.key, await self._write(session, node, item))
            self.problem = ""
        except PagefaultError as error:
            self.problem = str(error)

    async def _write(self, session: Session, node: Node, item: Item) -> list[str]:
        said, origin = self._said(item, node)
        if said is None or item.asks_for_summary:
            return []
        try:
            return list(await session.say([said], origin=origin))
        except MessageTooLarge:  # larger than a window: kept as a document, to be found in parts
            document = Said(
                text=said.text,
                role=Role.USER,
                event_type=EventType.DOCUMENT,
                title="a long message",
                key=said.key,
            )
            return list(await session.say([document], origin=origin))

    def _said(self, item: Item, node: Node) -> tuple[Said | None, Origin]:
        text = encodable(essence(item.text))
        key = f"node {node.key}"
        match item.part:
            case Part.TEXT if text:
                origin = USER_TYPED if item.role is Role.USER else MODEL_GENERATED
                return Said(text=text, role=item.role, key=key), origin
            case Part.CALL:
                words = f"[calls {encodable(item.name)}] {text[:CALL_CHARS_MAX]}"
                return Said(text=words, role=Role.ASSISTANT, key=key), MODEL_GENERATED
            case Part.RESULT if text:
                name = _tool_name(self._names.get(item.call_id, ""))
                said = Said(
                    text=text,
                    role=Role.TOOL,
                    event_type=EventType.TOOL_RESULT,
                    title=name,
                    call_id=encodable(item.call_id),
                    key=key,
                )
                return said, Origin(f"tool:{name}")
        return None, USER_TYPED

    async def _opened(self) -> Session:
        if self._session is None:
            session = await self._memory.session(self.name, mode="passive")
            await self._restore(session)
            self._session = session
        return self._session

    async def _restore(self, session: Session) -> None:
        """What was recalled, and where epochs began, in an earlier run."""
        after = -1
        while rows := await self._memory.pages(session, limit=500, after=after):
            after = rows[-1].order
            for row in rows:
                if row.origin == _OWN:
                    with suppress(RecordGone):
                        await self._restore_note(session, await self._memory.read(row))

    async def _restore_note(self, session: Session, page: Page) -> None:
        note = json.loads(page.text)
        if page.title == EPOCH:
            self.passage.starts[note["at"]] = note["from"]
            return
        pages = []
        for page_id in note["pages"]:
            with suppress(RecordGone, CallerError):
                pages.append(await session.page(page_id))
        if pages:
            self.passage.inserts[note["at"]] = _quoted(pages)

    async def _note(self, title: str, key: str, note: Json) -> None:
        said = Said(
            text=json.dumps(note),
            role=Role.TOOL,
            event_type=EventType.TOOL_RESULT,
            title=title,
            key=key,
        )
        try:
            await (await self._opened()).say([said], origin=_OWN)
        except PagefaultError as error:
            self.problem = str(error)

    # --- recall -------------------------------------------------------------------------------

    def _recall_room(self) -> int:
        share = int(self.passage.window_tokens * RECALL_WINDOW_SHARE)
        return min(RECALL_TOKENS, share)

    async def _recall(self, opening: Node, history: History, match: Match, room: int) -> int:
        """Quote before the newest message what it calls for and the request does not show."""
        hidden = self.passage.hidden(history, match)
        allowed = {page for node in hidden for page in self._pages.get(node.source.key, ())}
        query = _newest(history)
        if not allowed or not query.strip():
            return 0
        try:
            session = await self._opened()
            found = await session.recall(query[:QUERY_CHARS_MAX], limit=CANDIDATES)
            chosen: list[Page] = []
            for hit in found.hits:
                cost = hit.page.tokens + render.LABEL_TOKENS
                if hit.page.page_id in allowed and cost <= room:
                    with suppress(RecordGone):
                        chosen.append(await self._memory.read(hit.page))
                        room -= cost
        except PagefaultError as error:
            self.problem = str(error)
            return 0
        if not chosen:
            return 0
        chosen.sort(key=lambda page: page.row.order)
        ids = [str(page.page_id) for page in chosen]
        await self._note(RECALLED, f"recall {opening.key}", {"at": opening.key, "pages": ids})
        self.passage.inserts[opening.key] = _quoted(chosen)
        return len(chosen)


_OWN: Final = Origin("tool:pagefault")
_NO_TOOL_NAME: Final = re.compile(r"[^A-Za-z0-9_.-]")


def _tool_name(name: str) -> str:
    plain = _NO_TOOL_NAME.sub("_", name)[:64]
    return "client_pagefault" if plain == "pagefault" else plain or "tool"


def _quoted(pages: Sequence[Page]) -> str:
    ordered = sorted(pages, key=lambda page: page.row.order)
    return f"{QUOTED}\n{render.block([render.line([page]) for page in ordered])}"


def _newest(history: History) -> str:
    """What the user said last, in however many messages that stand in a row."""
    said: list[str] = []
    for item in reversed(history.placed):
        if item.role is not Role.USER or item.part is not Part.TEXT:
            break
        said.append(essence(item.text))
    return "\n".join(reversed(said))
