"""The memory items of one session, their heat and their use: a fold.

An item is a page: a note, or any other page that somebody made hot once. Hot items are in every
request of the session (pins that heat sets and removes); warm and cold ones are found by
`Session.heat_recall`; archived ones by search. A note begins cold, unless it is moved in the batch
in which it is written.

- relevance: 1 when an item is added and when it becomes hot; after each recall the mean of its old
  value and of the item's relevance to the query
- accesses: recalls that found it

None of this is stored: hot items are in `heat_moved`, recalls in `heat_recalled`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Final

from pagefault.model.events import Event, HeatMoved, HeatRecalled, Noted, Pinned
from pagefault.model.ids import NOTHING, PageId, Seq
from pagefault.model.kinds import Heat, Kind, NoteType, Origin
from pagefault.model.page import Page, PageRow, Scope
from pagefault.model.reprs import counted, outline
from pagefault.model.times import iso_utc
from pagefault.model.trust import is_untrusted
from pagefault.service.restore import records
from pagefault.service.runtime import Runtime
from pagefault.service.window.state import SessionState

NEW: Final = 1.0  # of an item just added, or made hot
_TYPES: Final = ("note", "heat_moved", "heat_recalled", "pinned")
_TYPE_OF: Final = {Kind.TRANSCRIPT: NoteType.MESSAGE, Kind.CLAIM: NoteType.FACT}


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatItem:
    """A memory item. `content` is its text, or "" if only its place was asked for."""

    id: PageId
    session_id: str = ""
    content: str = ""
    type: str
    tier: str  # hot, warm, cold or archived
    access_count: int = 0
    last_accessed_at_ms: int
    created_at_ms: int
    relevance_score: float = NEW
    tokens: int
    origin: str
    area: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    is_quarantined: bool = False

    def __repr__(self) -> str:
        used = f"used {counted(self.access_count, 'time')}" if self.access_count else ""
        return outline(self.id, self.tier, counted(self.tokens, "token"), used, self.content)

    @property
    def is_untrusted(self) -> bool:
        return is_untrusted(Origin(self.origin))

    @property
    def leaves_first(self) -> tuple[float, int]:
        """The order in which items leave: the least relevant, and among equals the oldest."""
        return self.relevance_score, self.created_at_ms

    def as_dict(self) -> dict[str, Any]:
        """In the form of requirement 002, where heat is called `tier`."""
        return {
            "id": self.id,
            "sessionId": self.session_id,
            "content": self.content,
            "type": self.type,
            "tier": self.tier,
            "accessCount": self.access_count,
            "lastAccessedAt": iso_utc(self.last_accessed_at_ms),
            "createdAt": iso_utc(self.created_at_ms),
            "relevanceScore": round(self.relevance_score, 4),
            "tokens": self.tokens,
            "origin": self.origin,
            "area": self.area,
            "metadata": self.metadata,
            "quarantined": self.is_quarantined,
        }


class HeatBook:
    """The items as of some record. Invariant: every item has one heat."""

    def __init__(self) -> None:
        self.items: dict[PageId, HeatItem] = {}

    def __iter__(self) -> Iterator[HeatItem]:
        return iter(self.items.values())

    def of(self, *heats: Heat) -> list[HeatItem]:
        return [item for item in self if item.tier in heats]

    def copy(self) -> HeatBook:
        made = HeatBook()
        made.items = dict(self.items)
        return made

    def note(self, row: PageRow, body: Noted) -> None:
        self.items.pop(body.supersedes, None)
        self.items[row.page_id] = HeatItem(
            id=row.page_id,
            type=str(body.note_type),
            tier=Heat.COLD,
            last_accessed_at_ms=row.at_ms,
            created_at_ms=row.at_ms,
            tokens=row.tokens,
            origin=str(row.origin),
            area=body.area,
            metadata=_object(body.metadata),
            is_quarantined=body.is_quarantined,
        )

    def take_in(self, row: PageRow) -> None:
        """Make a page that is not a note an item."""
        kind = _TYPE_OF.get(row.kind, NoteType.CONTEXT)
        self.items.setdefault(
            row.page_id,
            HeatItem(
                id=row.page_id,
                type=str(kind),
                tier=Heat.COLD,
                last_accessed_at_ms=row.at_ms,
                created_at_ms=row.at_ms,
                tokens=row.tokens,
                origin=str(row.origin),
            ),
        )

    def move(self, page_id: PageId, to: Heat) -> None:
        item = self.items.get(page_id)
        if item is not None:
            score = NEW if to is Heat.HOT else item.relevance_score
            self.items[page_id] = replace(item, tier=str(to), relevance_score=score)

    def recalled(self, page_id: PageId, relevance: float, at_ms: int) -> None:
        item = self.items.get(page_id)
        if item is not None:
            self.items[page_id] = replace(
                item,
                access_count=item.access_count + 1,
                last_accessed_at_ms=at_ms,
                relevance_score=(item.relevance_score + relevance) / 2,
            )


class HeatReader:
    """The fold of one session's records, as far as asked for. Blocks on the store."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._book = HeatBook()
        self._folded = NOTHING
        self._as_of: tuple[SessionState, int, Seq, Scope] | None = None
        self._lock = Lock()

    def book(self, state: SessionState, scope: Scope) -> HeatBook:
        """The items that a session sees now, without forgotten and withdrawn ones: a forget here
        replaces the state.
        """
        with self._lock:
            forgets, ruled = self._runtime.journal.forgets, self._runtime.quarantine.read_on()
            now = (state, forgets, ruled, scope)
            if now != self._as_of:
                self._book, self._folded, self._as_of = HeatBook(), NOTHING, now
            for event in records(self._runtime, scope, types=_TYPES, after=self._folded):
                self._fold(event, scope)
                self._folded = max(self._folded, event.seq)
            return self._book.copy()

    def _fold(self, event: Event, scope: Scope) -> None:
        match event.body:
            case Noted() as body:
                row = self._runtime.index.page_at(event.seq)
                if row is not None and not self._runtime.quarantine.is_withdrawn(row):
                    is_held = body.is_quarantined and self._runtime.quarantine.holds(row)
                    self._book.note(row, replace(body, is_quarantined=is_held))
            case HeatMoved(moves=moves):
                for move in moves:
                    if move.page_id not in self._book.items:
                        row = self._runtime.index.find_page(scope, move.page_id)
                        if row is not None and not self._runtime.quarantine.is_withdrawn(row):
                            self._book.take_in(row)
                    self._book.move(move.page_id, move.to)
            case HeatRecalled(hits=hits):
                for hit in hits:
                    self._book.recalled(hit.page_id, hit.relevance, event.at_ms)
            case Pinned(page_id=page_id):  # by a person: heat neither sets nor removes it
                item = self._book.items.get(page_id)
                if item is not None and item.tier == Heat.HOT:
                    self._book.move(page_id, Heat.WARM)


def _object(text: str) -> dict[str, Any]:
    """A caller's JSON object; empty if a scrub left no JSON."""
    try:
        told = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def with_texts(items: Iterable[HeatItem], read: Sequence[Page], session_id: str) -> list[HeatItem]:
    """These items with their texts."""
    texts = {page.page_id: page.text for page in read}
    return [
        replace(item, content=texts[item.id], session_id=session_id)
        for item in items
        if item.id in texts
    ]
