"""The index as dicts: for memories that leave nothing on disk, and the reference that other indexes
are compared with.

Pages are kept by session and order, and each session has its own inverted index: the orders,
ascending, in which a term occurs. So a turn costs what its own words find, however large the index.
"""

from __future__ import annotations

import heapq
import threading
from array import array
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from itertools import islice
from typing import Concatenate, Final, ParamSpec, TypeVar

import numpy as np

from pagefault.language.analyzer import analyze
from pagefault.language.sought import Sought, alternatives, beginning
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
from pagefault.model.ids import FOREVER, NOTHING, PageId, Seq, SessionNo, TurnNo
from pagefault.model.page import DERIVED_ORDER, PageRow, Scope, SessionRow, is_derived
from pagefault.model.times import MINUTE_MS
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
from pagefault.store.likely import Flags, Numbers, among, distinct, likeliest, present
from pagefault.store.place import ORDER_BITS, ORDER_MAX, place_in, place_of
from pagefault.store.precedence import giving_way
from pagefault.store.said import said_by
from pagefault.store.sizes import size_of
from pagefault.store.soundness import sound
from pagefault.store.tokens import COUNT_MAX, page_terms


@dataclass(frozen=True, slots=True)
class _Entry:
    row: PageRow
    terms: Counter[str]
    name: frozenset[str]  # the terms of the speaker's name
    form: Form


def _orders() -> array[int]:
    return array("q")


_AFTER_ANY: Final = "\U0010ffff"  # sorts after every letter


@dataclass(slots=True)
class _Part:
    """The transcript pages of one session, or those derived from them, by order.

    Invariants: `orders` ascends, and `seqs` and `lengths` run parallel to it; the orders of a term
    ascend; `words` are the terms, ascending.
    """

    orders: array[int] = field(default_factory=_orders)
    seqs: array[int] = field(default_factory=_orders)
    lengths: array[int] = field(default_factory=_orders)  # in terms
    postings: dict[str, array[int]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    names: Counter[frozenset[str]] = field(default_factory=Counter)  # of the speakers

    def add(self, entry: _Entry) -> None:
        order = entry.row.order
        at = bisect_left(self.orders, order)
        self.orders.insert(at, order)
        self.seqs.insert(at, entry.row.seq)
        self.lengths.insert(at, entry.terms.total())
        for term in entry.terms:
            if term not in self.postings:
                insort(self.words, term)
                self.postings[term] = _orders()
            orders = self.postings[term]
            orders.insert(bisect_left(orders, order), order)
        self.names[entry.name] += 1

    def remove(self, entry: _Entry) -> None:
        order = entry.row.order
        at = bisect_left(self.orders, order)
        del self.orders[at], self.seqs[at], self.lengths[at]
        for term in entry.terms:
            orders = self.postings[term]
            del orders[bisect_left(orders, order)]
            if not orders:
                del self.postings[term], self.words[bisect_left(self.words, term)]
        self.names[entry.name] -= 1
        self.names += Counter()  # drops names that no page has any more

    def meant(self, term: str) -> Sequence[str]:
        """The terms here that `term` matches."""
        begins = beginning(term)
        if not begins:
            return (term,) if term in self.postings else ()
        last = bisect_left(self.words, begins + _AFTER_ANY)
        return self.words[bisect_left(self.words, begins) : last]

    def seen(self, upto: Seq) -> Numbers:
        """The orders of pages whose records go up to `upto`."""
        return np.array(self.orders, dtype=np.int64)[self._is_seen(upto)]

    def lengths_seen(self, upto: Seq) -> Numbers:
        """The lengths in terms of these pages."""
        return np.array(self.lengths, dtype=np.int64)[self._is_seen(upto)]

    def _is_seen(self, upto: Seq) -> Flags:
        return np.array(self.seqs, dtype=np.int64) <= upto

    def containing(self, term: str, seen: Numbers) -> Numbers:
        """The orders among `seen` of pages that contain a term, or any word with that prefix."""
        orders = _united([np.array(self.postings[one], np.int64) for one in self.meant(term)])
        if self.begins_with(seen):
            return orders[: orders.searchsorted(seen[-1], side="right")]
        return orders[among(orders, seen)]

    def begins_with(self, seen: Numbers) -> bool:
        """Whether these are the first orders here, as nearly always."""
        return len(seen) > 0 and len(seen) == bisect_right(self.orders, seen[-1])


Seen = Sequence[tuple[_Part, Numbers, int]]
"""Parts, the orders that count in each, and the offset from orders to places."""


def _places(parts: Seen, terms: Sequence[str]) -> Numbers:
    """Where any of the terms occurs."""
    return _united([part.containing(term, seen) + at for part, seen, at in parts for term in terms])


def _frequency(parts: Seen, terms: Sequence[str]) -> int:
    """In how many places any of the terms occurs."""
    if len(parts) == len(terms) == 1 and not beginning(terms[0]):
        [(part, seen, _)] = parts
        if part.begins_with(seen):
            return bisect_right(part.postings.get(terms[0], ()), seen[-1])
    return len(_places(parts, terms))


def _united(lists: Sequence[Numbers]) -> Numbers:
    if len(lists) == 1:
        return lists[0]
    return distinct(np.concatenate(lists)) if lists else _NONE


_NOTHING_WRITTEN: Final = Written(SessionNo(0), "", 0, 0, 0)
_NONE: Final = np.empty(0, dtype=np.int64)
_P = ParamSpec("_P")
_T = TypeVar("_T")


def _alone(
    verb: Callable[Concatenate[MemoryIndex, _P], _T],
) -> Callable[Concatenate[MemoryIndex, _P], _T]:
    """Serialise the method: no thread sees half of a fold or a drop."""

    @wraps(verb)
    def called(self: MemoryIndex, /, *args: _P.args, **options: _P.kwargs) -> _T:
        with self._lock, giving_way(waits=False):
            return verb(self, *args, **options)

    return called


class MemoryIndex:
    """A `PageIndex` that ends with its process. It takes the records after `after`."""

    takes_leaves = False

    def __init__(self, after: Seq = NOTHING) -> None:
        self._lock = threading.RLock()
        self._applied = after
        self._sessions: dict[SessionNo, SessionTally] = {}
        self._owners: dict[Seq, SessionNo] = {}
        self._events: dict[
            SessionNo, dict[Seq, tuple[str, TurnNo]]
        ] = {}  # type and turn of each record
        self._pages: dict[Seq, _Entry] = {}
        self._parts: dict[tuple[SessionNo, bool], _Part] = {}  # and whether its pages are derived
        self._at: dict[int, Seq] = {}  # by place
        self._ids: dict[tuple[SessionNo, PageId], Seq] = {}
        self._history: set[Seq] = set()  # pages replaced by other text
        self._taken: dict[tuple[SessionNo, PageId], Seq] = {}
        self._keys: dict[tuple[SessionNo, str], Seq] = {}
        self._aside: dict[Seq, tuple[SessionNo, str]] = {}
        self._written: dict[Seq, tuple[int, Written]] = {}  # when, and what
        self._bytes: Counter[SessionNo] = Counter()  # content of a session's records

    @_alone
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
            turns, pages = self.inherited(body.parent, body.parent_seq)
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
        self._owners[event.seq] = event.session
        self._events.setdefault(event.session, {})[event.seq] = event.type, event.turn
        self._weigh(event)
        if isinstance(body, ForgetBegun):
            for taken in body.taken:
                self._taken[taken.session, PageId(f"{taken.stem}_{taken.number}")] = NOTHING
                if taken.session in self._sessions:
                    self._sessions[taken.session].recall(taken)
        if isinstance(body, PageBody):
            self._add(_entry_of(event, body))
            if body.supersedes:
                self._supersede(event.session, body.supersedes, event.seq)

    def _weigh(self, event: Event) -> None:
        is_page, said = isinstance(event.body, PageBody), size_of(event.body)
        if event.session:
            origin, minute = event.origin if is_page else "", event.at_ms // MINUTE_MS
            one = Written(event.session, origin, minute, int(is_page), said)
            self._written[event.seq] = event.at_ms, one
            self._bytes[event.session] += said

    def _row(self, tally: SessionTally) -> SessionRow:
        parts = (self._parts.get((tally.session, derived)) for derived in (False, True))
        return replace(
            tally.row(),
            own_pages=sum(len(part.orders) for part in parts if part is not None),
            bytes=self._bytes[tally.session],
        )

    def _add(self, entry: _Entry) -> None:
        row = entry.row
        self._pages[row.seq] = entry
        self._at[place_of(row.session, row.order)] = row.seq
        self._ids[row.session, row.page_id] = row.seq
        self._parts.setdefault(_part_of(row), _Part()).add(entry)
        if row.superseded:
            self._history.add(row.seq)

    def _remove(self, seq: Seq) -> None:
        entry = self._pages.pop(seq, None)
        if entry is not None:
            row = entry.row
            del self._at[place_of(row.session, row.order)], self._ids[row.session, row.page_id]
            self._parts[_part_of(row)].remove(entry)
            self._history.discard(seq)
            self._taken.setdefault((row.session, row.page_id), seq)

    def _set_superseded(self, seq: Seq, by: Seq) -> None:
        entry = self._pages[seq]
        self._pages[seq] = replace(entry, row=replace(entry.row, superseded=by))
        (self._history.add if by else self._history.discard)(seq)

    def _supersede(self, session: SessionNo, page_id: PageId, by: Seq) -> None:
        """Make all parts of the text that a page begins historical."""
        first = self._ids.get((session, page_id))
        if first is None:
            return
        row = self._pages[first].row
        part = self._parts[_part_of(row)]
        begin = bisect_left(part.orders, row.order)
        end = bisect_left(part.orders, row.order + row.parts)
        for seq in map(Seq, part.seqs[begin:end]):
            if not self._pages[seq].row.superseded:
                self._set_superseded(seq, by)

    def _collision(self, event: Event) -> str:
        """Why a page cannot have the place in its record; empty if it can."""
        body = event.body
        if not isinstance(body, PageBody):
            return ""
        if place_of(event.session, body.order) in self._at:
            return PLACE_TAKEN
        return ID_TAKEN if (event.session, body.page_id) in self._ids else ""

    def inherited(self, parent: SessionNo, upto: Seq) -> tuple[int, int]:
        """The turns and pages that a fork of `parent` made at `upto` begins with."""
        tally = self._sessions.get(parent)
        if tally is None:
            return 0, 0
        if upto >= tally.last_seq:
            return tally.turns, tally.pages
        own = list(self._in_scope(Scope(((parent, upto),))))  # the transcript
        if own:
            last = max(own, key=lambda entry: entry.row.order).row
            return last.turn + 1, last.order + 1
        return self.inherited(tally.parent, min(upto, tally.parent_seq))

    @_alone
    def promised_seq(self) -> Seq:
        return self.applied_seq()

    @_alone
    def applied_seq(self) -> Seq:
        return self._applied

    @_alone
    def sessions(self) -> list[SessionRow]:
        rows = list(map(self._row, self._sessions.values()))
        return sorted(rows, key=lambda row: (-row.last_used_ms, -row.session))

    @_alone
    def session_names(self, begins: str) -> list[str]:
        return [row.name for row in self.sessions() if row.name.startswith(begins)]

    @_alone
    def session(self, session: SessionNo) -> SessionRow | None:
        tally = self._sessions.get(session)
        return None if tally is None else self._row(tally)

    @_alone
    def find_session(self, name_or_id: str) -> SessionRow | None:
        rows = self.sessions()
        by_id = [row for row in rows if row.session_id == name_or_id]
        by_name = [row for row in rows if row.name == name_or_id]
        return next(iter(by_id + by_name), None)

    def _parts_of(self, scope: Scope) -> list[tuple[_Part, Seq, int]]:
        """The parts of a scope, each with its last record and the offset from orders to places."""
        if scope.is_everything:
            return [
                (self._parts[session, is_derived], FOREVER, place_of(session, 0))
                for session, is_derived in sorted(self._parts)
            ]
        kinds = (False, True) if scope.is_several else (scope.of_derived,)
        return [
            (self._parts[session, kind], upto, place_of(session, 0) if scope.is_several else 0)
            for session, upto in scope.parts
            for kind in kinds
            if (session, kind) in self._parts
        ]

    def _in_scope(self, scope: Scope) -> Iterator[_Entry]:
        for part, upto, _ in self._parts_of(scope):
            for seq in part.seqs:
                if seq <= upto:
                    yield self._pages[Seq(seq)]

    def _seen_at(self, scope: Scope, places: Collection[int]) -> dict[int, _Entry]:
        """The pages in scope at these places, in order."""
        found = {}
        uptos = dict(scope.parts)
        for place in sorted(places):
            if scope.is_everything:
                seqs = {self._at.get(place): FOREVER}
            elif scope.is_several:
                seqs = {self._at.get(place): uptos.get(SessionNo(place >> ORDER_BITS), NOTHING)}
            elif 0 <= place <= ORDER_MAX and (place >= DERIVED_ORDER) == scope.of_derived:
                seqs = {self._at.get(place_of(one, place)): upto for one, upto in scope.parts}
            else:
                continue
            for seq, upto in seqs.items():
                if seq is not None and seq <= upto:
                    found[place] = self._pages[seq]
        return found

    @_alone
    def find_page(self, scope: Scope, page_id: PageId) -> PageRow | None:
        return self._find_page(scope, page_id)

    def _find_page(self, scope: Scope, page_id: PageId) -> PageRow | None:
        parts = scope.parts
        if scope.is_everything:
            parts = tuple((session, FOREVER) for session in self._sessions)
        for session, upto in parts:
            seq = self._ids.get((session, page_id))
            row = None if seq is None or seq > upto else self._pages[seq].row
            if row is not None and (
                scope.is_everything or (row.order >= DERIVED_ORDER) == is_derived(page_id)
            ):
                return row
        return None

    @_alone
    def find_pages(self, scope: Scope, page_ids: Collection[PageId]) -> dict[PageId, PageRow]:
        found = ((page_id, self._find_page(scope, page_id)) for page_id in page_ids)
        return {page_id: row for page_id, row in found if row is not None}

    @_alone
    def page_at(self, seq: Seq) -> PageRow | None:
        entry = self._pages.get(seq)
        return None if entry is None else entry.row

    @_alone
    def pages(
        self, scope: Scope, wanted: PageFilter, *, limit: int, newest_first: bool = False
    ) -> list[PageRow]:
        rows = heapq.merge(
            *(
                self._rows(part, upto, wanted, newest_first)
                for part, upto, _ in self._parts_of(scope)
            ),
            key=_position,
            reverse=newest_first,
        )
        return list(islice(rows, max(limit, 0)))

    def _rows(
        self, part: _Part, upto: Seq, wanted: PageFilter, newest_first: bool
    ) -> Iterator[PageRow]:
        """The matching pages of a part, one by one."""
        first, last = bisect_right(part.orders, wanted.after_order), len(part.orders)
        if wanted.before_order is not None:
            last = bisect_left(part.orders, wanted.before_order)
        span = range(first, last)
        for at in reversed(span) if newest_first else span:
            row = self._pages[Seq(part.seqs[at])].row
            if row.seq <= upto and (not wanted.kinds or row.kind in wanted.kinds):
                yield row

    @_alone
    def matching(self, scope: Scope, wanted: SearchFilter) -> Matching:
        rows = [entry.row for entry in self._in_scope(scope) if wanted.admits(entry.row)]
        rows.sort(key=lambda row: place_in(scope, row))
        return Matching(
            places=np.array([place_in(scope, row) for row in rows], dtype=np.int64),
            said_ms=np.array([row.said_ms for row in rows], dtype=np.int64),
        )

    @_alone
    def pages_at(self, scope: Scope, places: Collection[int]) -> list[PageRow]:
        return [entry.row for entry in self._seen_at(scope, places).values()]

    @_alone
    def standing(self, scope: Scope, places: Collection[int]) -> frozenset[int]:
        return frozenset(self._seen_at(scope, places))

    @_alone
    def history(self, scope: Scope) -> frozenset[int]:
        rows = [self._pages[seq].row for seq in self._history]
        places = [place_in(scope, row) for row in rows if scope.is_history(row)]
        return frozenset(self._seen_at(scope, places))

    @_alone
    def prefix_counts(self, scope: Scope) -> dict[str, int]:
        ids = [e.row.page_id for part in (scope, scope.derived) for e in self._in_scope(part)]
        for session, upto in scope.parts:
            ids += [n for (s, n), seq in self._taken.items() if s == session and seq <= upto]
        counts: dict[str, int] = {}
        for match in filter(None, map(NUMBERED.fullmatch, ids)):
            counts[match[1]] = max(int(match[2]), counts.get(match[1], 0))
        return counts

    @contextmanager
    def moment(self) -> Iterator[None]:
        with self._lock, giving_way(waits=False):
            yield

    @_alone
    def candidates(
        self,
        scope: Scope,
        terms: Sequence[Sought],
        *,
        limit: int,
        near: Numbers | None = None,
        count_max: int = COUNT_MAX,
    ) -> Candidates:
        parts = [(part, part.seen(upto), at) for part, upto, at in self._parts_of(scope)]
        any_of = [alternatives(term) for term in terms]
        pages, length_mean = sum(len(seen) for _, seen, _ in parts), self._length_mean(scope)
        if limit <= 0:
            frequencies = tuple(_frequency(parts, these) for these in any_of)
            return Candidates.none(pages, length_mean, frequencies)
        lists = [_places(parts, these) for these in any_of]
        places = likeliest(lists, pages=pages, limit=limit, near=near)
        there = present(places, lists)
        counts = there.astype(np.int64)
        if count_max > 1:
            entries = [*self._seen_at(scope, places.tolist()).values()]
            for row, column in np.argwhere(there).tolist():
                had = entries[row].terms
                counts[row, column] = max(1, *(had.get(term, 0) for term in any_of[column]))
        return Candidates(
            pages=pages,
            length_mean=length_mean,
            frequencies=tuple(map(len, lists)),
            places=places,
            counts=np.minimum(counts, count_max),
        )

    def _length_mean(self, scope: Scope) -> float:
        """Mean terms per page of the scope; over several sessions, per transcript page."""
        where = scope
        if scope.is_everything:
            sessions = dict.fromkeys(session for session, _ in self._parts)  # each has two parts
            where = Scope(tuple((session, FOREVER) for session in sessions))
        elif scope.is_several:
            where = Scope(scope.parts)
        lengths = [part.lengths_seen(upto) for part, upto, _ in self._parts_of(where)]
        pages = sum(map(len, lengths))
        return sum(int(one.sum()) for one in lengths) / pages if pages else 0.0

    @_alone
    def traits(
        self, scope: Scope, places: Collection[int], names: Mapping[str, float] = NO_NAMES
    ) -> Traits:
        there = self._seen_at(scope, places)
        entries = there.values()
        return Traits(
            places=np.array(list(there), dtype=np.int64),
            lengths=np.array([one.terms.total() for one in entries], dtype=np.int64),
            days=np.array([one.form.day for one in entries], dtype=np.int64),
            roles=np.array(
                [role_number(one.row.role, is_named=bool(one.name)) for one in entries],
                dtype=np.int64,
            ),
            marks=np.array([one.form.marks for one in entries], dtype=np.int64),
            likenesses=np.array([one.form.likeness for one in entries], dtype=np.int64),
            spoken=np.array([worth_of(one.name, names) for one in entries], dtype=np.float64),
            told_first=np.array([one.form.told_first or 0 for one in entries], dtype=np.int64),
            told_last=np.array([one.form.told_last or 0 for one in entries], dtype=np.int64),
        )

    @_alone
    def telling_of(self, scope: Scope, first_day: int, last_day: int) -> Numbers:
        places = [
            place_in(scope, entry.row)
            for entry in self._in_scope(scope)
            if entry.form.told_first is not None
            and entry.form.told_last is not None
            and first_day <= entry.form.told_first
            and entry.form.told_last <= last_day
        ]
        return np.sort(np.array(places, dtype=np.int64))

    @_alone
    def speakers(self, scope: Scope) -> frozenset[str]:
        sessions = {session for session, _ in scope.parts}
        names = [
            name
            for (session, _), part in self._parts.items()
            if scope.is_everything or session in sessions
            for name in part.names
        ]
        return frozenset[str]().union(*names)

    @_alone
    def events(
        self,
        session: SessionNo,
        *,
        types: Collection[str] = (),
        turns: Collection[int] = (),
        after: Seq = NOTHING,
    ) -> list[Seq]:
        records = self._events.get(session, {})
        return [
            seq
            for seq, (name, turn) in records.items()
            if seq > after and (not types or name in types) and (not turns or turn in turns)
        ]

    @_alone
    def written(self, after: Seq, since_ms: int) -> list[Written]:
        sums: Counter[tuple[SessionNo, str, int]] = Counter()
        sizes: Counter[tuple[SessionNo, str, int]] = Counter()
        for seq, (at_ms, one) in reversed(self._written.items()):
            if seq <= after or at_ms < since_ms:
                break
            sums[one[:3]] += one.pages
            sizes[one[:3]] += one.bytes
        return sorted(Written(*key, pages, sizes[key]) for key, pages in sums.items())

    @_alone
    def set_aside(self, session: SessionNo | None = None) -> dict[Seq, str]:
        return {
            seq: why for seq, (of, why) in self._aside.items() if session is None or of == session
        }

    @_alone
    def find_key(self, session: SessionNo, key: str) -> Seq | None:
        return self._keys.get((session, key))

    @_alone
    def forget(self, seqs: Collection[Seq], sessions: Collection[SessionNo]) -> None:
        whole = {seq for seq, entry in self._pages.items() if entry.row.session in sessions}
        gone = whole.union(seqs)
        for seq in gone:
            self._events.get(self._owners.pop(seq, SessionNo(0)), {}).pop(seq, None)
            self._aside.pop(seq, None)
            _, gone_one = self._written.pop(seq, (0, _NOTHING_WRITTEN))
            self._bytes[gone_one.session] -= gone_one.bytes
            self._remove(seq)
        for seq in [one for one in self._history if self._pages[one].row.superseded in gone]:
            self._set_superseded(seq, NOTHING)
        self._keys = {
            key: seq
            for key, seq in self._keys.items()
            if seq not in gone and key[0] not in sessions
        }
        for session in sessions:
            self._sessions.pop(session, None)
            self._parts.pop((session, False), None)
            self._parts.pop((session, True), None)
            self._aside = {seq: one for seq, one in self._aside.items() if one[0] != session}
            for seq in [
                s for s, (name, _) in self._events.get(session, {}).items() if name not in RECEIPTS
            ]:
                del self._events[session][seq], self._owners[seq]
                self._written.pop(seq, None)
            del self._bytes[session]

    @_alone
    def revise(self, events: Sequence[Event]) -> None:
        self.forget([one.seq for one in events if isinstance(one.body, Erased)], ())
        keyless = {event.seq for event in events if not event.key}
        self._keys = {key: seq for key, seq in self._keys.items() if seq not in keyless}
        for event in events:
            body, old = event.body, self._pages.get(event.seq)
            if event.seq in self._written and not isinstance(body, Erased):
                self._bytes[event.session] -= self._written[event.seq][1].bytes
                self._weigh(event)
            if isinstance(body, SessionOpened) and event.session in self._sessions:
                self._sessions[event.session].name = body.name
            if isinstance(body, PageBody) and old is not None:
                new = _entry_of(event, body)
                part = self._parts[_part_of(old.row)]
                part.remove(old)
                part.add(new)
                self._pages[event.seq] = new
                self._set_superseded(event.seq, old.row.superseded)

    def tidy(self) -> bool:
        return False

    @_alone
    def check(self, give_way: Callable[[], bool] = never) -> list[str]:
        wrong = [f"page {seq} lacks its record" for seq in self._pages if seq not in self._owners]
        return wrong + [
            f"{seq} is beyond applied_seq" for seq in self._owners if seq > self._applied
        ]

    def close(self) -> None:
        """Nothing to release."""


def _entry_of(event: Event, body: PageBody) -> _Entry:
    row = row_of(event, body)
    if is_note(event.origin, body):
        row = replace(row, superseded=event.seq)
    said = said_by(body.text)
    name = frozenset(analyze(body.speaker))
    return _Entry(row, page_terms(body, said), name, form_of(body, said, event.at_ms))


def _part_of(row: PageRow) -> tuple[SessionNo, bool]:
    return row.session, row.order >= DERIVED_ORDER


def _position(row: PageRow) -> tuple[int, int]:
    return row.order, row.seq
