"""Scanning the bytes of one segment: its records, and everything that is not as it was written.

Everything here is a pure function of bytes. `recovery` (on opening) and `repair` (on request)
decide what to do about it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from pagefault.model.errors import StoreCorrupt
from pagefault.model.ids import NOTHING, Seq
from pagefault.store import codec
from pagefault.store.embedded.segment_format import (
    Footer,
    Header,
    offsets_for,
    parse_footer,
    parse_header,
)

_BEGINNING: Final = b'{"v":"'
_ENDING: Final = re.compile(rb',"crc":"[0-9a-f]{8}"\}')
_RECORD_BYTES_MIN: Final = 64  # far less than the links in one take
_NEXT: Final = re.compile(rb'\n(?=\{"v":"[^\n]{%d})' % (_RECORD_BYTES_MIN - len(_BEGINNING)))
_ENDINGS_MAX: Final = 16  # tried per beginning: escaping keeps endings out of records
_INSIDE_MAX: Final = 8  # beginnings within a record: a newer version's payload may hold some


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the log that is not as it was written.

    Records `first` to `last` are affected (none if `first > last`); the bytes start at `offset` and
    are `length` long (0 if bytes are missing rather than wrong).
    """

    path: Path
    offset: int
    length: int
    first: Seq
    last: Seq
    what: str

    def __str__(self) -> str:
        where = f"{self.path.name} at byte {self.offset}"
        if self.first > self.last:
            return f"{where}: {self.what}"
        if self.first == self.last:
            return f"{where}, record {self.first}: {self.what}"
        return f"{where}, records {self.first} to {self.last}: {self.what}"


# --- scanning ---------------------------------------------------------------------------------


class Found(NamedTuple):
    """An intact record, and its position."""

    seq: Seq
    offset: int
    length: int
    more: int
    link: bytes
    lost: bool

    @property
    def end(self) -> int:
        return self.offset + self.length


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes that are not a record, header or footer."""

    offset: int
    length: int

    @property
    def end(self) -> int:
        return self.offset + self.length


@dataclass(slots=True)
class Scan:
    """The content of one file, in order. Seqs ascend; they may have gaps."""

    size: int
    header: Header | None = None
    footer: Footer | None = None
    found: list[Found] = field(default_factory=list)
    stretches: list[Stretch] = field(default_factory=list)
    unlinked: list[Found] = field(default_factory=list)  # intact, but not chained to the one before

    @property
    def records_end(self) -> int:
        """The offset of the footer, present or not."""
        return self.found[-1].end if self.found else self.header_end

    @property
    def header_end(self) -> int:
        return len(self.header.encode()) if self.header else 0


def scan(data: bytes) -> Scan:
    """Check every line: checksum, seq and link. `StoreIncompatible` if one is too new."""
    result = Scan(size=len(data))
    expected: int | None = None
    link: bytes | None = None
    for offset, end in _lines_or_more(data):
        line = data[offset:end]
        if offset == 0 and (header := parse_header(line)):
            result.header, expected, link = header, header.first, header.link
        elif end == len(data) and (footer := parse_footer(line)):
            result.footer = footer
        elif (record := _record(line)) and (expected is None or record.seq >= expected):
            own, is_lost = codec.long(record.link), record.type == "lost"
            found = Found(Seq(record.seq), offset, end - offset, record.more, own, is_lost)
            is_next = record.seq == expected and link is not None
            if is_next and link and not codec.follows(link, line, record, own=own):
                result.unlinked.append(found)
            result.found.append(found)
            # The record after a lost one is chained to what was lost: its own link is trusted.
            expected, link = record.seq + 1, None if found.lost else own
        else:
            _spoil(result.stretches, offset, end)
    return result


def _record(line: bytes) -> codec.Record | None:
    try:
        record = codec.parse(line)
        codec.long(record.link)
        codec.long(record.commit)
    except StoreCorrupt:
        return None
    return record


def _spoil(stretches: list[Stretch], offset: int, end: int) -> None:
    if stretches and stretches[-1].end == offset:
        offset = stretches.pop().offset
    stretches.append(Stretch(offset, end - offset))


def lines(data: bytes) -> Iterator[tuple[int, int]]:
    """The bounds of each line, including its newline; the last may lack one."""
    offset = 0
    while offset < len(data):
        end = data.find(b"\n", offset) + 1 or len(data)
        yield offset, end
        offset = end


def _lines_or_more(data: bytes) -> Iterator[tuple[int, int]]:
    """As `lines`, but yields runs of lines that are too short for a record together: a file of
    empty lines has millions.
    """
    offset = 0
    while offset < len(data):
        end = data.find(b"\n", offset) + 1 or len(data)
        if end - offset < _RECORD_BYTES_MIN and end < len(data):
            following = _NEXT.search(data, end - 1)
            # The last line is searched for once: it may be most of the file.
            upto = following.end() if following else data.rfind(b"\n", 0, len(data) - 1) + 1
            end = max(end, upto)
        yield offset, end
        offset = end


def salvage(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Intact records within bytes that are not lines: their offsets, and their lines.

    A damaged newline joins two lines or splits one; what is beside it is still readable.
    """
    begun: deque[_Begun] = deque(maxlen=_INSIDE_MAX + 1)
    at = 0
    for ending in _ENDING.finditer(data):
        begun.extend(_begun_between(data, at, ending.end()))
        at = ending.end()
        for one in begun:
            if one.tried >= _ENDINGS_MAX:
                continue
            # If another record begins before this ending, the damage is in this one: one more try.
            one.tried = one.tried + 1 if one is begun[-1] else _ENDINGS_MAX
            line = data[one.offset : at] + b"\n"
            if _record(line):
                yield one.offset, line
                begun.clear()
                break


@dataclass(slots=True)
class _Begun:
    """Where a record may begin, and how many endings were tried."""

    offset: int
    tried: int = 0


def _begun_between(data: bytes, start: int, end: int) -> list[_Begun]:
    """Possible beginnings of records between two offsets; if there are many, the last ones."""
    found: list[_Begun] = []
    while len(found) <= _INSIDE_MAX and (end := data.rfind(_BEGINNING, start, end)) >= 0:
        found.append(_Begun(end))
    return found[::-1]


def last_hidden(data: bytes, stretch: Stretch) -> Seq:
    """The last record that begins after the damage, which is then no torn tail; 0 if none."""
    found = salvage(data[stretch.offset : stretch.end])
    return Seq(max((codec.parse(line).seq for offset, line in found if offset), default=0))


# --- judging ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a segment should be, by its name and its neighbours (where those are known)."""

    path: Path
    number: int
    generation: int
    sealed: bool = True
    first: Seq | None = None
    link: bytes | None = None
    last: Seq | None = None


def problems(result: Scan, around: Surroundings) -> list[Problem]:
    """The problems of a segment. What follows its last record is left to `recovery`, unless the
    segment is sealed and so can have no torn tail.
    """
    path, none = around.path, (Seq(1), NOTHING)
    told: list[Problem] = []
    header = result.header
    if header is None:
        told.append(Problem(path, 0, 0, *none, "its first line is damaged"))
    elif (header.segment, header.generation) != (around.number, around.generation):
        told.append(Problem(path, 0, 0, *none, "its first line is that of another segment"))
    elif around.first is not None and header.first != around.first:
        told.append(Problem(path, 0, 0, *none, "it does not begin where the one before ends"))
    elif around.link is not None and header.link != around.link:
        told.append(Problem(path, 0, 0, *none, "it does not continue the chain"))
    expected = header.first if header else around.first
    offset = result.header_end
    for found in result.found:
        if expected is not None and found.seq > expected:
            length, last = found.offset - offset, Seq(found.seq - 1)
            told.append(Problem(path, offset, length, expected, last, "cannot be read"))
        elif found.offset > offset and not (expected is None and offset == 0):
            length = found.offset - offset
            told.append(Problem(path, offset, length, *none, "these bytes are no record"))
        expected, offset = Seq(found.seq + 1), found.end
    told += [
        Problem(
            path, one.offset, one.length, one.seq, one.seq, "it is not chained to the one before"
        )
        for one in result.unlinked
    ]
    if around.sealed or result.footer:
        told += _sealing(result, around, expected, offset)
    return told


def _sealing(
    result: Scan, around: Surroundings, expected: Seq | None, offset: int
) -> Iterator[Problem]:
    footer, path, none = result.footer, around.path, (Seq(1), NOTHING)
    if footer is None:
        lost = (expected, around.last) if expected and around.last else none
        yield Problem(
            path, offset, result.size - offset, *lost, "its end, the seal included, is damaged"
        )
        return
    length = result.size - len(footer.encode()) - offset
    if expected is not None and footer.last >= expected:
        yield Problem(path, offset, length, expected, footer.last, "cannot be read")
    elif length:
        yield Problem(path, offset, length, *none, "these bytes are no record")
    elif footer.offsets != offsets_for([one.offset for one in result.found]):
        yield Problem(path, offset, 0, *none, "its seal is of other records")
    elif result.found and not result.found[-1].lost and footer.link != result.found[-1].link:
        yield Problem(path, offset, 0, *none, "its seal does not continue the chain")
