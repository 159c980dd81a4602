"""Long doclists, read directly from the pages of SQLite's full-text index.

`MATCH` steps from row to row. Reading a list of a hundred thousand places from its pages, as FTS5
documents them (https://sqlite.org/fts5.html, "Data Structures"), is about five times as fast.
SQLite promises to keep its file formats. Even so nothing is guessed: any deviation from the format
described here gives no list, and the caller uses `MATCH`.

The index is a few segments, each an ordered run of leaves. A leaf is

    first rowid's offset (2 bytes), size (2 bytes), terms with their lists, offsets of its terms;

every term but the first omits the prefix that it shares with the one before. A list without details
is rowids, each as the difference from the one before, except for the first and the first of a leaf.
All numbers are varints, most significant bits first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from itertools import accumulate
from typing import Final, NamedTuple

import apsw
import numpy as np

from pagefault.store.embedded.sql import Queries
from pagefault.store.likely import Numbers

LEAVES_MIN: Final = 2
"""In leaves of the largest segment; `MATCH` reads a shorter list as quickly."""

_SQL: Final = Queries("index.sql")
_VERSION: Final = 4  # of the format; 5 adds terms deleted in place
_ORIGINS: Final = b"\xff\x00\x00\x01"  # the structure record tracks the origins of deleted rows
_HEADER: Final = 4  # bytes of a leaf
_SEGMENT_BITS: Final = 37  # leaf 7 of segment 3 is row 3 << 37 | 7
_MAIN: Final = b"0"  # before every term that is no prefix
_NUMBER_MAX: Final = 8  # bytes of a varint; a ninth would be encoded differently


class _Segment(NamedTuple):
    number: int
    first: int  # leaf numbers
    last: int


class Doclists:
    """The long lists of one snapshot of the file. For one read transaction."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._segments: list[_Segment] | None = None

    def find(self, word: str) -> Numbers | None:
        """The ascending places of a word of the index; `None` if the caller should use `MATCH`."""
        if self._segments is None:
            self._segments = _segments(self._db)
            self._numbers = json.dumps([segment.number for segment in self._segments])
        key = _MAIN + word.encode()
        ends = _SQL.rows(self._db, "leaves_of_term", self._numbers, key)
        spans = [
            _within(segment, *leaves) for segment, leaves in zip(self._segments, ends, strict=True)
        ]
        if not spans or spans[0].last - spans[0].first < LEAVES_MIN:
            return None
        return _places([piece for span in spans for piece in self._pieces(span, key)])

    def _pieces(self, span: _Segment, key: bytes) -> list[bytes]:
        """The parts of a term's list, one per leaf that has one; later leaves are not read."""
        rows = (span.number << _SEGMENT_BITS | leaf for leaf in (span.first, span.last))
        with closing(self._db.execute(_SQL["leaves"], (*rows,))) as leaves:
            return [*_pieces((leaf for (leaf,) in leaves), key)]


def _within(segment: _Segment, first: int | None, last: int | None) -> _Segment:
    """The part of a segment between two leaves: leaves that were merged away are not there."""
    first = max(first or 0, segment.first)
    return _Segment(segment.number, first, segment.last if last is None else max(last, first))


def _segments(db: apsw.Connection) -> list[_Segment]:
    """The segments, largest first. Empty if the format is not the expected one, or if it has rows
    that are deleted but still present.
    """
    found = _SQL.first(db, "segments")
    if found is None or found[1] != _VERSION or found[0][4:8] != _ORIGINS:
        return []
    numbers = iter(_varints(found[0][8:]))
    segments = []
    levels, _, _ = (next(numbers) for _ in range(3))
    for _ in range(levels):
        _merging, count = next(numbers), next(numbers)
        for _ in range(count):
            number, first, last, _, _, deleted, _, _ = (next(numbers) for _ in range(8))
            if deleted:
                return []
            if last:
                segments.append(_Segment(number, first, last))
    return sorted(segments, key=lambda one: one.first - one.last)


def _pieces(leaves: Iterator[bytes], key: bytes) -> Iterator[bytes]:
    """The parts of a term's list, one per leaf, from the leaf where it begins."""
    head = next(leaves, None)
    if head is None:
        return
    size = int.from_bytes(head[2:4], "big")
    found = _list_of(head, size, key)
    if found is None:
        return
    start, end = found
    if start < end:
        yield head[start:end]
    if end < size:
        return
    for leaf in leaves:
        size = int.from_bytes(leaf[2:4], "big")
        has_terms = size < len(leaf)
        end = _varints(leaf[size : size + 3])[0] if has_terms else size
        if end > _HEADER:
            yield leaf[_HEADER:end]
        if has_terms:
            return


def _list_of(leaf: bytes, size: int, key: bytes) -> tuple[int, int] | None:
    """The bounds of a term's list in the leaf where the term would be."""
    common = 0
    offsets = list(accumulate(_varints(leaf[size:])))
    for number, offset in enumerate(offsets):
        if number and leaf[offset] > common < 128:
            continue  # still before it, as nearly all are
        kept, at = _varint(leaf, offset) if number else (0, offset)
        if kept > common:
            continue
        if kept < common:
            return None  # the terms are past it
        new, at = _varint(leaf, at)
        rest, own = key[common:], leaf[at : at + new]
        if own == rest:
            return at + new, (*offsets[number + 1 : number + 2], size)[0]
        if own > rest:
            return None
        common += next((n for n, (a, b) in enumerate(zip(own, rest, strict=False)) if a != b), new)
    return None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number, and the offset after it. It may have up to eight bytes."""
    byte = data[at]
    value = byte & 127
    while byte > 127:
        at += 1
        byte = data[at]
        value = value << 7 | byte & 127
    return value, at + 1


def _varints(data: bytes) -> list[int]:
    if data.isascii():  # no number takes two bytes: true of most leaves
        return list(data)
    numbers, value = [], 0
    for byte in data:
        value = value << 7 | byte & 127
        if byte < 128:
            numbers.append(value)
            value = 0
    return numbers


def _places(pieces: list[bytes]) -> Numbers | None:
    """The rowids in these pieces of lists, ascending; `None` if the pieces hold anything else."""
    data = np.frombuffer(b"".join(pieces), dtype=np.uint8)
    is_last = data < 128
    if not len(data) or not is_last[-1]:
        return None
    numbers = data[is_last].astype(np.int64)
    others = np.flatnonzero(~is_last)
    of = others - np.arange(len(others))  # the number that each remaining byte belongs to
    bits = 7
    at = np.flatnonzero(np.append(of[1:] != of[:-1], True)[: len(of)])  # the last of each number
    while len(at):
        if bits >= 7 * _NUMBER_MAX:
            return None
        numbers[of[at]] |= (data[others[at]] & 127).astype(np.int64) << bits
        before = at - 1
        at = before[(at > 0) & (of[before] == of[at])]
        bits += 7
    if not numbers.all():
        return None  # a zero marks a deleted row
    starts = np.cumsum([0, *map(len, pieces[:-1])])
    firsts = starts - np.searchsorted(others, starts)
    numbers[firsts[1:]] -= np.add.reduceat(numbers, firsts)[:-1]
    places = np.cumsum(numbers)
    if (numbers[firsts[1:]] <= 0).any():
        places.sort(kind="stable")  # quick for a few long runs
    return places
