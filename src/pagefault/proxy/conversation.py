"""One conversation of a client: its tree of histories, its session in the memory, its passage.

What is said is logged before it is sent on, once, whatever the client resends: the key of its node
is the record's key. What was recalled and where epochs began is logged by ids, never by text, so
that a restart puts the same bytes back and what was forgotten stays away. What is forgotten while
this runs is quoted from the next request on no more; of a session that was forgotten whole nothing
is logged again, and what is said from then on is a new one's.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pagefault.model.catalogue import find_model
from pagefault.model.clock import Clock
from pagefault.model.defaults import CORE_WINDOW_SHARE, RECALL_TOKENS, RECALL_WINDOW_SHARE
from pagefault.model.errors import (
    CallerError,
    MessageTooLarge,
    PagefaultError,
    RecordGone,
    SessionNotFound,
)
from pagefault.model.events import Relayed
from pagefault.model.kinds import (
    MODEL_GENERATED,
    USER_TYPED,
    EventType,
    Origin,
    Role,
)
from pagefault.model.page import Page
from pagefault.model.request import Usage
from pagefault.pack import render
from pagefault.pack.count import MESSAGE_TOKENS, TokenCounter
from pagefault.proxy.history import History, Item, Json, Part, essence
from pagefault.proxy.passage import Composed, Passage, Weighed, is_marked
from pagefault.proxy.trie import Change, Match, Node, Trie
from pagefault.proxy.wire import Answered, Wire
from pagefault.service.memory import Memory
from pagefault.service.session import Session
from pagefault.service.telling.relaying import note_relayed, note_reported
from pagefault.service.turn.turn import encodable
from pagefault.service.turn.writing import Said

RECALLED: Final = "pagefault:recall"
EPOCH: Final = "pagefault:epoch"
CANDIDATES: Final = 50
CALL_CHARS_MAX: Final = 4_000  # of a call's arguments that are kept: an edit quotes whole files
QUERY_CHARS_MAX: Final = 4_000
STANDS: Final = "[What the user decided, prefers and told there, as it stands:]"
MODEL_CHARS_MAX: Final = 200
QUOTED: Final = "[From earlier in this conversation, quoted because it may bear on what follows:]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A request, as it goes on: `body` is None where the client's own bytes do."""

    match: Match
    composed: Composed | None
    body: Json | None
    recalled: int = 0  # pages
    aside: bool = False  # a request to sum up: nobody said it, and its answer is no answer
    request: int = -1  # its number in the log; -1 if it is not there


class Conversation:
    """For one event loop. `problem` is why the latest logging failed, or ""."""

    def __init__(
        self,
        *,
        memory: Memory,
        name: str,
        wire: Wire,
        counter: TokenCounter,
        clock: Clock,
        window_tokens: int,
    ) -> None:
        self.name = name
        self.problem = ""
        self.trie = Trie()
        self.passage = Passage(wire, counter, window_tokens)
        self._wire = wire
        self._counter = counter
        self._memory = memory
        self._session: Session | None = None
        self._pages: dict[str, Sequence[str]] = {}  # by the key of the node that says it
        self._names: dict[str, str] = {}  # of tools, by the id of a call
        self._clock = clock
        self._asked_s: float | None = None  # when the provider was asked last
        self._requests = 0  # that the log tells of
        self._owes_claims = False  # those that were said in what the client compacted
        self._forgettings = memory.forgettings  # when quotes were put in
        self._lock = asyncio.Lock()

    async def receive(self, body: Json, history: History) -> Passed:
        """Take a request in, and say what to send on."""
        async with self._lock:
            placed = history.placed
            match = self.trie.match(placed)
            aside = bool(placed) and placed[-1].asks_for_summary
            await self._look_for_session()
            await self._log(match.path, placed)
            await self._unquote_forgotten()
            quoted: list[Page] = []
            composed: Composed | None = None
            if self.passage.window_tokens:
                composed, quoted = await self._compose(body, history, match, aside=aside)
            return Passed(
                match=match,
                composed=composed,
                body=self._wire.put(body, composed.messages)
                if composed is not None and composed.changed
                else None,
                recalled=len(quoted),
                aside=aside,
                request=await self._tell(body, history, match, composed, quoted),
            )

    async def _look_for_session(self) -> None:
        """Begin another session if this one was forgotten whole, here or by another process."""
        if self._session is None:
            return
        try:
            await self._session.owned.refresh()
            self._session.owned.check_there()
        except SessionNotFound:
            self._session, self._requests = None, 0
            self._pages = dict.fromkeys(self._pages, ())  # said, and nowhere any more
            self.passage.unquote()
        except PagefaultError as error:
            self.problem = str(error)

    async def _unquote_forgotten(self) -> None:
        """Quote no page any more that was forgotten, here or by another process."""
        if self._forgettings == self._memory.forgettings or self._session is None:
            return
        self._forgettings = self._memory.forgettings
        self.passage.unquote()
        try:
            await self._restore(self._session)
        except PagefaultError as error:
            self.problem = str(error)

    async def _compose(
        self, body: Json, history: History, match: Match, *, aside: bool
    ) -> tuple[Composed, list[Page]]:
        """The request as it fits the window, and what is quoted with it for the first time."""
        passage = self.passage
        self._owes_claims = self._owes_claims or match.change is Change.COMPACTED
        opening = None if aside else passage.opening(history, match)
        room = self._recall_room() if opening is not None else 0
        epoch, quoted = "", list[Page]()
        if not aside:  # a summary is made of what the model has seen: nothing leaves before it
            epoch = passage.plan(body, history, match, room)
        if epoch:
            at = match.path[-1].key
            free = passage.free_tokens(body, history, match) - room
            core = await self._standing(history, match, free)
            ids = [str(page.page_id) for page in core]
            note = {"at": at, "from": passage.starts[at], "why": epoch, "core": ids}
            await self._note(EPOCH, f"epoch {at}", note)
            if core:
                passage.cores[at] = _quoted(core, STANDS)
            quoted += core
        if opening is not None:
            free = passage.free_tokens(body, history, match)
            if self._owes_claims and not epoch:
                quoted += await self._standing(history, match, free - room)
            self._owes_claims = False
            quoted += await self._recall(opening, history, match, min(room, free), quoted, epoch)
        return passage.compose(body, history, match, epoch=epoch), quoted

    async def answered(self, passed: Passed, answered: Answered) -> None:
        """Take in what the model answered, if it came to its end, and what the provider counted."""
        async with self._lock:
            if passed.composed is not None:
                self.passage.observe(passed.composed, answered.input_tokens)
            if answered.usage is not None and passed.request >= 0:
                await self._report(passed.request, answered.usage)
            if not answered.complete or passed.aside:
                return
            placed = [item for item in answered.items if item.place]
            nodes = self.trie.follow(passed.match.path, placed)
            await self._log(nodes, placed)

    # --- what is told of requests -------------------------------------------------------------

    async def _tell(
        self,
        body: Json,
        history: History,
        match: Match,
        composed: Composed | None,
        quoted: Sequence[Page],
    ) -> int:
        """Write down what is sent; returns the request's number, or -1 where there is no session.

        Counting an unpaged request takes a thread: nothing of it was counted before.
        """
        messages = history.messages if composed is None else composed.messages
        if composed is None:
            weighed = await asyncio.to_thread(self.passage.weigh, body, history, messages)
        else:
            weighed = self.passage.weigh(body, history, messages)
        if self._session is None:  # nothing was said yet, or the memory fails
            return -1
        model = encodable(str(body.get("model") or ""))[:MODEL_CHARS_MAX]
        hidden = (
            {page for node in composed.hidden for page in self._said_in(node)} if composed else ()
        )
        told = Relayed(
            request=self._requests,
            wire=self._wire.name,
            model=model,
            change=_change(match, weighed),
            tokens=weighed.tokens,
            window_tokens=self.passage.window_tokens,
            factor=self.passage.factor,
            messages=len(messages),
            client_messages=len(history.messages),
            left_tokens=composed.left_tokens if composed else 0,
            hidden=len(hidden),
            before=weighed.before,
            shared=weighed.shared,
            recalled=tuple(page.page_id for page in quoted),
            epoch=composed.epoch if composed else "",
            is_over=composed.over if composed else False,
            is_cold=self._is_cold(model),
            is_marked=is_marked(body),
        )
        try:
            await note_relayed(self._session, told)
        except PagefaultError as error:
            self.problem = str(error)
            return -1
        self._requests += 1
        return told.request

    async def _report(self, request: int, usage: Usage) -> None:
        assert self._session is not None, "it was told of"
        try:
            await note_reported(self._session, request, usage)
        except PagefaultError as error:
            self.problem = str(error)

    def _is_cold(self, model: str) -> bool:
        """Whether the provider has forgotten the prefix, as far as anybody can tell; after a
        restart nobody can.
        """
        before, self._asked_s = self._asked_s, self._clock.monotonic_s()
        return before is None or find_model(model).prices.is_cold(self._asked_s - before)

    def _said_in(self, node: Node) -> Sequence[str]:
        """The pages that hold what a node says."""
        return self._pages.get(node.source.key, ())

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
        """What was recalled, where epochs began, and how much was asked, in an earlier run."""
        told = await self._memory.proxied(session)
        self._requests = told.last.request + 1 if told is not None else 0
        after, text = -1, ""
        while rows := await self._memory.pages(session, limit=500, after=after):
            after = rows[-1].order
            for row in rows:
                if row.origin == _OWN:
                    with suppress(RecordGone):
                        page = await self._memory.read(row)
                        text = page.text if row.part == 0 else text + page.text
                        if row.part + 1 == row.parts:
                            await self._restore_note(session, page.title, text)

    async def _restore_note(self, session: Session, title: str, text: str) -> None:
        try:
            note = json.loads(text)
            at, begins = str(note["at"]), str(note.get("from", ""))
            ids = list(map(str, note.get("core" if title == EPOCH else "pages", ())))
        except (ValueError, KeyError, TypeError, AttributeError):  # no note of ours, or half of one
            return
        pages = []
        for page_id in ids:
            with suppress(RecordGone, CallerError):
                pages.append(await session.page(page_id))
        if title == EPOCH:
            self.passage.starts[at] = begins
            if pages:
                self.passage.cores[at] = _quoted(pages, STANDS)
        elif pages:
            self.passage.inserts[at] = _quoted(pages)

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

    async def _recall(
        self,
        opening: Node,
        history: History,
        match: Match,
        room: int,
        quoted: Sequence[Page],
        epoch: str,
    ) -> list[Page]:
        """Quote before the newest message what it calls for and the request does not show.

        Of `quoted`, what no epoch put in front is quoted there, too.
        """
        chosen: list[Page] = []
        hidden = self.passage.hidden(history, match)
        allowed = {page for node in hidden for page in self._said_in(node)}
        query = _newest(history)
        try:
            if allowed and query.strip():
                session = await self._opened()
                found = await session.recall(query[:QUERY_CHARS_MAX], limit=CANDIDATES)
                for hit in found.hits:
                    cost = hit.page.tokens + render.LABEL_TOKENS
                    if hit.page.page_id in allowed and cost <= room:
                        with suppress(RecordGone):
                            chosen.append(await self._memory.read(hit.page))
                            room -= cost
        except PagefaultError as error:
            self.problem = str(error)
        here = [*([] if epoch else quoted), *chosen]
        if here:
            ids = [str(page.page_id) for page in here]
            await self._note(RECALLED, f"recall {opening.key}", {"at": opening.key, "pages": ids})
            self.passage.inserts[opening.key] = _quoted(here)
        return chosen

    async def _standing(self, history: History, match: Match, free: int) -> list[Page]:
        """The claims that stand on the user's word and are said in nothing that the request shows,
        the newest of them, as far as there is room.
        """
        share = int(self.passage.window_tokens * CORE_WINDOW_SHARE)
        room = min(share, free) - MESSAGE_TOKENS
        hidden = self.passage.hidden(history, match)
        allowed = {page for node in hidden for page in self._said_in(node)}
        chosen: list[Page] = []
        try:
            session = await self._opened()
            for claim in reversed(await session.claims() if allowed else []):
                said = {span.page_id for span in claim.evidence}
                is_standing = claim.status == "standing" and claim.authority == "user"
                if not is_standing or not said or not said <= allowed:
                    continue
                page = await session.page(claim.claim_id)
                cost = page.row.tokens + render.LABEL_TOKENS
                if cost <= room:
                    chosen.append(page)
                    room -= cost
        except PagefaultError as error:
            self.problem = str(error)
        return chosen[::-1]


_OWN: Final = Origin("tool:pagefault")
_NO_TOOL_NAME: Final = re.compile(r"[^A-Za-z0-9_.-]")


def _tool_name(name: str) -> str:
    plain = _NO_TOOL_NAME.sub("_", name)[:64]
    return "client_pagefault" if plain == "pagefault" else plain or "tool"


def _quoted(pages: Sequence[Page], why: str = QUOTED) -> str:
    """Claims first, then what was said, each in order."""
    ordered = sorted(pages, key=lambda page: (page.derived is None, page.row.order))
    return f"{why}\n{render.block([render.line([page]) for page in ordered])}"


def _change(match: Match, weighed: Weighed) -> str:
    """How a request stands to the one before it, as `Relayed` names it."""
    if weighed.has_another_model:
        return "remodelled"
    if match.change in (Change.SAME, Change.EXTENDED) and weighed.shared < weighed.before:
        if weighed.has_another_head:
            return "reinstructed"
        if match.edited:
            return "edited"
    return str(match.change)


def _newest(history: History) -> str:
    """What the user said last, in however many messages that stand in a row."""
    said: list[str] = []
    for item in reversed(history.placed):
        if item.role is not Role.USER or item.part is not Part.TEXT:
            break
        said.append(essence(item.text))
    return "\n".join(reversed(said))
