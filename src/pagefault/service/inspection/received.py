"""The items of a conversation, and its client's own JSON of them.

A proxy passes on each message that a client sends for the first time. It is written once, as JSON
with holes for the text that pages hold (`holes.py`), together with the request that brought it. It
is the client's form of these pages, so it has their lifetime: any page of its turn takes it along
when it is forgotten, because thinking may repeat the words of another page of the turn.

Nothing depends on it: a message that cannot be stored so is left out, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pagefault.model.errors import BadInput, PagefaultError, RecordGone, StoreCorrupt
from pagefault.model.events import (
    HISTORY_START,
    Called,
    Draft,
    Event,
    OriginalBody,
    Received,
    ReceivedItem,
    Returned,
    Stored,
)
from pagefault.model.ids import NOTHING, PageId, Seq, TurnNo
from pagefault.model.kinds import NOT_SAID, RUNTIME, Actor, ItemKind, Role
from pagefault.model.page import Scope
from pagefault.service.inspection.holes import cut, fill
from pagefault.service.restore import records
from pagefault.service.runtime import Runtime
from pagefault.service.window.state import SessionState, turn_now


@dataclass(frozen=True, slots=True, kw_only=True)
class FromClient:
    """A message of a client's request. `follows` is the previous page in the client's history;
    `key` distinguishes it from every other of its session, including its later versions.
    """

    message: Any
    items: tuple[ReceivedItem, ...]
    follows: PageId
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationItem:
    """One item of a conversation, in order. `page_ids` are those of its text, if it has one;
    `message_seq` is the record of its client's own JSON, 0 if there is none: it is not from a
    client of a proxy, or was not sent yet, or a page of its turn was forgotten.
    """

    kind: ItemKind
    turn: TurnNo
    role: Role | None = None  # if a page has it
    page_ids: tuple[PageId, ...] = ()
    message_seq: Seq = NOTHING


# --- writing --------------------------------------------------------------------------------------


@dataclass(slots=True)
class Kept:
    """Drafts of messages, and `problem`, why some cannot be written, or "". `is_to_repeat` asks for
    another try: the problem may pass. `request` is the record of the request that brought them,
    once it is written.
    """

    drafts: list[Draft] = field(default_factory=list)
    problem: str = ""
    is_to_repeat: bool = False
    request: Seq = NOTHING


def drafts_of(
    runtime: Runtime, state: SessionState, scope: Scope, messages: Sequence[FromClient]
) -> Kept:
    """Drafts of the messages that are not written yet. Blocks on the store. Never raises: a
    client's request is passed on in any case.
    """
    session = scope.parts[0][0]
    kept = Kept()
    forgotten = runtime.receipts.turns(session)
    for one in messages:
        try:
            hashed = runtime.hash_key(session, one.key)
            is_known = runtime.index.find_key(session, hashed) is not None
            if is_known or runtime.journal.was_forgotten(session, hashed):
                continue
            body, turn = _received(runtime, state, scope, one, forgotten)
        except RecordGone:
            pass  # it stays forgotten
        except PagefaultError as error:
            kept.problem, kept.is_to_repeat = error.message, True
        except Exception as bug:  # e.g. an unexpected shape, or one nested too deep
            kept.problem = f"a message of the client is not kept as JSON: {type(bug).__name__}"
        else:
            kept.drafts.append(
                Draft(
                    session=session,
                    turn=turn,
                    actor=Actor.SYSTEM,
                    origin=RUNTIME,
                    body=body,
                    key=one.key,
                )
            )
    return kept


def _received(
    runtime: Runtime,
    state: SessionState,
    scope: Scope,
    one: FromClient,
    forgotten: Set[TurnNo],
) -> tuple[Received, TurnNo]:
    """`forgotten` are the turns in which something was. Raises `RecordGone` if it belongs to one of
    these: it is not restored.
    """
    texts: list[str] = []
    turn: TurnNo | None = None
    for item in one.items:
        text = ""
        if item.page_id:
            text, of = _whole_text(runtime, scope, item.page_id)
            turn = of if turn is None else turn
        texts.append(text)
    if turn is None and one.follows != HISTORY_START:
        _, turn = _whole_text(runtime, scope, one.follows)
    turn = turn_now(state) if turn is None else turn
    if turn in forgotten:
        raise RecordGone("something of its turn was forgotten, whose words it may repeat")
    journal = runtime.journal

    def put(data: bytes) -> str:
        journal.expect(scope.parts[0][0], RUNTIME, len(data))
        return runtime.blobs.put(data)

    told, holes = cut(one.message, texts, journal.clean, put, journal.clean_value)
    body = Received(
        json=told,
        items=one.items,
        holes=holes,
        follows=PageId("") if any(item.page_id for item in one.items) else one.follows,
    )
    if runtime.journal.clean_body(body) != body:  # its holes would be misplaced
        raise ValueError("a secret reads on from one string into another")
    return body, turn


def _whole_text(runtime: Runtime, scope: Scope, page_id: PageId) -> tuple[str, TurnNo]:
    """The whole text that begins with this page, and its turn."""
    first = runtime.index.find_page(scope, page_id)
    if first is None:
        raise RecordGone(f"page {page_id} was forgotten")
    texts = [runtime.pages.read(first).text]
    for part_id in _parts(page_id, first.parts)[1:]:
        row = runtime.index.find_page(scope, part_id)
        if row is None:
            raise RecordGone(f"page {part_id} was forgotten")
        texts.append(runtime.pages.read(row).text)
    return "".join(texts), first.turn


def _parts(page_id: PageId, parts: int) -> list[PageId]:
    stem, _, number = page_id.rpartition("_")
    return [PageId(f"{stem}_{int(number) + part}") for part in range(parts)]


# --- reading --------------------------------------------------------------------------------------


def client_json(runtime: Runtime, scope: Scope, message_seq: Seq) -> str:
    """The JSON of a message as the client sent it. Raises `BadInput` if the session has no such
    message, and `RecordGone` if it was forgotten. Blocks on the store.
    """
    event = runtime.log.get(message_seq) if 0 < message_seq <= runtime.log.head() else None
    parts = dict(scope.parts)
    if event is None or message_seq > parts.get(event.session, NOTHING) or event.type != "received":
        raise BadInput(
            f"record {message_seq} is not a message that a client of this session sent",
            hint="`items` gives the message_seq of each",
        )
    body = event.body
    if not isinstance(body, Received):
        raise RecordGone(f"message {message_seq} was forgotten, or cannot be read")
    return _filled(runtime, scope, message_seq, body)


def _filled(runtime: Runtime, scope: Scope, message_seq: Seq, body: Received) -> str:
    def text_of(item: int) -> str:
        return _whole_text(runtime, scope, body.items[item].page_id)[0]

    def blob_of(name: str) -> bytes:
        try:
            return runtime.blobs.get(name)
        except KeyError:
            if runtime.journal.is_going(message_seq):
                raise RecordGone(f"message {message_seq} is being forgotten just now") from None
            raise StoreCorrupt(f"a part of message {message_seq} is missing: blob {name}") from None

    return fill(body.json, body.holes, text_of, blob_of)


def messages_of(runtime: Runtime, scope: Scope) -> list[tuple[Seq, PageId, str]]:
    """The messages of a session of which pages have something, as its client first sent them: the
    record of each, the first page of its last text, and its JSON, oldest first. What was forgotten
    or cannot be read is left out. Blocks on the store.
    """
    found: list[tuple[Seq, PageId, str]] = []
    for event in records(runtime, scope, types=("received",)):
        body = event.body
        if not isinstance(body, Received):
            continue
        pages = [item.page_id for item in body.items if item.page_id]
        if pages:
            with suppress(PagefaultError):
                found.append((event.seq, pages[-1], _filled(runtime, scope, event.seq, body)))
    return found


def items_of(runtime: Runtime, scope: Scope) -> list[ConversationItem]:
    """Everything said and handed in, in order, including edited messages; the parts that no page
    holds are where the client had them. Blocks on the store.
    """
    said: dict[PageId, tuple[Event, OriginalBody]] = {}
    messages: dict[PageId, tuple[Event, Received]] = {}  # by the first page of each
    behind: dict[PageId, list[tuple[Event, Received]]] = {}  # those without a page
    for event in records(runtime, scope):
        match event.body:
            case OriginalBody(event_type=event_type) if event_type in NOT_SAID:
                pass  # it was not said in this session
            case OriginalBody() as original if not original.part:
                said[original.page_id] = event, original
            case Received() as body:
                pages = [item.page_id for item in body.items if item.page_id]
                if pages:  # a message that has grown replaces its earlier form
                    messages[pages[0]] = event, body
                else:
                    behind.setdefault(body.follows, []).append((event, body))
    before: dict[PageId, list[ConversationItem]] = {}
    after: dict[PageId, list[ConversationItem]] = {}
    seqs: dict[PageId, Seq] = {}
    kinds: dict[PageId, ItemKind] = {}
    for event, body in messages.values():
        at, where = next(item.page_id for item in body.items if item.page_id), before
        for item in body.items:
            if item.page_id:
                at, where = item.page_id, after
                seqs[at], kinds[at] = event.seq, item.kind
            else:
                where.setdefault(at, []).append(_without_page(item, event))
    for follows, found in behind.items():
        others = (_without_page(item, event) for event, body in found for item in body.items)
        after.setdefault(follows, []).extend(others)
    told = after.get(HISTORY_START, [])
    for page_id, (event, one) in said.items():
        told += before.get(page_id, ())
        told.append(
            ConversationItem(
                kind=kinds.get(page_id) or _kind_of(one),
                turn=event.turn,
                role=one.role,
                page_ids=tuple(_parts(page_id, one.parts)),
                message_seq=seqs.get(page_id, NOTHING),
            )
        )
        told += after.get(page_id, ())
    return told


def _without_page(item: ReceivedItem, event: Event) -> ConversationItem:
    return ConversationItem(kind=item.kind, turn=event.turn, message_seq=event.seq)


def _kind_of(body: OriginalBody) -> ItemKind:
    match body:
        case Called():
            return ItemKind.CALL
        case Returned():
            return ItemKind.RESULT
        case Stored():
            return ItemKind.MEDIA
        case _:
            return ItemKind.MESSAGE
