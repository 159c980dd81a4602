"""The index of an overlay: queries go to both layers, and their answers are merged."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pagefault.language.sought import Sought
from pagefault.model.events import Event
from pagefault.model.ids import NOTHING, PageId, Seq, SessionNo
from pagefault.model.page import PageRow, Scope, SessionRow
from pagefault.model.wanted import SearchFilter
from pagefault.store.api import (
    NO_NAMES,
    Candidates,
    Matching,
    PageFilter,
    PageIndex,
    Traits,
    Written,
    never,
)
from pagefault.store.in_memory.index import MemoryIndex
from pagefault.store.overlay.log import FIRST, check_above
from pagefault.store.tokens import COUNT_MAX

T = TypeVar("T")


class _Upper(MemoryIndex):
    """The upper layer, whose sessions may be forks of lower ones."""

    def __init__(self, base: PageIndex, after: Seq) -> None:
        super().__init__(after)
        self._base = base

    def inherited(self, parent: SessionNo, upto: Seq) -> tuple[int, int]:
        row = None if parent >= FIRST else self._base.session(parent)
        if row is None:
            return super().inherited(parent, upto)
        if upto >= row.last_seq:
            return row.turns, row.pages
        own = Scope(((parent, upto),))
        last = self._base.pages(own, PageFilter(), limit=1, newest_first=True)
        if last:
            return last[0].turn + 1, last[0].order + 1
        return self.inherited(row.parent, min(upto, row.parent_seq))


class OverlayIndex:
    """A `PageIndex` that writes only its upper layer. A session and its pages belong to one layer;
    a scope may span both, as a fork's does. The pages of a fork come after those it inherits, so
    answers by place are concatenated.

    Candidates are limited to so many stretches per layer.
    """

    takes_leaves = False

    def __init__(self, base: PageIndex, after: Seq = Seq(FIRST - 1)) -> None:
        self._base = base
        self._own = _Upper(base, after)

    def _layer(self, number: int) -> PageIndex:
        """The layer that has this record or session."""
        return self._own if number >= FIRST else self._base

    def _layers(self, scope: Scope) -> list[tuple[PageIndex, Scope]]:
        """Both layers with their parts of a scope, the lower one first."""
        if scope.is_everything:
            return [(self._base, scope), (self._own, scope)]
        below = tuple(part for part in scope.parts if part[0] < FIRST)
        above = tuple(part for part in scope.parts if part[0] >= FIRST)
        return [
            (layer, replace(scope, parts=parts))
            for layer, parts in ((self._base, below), (self._own, above))
            if parts
        ]

    def apply(self, events: Sequence[Event], *, synced: bool = True) -> Collection[Seq]:
        return self._own.apply(events, synced=synced)

    def applied_seq(self) -> Seq:
        return self._own.applied_seq()

    def promised_seq(self) -> Seq:
        return self._own.promised_seq()

    def sessions(self) -> list[SessionRow]:
        rows = [*self._base.sessions(), *self._own.sessions()]
        return sorted(rows, key=lambda row: (-row.last_used_ms, -row.session))

    def session_names(self, begins: str) -> list[str]:
        return [row.name for row in self.sessions() if row.name.startswith(begins)]

    def session(self, session: SessionNo) -> SessionRow | None:
        return self._layer(session).session(session)

    def find_session(self, name_or_id: str) -> SessionRow | None:
        return self._own.find_session(name_or_id) or self._base.find_session(name_or_id)

    def find_page(self, scope: Scope, page_id: PageId) -> PageRow | None:
        found = (layer.find_page(part, page_id) for layer, part in reversed(self._layers(scope)))
        return next(filter(None, found), None)

    def find_pages(self, scope: Scope, page_ids: Collection[PageId]) -> Mapping[PageId, PageRow]:
        found: dict[PageId, PageRow] = {}
        for layer, part in self._layers(scope):  # the upper layer's value replaces the lower one's
            found |= layer.find_pages(part, page_ids)
        return found

    def page_at(self, seq: Seq) -> PageRow | None:
        return self._layer(seq).page_at(seq)

    def pages(
        self, scope: Scope, wanted: PageFilter, *, limit: int, newest_first: bool = False
    ) -> list[PageRow]:
        found = (
            layer.pages(part, wanted, limit=limit, newest_first=newest_first)
            for layer, part in self._layers(scope)
        )
        merged = heapq.merge(*found, key=lambda row: (row.order, row.seq), reverse=newest_first)
        return list(islice(merged, max(limit, 0)))

    def matching(self, scope: Scope, wanted: SearchFilter) -> Matching:
        found = [layer.matching(part, wanted) for layer, part in self._layers(scope)]
        places = _joined([one.places for one in found])
        order = np.argsort(places, kind="stable")
        return Matching(
            places=places[order], said_ms=_joined([one.said_ms for one in found])[order]
        )

    def pages_at(self, scope: Scope, places: Collection[int]) -> list[PageRow]:
        return [row for layer, part in self._layers(scope) for row in layer.pages_at(part, places)]

    def standing(self, scope: Scope, places: Collection[int]) -> frozenset[int]:
        return _all(layer.standing(part, places) for layer, part in self._layers(scope))

    def history(self, scope: Scope) -> frozenset[int]:
        return _all(layer.history(part) for layer, part in self._layers(scope))

    def prefix_counts(self, scope: Scope) -> dict[str, int]:
        counts: dict[str, int] = {}
        for layer, part in self._layers(scope):
            for stem, number in layer.prefix_counts(part).items():
                counts[stem] = max(number, counts.get(stem, 0))
        return counts

    @contextmanager
    def moment(self) -> Iterator[None]:
        with self._own.moment(), self._base.moment():  # the upper layer queries the lower one
            yield

    def candidates(
        self,
        scope: Scope,
        terms: Sequence[Sought],
        *,
        limit: int,
        near: NDArray[np.int64] | None = None,
        count_max: int = COUNT_MAX,
    ) -> Candidates:
        found = [
            layer.candidates(part, terms, limit=limit, near=near, count_max=count_max)
            for layer, part in self._layers(scope)
        ]
        pages = sum(one.pages for one in found)
        length = sum(one.pages * one.length_mean for one in found)
        places = _joined([one.places for one in found])
        order = np.argsort(places, kind="stable")
        counts = [one.counts.astype(np.int64) for one in found] or [
            np.zeros((0, len(terms)), dtype=np.int64)
        ]
        return Candidates(
            pages=pages,
            length_mean=length / pages if pages else 0.0,
            frequencies=tuple(
                sum(one.frequencies[column] for one in found) for column in range(len(terms))
            ),
            places=places[order],
            counts=np.concatenate(counts)[order],
        )

    def traits(
        self, scope: Scope, places: Collection[int], names: Mapping[str, float] = NO_NAMES
    ) -> Traits:
        found = [layer.traits(part, places, names) for layer, part in self._layers(scope)]
        order = np.argsort(_joined([one.places for one in found]), kind="stable")
        return Traits(
            places=_joined([one.places for one in found])[order],
            lengths=_joined([one.lengths for one in found])[order],
            days=_joined([one.days for one in found])[order],
            roles=_joined([one.roles for one in found])[order],
            marks=_joined([one.marks for one in found])[order],
            likenesses=_joined([one.likenesses for one in found])[order],
            spoken=np.concatenate([np.empty(0), *(one.spoken for one in found)])[order],
            told_first=_joined([one.told_first for one in found])[order],
            told_last=_joined([one.told_last for one in found])[order],
        )

    def telling_of(self, scope: Scope, first_day: int, last_day: int) -> NDArray[np.int64]:
        layers = self._layers(scope)
        return np.sort(
            _joined([layer.telling_of(part, first_day, last_day) for layer, part in layers])
        )

    def speakers(self, scope: Scope) -> frozenset[str]:
        return _all(layer.speakers(part) for layer, part in self._layers(scope))

    def events(
        self,
        session: SessionNo,
        *,
        types: Collection[str] = (),
        turns: Collection[int] = (),
        after: Seq = NOTHING,
    ) -> list[Seq]:
        layers = [self._layer(session)] if session else [self._base, self._own]
        return [
            seq
            for layer in layers
            for seq in layer.events(session, types=types, turns=turns, after=after)
        ]

    def written(self, after: Seq, since_ms: int) -> list[Written]:
        return self._own.written(after, since_ms)  # the lower layer is not written from here

    def set_aside(self, session: SessionNo | None = None) -> dict[Seq, str]:
        if session is not None:
            return self._layer(session).set_aside(session)
        return self._base.set_aside() | self._own.set_aside()

    def find_key(self, session: SessionNo, key: str) -> Seq | None:
        return self._layer(session).find_key(session, key)

    def forget(self, seqs: Collection[Seq], sessions: Collection[SessionNo]) -> None:
        check_above([*seqs, *sessions])
        self._own.forget(seqs, sessions)

    def revise(self, events: Sequence[Event]) -> None:
        check_above([event.seq for event in events])
        self._own.revise(events)

    def tidy(self) -> bool:
        return False

    def check(self, give_way: Callable[[], bool] = never) -> list[str]:
        return self._own.check(give_way)

    def close(self) -> None: ...


def _joined(arrays: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.empty(0, dtype=np.int64), *arrays])


def _all(found: Iterable[frozenset[T]]) -> frozenset[T]:
    return frozenset[T]().union(*found)
