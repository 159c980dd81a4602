"""Long lists of places, read from the pages of SQLite's full-text index itself.

`MATCH` steps from row to row; a list of a hundred thousand places is read from its pages, as FTS5
describes them (https://sqlite.org/fts5.html, "Data Structures"), some five times as fast. SQLite
promises to keep its file formats. All the same nothing is guessed: whatever is not as described
here gives no list, and the caller asks with `MATCH`.

The index is some segments, each an ordered run of leaves. A leaf is

    first rowid's offset (2 bytes), size (2 bytes), terms with their lists, offsets of its terms;

a term after the first leaves out what it has in common with the one before. A list without details
is rowids, each the distance from the one before, but for the first and the first of a leaf. All
numbers are varints, the most significant bits first.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import apsw
import numpy as np

from pagefault.store.embedded.sql import Queries
from pagefault.store.likely import Numbers

LEAVES_MIN: Final = 2
"""Of the largest segment; a list that takes less is read as quickly by `MATCH`."""

_SQL: Final = Queries("index.sql")
_VERSION: Final = 4  # of the format; 5 knows of terms that were deleted in place
_ORIGINS: Final = b"\xff\x00\x00\x01"  # the structure record tells where deleted rows came from
_HEADER: Final = 4  # bytes of a leaf
_SEGMENT_BITS: Final = 37  # leaf 7 of segment 3 is row 3 << 37 | 7
_MAIN: Final = b"0"  # before every term that is no prefix
_NUMBER_MAX: Final = 8  # bytes of a varint; the ninth would not be like the others


class _Segment(NamedTuple):
    number: int
    first: int  # leaf
    last: int


class Doclists:
    """The long lists at one moment of the file. For one transaction that reads."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._segments: list[_Segment] | None = None

    def find(self, word: str) -> Numbers | None:
        """Where a word of the index stands, ascending; `None` if `MATCH` should be asked."""
        if self._segments is None:
            self._segments = _segments(self._db)
        key = _MAIN + word.encode()
        if not self._segments:
            return None
        _, first, last = self._leaves(self._segments[0], key)
        if last - first < LEAVES_MIN:
            return None
        pieces: list[bytes] = []
        for number, first, last in (self._leaves(segment, key) for segment in self._segments):
            rows = (number << _SEGMENT_BITS | first, number << _SEGMENT_BITS | last)
            pieces += _pieces([leaf for (leaf,) in _SQL.rows(self._db, "leaves", *rows)], key)
        return _places([piece for piece in pieces if piece])

    def _leaves(self, segment: _Segment, key: bytes) -> _Segment:
        """Where the term's list is, if the segment has one."""
        [(first, last)] = _SQL.rows(self._db, "leaves_of_term", segment.number, key)
        first = max(first or 0, segment.first)
        last = segment.last if last is None else max(last, first)
        return _Segment(segment.number, first, last)


def _segments(db: apsw.Connection) -> list[_Segment]:
    """The largest first. None if the index is not made as we know it, or has rows that are deleted
    but still there.
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


def _pieces(leaves: list[bytes], key: bytes) -> list[bytes]:
    """The parts of a term's list, one of each leaf that has one."""
    if not leaves:
        return []
    head = leaves[0]
    size = int.from_bytes(head[2:4], "big")
    found = _list_of(head, size, key)
    if found is None:
        return []
    start, end = found
    pieces = [head[start:end]]
    if end < size:
        return pieces
    for leaf in leaves[1:]:
        size = int.from_bytes(leaf[2:4], "big")
        has_terms = size < len(leaf)
        pieces.append(leaf[_HEADER : _varints(leaf[size : size + 3])[0] if has_terms else size])
        if has_terms:
            break
    return pieces


def _list_of(leaf: bytes, size: int, key: bytes) -> tuple[int, int] | None:
    """Where the list of a term begins and ends in the leaf where the term would stand."""
    offset = common = 0
    steps = _varints(leaf[size:])
    for number, step in enumerate(steps):
        offset += step
        kept, at = _varint(leaf, offset) if number else (0, offset)
        if kept > common:
            continue  # still before it
        if kept < common:
            return None  # the terms are past it
        new, at = _varint(leaf, at)
        rest, own = key[common:], leaf[at : at + new]
        if own == rest:
            is_last = number + 1 == len(steps)
            return at + new, size if is_last else offset + steps[number + 1]
        if own > rest:
            return None
        common += _in_common(own, rest)
    return None


def _in_common(one: bytes, other: bytes) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number, and where the next byte stands. Of as many bytes as it takes, up to eight."""
    byte = data[at]
    value = byte & 127
    while byte > 127:
        at += 1
        byte = data[at]
        value = value << 7 | byte & 127
    return value, at + 1


def _varints(data: bytes) -> list[int]:
    if data.isascii():  # no number takes two bytes: so it is in most leaves
        return list(data)
    numbers, value = [], 0
    for byte in data:
        value = value << 7 | byte & 127
        if byte < 128:
            numbers.append(value)
            value = 0
    return numbers


def _places(pieces: list[bytes]) -> Numbers | None:
    """The rowids in these pieces of lists, ascending; `None` if there is anything else in them."""
    data = np.frombuffer(b"".join(pieces), dtype=np.uint8)
    ends = np.flatnonzero(data < 128)
    sizes = np.diff(ends, prepend=-1)
    starts = np.cumsum([0, *map(len, pieces)])
    if not len(ends) or ends[-1] + 1 != len(data) or sizes.max() > _NUMBER_MAX:
        return None
    numbers = data[ends].astype(np.int64)
    longer = np.arange(len(ends))
    for byte in range(1, int(sizes.max())):
        longer = longer[sizes[longer] > byte]
        numbers[longer] |= (data[ends[longer] - byte] & 127).astype(np.int64) << 7 * byte
    if not numbers.all():
        return None  # a zero marks a row that is deleted
    firsts = np.searchsorted(ends, starts[:-1])
    numbers[firsts[1:]] -= np.add.reduceat(numbers, firsts)[:-1]
    places = np.cumsum(numbers)
    if (np.diff(places) <= 0).any():
        places.sort()
    return places
