"""Turning batches of records into rows of the index."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import apsw

from pagefault.model.events import (
    Erased,
    Event,
    ForgetBegun,
    PageBody,
    SessionOpened,
    SetAside,
)
from pagefault.model.ids import Seq, SessionNo
from pagefault.model.page import DERIVED_ORDER
from pagefault.store.embedded.sql import Queries
from pagefault.store.fold import BEGAN_LATER, ID_TAKEN, PLACE_TAKEN, SessionTally, is_orphan
from pagefault.store.leaf import Leaf, leaf_of
from pagefault.store.place import Span, place_of, said_span
from pagefault.store.sizes import size_of
from pagefault.store.soundness import sound

_SQL: Final = Queries("index.sql")

FRESH_MAX: Final = 256  # pages whose terms are pending: a query scans them, in about a millisecond
_SESSIONS_MAX: Final = 256  # sessions whose counts are cached between batches


@dataclass(slots=True)
class Tally:
    """A session's counts in the index."""

    row: SessionTally
    own_pages: int = 0  # its own transcript pages that are still stored
    own_length: int = 0
    derived_pages: int = 0  # pages derived from those
    bytes: int = 0  # of content in its records
    numbers: dict[str, int] = field(default_factory=dict)  # the largest of each prefix of its ids

    def values(self) -> tuple[object, ...]:
        row = self.row
        return (
            row.session,
            row.session_id,
            row.name,
            row.parent,
            row.parent_seq,
            row.turns,
            row.pages,
            row.opened_at_ms,
            row.last_used_ms,
            row.last_seq,
            row.epoch_seq,
            row.lease_seq,
            self.own_pages,
            self.own_length,
            self.derived_pages,
            self.bytes,
            json.dumps(self.numbers, separators=(",", ":")),
        )


def tally_of(values: Sequence[Any]) -> Tally:
    """The inverse of `Tally.values`: from a session's row."""
    own_pages, own_length, derived_pages, said, numbers = values[12:]
    row = SessionTally(*values[:12])
    return Tally(row, own_pages, own_length, derived_pages, said, json.loads(numbers))


class Known:
    """What the writing connection caches of the file between two batches.

    Valid only while nobody else writes and no transaction fails: then a new one is made.
    """

    def __init__(self, db: apsw.Connection) -> None:
        [(applied,)] = _SQL.rows(db, "meta", "applied_seq")
        [(waiting,)] = _SQL.rows(db, "count_fresh")
        self.applied = Seq(applied)
        self.waiting = int(waiting)  # pages in `fresh`
        self.is_synced = not _SQL.rows(db, "meta", "unsynced_after")
        self.codes: dict[str, int] = {word: code for code, word in _SQL.rows(db, "words")}
        self.speakers: dict[tuple[SessionNo, str], int] = {}
        self.tallies: OrderedDict[SessionNo, Tally] = OrderedDict()
        self._db = db

    def tally(self, session: SessionNo) -> Tally | None:
        tally = self.tallies.get(session)
        if tally is not None:
            self.tallies.move_to_end(session)
            return tally
        row = _SQL.first(self._db, "session", session)
        return None if row is None else self.remember(tally_of(row))

    def remember(self, tally: Tally) -> Tally:
        self.tallies[tally.row.session] = tally
        return tally

    def shrink(self) -> None:
        """Drop the least recently used sessions. Not within a batch."""
        while len(self.tallies) > _SESSIONS_MAX:
            self.tallies.popitem(last=False)

    def code(self, word: str) -> int:
        """The number of a role, kind, modality, origin or type."""
        code = self.codes.get(word)
        if code is None:
            [(code,)] = _SQL.rows(self._db, "add_word", word)
            self.codes[str(word)] = code
        return code

    def speaker(self, session: SessionNo, terms: str) -> int:
        """The number of a speaker in a session."""
        code = self.speakers.get((session, terms))
        if code is None:
            found = _SQL.rows(self._db, "find_speaker", session, terms)
            [(code,)] = found or _SQL.rows(self._db, "add_speaker", session, terms)
            if len(self.speakers) >= _SESSIONS_MAX * 8:
                self.speakers.clear()
            self.speakers[session, terms] = code
        return code


class Batch:
    """Records on their way into the tables: rows are collected, then written table by table."""

    def __init__(self, db: apsw.Connection, known: Known) -> None:
        self._db = db
        self._known = known
        self._touched: dict[SessionNo, Tally] = {}
        self._events: list[tuple[object, ...]] = []
        self._pages: list[tuple[object, ...]] = []
        self._terms: list[tuple[int, str]] = []
        self._keys: list[tuple[int, str, int]] = []
        self._taken: list[tuple[int, str]] = []
        self._superseded: list[tuple[int, str, int]] = []
        self._aside: list[tuple[int, int, str]] = []
        self.aside: list[Seq] = []  # those set aside, among all records added
        self.found_by: list[tuple[int, str]] = []  # place and tokens of each transcript page added
        self.is_in_order = True  # each of these comes after all pages of its session
        self._places: set[int] = set()  # of pending pages; below, their ids
        self._ids: set[tuple[int, str]] = set()

    def add(self, entry: Event | Leaf) -> None:
        if entry.session > entry.seq:
            self._set_aside(entry.seq, entry.session, BEGAN_LATER)
        elif isinstance(entry, Leaf):
            self._add_page(entry)
        else:
            self._add_whole(sound(entry))  # already in the log; another may have written it

    def _add_whole(self, event: Event) -> None:
        if isinstance(event.body, PageBody):
            self._add_page(leaf_of(event, event.body))
        else:
            self._add_event(event)

    def _add_event(self, event: Event) -> None:
        body = event.body
        seq, session = event.seq, event.session
        if isinstance(body, SetAside):
            self._set_aside(seq, session, body.why)
            tally = self._tally(session)
            if tally is not None:
                tally.row.absorb(event)
            return
        if isinstance(body, SessionOpened):
            self._open(event, body)
        else:
            tally = self._tally(session)
            if tally is None and is_orphan(event):
                tally = self._recovered(event)
            if tally is not None:
                tally.row.absorb(event)
        if isinstance(body, Erased):
            return
        if event.key:
            self._keys.append((session, event.key, seq))
        code = self._known.code(event.type)
        said = size_of(body) or None
        own = self._touched.get(session)
        if said and own is not None:
            own.bytes += said
        self._events.append((seq, session, code, event.turn, event.at_ms, None, said))
        if isinstance(body, ForgetBegun):
            for taken in body.taken:
                self._taken.append((taken.session, f"{taken.stem}_{taken.number}"))
                other = self._tally(taken.session)
                if other is not None:
                    other.row.recall(taken)

    def _add_page(self, leaf: Leaf) -> None:
        known, seq, session = self._known, leaf.seq, leaf.session
        tally = self._tally(session)
        if tally is None and session:
            tally = self._recovered(leaf)
        assert tally is not None, "a page is of a session"
        prefix, _, digits = leaf.page_id.rpartition("_")
        number = int(digits)
        if why := self._collision(tally, leaf, is_next=number > tally.numbers.get(prefix, 0)):
            self._set_aside(seq, session, why)
            tally.row.last_seq, tally.row.last_used_ms = seq, leaf.at_ms
            return
        self.is_in_order &= tally.row.pages <= leaf.order
        tally.row.paged(seq, leaf.at_ms, leaf.turn, leaf.order)
        if leaf.order < DERIVED_ORDER:
            tally.own_pages += 1
            tally.own_length += leaf.length
        else:
            tally.derived_pages += 1
        tally.bytes += leaf.bytes
        tally.numbers[prefix] = max(number, tally.numbers.get(prefix, 0))
        if leaf.key:
            self._keys.append((session, leaf.key, seq))
        place = place_of(session, leaf.order)
        self._places.add(place)
        self._ids.add((session, leaf.page_id))
        code = known.code
        self._events.append(
            (seq, session, code(leaf.type), leaf.turn, leaf.at_ms, place, leaf.bytes or None)
        )
        self._pages.append(
            (
                place,
                seq,
                leaf.page_id,
                code(leaf.role),
                code(leaf.kind),
                code(leaf.modality),
                code(leaf.origin),
                leaf.tokens,
                leaf.importance,
                leaf.part,
                leaf.parts,
                leaf.length,
                None if leaf.speaker is None else known.speaker(session, leaf.speaker),
                *leaf.form,
                leaf.occurred_ms,
                seq if leaf.is_history else None,
            )
        )
        if leaf.supersedes is not None:
            self._superseded.append((session, leaf.supersedes, seq))
        self._terms.append((place, leaf.terms))
        if leaf.order < DERIVED_ORDER:
            self.found_by.append((place, leaf.terms))

    def _set_aside(self, seq: Seq, session: SessionNo, why: str) -> None:
        self._aside.append((seq, session, why))
        self.aside.append(seq)

    def _collision(self, tally: Tally, leaf: Leaf, *, is_next: bool) -> str:
        """Why a page cannot have the place in its record; empty if it can. Call it before counting
        the page. Pages that arrive in order need no look-up.
        """
        place = place_of(leaf.session, leaf.order)
        is_free = tally.row.pages <= leaf.order < DERIVED_ORDER
        if not is_free and (place in self._places or _SQL.first(self._db, "is_page", place)):
            return PLACE_TAKEN
        if not is_next:
            here = (leaf.session, leaf.page_id)
            if here in self._ids or _SQL.first(self._db, "page_by_id", *here, leaf.seq):
                return ID_TAKEN
        return ""

    def write(self) -> None:
        """Write the collected rows and start afresh."""
        db = self._db
        db.executemany(_SQL["add_events"], self._events)
        if self._pages:
            db.executemany(_SQL["add_pages"], self._pages)
            self._write_terms()
        if self._superseded:
            db.executemany(_SQL["supersede"], self._superseded)
        if self._keys:
            db.executemany(_SQL["add_keys"], self._keys)
        if self._taken:
            db.executemany(_SQL["add_taken"], self._taken)
        if self._aside:
            db.executemany(_SQL["add_aside"], self._aside)
        if self._touched:
            db.executemany(
                _SQL["put_session"], [tally.values() for tally in self._touched.values()]
            )
        for rows in (
            *(self._events, self._pages, self._terms),
            *(self._keys, self._taken, self._superseded, self._aside, self._places, self._ids),
        ):
            rows.clear()

    def _write_terms(self) -> None:
        if self._known.waiting + len(self._terms) <= FRESH_MAX:
            # Sorted, so that no sentence can be read back from the pending terms.
            rows = [(place, " ".join(sorted(text.split(" ")))) for place, text in self._terms]
            self._db.executemany(_SQL["add_fresh"], rows)
            self._known.waiting += len(self._terms)
            return
        drain(self._db)
        self._known.waiting = 0
        self._terms.sort()  # by place: the full-text index takes them fastest so
        self._db.executemany(_SQL["add_terms"], self._terms)

    def _open(self, event: Event, body: SessionOpened) -> None:
        turns, pages = self._inherited(body.parent, body.parent_seq)
        opened = Tally(SessionTally.open(event, body, turns=turns, pages=pages))
        self._touched[SessionNo(event.seq)] = self._known.remember(opened)

    def _recovered(self, first: Event | Leaf) -> Tally:
        tally = Tally(SessionTally.recovered(first.session, first.seq, first.at_ms))
        self._touched[first.session] = self._known.remember(tally)
        return tally

    def _inherited(self, parent: SessionNo, upto: Seq) -> tuple[int, int]:
        """The turns and pages that a fork of `parent` after `upto` begins with."""
        tally = self._tally(parent) if parent else None
        if tally is None:
            return 0, 0
        if upto >= tally.row.last_seq:
            return tally.row.turns, tally.row.pages
        self.write()  # so that this batch's rows can be queried, too
        last = last_page(self._db, said_span(parent), upto)
        if last is not None:
            _, order, turn = last
            return turn + 1, order + 1
        return self._inherited(tally.row.parent, min(upto, tally.row.parent_seq))

    def _tally(self, session: SessionNo) -> Tally | None:
        tally = self._touched.get(session) or self._known.tally(session)
        if tally is not None:
            self._touched[session] = tally
        return tally


def drain(db: apsw.Connection) -> None:
    """Move pending terms into the full-text index."""
    db.execute(_SQL["drain_fresh"])


def last_page(db: apsw.Connection, span: Span, upto: Seq) -> tuple[int, int, int] | None:
    """Place, order and turn of the last page of a span up to `upto`."""
    row = _SQL.first(db, "last_page", span.first, span.last, upto)
    return None if row is None else (row[0], row[1], row[2])
