"""Archival memory: search over the notes that a session sees.

Its own and its ancestors', and those of every session that is assigned to the same user. A session
without a user sees only its own: no name is not everybody's name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from pagefault.model.errors import ArchiveMissing, BadInput, NoSuchPage, StoreCorrupt
from pagefault.model.events import CoreWritten, Event, Noted
from pagefault.model.ids import PageId, Seq, SessionNo
from pagefault.model.kinds import NoteArea, NoteType
from pagefault.model.page import PageRow, Scope
from pagefault.model.reprs import outline
from pagefault.model.times import iso_utc
from pagefault.model.trust import is_untrusted
from pagefault.service.arguments import one_of
from pagefault.service.regions import joined
from pagefault.service.runtime import Runtime
from pagefault.service.turn.core_memory import CoreSection
from pagefault.service.turn.notes import may_contradict
from pagefault.store.place import place_in

OWN: Final = frozenset({"words", "meaning"})
"""What a note may be found by (`SearchHit.why`): its neighbours say nothing about it."""

_RELATED: Final = 8  # notes that a new one is compared with


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivalNote:
    """A note, with its source. `contradicts` are notes that say something else about the same
    thing, as far as their form shows; `quarantined` is one that reads like an order.
    """

    page_id: PageId
    session_id: str
    session: str
    text: str
    type: str
    area: str
    origin: str
    created_at: str  # ISO 8601, UTC
    quarantined: bool = False
    contradicts: tuple[PageId, ...] = ()

    def __repr__(self) -> str:
        marks = "quarantined" * self.quarantined, self.area, self.created_at[:10]
        return outline(self.page_id, self.session or self.session_id, *marks, self.text)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ArchivalHit(ArchivalNote):
    """A note that was found; `relevance` is 0..1, how likely it is relevant to the query."""

    relevance: float


class ArchivalMemory:
    """The notes of some sessions. Blocks on the store unless it is awaited."""

    def __init__(
        self, runtime: Runtime, own: Scope, *, called: str, is_shared: bool = True
    ) -> None:
        """`own` is the scope of a session with the name `called`; unless it `is_shared`, no other
        session of the same user is searched.
        """
        self._runtime = runtime
        self._own = own
        self._called = called
        self._is_shared = is_shared

    async def search(
        self, query: str, *, limit: int, type_: str = "", area: str = ""
    ) -> list[ArchivalHit]:
        """The best notes of a type and an area for a query."""
        if type_:
            one_of(NoteType, type_, "type of note")
        if area:
            one_of(NoteArea, area, "area")
        scope = await asyncio.to_thread(self._scope)
        found = await self._found(scope, query)

        def read() -> list[ArchivalHit]:
            hits: list[ArchivalHit] = []
            for row, relevance in found:
                told = self._read(row)
                if told is None or (type_ and told["type"] != type_):
                    continue
                if (area and told["area"] != area) or len(hits) == limit:
                    continue
                hits.append(ArchivalHit(**told, relevance=round(relevance, 4)))
            return [_flagged(one, hits) for one in hits]

        return await asyncio.to_thread(read)

    async def told(self, row: PageRow) -> ArchivalNote:
        """A new note, compared with those on the same subject."""
        return await self._compared(await asyncio.to_thread(self._note, row), row.seq)

    async def would_be(self, event: Event) -> ArchivalNote:
        """The same for a note that is not written."""
        assert isinstance(event.body, Noted)
        told = self._fields(event, event.body.page_id, event.session)
        assert told is not None
        return await self._compared(ArchivalNote(**told), event.seq)

    async def _compared(self, note: ArchivalNote, seq: Seq) -> ArchivalNote:
        scope = await asyncio.to_thread(self._scope)
        found = await self._found(scope, note.text)

        def read() -> ArchivalNote:
            near = (self._read(one) for one, _ in found[:_RELATED] if one.seq != seq)
            return _flagged(note, [ArchivalNote(**one) for one in near if one is not None])

        return await asyncio.to_thread(read)

    def note(self, page_id: PageId) -> ArchivalNote:
        """The note with this id. Raises `NoSuchPage`."""
        row = self._runtime.index.find_page(self._own, page_id)
        if row is None:
            raise NoSuchPage(page_id, self._called)
        return self._note(row)

    def check_there(self, page_id: PageId) -> None:
        """Raise `NoSuchPage`, or `BadInput` if this is not a note of this session."""
        self.note(page_id)

    def proposed(self, session_id: str) -> list[CoreSection]:
        """Versions of sections of core memory that nobody accepted, oldest first."""
        scope, runtime = self._own, self._runtime
        found: dict[Seq, CoreSection] = {}
        for session, upto in reversed(scope.parts):
            for seq in runtime.index.events(session, types=("core",)):
                with suppress(StoreCorrupt, ArchiveMissing):
                    event = runtime.log.get(seq)
                    body = event.body
                    if seq > upto or not isinstance(body, CoreWritten):
                        continue
                    found.pop(event.cause, None)  # it was accepted
                    if body.is_proposed or is_untrusted(event.origin):
                        found[seq] = CoreSection(
                            section=body.section,
                            text=body.text,
                            page_id=body.page_id,
                            chars_max=runtime.limits.core_section_chars,
                            origin=str(event.origin),
                            session_id=session_id,
                            proposed=True,
                        )
        return list(found.values())

    # ------------------------------------------------------------------------------------------

    def _scope(self) -> Scope:
        own, runtime = self._own, self._runtime
        user = runtime.regions.who(own).user if self._is_shared else ""
        if not user:
            return own
        others = [
            scope
            for row in runtime.index.sessions()
            if not runtime.regions.is_region(row)
            and row.session != own.parts[0][0]
            and runtime.regions.who(scope := runtime.scope(row.session)).user == user
        ]
        if not others:
            return own
        return Scope(joined(own, others).parts, is_several=True)

    async def _found(self, scope: Scope, query: str) -> list[tuple[PageRow, float]]:
        """The notes in scope relevant to a query, best first, and how relevant."""
        if not query.strip():
            return []
        import numpy as np

        def places() -> Any:
            runtime, found = self._runtime, set()
            for session, upto in scope.parts:
                for seq in runtime.index.events(session, types=("note",)):
                    row = runtime.index.page_at(seq) if seq <= upto else None
                    if row is not None:
                        found.add(place_in(scope, row))
            return np.array(sorted(found), dtype=np.int64)

        only = await asyncio.to_thread(places)
        if not len(only):
            return []
        found = await self._runtime.search(scope, query, limit=len(only), only=only, strict=True)
        hits = [hit for hit in found.hits if hit.why in OWN]
        return [(row, hit.relevance) for hit in hits for row in (hit.page, *hit.also)]

    def _note(self, row: PageRow) -> ArchivalNote:
        told = self._read(row)
        if told is None:
            raise BadInput(f"{row.page_id} is not a note", hint="`archival_search` finds notes")
        return ArchivalNote(**told)

    def _read(self, row: PageRow) -> dict[str, Any] | None:
        """The fields of a note; None if it is none, or cannot be read now."""
        try:
            event = self._runtime.log.get(row.seq)
        except (StoreCorrupt, ArchiveMissing):
            return None
        return self._fields(event, row.page_id, row.session)

    def _fields(self, event: Event, page_id: PageId, number: SessionNo) -> dict[str, Any] | None:
        body = event.body
        session = self._runtime.index.session(number)
        if not isinstance(body, Noted) or session is None:
            return None
        return {
            "page_id": page_id,
            "session_id": session.session_id,
            "session": session.name,
            "text": body.text,
            "type": str(body.note_type),
            "area": body.area,
            "origin": str(event.origin),
            "created_at": iso_utc(event.at_ms),
            "quarantined": body.is_quarantined,
        }


N = TypeVar("N", bound=ArchivalNote)


def _flagged(note: N, among: Sequence[ArchivalNote]) -> N:
    others = [
        other.page_id
        for other in among
        if (other.page_id, other.session_id) != (note.page_id, note.session_id)
        and may_contradict(note.text, other.text)
    ]
    return replace(note, contradicts=tuple(others))
