"""The index in SQLite: a disposable fold of the log that makes pages quick to find.

Invariants, true between any two public calls:
 (1) `applied_seq` changes in the transaction that applies the records up to it.
 (2) Every row of `page` has its row in `event`, and its terms in `event_fts` or in `fresh`.
 (3) A session's `own_pages` and `own_length` are those of its rows in `page` without derived ones,
     and `derived_pages` is the number of derived ones.
 (4) A session's `bytes` are those of its rows in `event`.
 (5) The file has no text, only terms; a forgotten page leaves none behind.
 (6) What was applied was synced to the log, except what follows the record `unsynced_after`.

A file of another schema, analyzer or root is not read: `IndexUnusable`. An index that turns out to
be damaged while in use is rebuilt, if `on_damage` says how, and queried again.
"""

from __future__ import annotations

import json
import os
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Final, NamedTuple, ParamSpec, TypeVar

import apsw

from pagefault.language.analyzer import ANALYZER
from pagefault.language.sought import Sought, alternatives
from pagefault.model.errors import StoreBusy, StoreError
from pagefault.model.events import Erased, Event, PageBody, SessionOpened
from pagefault.model.ids import FOREVER, NOTHING, PageId, Seq, SessionNo
from pagefault.model.kinds import DERIVED_STEMS, ORIGINS, Kind, Modality, Origin, Role
from pagefault.model.page import PageRow, Scope, SessionRow
from pagefault.model.wanted import SearchFilter
from pagefault.store.api import (
    NO_NAMES,
    Candidates,
    Matching,
    PageFilter,
    Traits,
    Written,
    never,
    role_number,
    worth_of,
)
from pagefault.store.embedded.batch import (
    FRESH_MAX,
    Batch,
    Known,
    drain,
    last_page,
    tally_of,
)
from pagefault.store.embedded.connections import (
    MEMORY,
    Connections,
    IndexDamaged,
    IndexReplaced,
    IndexUnusable,
)
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.files import open_file
from pagefault.store.embedded.postings_cache import PostingsCache
from pagefault.store.embedded.sql import Queries
from pagefault.store.fold import NUMBERED, RECEIPTS
from pagefault.store.leaf import USUAL_IMPORTANCE, Leaf, leaf_of
from pagefault.store.place import (
    ALL,
    ORDER_MAX,
    Span,
    derived_span,
    place_of,
    said_span,
    session_span,
)
from pagefault.store.precedence import give_way
from pagefault.store.sizes import size_of
from pagefault.store.tokens import COUNT_MAX

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MERGE_PAGES: Final = 16
"""Pages of the full-text index written per merge step: some milliseconds."""

SCHEMA: Final = 14
"""Changes with the tables and their content. No migration: the index is rebuilt."""

_SQL: Final = Queries("index.sql")

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _mended(
    ask: Callable[Concatenate[SqliteIndex, _P], _T],
) -> Callable[Concatenate[SqliteIndex, _P], _T]:
    """Retry the method on a rebuilt index if this one turns out to be damaged.

    Changed bytes show as a page that does not match its checksum, or, in a file without checksums,
    as rows that make no sense. Only the file distinguishes these from a bug of ours, so it is
    checked before it is blamed.
    """

    @wraps(ask)
    def asked(self: SqliteIndex, /, *args: _P.args, **options: _P.kwargs) -> _T:
        connections = self._connections
        try:
            return ask(self, *args, **options)
        except IndexReplaced:
            raise
        except IndexUnusable as damage:
            self._mend(connections, damage)
        except (LookupError, ValueError, TypeError, ArithmeticError) as error:
            found = self._damage()
            if found is None:
                raise
            found.__cause__ = error
            self._mend(connections, found)
        return ask(self, *args, **options)

    return asked


class SqliteIndex:
    """A `PageIndex`. Made by `create` or `open`; one thread applies, any number query."""

    takes_leaves = True

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._known: Known | None = None  # the writer's cache; None after a failure
        self._version = -1  # of the file, as the writer left it
        self._is_untidy = True  # something was applied since `tidy` last had nothing to do
        self._sizes: dict[tuple[SessionNo, Seq, int], _Part] = {}
        self._postings_cache = PostingsCache()
        self._codes: dict[str, int] = {}
        self._words: dict[int, str] = {}
        self._mending = threading.Lock()
        self._spoilt: list[Connections] = []  # damaged; some thread may still be reading there
        self.on_damage: Callable[[IndexUnusable], SqliteIndex] | None = None
        """Makes the index anew, from the log, in place of this one."""
        with connections.read() as db:
            self._learn(db)

    @classmethod
    def create(cls, path: Path | str, *, root_id: str) -> SqliteIndex:
        """An empty index in a new file, or in memory for the path `:memory:`."""
        if str(path) != MEMORY:
            try:  # made here, readable by its owner alone; SQLite's other files inherit that
                os.close(open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                raise StoreError(f"{path} already exists") from None
        connections = Connections(path, read_only=False)
        with connections.write() as db:
            db.execute(_SQL["schema"])
            for name, value in _facts(root_id).items():
                db.execute(_SQL["set_meta"], (name, value))
            db.execute(_SQL["set_meta"], ("applied_seq", NOTHING))
        return cls(connections)

    @classmethod
    def open(
        cls, path: Path | str, *, root_id: str, read_only: bool = False, disk: Disk | None = None
    ) -> SqliteIndex:
        """The index in an existing file; `IndexUnusable` if it must be rebuilt.

        A reader sees what another process applies meanwhile.
        """
        if not os.path.lexists(path):
            raise IndexUnusable(f"{path} is not there")
        connections = Connections(path, read_only=read_only, disk=disk)
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
                raise IndexUnusable(f"{error}") from error
            raise

    def close(self) -> None:
        for connections in (*self._spoilt, self._connections):
            connections.close()

    def copied(self) -> SqliteIndex:
        """An in-memory copy, for callers that may not write the file."""
        return SqliteIndex(self._connections.copied())

    def abandon(self) -> None:
        """The file is about to be replaced: closing this leaves the file of that name alone."""
        self._connections.abandon()

    def _mend(self, spoilt: Connections, damage: IndexUnusable) -> None:
        """Switch to a rebuilt index, unless another thread has; or raise the damage."""
        with self._mending:
            if self._connections is not spoilt:
                return
            if self.on_damage is None:
                raise damage
            anew = self.on_damage(damage)
            self._spoilt.append(spoilt)
            self._connections = anew._connections
            # After the connections, so that no reader of the old file fills the new cache.
            self._postings_cache = anew._postings_cache
            self._codes, self._words = anew._codes, anew._words
            self._known, self._version, self._is_untidy, self._sizes = None, -1, True, {}

    def _damage(self) -> IndexDamaged | None:
        """What is wrong with the file; None if nothing is."""
        try:
            wrong = self.check()
        except IndexDamaged as damage:
            return damage
        return IndexDamaged(f"the index is damaged: {wrong[0]}") if wrong else None

    # --- folding the log ----------------------------------------------------------------------

    @_mended
    def apply(self, events: Sequence[Event | Leaf], *, synced: bool = True) -> Collection[Seq]:
        known = None
        try:
            with self._connections.write() as db:
                known = self._knowing(db)
                fresh = [event for event in events if event.seq > known.applied]
                if not fresh:
                    return ()
                if fresh[0].seq != known.applied + 1:
                    raise StoreError(f"record {known.applied + 1} is missing before {fresh[0].seq}")
                if not synced:
                    db.execute(_SQL["unsynced_after"], (known.applied,))
                elif not known.is_synced:
                    db.execute(_SQL["all_synced"])
                known.is_synced = synced
                batch = Batch(db, known)
                for event in fresh:
                    batch.add(event)
                batch.write()
                db.execute(_SQL["set_meta"], ("applied_seq", fresh[-1].seq))
                aside = batch.aside
                if batch.is_in_order:
                    self._postings_cache.add(
                        batch.found_by, after=known.applied, upto=fresh[-1].seq
                    )
                else:
                    self._postings_cache.clear()
        except BaseException:
            self._known = None  # it was ahead of the file
            self._postings_cache.clear()
            raise
        known.applied = fresh[-1].seq
        known.shrink()
        self._is_untidy = True
        self._note_version()
        return aside

    def _knowing(self, db: apsw.Connection) -> Known:
        """The cached knowledge of the file; renewed if another connection has written to it."""
        if self._known is None or db.data_version("main") != self._version:
            self._known = Known(db)
        return self._known

    def _note_version(self) -> None:
        """Note the file's version after our own write, so that any other change shows."""
        with self._connections.bare() as db:
            self._version = db.data_version("main")

    @_mended
    def applied_seq(self) -> Seq:
        with self._connections.read() as db:
            return Seq(_meta(db, "applied_seq"))

    @_mended
    def promised_seq(self) -> Seq:
        with self._connections.read() as db:
            unsynced_after = _meta(db, "unsynced_after")
            return Seq(_meta(db, "applied_seq") if unsynced_after is None else unsynced_after)

    @_mended
    def note_synced(self) -> None:
        """Note that everything applied is durable by now."""
        if self.promised_seq() < self.applied_seq():
            with self._connections.write() as db:
                db.execute(_SQL["all_synced"])

    @_mended
    def forget(self, seqs: Collection[Seq], sessions: Collection[SessionNo]) -> None:
        receipts = self._code_array(RECEIPTS)
        self._known = None
        with self._connections.bare() as db:
            db.execute(_SQL["forget_secure"])
        with self._connections.write() as db:
            drain(db)
            going = dict.fromkeys(seqs)
            for session in sessions:
                first, last, _ = session_span(session)
                going |= dict.fromkeys(
                    seq for (seq,) in _SQL.rows(db, "session_pages", first, last)
                )
            gone = (json.dumps(list(going)),)
            db.execute(_SQL["forget_keys"], gone)
            db.execute(_SQL["forget_superseding"], gone)
            for step in ("uncount", "unweigh", "take", "terms", "page", "aside", "event"):
                db.executemany(_SQL[f"forget_{step}"], ((seq,) for seq in going))
            for session in sessions:
                db.execute(_SQL["forget_session"], (*[session] * 4, receipts))
            db.execute(_SQL["forget_finish"])
        with self._connections.bare() as db:
            db.execute(_SQL["forget_vacuum"])
        self._connections.empty_log()

    @_mended
    def revise(self, events: Sequence[Event]) -> None:
        """Leaves no byte of the old versions, as `forget` does."""
        self.forget([one.seq for one in events if isinstance(one.body, Erased)], ())
        with self._connections.write() as db:
            known = Known(db)
            db.execute(_SQL["forget_keys"], (json.dumps([e.seq for e in events if not e.key]),))
            for event in events:
                if not isinstance(event.body, Erased):
                    said = size_of(event.body), event.seq
                    db.execute(_SQL["revise_held"], said)
                    db.execute(_SQL["revise_bytes"], said)
                if isinstance(event.body, SessionOpened):
                    db.execute(_SQL["revise_name"], (event.body.name, event.session))
                elif isinstance(event.body, PageBody) and _SQL.rows(db, "page_at", event.seq):
                    leaf = leaf_of(event, event.body)
                    place = place_of(leaf.session, leaf.order)
                    speaker = leaf.speaker and known.speaker(leaf.session, leaf.speaker)
                    db.execute(_SQL["revise_count"], (leaf.length, place))
                    db.execute(_SQL["revise_terms"], (place,))
                    db.execute(_SQL["add_terms"], (place, leaf.terms))
                    row = (place, known.code(leaf.origin), leaf.tokens, leaf.length, speaker)
                    db.execute(_SQL["revise_page"], (*row, *leaf.form, leaf.occurred_ms))
            db.execute(_SQL["forget_finish"])
        with self._connections.bare() as db:
            db.execute(_SQL["forget_vacuum"])
        self._connections.empty_log()

    @_mended
    def tidy(self) -> bool:
        if not self._is_untidy:
            return False
        if self._connections.checkpoint_if_due():
            return True  # the next sync waits for that copy, which is delay enough for a writer
        try:
            with self._connections.write() as db:
                known = self._knowing(db)
                before = db.total_changes()
                if known.waiting > FRESH_MAX // 2:
                    drain(db)
                    known.waiting = 0
                else:
                    db.execute(_SQL["merge_terms"], (MERGE_PAGES,))
                self._is_untidy = db.total_changes() - before > 1
        except BaseException:
            self._known = None
            raise
        self._note_version()
        return self._is_untidy

    # --- sessions and records -----------------------------------------------------------------

    @_mended
    def sessions(self) -> list[SessionRow]:
        with self._connections.read() as db:
            return [_session_row(row) for row in _SQL.rows(db, "sessions")]

    @_mended
    def session_names(self, begins: str) -> list[str]:
        with self._connections.read() as db:
            return [name for (name,) in _SQL.rows(db, "session_names", begins)]

    @_mended
    def session(self, session: SessionNo) -> SessionRow | None:
        with self._connections.read() as db:
            row = self._tally_row(db, session)
        return None if row is None else _session_row(row)

    def _tally_row(self, db: apsw.Connection, session: SessionNo) -> tuple[Any, ...] | None:
        return self._connections.once(
            ("session", session), lambda: _SQL.first(db, "session", session)
        )

    @_mended
    def find_session(self, name_or_id: str) -> SessionRow | None:
        with self._connections.read() as db:
            by_id = _SQL.first(db, "session_by_id", name_or_id)
            found = by_id or _SQL.first(db, "session_by_name", name_or_id)
            row = None if found is None else _SQL.first(db, "session", found[0])
        return None if row is None else _session_row(row)

    @_mended
    def events(
        self,
        session: SessionNo,
        *,
        types: Collection[str] = (),
        turns: Collection[int] = (),
        after: Seq = NOTHING,
    ) -> list[Seq]:
        name = "events_of" if types else "events"
        wanted = [self._code_array(types)] if types else []
        if wanted == ["[]"]:
            return []
        with self._connections.read() as db:
            rows = _SQL.rows(db, name, session, after, *wanted)
            return [Seq(seq) for seq, turn in rows if not turns or turn in turns]

    @_mended
    def written(self, after: Seq, since_ms: int) -> list[Written]:
        with self._connections.read() as db:
            [before] = _SQL.first(db, "before", since_ms) or (NOTHING,)
            return [
                Written(SessionNo(session), origin, minute, pages, size)
                for session, origin, minute, pages, size in _SQL.rows(
                    db, "written", max(after, before)
                )
            ]

    @_mended
    def set_aside(self, session: SessionNo | None = None) -> dict[Seq, str]:
        with self._connections.read() as db:
            return {Seq(seq): why for seq, why in _SQL.rows(db, "aside", session)}

    @_mended
    def find_key(self, session: SessionNo, key: str) -> Seq | None:
        with self._connections.read() as db:
            row = _SQL.first(db, "find_key", session, key)
        return None if row is None else Seq(row[0])

    # --- pages --------------------------------------------------------------------------------

    @_mended
    def find_page(self, scope: Scope, page_id: PageId) -> PageRow | None:
        with self._connections.read() as db:
            for session, upto in scope.parts:
                row = _SQL.first(db, "page_by_id", session, page_id, upto)
                if row is not None:
                    return self._page_row(db, row)
        return None

    @_mended
    def find_pages(self, scope: Scope, page_ids: Collection[PageId]) -> dict[PageId, PageRow]:
        found: dict[PageId, PageRow] = {}
        with self._connections.read() as db:
            for session, upto in scope.parts:
                wanted = json.dumps([one for one in page_ids if one not in found])
                for row in _SQL.rows(db, "pages_by_id", session, wanted, upto):
                    found[PageId(row[2])] = self._page_row(db, row)
        return found

    @_mended
    def page_at(self, seq: Seq) -> PageRow | None:
        with self._connections.read() as db:
            row = _SQL.first(db, "page_at", seq)
            return None if row is None else self._page_row(db, row)

    @_mended
    def pages(
        self, scope: Scope, wanted: PageFilter, *, limit: int, newest_first: bool = False
    ) -> list[PageRow]:
        kinds = self._code_array(wanted.kinds) if wanted.kinds else None
        query = _SQL["pages_newest_first" if newest_first else "pages"]
        before = ORDER_MAX + 1 if wanted.before_order is None else wanted.before_order
        with self._connections.read() as db:
            rows = [
                self._page_row(db, row)
                for first, last, origin in self._spans(db, scope)
                if first <= last
                for row in db.execute(
                    query,
                    (
                        max(first, origin + wanted.after_order + 1),
                        min(last, origin + before - 1),
                        kinds,
                        limit,
                    ),
                )
            ]
        rows.sort(key=_position, reverse=newest_first)
        return rows[:limit]

    @_mended
    def matching(self, scope: Scope, wanted: SearchFilter) -> Matching:
        import numpy as np

        from pagefault.store.embedded.postings import numbers

        kinds = self._code_array(wanted.kinds) if wanted.kinds else None
        modalities = self._code_array(wanted.modalities) if wanted.modalities else None
        origins = self._code_array(self._origins(wanted)) if wanted.origins else None
        places = [numbers("[]")]
        said_ms = [numbers("[]")]
        with self._connections.read() as db:
            for first, last, origin in self._spans(db, scope):
                found = _SQL.rows(
                    *(db, "matching", first, last, origin, kinds, modalities, origins),
                    *(wanted.since_ms, wanted.until_ms),
                )
                for at, times in found:
                    places.append(numbers(at))
                    said_ms.append(numbers(times))
        every = np.concatenate(places)
        order = np.argsort(every, kind="stable")
        return Matching(places=every[order], said_ms=np.concatenate(said_ms)[order])

    def _origins(self, wanted: SearchFilter) -> list[str]:
        """Every stored origin that the filter admits. Tool names are looked up again each time: a
        name that was forgotten and came back has another code.
        """
        if all(origin in ORIGINS for origin in wanted.origins):
            return list(wanted.origins)
        with self._connections.read() as db:
            return [word for word in self._learn(db).values() if wanted.admits_origin(word)]

    @_mended
    def pages_at(self, scope: Scope, places: Collection[int]) -> list[PageRow]:
        with self._connections.read() as db:
            rows = [
                (row[14] - span.origin, row[0], self._page_row(db, row))
                for span, wanted in self._at(db, scope, places)
                for row in _SQL.rows(db, "pages_at", wanted)
            ]
        rows.sort(key=lambda entry: entry[:2])
        return [row for _, _, row in rows]

    @_mended
    def standing(self, scope: Scope, places: Collection[int]) -> frozenset[int]:
        with self._connections.read() as db:
            return frozenset(
                place
                for span, wanted in self._at(db, scope, places)
                for (text,) in _SQL.rows(db, "standing", wanted, span.origin)
                for place in json.loads(text)
            )

    @_mended
    def history(self, scope: Scope) -> frozenset[int]:
        with self._connections.read() as db:
            if scope.is_everything:
                ranges = [(ALL, FOREVER)]
            else:
                ranges = [(part.span, upto) for _, upto, part in self._parts(db, scope)]
            return frozenset(
                place
                for span, upto in ranges
                for (text,) in _SQL.rows(db, "history", span.first, span.last, upto, span.origin)
                for place in json.loads(text)
            )

    @_mended
    def telling_of(self, scope: Scope, first_day: int, last_day: int) -> NDArray[np.int64]:
        import numpy as np

        from pagefault.store.embedded.postings import numbers

        with self._connections.read() as db:
            found = [
                numbers(text)
                for span in self._spans(db, scope)
                for (text,) in _SQL.rows(
                    *(db, "telling", span.first, span.last, span.origin, first_day, last_day)
                )
            ]
        return np.sort(np.concatenate([numbers("[]"), *found]))

    @_mended
    def prefix_counts(self, scope: Scope) -> dict[str, int]:
        counts: dict[str, int] = {}
        with self._connections.read() as db:
            for session, upto in scope.parts:
                row = _SQL.first(db, "session", session)
                numbers = {} if row is None else tally_of(row).numbers
                ids = [f"{prefix}_{number}" for prefix, number in numbers.items()]
                if row is not None and upto < row[9]:
                    said, derived = (
                        self._part(db, session, upto, of_derived=one).span for one in (False, True)
                    )
                    found = [
                        _SQL.first(db, "number", span.first, span.last, f"{prefix}_[0-9]*")
                        for prefix in numbers
                        for span in (derived if prefix in DERIVED_STEMS else said,)
                    ]
                    ids = [one[0] for one in found if one is not None]
                ids += [taken for (taken,) in _SQL.rows(db, "taken", session, upto)]
                for match in filter(None, map(NUMBERED.fullmatch, ids)):
                    counts[match[1]] = max(int(match[2]), counts.get(match[1], 0))
        return counts

    # --- search -------------------------------------------------------------------------------

    def moment(self) -> AbstractContextManager[None]:
        return self._connections.moment()

    @_mended
    def candidates(
        self,
        scope: Scope,
        terms: Sequence[Sought],
        *,
        limit: int,
        near: NDArray[np.int64] | None = None,
        count_max: int = COUNT_MAX,
    ) -> Candidates:
        # NumPy takes a tenth of a second to import: only searches pay for it.
        import numpy as np

        from pagefault.store.embedded.postings import SqlitePostings
        from pagefault.store.likely import likeliest, present

        cache = self._postings_cache
        with self._connections.read() as db:
            spans, pages, length_mean = self._connections.once(
                ("extent", scope), lambda: self._extent(db, scope)
            )
            any_of = [alternatives(term) for term in terms]
            postings = self._connections.once(
                ("postings", scope), lambda: SqlitePostings(db, spans, cache)
            )
            if limit <= 0:
                return Candidates.none(pages, length_mean, postings.frequencies(any_of))
            lists = [postings.places_of_any(these, 1) for these in any_of]
            places = likeliest(lists, pages=pages, limit=limit, near=near)
            give_way()
            again = present(places, lists)
            give_way()
            counts, columns = again.astype(np.int64), np.arange(len(terms))
            for count in range(2, count_max + 1):
                # A term that occurs nowhere so often occurs nowhere more often.
                columns = columns[again.any(axis=0)]
                more = [postings.places_of_any(any_of[column], count) for column in columns]
                again = present(places, more)
                rows, these = again.nonzero()
                counts[rows, columns[these]] += 1
        return Candidates(
            pages=pages,
            length_mean=length_mean,
            frequencies=tuple(map(len, lists)),
            places=places,
            counts=counts,
        )

    @_mended
    def traits(
        self, scope: Scope, places: Collection[int], names: Mapping[str, float] = NO_NAMES
    ) -> Traits:
        import numpy as np

        from pagefault.store.embedded.postings import numbers

        with self._connections.read() as db:
            found = [
                np.stack([numbers(text) for text in columns])
                for span, wanted in self._at(db, scope, places)
                for columns in _SQL.rows(db, "traits", wanted, span.origin)
            ]
            values = np.concatenate([np.empty((9, 0), dtype=np.int64), *found], axis=1)
            values = values[:, np.argsort(values[0], kind="stable")]
            at, lengths, days, codes, marks, likenesses, speakers, told_first, told_last = values
            of_names = json.dumps(np.unique(speakers).tolist()) if names else ""
            told = _SQL.rows(db, "names", of_names) if names else []
            said_by = set(codes.tolist())
            words = self._words if self._words.keys() >= said_by else self._learn(db)
        spoken = np.zeros(len(at))
        for code, name in told:
            spoken[speakers == code] = worth_of(name.split(" "), names)
        roles = np.zeros_like(codes)
        for code in said_by:
            for is_named in (False, True):
                these = (codes == code) & ((speakers > 0) == is_named)
                roles[these] = role_number(_ROLES[words[code]], is_named=is_named)
        return Traits(
            *(at, lengths, days, roles, marks, likenesses, spoken),
            told_first=told_first,
            told_last=told_last,
        )

    @_mended
    def speakers(self, scope: Scope) -> frozenset[str]:
        sessions = json.dumps([session for session, _ in scope.parts])
        with self._connections.read() as db:
            if scope.is_everything:
                names = _SQL.rows(db, "all_speakers")
            else:
                names = _SQL.rows(db, "speakers", sessions)
        return frozenset(term for (name,) in names for term in name.split(" "))

    def _spans(self, db: apsw.Connection, scope: Scope) -> list[Span]:
        if scope.is_everything:
            return [ALL]
        return [part.span for _, _, part in self._parts(db, scope)]

    def _at(
        self, db: apsw.Connection, scope: Scope, places: Collection[int]
    ) -> list[tuple[Span, str]]:
        """The spans of a scope, each with those of these places that are in it, as a JSON array."""
        spans = self._spans(db, scope)
        if scope.is_several:  # one statement for all, as their places share an origin
            import numpy as np

            from pagefault.store.embedded.postings import within

            kept = within(np.array(sorted(places), dtype=np.int64), spans)
            return [(ALL, json.dumps(kept.tolist()))]
        return [(span, _array_within(span, places)) for span in spans]

    def _parts(self, db: apsw.Connection, scope: Scope) -> list[tuple[bool, Seq, _Part]]:
        """The parts of a scope: for each whether it is derived, its upper bound, its content."""

        def parts() -> list[tuple[bool, Seq, _Part]]:
            kinds = (False, True) if scope.is_several else (scope.of_derived,)
            found = [
                (kind, upto, self._part(db, session, upto, of_derived=kind))
                for session, upto in scope.parts
                for kind in kinds
            ]
            if not scope.is_several:
                return found
            return [
                (kind, upto, part._replace(span=part.span._replace(origin=0)))
                for kind, upto, part in found
            ]

        return self._connections.once(("parts", scope), parts)

    def _part(
        self, db: apsw.Connection, session: SessionNo, upto: Seq, *, of_derived: bool
    ) -> _Part:
        """The content of one part of a scope. A session seen whole keeps count of its own
        transcript pages; its derived pages are few, and are counted here.

        For a part of a session the numbers are cached until something of the session is forgotten:
        then its pages fall below the number that it ever had, in this and any process.
        """
        row = self._tally_row(db, session)
        if of_derived:
            whole = derived_span(session)
            if row is not None and not row[14]:  # no derived pages
                return _Part(whole._replace(last=whole.first - 1), 0, 0)
            found = last_page(db, whole, upto)
            span = whole._replace(last=whole.first - 1 if found is None else found[0])
            pages, length = _SQL.first(db, "size", span.first, span.last) or (0, 0)
            return _Part(span, pages, length)
        whole = said_span(session)
        if row is None:
            return _Part(whole, 0, 0)
        ever, pages, length = row[6], *row[12:14]
        if upto >= row[9]:
            return _Part(whole, pages, length)
        key = (session, upto, ever - pages)
        part = self._sizes.get(key)
        if part is None:
            found = last_page(db, whole, upto)
            last = whole.first - 1 if found is None else found[0]
            after = _SQL.first(db, "size", last + 1, whole.last) or (0, 0)
            part = _Part(whole._replace(last=last), pages - after[0], length - after[1])
            if len(self._sizes) >= _PARTS_MAX:
                self._sizes.clear()
            self._sizes[key] = part
        return part

    def _extent(self, db: apsw.Connection, scope: Scope) -> tuple[list[Span], int, float]:
        """The spans of a scope, the number of its pages, and their mean length."""
        if scope.is_everything:
            [(pages, said, length)] = _SQL.rows(db, "everything")
            return [ALL], pages, length / max(said, 1)
        parts = self._parts(db, scope)
        lengths = [part for kind, _, part in parts if kind is scope.of_derived]
        return (
            [part.span for _, _, part in parts],
            sum(part.pages for _, _, part in parts),
            sum(part.length for part in lengths) / max(sum(part.pages for part in lengths), 1),
        )

    # --- the file itself ----------------------------------------------------------------------

    def check(self, give_way: Callable[[], bool] = never) -> list[str]:
        with self._connections.apart(give_way) as db:
            wrong = [text for (text,) in db.execute(_SQL["check_file"]) if text != "ok"]
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
            importance=USUAL_IMPORTANCE if row[10] is None else row[10],
            at_ms=row[11],
            part=row[12],
            parts=row[13],
            occurred_ms=row[15],
            superseded=Seq(row[16] or NOTHING),
        )

    def _code_array(self, words: Iterable[str]) -> str:
        """The codes of these words as a JSON array. An unknown word has none: nothing matches."""
        if not self._codes.keys() >= set(words):
            with self._connections.read() as db:
                [newest] = _SQL.first(db, "newest_word") or (0,)
                if newest > max(self._words, default=0):  # codes are never reused
                    self._learn(db)
        return json.dumps([self._codes[word] for word in words if word in self._codes])

    def _learn(self, db: apsw.Connection) -> dict[int, str]:
        """Read the words again: another process may have added some."""
        rows: list[tuple[Any, ...]] = db.execute(_SQL["words"]).fetchall()
        self._words = {code: word for code, word in rows}  # noqa: C416
        self._codes = {word: code for code, word in self._words.items()}
        return self._words


# A dict is ten times as fast as calling the enumeration, and a search makes hundreds of rows.
_ROLES: Final = {str(role): role for role in Role}
_KINDS: Final = {str(kind): kind for kind in Kind}
_MODALITIES: Final = {str(modality): modality for modality in Modality}

_CHECKS: Final = {
    "check_pages": "a page lacks its record or its terms",
    "check_postings": "terms stand at no page",
    "check_sessions": "a session's counts are not those of its pages",
    "check_bytes": "a session's bytes are not those of its records",
    "check_speakers": "a page is spoken by nobody known",
    "check_applied": "a record is beyond applied_seq",
}


class _Part(NamedTuple):
    """One part of a scope: its span, the number of its pages, and of their terms."""

    span: Span
    pages: int
    length: int


_PARTS_MAX: Final = 4_096


def _array_within(span: Span, places: Collection[int]) -> str:
    """The places among these (relative to the span's origin) that are in the span; a JSON array."""
    ordered = sorted(places)
    if span != ALL:
        first, last, origin = span
        begin, end = bisect_left(ordered, first - origin), bisect_right(ordered, last - origin)
        ordered = [place + origin for place in ordered[begin:end]]
    return str(ordered)  # a list of integers reads the same in JSON, and is made in half the time


def _facts(root_id: str) -> dict[str, int | str]:
    """What must be true of a file for this version to read it."""
    return {"schema": SCHEMA, "analyzer": ANALYZER, "root_id": root_id}


def _meta(db: apsw.Connection, name: str) -> Any:
    row = _SQL.first(db, "meta", name)
    return None if row is None else row[0]


def _session_row(row: Sequence[Any]) -> SessionRow:
    tally = tally_of(row)
    return replace(
        tally.row.row(),
        own_pages=tally.own_pages + tally.derived_pages,
        bytes=tally.bytes,
    )


def _position(row: PageRow) -> tuple[int, int]:
    return row.order, row.seq
