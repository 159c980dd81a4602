"""The window of a proxied request, from the records alone.

The records of a client's messages name the page that each follows in the client's history: a tree,
in which a request is a path. The part of the path that it showed follows from its epoch, by the
same engine that decided it (`window/engine.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Final

from pagefault.model.events import (
    HISTORY_START,
    Called,
    Event,
    Faulted,
    OriginalBody,
    PageBody,
    Relayed,
    Returned,
    Said,
    row_of,
)
from pagefault.model.ids import NOTHING, PageId, Seq
from pagefault.model.kinds import ItemKind, Level, Role
from pagefault.model.page import PageRow
from pagefault.pack.envelope import own_level
from pagefault.window.engine import lay_out
from pagefault.window.law import Law
from pagefault.window.slots import FRONT, WHOLE_CONVERSATION, Form, Item, Slot, Window

_LAW: Final = Law()


def window_of(told: Relayed, at: str, key: Callable[[PageId], str]) -> Window:
    """The window of an epoch that began at a node, from its record. `key` is the node of a page, ""
    if unknown. A record without a front is from an old version, in which each epoch had one.
    """
    front = at if told.epoch_front is None else key(told.epoch_front)
    return Window(
        epoch=at,
        first=key(told.epoch_first),
        front=(front,) if front else (),
        forms=dict.fromkeys(filter(None, map(key, told.stubs)), Form.STUB),
    )


@dataclass(frozen=True, slots=True)
class Seen:
    """A page that a request showed: its row, its level, and its place."""

    row: PageRow
    level: Level
    tokens: int
    place: str  # turn, stub, recalled, core, faulted


@dataclass(frozen=True, slots=True)
class _Epoch:
    seq: Seq  # of the request with which it began
    window: Window
    core: tuple[Seen, ...]  # after its notice


@dataclass(slots=True, eq=False)
class _Node:
    key: str  # the first page that was ever said there
    parent: _Node | None
    pages: list[PageId]
    item: Item
    newest: _Node | None = None  # of those that follow it
    loaded: list[Seen] = field(default_factory=list)  # faulted by the model in this answer


@dataclass(slots=True)
class RelayedWindow:
    """A fold of a session's messages and proxied requests, in record order."""

    _nodes: dict[PageId, _Node] = field(default_factory=dict)
    _rows: dict[PageId, PageRow] = field(default_factory=dict)
    _sizes: dict[PageId, int] = field(default_factory=dict)  # in bytes
    _faults: dict[Seq, Faulted] = field(default_factory=dict)  # served by the proxy
    _ends: dict[Seq, _Node | None] = field(default_factory=dict)  # by request, in order
    _begun: dict[str, list[_Epoch]] = field(default_factory=dict)  # at which node, in order
    _inserts: dict[str, list[tuple[Seq, Seen]]] = field(default_factory=dict)  # before which node
    _newest: _Node | None = None
    last: Relayed | None = None

    def fold(self, event: Event) -> None:
        match event.body:
            case Relayed() as told:
                self._fold_relayed(event.seq, told)
            case Faulted(relayed=True, refusal="", already_mapped=False) as fault:
                self._faults[event.seq] = fault
            case PageBody() as body:
                self._rows[body.page_id] = row_of(event, body)
                self._sizes[body.page_id] = len(body.text.encode())
                if isinstance(body, OriginalBody):
                    self._fold_said(body)

    def _fold_said(self, body: OriginalBody) -> None:
        if body.part:
            first = self._nodes.get(body.part_of)
            if first is not None and first.pages[:1] == [body.part_of]:
                first.pages.append(body.page_id)
            return
        if not body.follows:
            return  # it was not said in this session
        former = self._nodes.get(body.supersedes)
        if former is not None:
            former.pages, former.loaded = [body.page_id], []
            self._nodes[body.page_id] = former
            return
        parent = self._nodes.get(body.follows, self._newest)  # else its predecessor was forgotten
        if body.follows == HISTORY_START:
            parent = None
        self._newest = node = _Node(body.page_id, parent, [body.page_id], _item_of(body))
        node.loaded = [one for splice in body.spliced for one in self._loaded(splice.call)]
        self._nodes[body.page_id] = node
        if parent is not None:
            parent.newest = node

    def _loaded(self, call: Seq) -> Iterator[Seen]:
        fault = self._faults.get(call)
        row = self._rows.get(fault.page_id) if fault is not None else None
        if fault is None or row is None or fault.level == Level.REFERENCE:
            return
        level = Level(fault.level)
        yield Seen(row, level or own_level(row), fault.tokens, "faulted")

    def _fold_relayed(self, seq: Seq, told: Relayed) -> None:
        self.last = told
        self._ends[seq] = self._nodes.get(told.upto, self._newest)
        at = self._nodes.get(told.epoch_at)
        if told.epoch and at is not None:
            core = tuple(self._quoted(told.core, "core"))
            epoch = _Epoch(seq, window_of(told, at.key, self._key), core)
            self._begun.setdefault(at.key, []).append(epoch)
        opening = self._nodes.get(told.opening)
        if opening is not None:
            spans = {one.page_id: one.end - one.start for one in told.passages}
            here = [page_id for page_id in told.recalled if page_id not in told.core]
            quoted = ((seq, seen) for seen in self._quoted(here, "recalled", spans))
            self._inserts.setdefault(opening.key, []).extend(quoted)

    def _key(self, page_id: PageId) -> str:
        node = self._nodes.get(page_id)
        return node.key if node is not None else ""

    def _quoted(
        self, page_ids: Iterable[PageId], place: str, spans: dict[PageId, int] | None = None
    ) -> Iterator[Seen]:
        for page_id in page_ids:
            row = self._rows.get(page_id)
            if row is None:
                continue
            part = (spans or {}).get(page_id)
            if part is None:
                yield Seen(row, own_level(row), row.tokens, place)
            else:  # a part is a reduced form of it
                tokens = ceil(row.tokens * part / max(1, self._sizes[page_id]))
                yield Seen(row, Level.REDUCED, tokens, place)

    def seen(self) -> list[Seen]:
        """The pages of the newest request, in order, and of the messages since."""
        newest = next(reversed(self._ends), NOTHING)
        path = self._path(newest)
        after: list[_Node] = []
        node = path[-1].newest if path else None
        while node is not None:
            after.append(node)
            node = node.newest
        return list(self._shown_of(path, newest, after))

    def seen_by(self, request: Seq) -> list[Seen]:
        """The pages of the request with this record, in order; an edited message has its current
        text.
        """
        return list(self._shown_of(self._path(request), request))

    def _path(self, request: Seq) -> list[_Node]:
        path: list[_Node] = []
        node = self._ends.get(request)
        while node is not None:
            path.append(node)
            node = node.parent
        path.reverse()
        return path

    def _shown_of(
        self, path: Sequence[_Node], upto: Seq, after: Sequence[_Node] = ()
    ) -> Iterator[Seen]:
        """The pages shown of a path, and those `after` it, as of a record: the window of the path's
        nearest epoch, and the quotations by then.
        """
        epoch = next(filter(None, (self._epoch(one.key, upto) for one in reversed(path))), None)
        window = WHOLE_CONVERSATION if epoch is None else epoch.window
        nodes = [*path, *after]
        by_key = {one.key: one for one in nodes}
        for slot in lay_out(window, [one.item for one in nodes], _LAW):
            if slot.anchor == FRONT:
                core = self._epoch(slot.id, upto)
                yield from core.core if core is not None else ()
            else:
                yield from self._shown(slot, by_key, upto)

    def _epoch(self, key: str, upto: Seq) -> _Epoch | None:
        """The last one that began at a node by then."""
        begun = reversed(self._begun.get(key, ()))
        return next((one for one in begun if one.seq <= upto), None)

    def _shown(self, slot: Slot, nodes: dict[str, _Node], upto: Seq) -> Iterator[Seen]:
        if slot.form is Form.ABSENT:
            return
        yield from (seen for seq, seen in self._inserts.get(slot.id, ()) if seq <= upto)
        rows = [self._rows[page_id] for page_id in nodes[slot.id].pages]
        if slot.form is Form.STUB:
            yield Seen(rows[0], Level.REFERENCE, 0, "stub")
        else:
            for row in rows:
                yield Seen(row, own_level(row), row.tokens, "turn")
        yield from nodes[slot.id].loaded


def _item_of(body: OriginalBody) -> Item:
    kind = ItemKind.MESSAGE
    if isinstance(body, Called):
        kind = ItemKind.CALL
    elif isinstance(body, Returned):
        kind = ItemKind.RESULT
    return Item(
        id=body.page_id,
        kind=kind,
        is_models=body.role is Role.ASSISTANT,
        call=body.call_id if isinstance(body, Said | Called | Returned) else "",
    )
