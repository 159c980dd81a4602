"""The index in SQLite: what makes pages quick to find. Disposable, a fold of the log.

Invariants, true between any two public calls:
 (1) `applied_seq` changes in the transaction that applies the records up to it.
 (2) Every row of `page` has its row in `event`, and its terms in `event_fts` or in `fresh`.
 (3) A session's `own_pages` and `own_length` are those of its rows in `page`.
 (4) No text stands in the file, only terms; a forgotten page leaves none behind.

A file made by another schema, another analyzer or for another root is not read: `IndexUnusable`.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import apsw

from pagefault.model.errors import StoreBusy, StoreError
from pagefault.model.events import Content, Erased, Event, ForgetBegun, SessionOpened
from pagefault.model.ids import NOTHING, PageId, Seq, SessionNo
from pagefault.model.kinds import Kind, Modality, Origin, Role
from pagefault.model.page import PageRow, Scope, SessionRow
from pagefault.store.analyzer import ANALYZER, page_terms
from pagefault.store.api import Candidate, Candidates, PageFilter
from pagefault.store.connections import MEMORY, Connections, IndexUnusable
from pagefault.store.fold import RECEIPTS, SessionTally
from pagefault.store.likely import likeliest
from pagefault.store.sql import queries

SCHEMA: Final = 2
"""Changes with the tables. No migration: the index is made again."""

_SQL: Final = queries("index.sql")
FRESH_MAX: Final = 128  # pages whose terms wait: a query scans them, in under a millisecond

_IMPORTANCE: Final = 0.5  # of a page that nobody weighed
_FAR: Final = 2**62  # beyond any order


def needs_rebuild(path: Path | str, *, root_id: str) -> str | None:
    """Why the file at `path` cannot serve as the index of this root; `None` if it can."""
    try:
        SqliteIndex.open(path, root_id=root_id, read_only=True).close()
    except IndexUnusable as error:
        return str(error)
    return None


class SqliteIndex:
    """A `PageIndex`. Made by `create` or `open`; one thread applies, any number ask."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._codes: dict[str, int] = {}
        self._words: dict[int, str] = {}
        self._applied = -1  # as of the words that are known
        with connections.read() as db:
            self._learn(db)

    @classmethod
    def create(cls, path: Path | str, *, root_id: str) -> SqliteIndex:
        """An empty index in a new file, or in memory for the path `:memory:`."""
        if str(path) != MEMORY:
            try:  # made here, so that its owner alone can read it; SQLite's own files follow it
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            except FileExistsError:
                raise StoreError(f"{path} is there already") from None
        connections = Connections(path, read_only=False)
        with connections.write() as db:
            db.execute(_SQL["schema"])
            for name, value in _facts(root_id).items():
                db.execute(_SQL["set_meta"], (name, value))
            db.execute(_SQL["set_meta"], ("applied_seq", NOTHING))
        return cls(connections)

    @classmethod
    def open(cls, path: Path | str, *, root_id: str, read_only: bool = False) -> SqliteIndex:
        """The index in an existing file; `IndexUnusable` if it must be made again.

        A reader sees what another process applies meanwhile.
        """
        if not Path(path).is_file():
            raise IndexUnusable(f"{path} is not there")
        connections = Connections(path, read_only=read_only)
        try:
            with connections.read() as db:
                for name, value in _facts(root_id).items():
                    found = _meta(db, name)
                    if found != value:
                        raise IndexUnusable(f"{path} has {name} {found!r}, not {value!r}")
            return cls(connections)
        except BaseException as error:
            connections.close()
            if isinstance(error, StoreError) and not isinstance(error, StoreBusy | IndexUnusable):
                raise IndexUnusable(str(error)) from error
            raise

    def close(self) -> None:
        self._connections.close()

    # --- folding the log ----------------------------------------------------------------------

    def apply(self, events: Sequence[Event]) -> None:
        with self._connections.write() as db:
            applied = _meta(db, "applied_seq")
            fresh = [event for event in events if event.seq > applied]
            if not fresh:
                return
            if fresh[0].seq != applied + 1:
                raise StoreError(f"record {applied + 1} is missing before {fresh[0].seq}")
            if applied != self._applied:  # another process folded some in, and met words
                self._learn(db)
            batch = _Batch(db, dict(self._codes))
            for event in fresh:
                batch.add(event)
            batch.write()
            db.execute(_SQL["set_meta"], ("applied_seq", fresh[-1].seq))
        # Only now: had the transaction failed, the new codes would name nothing.
        self._codes = batch.codes
        self._words = {code: word for word, code in batch.codes.items()}
        self._applied = fresh[-1].seq

    def applied_seq(self) -> Seq:
        with self._connections.read() as db:
            return Seq(_meta(db, "applied_seq"))

    def forget(self, seqs: Collection[Seq], sessions: Collection[SessionNo]) -> None:
        receipts = self._code_array(RECEIPTS)
        with self._connections.bare() as db:
            db.execute(_SQL["forget_secure"])
        with self._connections.write() as db:
            _drain(db)
            going = dict.fromkeys(seqs)
            for session in sessions:
                going |= dict.fromkeys(
                    seq for (seq,) in db.execute(_SQL["session_pages"], (session,))
                )
            for step in ("uncount", "take", "terms", "page", "event"):
                db.executemany(_SQL[f"forget_{step}"], ((seq,) for seq in going))
            for session in sessions:
                db.execute(_SQL["forget_session"], (*[session] * 3, receipts))
            db.execute(_SQL["forget_finish"])
        with self._connections.bare() as db:
            db.execute(_SQL["forget_vacuum"])
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    # --- sessions and records -----------------------------------------------------------------

    def sessions(self) -> list[SessionRow]:
        with self._connections.read() as db:
            return [_session_row(row) for row in db.execute(_SQL["sessions"])]

    def session(self, session: SessionNo) -> SessionRow | None:
        with self._connections.read() as db:
            row = _first(db, "session", session)
        return None if row is None else _session_row(row)

    def find_session(self, name_or_id: str) -> SessionRow | None:
        with self._connections.read() as db:
            found = _first(db, "session_by_id", name_or_id) or _first(
                db, "session_by_name", name_or_id
            )
            return None if found is None else _session_row(_first(db, "session", found[0]) or ())

    def events(
        self, session: SessionNo, *, types: Collection[str] = (), after: Seq = NOTHING
    ) -> list[Seq]:
        wanted = self._code_array(types) if types else None
        with self._connections.read() as db:
            return [Seq(s) for (s,) in db.execute(_SQL["events"], (session, after, wanted))]

    def find_key(self, session: SessionNo, key: str) -> Seq | None:
        with self._connections.read() as db:
            row = _first(db, "find_key", session, key)
        return None if row is None else Seq(row[0])

    # --- pages --------------------------------------------------------------------------------

    def find_page(self, scope: Scope, page_id: PageId) -> PageRow | None:
        with self._connections.read() as db:
            for session, upto in scope.parts:
                row = _first(db, "page_by_id", session, page_id, upto)
                if row is not None:
                    return self._page_row(db, row)
        return None

    def page_at(self, seq: Seq) -> PageRow | None:
        with self._connections.read() as db:
            row = _first(db, "page_at", seq)
            return None if row is None else self._page_row(db, row)

    def pages(
        self, scope: Scope, wanted: PageFilter, *, limit: int, newest_first: bool = False
    ) -> list[PageRow]:
        kinds = self._code_array(wanted.kinds) if wanted.kinds else None
        before = _FAR if wanted.before_order is None else wanted.before_order
        query = _SQL["pages_newest_first" if newest_first else "pages"]
        with self._connections.read() as db:
            rows = [
                self._page_row(db, row)
                for session, upto in scope.parts
                for row in db.execute(
                    query, (session, upto, wanted.after_order, before, kinds, limit)
                )
            ]
        rows.sort(key=_place, reverse=newest_first)
        return rows[:limit]

    def pages_at(self, scope: Scope, orders: Collection[int]) -> list[PageRow]:
        wanted = json.dumps(sorted(set(orders)))
        with self._connections.read() as db:
            rows = [
                self._page_row(db, row)
                for session, upto in scope.parts
                for row in db.execute(_SQL["pages_at"], (session, upto, wanted))
            ]
        return sorted(rows, key=_place)

    def prefix_counts(self, scope: Scope) -> dict[str, int]:
        counts: dict[str, int] = {}
        with self._connections.read() as db:
            for session, upto in scope.parts:
                for prefix, number in db.execute(_SQL["prefix_counts"], (session, upto)):
                    counts[prefix] = max(number, counts.get(prefix, 0))
        return counts

    def candidates(self, scope: Scope, terms: Sequence[str], *, limit: int) -> Candidates:
        with self._connections.read() as db:
            pages, length = _size(db, scope)
            postings = _postings(db, scope, terms)
            chosen = likeliest(postings, pages=pages, limit=limit)
            places = {
                seq: (order, length)
                for seq, order, length in db.execute(_SQL["lengths"], (json.dumps(chosen),))
            }
        return Candidates(
            pages=pages,
            length_mean=length / pages if pages else 0.0,
            frequencies=tuple(map(len, postings)),
            rows=tuple(
                Candidate(
                    seq, places[seq][0], tuple([p.get(seq, 0) for p in postings]), places[seq][1]
                )
                for seq in chosen
            ),
        )

    def containing(self, scope: Scope, term: str) -> frozenset[Seq]:
        with self._connections.read() as db:
            return frozenset(_postings(db, scope, [term])[0])

    # --- the file itself ----------------------------------------------------------------------

    def check(self) -> list[str]:
        with self._connections.bare() as db:
            wrong = [text for (text,) in db.execute(_SQL["check_file"]) if text != "ok"]
            if not db.readonly("main"):
                try:
                    db.execute(_SQL["check_terms"])
                except apsw.Error as error:
                    wrong.append(f"the postings are damaged: {error}")
            for query, sentence in _CHECKS.items():
                wrong += [f"{sentence}: {number}" for (number,) in db.execute(_SQL[query])]
        return wrong

    def _page_row(self, db: apsw.Connection, row: Sequence[Any]) -> PageRow:
        try:
            role, kind, modality, origin = map(self._words.__getitem__, row[5:9])
        except KeyError:
            role, kind, modality, origin = map(self._learn(db).__getitem__, row[5:9])
        return PageRow(
            seq=row[0],
            session=row[1],
            page_id=row[2],
            order=row[3],
            turn=row[4],
            role=_ROLES[role],
            kind=_KINDS[kind],
            modality=_MODALITIES[modality],
            origin=Origin(origin),
            tokens=row[9],
            importance=_IMPORTANCE if row[10] is None else row[10],
            at_ms=row[11],
            part=row[12],
            parts=row[13],
        )

    def _code_array(self, words: Iterable[str]) -> str:
        """Codes of these words as a JSON array. A word never met has none and matches nothing."""
        if not self._codes.keys() >= set(words):
            with self._connections.read() as db:
                self._learn(db)
        return json.dumps([self._codes[word] for word in words if word in self._codes])

    def _learn(self, db: apsw.Connection) -> dict[int, str]:
        """Read the words again: another process may have written some."""
        rows: list[tuple[Any, ...]] = db.execute(_SQL["words"]).fetchall()
        self._words = {code: word for code, word in rows}  # noqa: C416
        self._codes = {word: code for code, word in self._words.items()}
        return self._words


# A dict is ten times quicker than calling the enumeration, and a search makes hundreds of rows.
_ROLES: Final = {str(role): role for role in Role}
_KINDS: Final = {str(kind): kind for kind in Kind}
_MODALITIES: Final = {str(modality): modality for modality in Modality}

_CHECKS: Final = {
    "check_pages": "a page lacks its record or its terms",
    "check_postings": "terms stand without their page",
    "check_sessions": "a session's counts are not those of its pages",
    "check_applied": "a record is beyond applied_seq",
}


class _Batch:
    """Records on their way into the tables: rows are collected, then written table by table."""

    def __init__(self, db: apsw.Connection, codes: dict[str, int]) -> None:
        self.codes = codes
        self._db = db
        self._tallies: dict[SessionNo, SessionTally] = {}
        self._own: dict[SessionNo, list[int]] = {}  # pages and terms that a session holds itself
        self._events: list[tuple[int, ...]] = []
        self._pages: list[tuple[object, ...]] = []
        self._terms: list[tuple[int, int, str]] = []
        self._keys: list[tuple[int, str, int]] = []
        self._taken: list[tuple[int, str]] = []
        self._unknown: set[SessionNo] = set()

    def add(self, event: Event) -> None:
        body = event.body
        seq, session = event.seq, event.session
        if isinstance(body, SessionOpened):
            self._open(event, body)
        else:
            tally = self._tally(session)
            if tally is not None:
                tally.absorb(event)
        if event.key:
            self._keys.append((session, event.key, seq))
        if isinstance(body, Erased):
            return
        self._events.append((seq, session, self._code(event.type), event.turn, event.at_ms))
        if isinstance(body, Content):
            self._add_page(event, body)
        elif isinstance(body, ForgetBegun):
            for taken in body.taken:
                self._taken.append((taken.session, f"{taken.stem}_{taken.number}"))
                tally = self._tally(taken.session)
                if tally is not None:
                    tally.pages = max(tally.pages, taken.order + 1)

    def write(self) -> None:
        """Write what was collected, and begin anew."""
        db = self._db
        db.executemany(_SQL["add_events"], self._events)
        if self._pages:
            db.executemany(_SQL["add_pages"], self._pages)
            self._write_terms()
        if self._keys:
            db.executemany(_SQL["add_keys"], self._keys)
        if self._taken:
            db.executemany(_SQL["add_taken"], self._taken)
        db.executemany(
            _SQL["put_session"],
            [
                _session_values(tally, *self._own[session])
                for session, tally in self._tallies.items()
            ],
        )
        for rows in (self._events, self._pages, self._terms, self._keys, self._taken):
            rows.clear()

    def _write_terms(self) -> None:
        ((waiting,),) = self._db.execute(_SQL["count_fresh"])
        if waiting + len(self._terms) <= FRESH_MAX:
            self._db.executemany(_SQL["add_fresh"], self._terms)
            return
        _drain(self._db)
        self._db.executemany(_SQL["add_terms"], map(_marked, self._terms))

    def _add_page(self, event: Event, body: Content) -> None:
        seq, session = event.seq, event.session
        terms = page_terms(body)
        self._pages.append(
            (
                seq,
                session,
                body.page_id,
                body.order,
                self._code(body.role),
                self._code(body.kind),
                self._code(body.modality),
                self._code(event.origin),
                body.tokens,
                None if body.importance == _IMPORTANCE else body.importance,
                body.part,
                body.parts,
                len(terms),
            )
        )
        self._terms.append((seq, session, " ".join(sorted(terms))))
        own = self._own.get(session)
        if own is not None:
            own[0] += 1
            own[1] += len(terms)

    def _open(self, event: Event, body: SessionOpened) -> None:
        turns, pages = self._inherited(body.parent, body.parent_seq)
        session = SessionNo(event.seq)
        self._tallies[session] = SessionTally.open(event, body, turns=turns, pages=pages)
        self._own[session] = [0, 0]

    def _inherited(self, parent: SessionNo, upto: Seq) -> tuple[int, int]:
        """How many turns and pages a fork of `parent` after `upto` begins with."""
        tally = self._tally(parent) if parent else None
        if tally is None:
            return 0, 0
        if upto >= tally.last_seq:
            return tally.turns, tally.pages
        self.write()  # so that what this batch brought can be asked for, too
        last = _first(self._db, "last_page", parent, upto)
        if last is not None:
            return last[1] + 1, last[0] + 1
        return self._inherited(tally.parent, min(upto, tally.parent_seq))

    def _tally(self, session: SessionNo) -> SessionTally | None:
        tally = self._tallies.get(session)
        if tally is None and session not in self._unknown:
            row = _first(self._db, "session", session)
            if row is None:
                self._unknown.add(session)
                return None
            tally = self._tallies[session] = SessionTally(*row[:12])
            self._own[session] = [row[12], row[13]]
        return tally

    def _code(self, word: str) -> int:
        code = self.codes.get(word)
        if code is None:
            row = _first(self._db, "add_word", word)
            assert row is not None
            code = self.codes[str(word)] = int(row[0])
        return code


def _drain(db: apsw.Connection) -> None:
    """Bring the terms that wait to the others."""
    db.executemany(_SQL["add_terms"], map(_marked, db.execute(_SQL["all_fresh"]).fetchall()))
    db.execute(_SQL["drop_fresh"])


def _marked(row: tuple[Any, ...]) -> tuple[int, str]:
    seq, session, terms = row
    mark = f"{session}:"
    return seq, mark + terms.replace(" ", f" {mark}") if terms else ""


def _postings(db: apsw.Connection, scope: Scope, terms: Sequence[str]) -> list[Counter[Any]]:
    """For each term, how often it stands in each page of the scope that has it."""
    postings: list[Counter[Any]] = [Counter() for _ in terms]
    for session, upto in scope.parts:
        for posting, term in zip(postings, terms, strict=True):
            found = db.execute(_SQL["postings"], (f"{session}:{term}", upto)).fetchall()
            posting.update([seq for (seq,) in found])
        for seq, text in db.execute(_SQL["fresh"], (session, upto)):
            for posting, term in zip(postings, terms, strict=True):
                if term in text and (count := text.split(" ").count(term)):
                    posting[seq] = count
    return postings


def _facts(root_id: str) -> dict[str, int | str]:
    """What must be true of a file for this version to read it."""
    return {"schema": SCHEMA, "analyzer": ANALYZER, "root_id": root_id}


def _meta(db: apsw.Connection, name: str) -> Any:
    row = _first(db, "meta", name)
    return None if row is None else row[0]


def _first(db: apsw.Connection, query: str, *values: object) -> tuple[Any, ...] | None:
    row: tuple[Any, ...] | None = db.execute(_SQL[query], values).fetchone()
    return row


def _size(db: apsw.Connection, scope: Scope) -> tuple[int, int]:
    """Pages and terms in scope. A session that is seen whole keeps count itself."""
    pages = length = 0
    for session, upto in scope.parts:
        row = _first(db, "session", session)
        if row is None:
            continue
        own = row[12:14] if upto >= row[9] else _first(db, "size", session, upto) or (0, 0)
        pages += own[0]
        length += own[1]
    return pages, length


def _session_row(row: Sequence[Any]) -> SessionRow:
    return SessionTally(*row[:12]).row()


def _session_values(tally: SessionTally, own_pages: int, own_length: int) -> tuple[object, ...]:
    return (
        tally.session,
        tally.session_id,
        tally.name,
        tally.parent,
        tally.parent_seq,
        tally.turns,
        tally.pages,
        tally.opened_at_ms,
        tally.last_used_ms,
        tally.last_seq,
        tally.epoch_seq,
        tally.lease_seq,
        own_pages,
        own_length,
    )


def _place(row: PageRow) -> tuple[int, int]:
    return row.order, row.seq
