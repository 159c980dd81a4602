"""The index as dicts: the specification in code, and what `SqliteIndex` is compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pagefault.model.errors import StoreError
from pagefault.model.events import (
    Erased,
    Event,
    ForgetBegun,
    PageBody,
    SessionOpened,
    SetAside,
    row_of,
)
from pagefault.model.ids import NOTHING, PageId, Seq, SessionNo, TurnNo
from pagefault.model.page import DERIVED_ORDER, PageRow, Scope, SessionRow, is_derived
from pagefault.model.wanted import SearchFilter
from pagefault.store.analyzer import analyze, page_terms
from pagefault.store.api import NO_NAMES, Candidates, Matching, PageFilter, Traits, never, worth_of
from pagefault.store.fold import (
    BEGAN_LATER,
    ID_TAKEN,
    NUMBERED,
    PLACE_TAKEN,
    RECEIPTS,
    SessionTally,
    is_orphan,
)
from pagefault.store.form import Form, form_of
from pagefault.store.leaf import is_note
from pagefault.store.likely import Numbers, likeliest
from pagefault.store.place import place_of
from pagefault.store.soundness import sound
from pagefault.store.tokens import COUNT_MAX


@dataclass(frozen=True, slots=True)
class _Entry:
    row: PageRow
    terms: Counter[str]
    name: frozenset[str]  # the terms of who spoke
    form: Form


class MemoryIndex:
    """A `PageIndex` for one thread."""

    takes_leaves = False

    def __init__(self) -> None:
        self._applied = NOTHING
        self._sessions: dict[SessionNo, SessionTally] = {}
        self._events: dict[Seq, tuple[SessionNo, str, TurnNo]] = {}
        self._pages: dict[Seq, _Entry] = {}
        self._taken: dict[tuple[SessionNo, PageId], Seq] = {}
        self._keys: dict[tuple[SessionNo, str], Seq] = {}
        self._aside: dict[Seq, tuple[SessionNo, str]] = {}

    def apply(self, events: Sequence[Event], *, synced: bool = True) -> Collection[Seq]:
        fresh = [event for event in events if event.seq > self._applied]
        if fresh and fresh[0].seq != self._applied + 1:
            raise StoreError(f"record {self._applied + 1} is missing before {fresh[0].seq}")
        for event in fresh:
            self._apply_one(event)
            self._applied = event.seq
        return [event.seq for event in fresh if event.seq in self._aside]

    def _apply_one(self, event: Event) -> None:
        event = sound(event)
        body = event.body
        if event.session > event.seq:
            why = BEGAN_LATER
        else:
            why = body.why if isinstance(body, SetAside) else self._collision(event)
        if why:
            self._aside[event.seq] = event.session, why
            if event.session in self._sessions:
                tally = self._sessions[event.session]
                tally.last_seq, tally.last_used_ms = event.seq, event.at_ms
            return
        if isinstance(body, SessionOpened):
            turns, pages = self._inherited(body.parent, body.parent_seq)
            opened = SessionTally.open(event, body, turns=turns, pages=pages)
            self._sessions[opened.session] = opened
        else:
            if event.session not in self._sessions and is_orphan(event):
                tally = SessionTally.recovered(event.session, event.seq, event.at_ms)
                self._sessions[event.session] = tally
            if event.session in self._sessions:
                self._sessions[event.session].absorb(event)
        if isinstance(body, Erased):
            return
        if event.key:
            self._keys.setdefault((event.session, event.key), event.seq)
        self._events[event.seq] = event.session, event.type, event.turn
        if isinstance(body, ForgetBegun):
            for taken in body.taken:
                self._taken[taken.session, PageId(f"{taken.stem}_{taken.number}")] = NOTHING
                if taken.session in self._sessions:
                    self._sessions[taken.session].recall(taken)
        if isinstance(body, PageBody):
            row = row_of(event, body)
            name = frozenset(analyze(body.speaker))
            said = Counter(analyze(body.text))
            form = form_of(body, said.keys(), event.at_ms)
            if is_note(event.origin, body):
                row = replace(row, superseded=event.seq)
            self._pages[event.seq] = _Entry(row, page_terms(body, said), name, form)
            if body.supersedes:
                self._supersede(event.session, body.supersedes, event.seq)

    def _supersede(self, session: SessionNo, page_id: PageId, by: Seq) -> None:
        """All parts of the text that a page begins are history."""
        rows = [entry.row for entry in self._pages.values() if entry.row.session == session]
        first = next((row for row in rows if row.page_id == page_id), None)
        for row in rows if first is not None else ():
            assert first is not None
            if 0 <= row.order - first.order < first.parts and not row.superseded:
                entry = self._pages[row.seq]
                self._pages[row.seq] = replace(entry, row=replace(row, superseded=by))

    def _collision(self, event: Event) -> str:
        """Why a page cannot stand where its record says; nothing if it can."""
        body = event.body
        if not isinstance(body, PageBody):
            return ""
        rows = [e.row for e in self._pages.values() if e.row.session == event.session]
        if any(row.order == body.order for row in rows):
            return PLACE_TAKEN
        return ID_TAKEN if any(row.page_id == body.page_id for row in rows) else ""

    def _inherited(self, parent: SessionNo, upto: Seq) -> tuple[int, int]:
        tally = self._sessions.get(parent)
        if tally is None:
            return 0, 0
        if upto >= tally.last_seq:
            return tally.turns, tally.pages
        own = list(self._in_scope(Scope(((parent, upto),))))  # what was said
        if own:
            last = max(own, key=lambda entry: entry.row.order).row
            return last.turn + 1, last.order + 1
        return self._inherited(tally.parent, min(upto, tally.parent_seq))

    def promised_seq(self) -> Seq:
        return self.applied_seq()

    def applied_seq(self) -> Seq:
        return self._applied

    def sessions(self) -> list[SessionRow]:
        rows = [tally.row() for tally in self._sessions.values()]
        return sorted(rows, key=lambda row: (-row.last_used_ms, -row.session))

    def session(self, session: SessionNo) -> SessionRow | None:
        tally = self._sessions.get(session)
        return None if tally is None else tally.row()

    def find_session(self, name_or_id: str) -> SessionRow | None:
        rows = self.sessions()
        by_id = [row for row in rows if row.session_id == name_or_id]
        by_name = [row for row in rows if row.name == name_or_id]
        return next(iter(by_id + by_name), None)

    def _in_scope(self, scope: Scope) -> Iterator[_Entry]:
        if scope.is_everything:
            yield from self._pages.values()
        for session, upto in scope.parts:
            for seq, entry in self._pages.items():
                is_among = (entry.row.order >= DERIVED_ORDER) == scope.of_derived
                if is_among and entry.row.session == session and seq <= upto:
                    yield entry

    def find_page(self, scope: Scope, page_id: PageId) -> PageRow | None:
        where = scope.derived if is_derived(page_id) else scope
        rows = (entry.row for entry in self._in_scope(where))
        return next((row for row in rows if row.page_id == page_id), None)

    def page_at(self, seq: Seq) -> PageRow | None:
        entry = self._pages.get(seq)
        return None if entry is None else entry.row

    def pages(
        self, scope: Scope, wanted: PageFilter, *, limit: int, newest_first: bool = False
    ) -> list[PageRow]:
        rows = [
            row
            for row in (entry.row for entry in self._in_scope(scope))
            if row.order > wanted.after_order
            and (wanted.before_order is None or row.order < wanted.before_order)
            and (not wanted.kinds or row.kind in wanted.kinds)
        ]
        return sorted(rows, key=_position, reverse=newest_first)[:limit]

    def matching(self, scope: Scope, wanted: SearchFilter) -> Matching:
        rows = [entry.row for entry in self._in_scope(scope) if wanted.admits(entry.row)]
        rows.sort(key=lambda row: _place(scope, row))
        return Matching(
            places=np.array([_place(scope, row) for row in rows], dtype=np.int64),
            said_ms=np.array([row.said_ms for row in rows], dtype=np.int64),
        )

    def pages_at(self, scope: Scope, places: Collection[int]) -> list[PageRow]:
        rows = (entry.row for entry in self._in_scope(scope))
        found = (row for row in rows if _place(scope, row) in places)
        return sorted(found, key=lambda row: (_place(scope, row), row.seq))

    def standing(self, scope: Scope, places: Collection[int]) -> frozenset[int]:
        taken = (_place(scope, entry.row) for entry in self._in_scope(scope))
        return frozenset(taken).intersection(places)

    def history(self, scope: Scope) -> frozenset[int]:
        rows = (entry.row for entry in self._in_scope(scope))
        return frozenset(_place(scope, row) for row in rows if scope.is_history(row))

    def prefix_counts(self, scope: Scope) -> dict[str, int]:
        ids = [e.row.page_id for part in (scope, scope.derived) for e in self._in_scope(part)]
        for session, upto in scope.parts:
            ids += [n for (s, n), seq in self._taken.items() if s == session and seq <= upto]
        counts: dict[str, int] = {}
        for match in filter(None, map(NUMBERED.fullmatch, ids)):
            counts[match[1]] = max(int(match[2]), counts.get(match[1], 0))
        return counts

    def candidates(
        self, scope: Scope, terms: Sequence[str], *, limit: int, near: Numbers | None = None
    ) -> Candidates:
        entries = {_place(scope, entry.row): entry for entry in self._in_scope(scope)}
        measured = [
            e for e in entries.values() if (e.row.order >= DERIVED_ORDER) == scope.of_derived
        ]
        lists = [
            np.array(sorted(p for p, e in entries.items() if e.terms[term]), dtype=np.int64)
            for term in terms
        ]
        places = likeliest(lists, pages=len(entries), limit=limit, near=near)
        counts = [[min(entries[p].terms[t], COUNT_MAX) for t in terms] for p in places.tolist()]
        length = sum(entry.terms.total() for entry in measured)
        return Candidates(
            pages=len(entries),
            length_mean=length / len(measured) if measured else 0.0,
            frequencies=tuple(map(len, lists)),
            places=places,
            counts=np.array(counts, dtype=np.int64).reshape(len(places), len(terms)),
        )

    def traits(
        self, scope: Scope, places: Collection[int], names: Mapping[str, float] = NO_NAMES
    ) -> Traits:
        entries = {_place(scope, entry.row): entry for entry in self._in_scope(scope)}
        there = [(place, entries[place]) for place in sorted(places) if place in entries]
        return Traits(
            places=np.array([place for place, _ in there], dtype=np.int64),
            lengths=np.array([one.terms.total() for _, one in there], dtype=np.int64),
            days=np.array([one.form.day for _, one in there], dtype=np.int64),
            marks=np.array([one.form.marks for _, one in there], dtype=np.int64),
            likenesses=np.array([one.form.likeness for _, one in there], dtype=np.int64),
            spoken=np.array([worth_of(one.name, names) for _, one in there], dtype=np.float64),
        )

    def speakers(self, scope: Scope) -> frozenset[str]:
        sessions = {session for session, _ in scope.parts}
        names = [
            entry.name
            for entry in self._pages.values()
            if scope.is_everything or entry.row.session in sessions
        ]
        return frozenset[str]().union(*names)

    def events(
        self,
        session: SessionNo,
        *,
        types: Collection[str] = (),
        turns: Collection[int] = (),
        after: Seq = NOTHING,
    ) -> list[Seq]:
        return [
            seq
            for seq, (owner, name, turn) in self._events.items()
            if owner == session
            and seq > after
            and (not types or name in types)
            and (not turns or turn in turns)
        ]

    def set_aside(self, session: SessionNo | None = None) -> dict[Seq, str]:
        return {
            seq: why for seq, (of, why) in self._aside.items() if session is None or of == session
        }

    def find_key(self, session: SessionNo, key: str) -> Seq | None:
        return self._keys.get((session, key))

    def forget(self, seqs: Collection[Seq], sessions: Collection[SessionNo]) -> None:
        whole = {seq for seq, entry in self._pages.items() if entry.row.session in sessions}
        for seq in whole.union(seqs):
            self._events.pop(seq, None)
            self._aside.pop(seq, None)
            entry = self._pages.pop(seq, None)
            if entry is not None:
                self._taken.setdefault((entry.row.session, entry.row.page_id), seq)
        gone = whole.union(seqs)
        for seq, entry in self._pages.items():
            if entry.row.superseded in gone:
                self._pages[seq] = replace(entry, row=replace(entry.row, superseded=NOTHING))
        self._keys = {
            key: seq
            for key, seq in self._keys.items()
            if seq not in gone and key[0] not in sessions
        }
        for session in sessions:
            self._sessions.pop(session, None)
            self._aside = {seq: one for seq, one in self._aside.items() if one[0] != session}
            self._events = {
                seq: noted
                for seq, noted in self._events.items()
                if noted[0] != session or noted[1] in RECEIPTS
            }

    def tidy(self) -> bool:
        return False

    def check(self, give_way: Callable[[], bool] = never) -> list[str]:
        wrong = [f"page {seq} lacks its record" for seq in self._pages if seq not in self._events]
        return wrong + [
            f"{seq} is beyond applied_seq" for seq in self._events if seq > self._applied
        ]

    def close(self) -> None:
        """Nothing to let go of."""


def _position(row: PageRow) -> tuple[int, int]:
    return row.order, row.seq


def _place(scope: Scope, row: PageRow) -> int:
    return place_of(row.session, row.order) if scope.is_everything else row.order
