"""One file of the log, for readers."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from pagefault.model.errors import StoreCorrupt, StoreError
from pagefault.model.ids import Seq
from pagefault.store import codec
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.files import read
from pagefault.store.embedded.handles import Handles
from pagefault.store.embedded.scan import Problem, Scan, Surroundings, problems, salvage, scan
from pagefault.store.embedded.segment_format import (
    FILE_BYTES_MAX,
    STRIDE,
    TEMPORARY,
    Footer,
    Header,
    file_name,
    offsets_for,
    parse_footer,
    parse_header,
)

CHUNK: Final = 16 * STRIDE
"""Records that a bulk reader takes at once: about 200 kB."""

_PEEK: Final = 4096
_TAIL_PEEK: Final = 65536  # enough for the seal of a 10 MB segment several times over


class Replaced(Exception):
    """The file is no longer part of the log: a newer generation replaced it. Look again."""


class Segment:
    """The positions of the records in one file.

    Invariants:
     (1) A file only grows; a rewrite is another generation, and another `Segment`.
     (2) The writer adds a record's place before anybody can ask for it, so readers take no lock.
     (3) Either `_offsets` holds the offset of every 16th record, without a gap, or the file is
         damaged and `_exact` holds the place of each readable record.
    """

    archived = False

    def __init__(
        self,
        path: Path,
        number: int,
        generation: int,
        handles: Handles,
        follows: Callable[[], Seq],
    ) -> None:
        """`follows` returns the seq that it should begin with, for when the file cannot say."""
        self.path = path
        self.number = number
        self.generation = generation
        self.problems: list[Problem] = []
        self.footer: Footer | None = None
        self._handles = handles
        self._follows = follows
        self._name = str(path)
        self._header: Header | None = None
        self._first: Seq | None = None
        self._last = Seq(0)
        self._offsets = array("Q")
        self._exact: dict[int, tuple[int, int]] | None = None
        self._end = 0  # of the records
        self._loaded = False

    # --- content ------------------------------------------------------------------------------

    @property
    def first(self) -> Seq:
        """The seq that it begins with, even if it has no records."""
        if self._first is None:
            header = parse_header(self._first_line())
            if header is None:
                self.load()
            else:
                self._header, self._first = header, header.first
        assert self._first is not None
        return self._first

    @property
    def header(self) -> Header | None:
        """Its first line; None if that is damaged."""
        _ = self.first
        return self._header

    @property
    def last(self) -> Seq:
        """The seq that it ends with; one less than `first` if it is empty."""
        self.load()
        return self._last

    @property
    def end(self) -> int:
        """The end of its records, in bytes."""
        self.load()
        return self._end

    @property
    def sealed(self) -> bool:
        self.load()
        return self.footer is not None

    def load(self) -> None:
        """Read a sealed segment's seal; scan the file if that is inconsistent."""
        if self._loaded:
            return
        header, footer, seal_at = parse_header(self._first_line()), *self._last_line()
        if header and footer and _agree(header, footer, seal_at, self):
            self._header, self._first = header, header.first
            self.footer, self._last = footer, footer.last
            self._offsets, self._end = footer.offsets, seal_at
            self._loaded = True
            return
        if header is None:
            self._first = self._follows()  # with no data in hand: it may load others
        data = self.content()
        result = scan(data)
        around = Surroundings(
            path=self.path,
            number=self.number,
            generation=self.generation,
            first=None if result.header else self._first,
        )
        self.take(data, result, around)

    def take(
        self, data: bytes, result: Scan, around: Surroundings, wrong: Sequence[Problem] = ()
    ) -> None:
        """Accept a scan. `wrong` lists problems found otherwise."""
        self.problems = [*problems(result, around), *wrong]
        self._header, self.footer = result.header, result.footer
        found = result.found
        guess = result.header.first if result.header else around.first
        self._first = self._follows() if guess is None else guess
        self._last = found[-1].seq if found else Seq(self._first - 1)
        if result.footer:
            self._last = max(self._last, result.footer.last)
        self._end = result.records_end
        if self.problems:
            self._exact = {one.seq: (one.offset, one.length) for one in found}
            for stretch in result.stretches:
                for offset, line in salvage(data[stretch.offset : stretch.end]):
                    spot = (stretch.offset + offset, len(line))
                    self._exact.setdefault(codec.parse(line).seq, spot)
        else:
            self._offsets = offsets_for([one.offset for one in found])
        self._loaded = True

    def begin(self, header: Header, end: int, lengths: Sequence[int] = ()) -> None:
        """Take over what was just written: a header up to `end`, and records of these lengths."""
        self._header, self._first = header, header.first
        self._last, self._end = Seq(header.first - 1), end
        self._loaded = True
        self.grow(lengths)

    def grow(self, lengths: Sequence[int]) -> None:
        """Add records that were just written at the end. Only the writer calls this."""
        assert self._first is not None
        count, end = self._last + 1 - self._first, self._end
        for length in lengths:
            if count % STRIDE == 0:
                self._offsets.append(end)
            count += 1
            end += length
        self._end = end
        self._last = Seq(self._first + count - 1)

    def shorten(self, end: int, last: Seq) -> None:
        """Note that the file was cut at `end`, after `last`. Only on opening, before any reader."""
        self._end, self._last = end, last
        del self._offsets[(last - self.first + STRIDE) // STRIDE :]

    def seal(self, link: bytes) -> Footer:
        """The footer that this segment needs."""
        return Footer(
            segment=self.number,
            records=self._last - self.first + 1,
            last=self._last,
            link=link,
            offsets=self._offsets,
        )

    # --- reading ------------------------------------------------------------------------------

    def record(self, seq: Seq) -> codec.Record:
        """The record at `seq`. `StoreCorrupt` if it cannot be read, `Replaced` if it moved."""
        return self._one(seq, *self._span(seq, 1))

    def records(self, seq: Seq, upto: Seq) -> list[codec.Record | StoreCorrupt]:
        """The records from `seq` on, as many as one read yields; for a damaged one its error."""
        self.load()
        upto = min(upto, self._last)
        if self._exact is not None or not self.first <= seq <= upto:
            return [self._or_error(seq)]
        data, skip = self._span(seq, CHUNK)
        upto = min(upto, Seq(seq - skip + CHUNK - 1))
        told: list[codec.Record | StoreCorrupt] = []
        offset = _skip(data, skip)
        for wanted in range(seq, upto + 1):
            end = data.find(b"\n", offset) + 1
            try:
                record = codec.parse(data[offset:end])
            except StoreCorrupt:
                record = None
            if record is None or record.seq != wanted:
                told.append(self._or_error(Seq(wanted)))
            else:
                told.append(record)
            offset = end
        return told

    def block(self, seq: Seq) -> tuple[Seq, list[bytes]]:
        """The lines that are read together with this record's, and the seq expected of the first.
        Errors as for `record`.
        """
        data, skip = self._span(seq, 1)
        if self._exact is not None:
            return seq, [data]
        return Seq(seq - skip), data.split(b"\n")[:STRIDE]

    def content(self, end: int | None = None) -> bytes:
        """The whole file, or its first `end` bytes. `Replaced` if it is gone."""
        with ReadGuard(self._name):
            data = read(self.path, FILE_BYTES_MAX)
        return data if end is None else data[:end]

    # --- rewriting ----------------------------------------------------------------------------

    def put(self, disk: Disk, generation: int, data: bytes) -> Path:
        """Durably make another generation of this segment, in the same place."""
        path = self.path.with_name(file_name(self.number, generation))
        disk.place(path, path.with_name(path.name + TEMPORARY), data)
        return path

    def destroy(self, disk: Disk) -> None:
        """Durably remove this generation."""
        disk.unlink(self.path)
        disk.sync_directory(self.path.parent)

    def wrapping(self) -> list[Problem]:
        """Problems of the segment's wrapping, if any."""
        return []

    def beside(self, data: bytes) -> list[Problem]:
        """Problems of what is stored beside a segment of these bytes, if any."""
        return []

    # --- inside -------------------------------------------------------------------------------

    def _or_error(self, seq: Seq) -> codec.Record | StoreCorrupt:
        try:
            return self.record(seq)
        except StoreCorrupt as problem:
            return problem

    def _span(self, seq: Seq, records: int) -> tuple[bytes, int]:
        """The block with `seq`, at least `records` long, and the number of lines before it."""
        self.load()
        if self._exact is not None:
            if seq not in self._exact:
                raise StoreCorrupt(f"record {seq} in {self.path.name} cannot be read")
            return self._read(*self._exact[seq]), 0
        assert self._first is not None
        index = seq - self._first
        if index < 0 or seq > self._last:
            raise StoreCorrupt(f"record {seq} is missing: no segment of the log holds it")
        block = index // STRIDE
        after = (index + max(records - 1, 0)) // STRIDE + 1
        start = self._offsets[block]
        end = self._offsets[after] if after < len(self._offsets) else self._end
        return self._read(start, end - start), index % STRIDE

    def _one(self, seq: Seq, data: bytes, skip: int) -> codec.Record:
        start = _skip(data, skip)
        line = data[start : data.find(b"\n", start) + 1]
        try:
            record = codec.parse(line)
            if record.seq == seq:
                return record
        except StoreCorrupt:
            pass
        for _, line in salvage(data):  # a damaged newline shifts the count
            record = codec.parse(line)
            if record.seq == seq:
                return record
        what = f"record {seq} in {self.path.name} cannot be read"
        self.problems = [
            *(one for one in self.problems if one.first != seq),
            Problem(self.path, 0, 0, seq, seq, "cannot be read"),
        ]
        raise StoreCorrupt(what)

    def _read(self, offset: int, length: int) -> bytes:
        with ReadGuard(self._name), self._handles.hold(self._name) as fd:
            data = os.pread(fd, length, offset)
            gone = os.fstat(fd).st_nlink == 0
        if gone:  # what was read may have been erased since
            self._handles.drop(self._name)
            raise Replaced(self._name)
        return data

    def _first_line(self) -> bytes:
        data = self._read(0, _PEEK)
        if b"\n" not in data:
            data = self._read(0, 64 * _PEEK)
        return data[: data.find(b"\n") + 1]

    def _last_line(self) -> tuple[Footer | None, int]:
        """The footer and its offset; None if the last line is not a footer."""
        with ReadGuard(self._name), self._handles.hold(self._name) as fd:
            size = os.fstat(fd).st_size
        peek = _TAIL_PEEK
        while True:
            start = max(0, size - peek)
            data = self._read(start, size - start)
            begin = data.rfind(b"\n", 0, max(0, len(data) - 1)) + 1
            if begin or start == 0:
                return parse_footer(data[begin:]), start + begin
            peek *= 8


class ReadGuard:
    """Within this block, a missing file is `Replaced` and a failing one `StoreError`."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, FileNotFoundError):
            raise Replaced(self._name) from error
        if isinstance(error, OSError):
            raise StoreError(
                f"{self._name} cannot be read: {error.strerror}",
                hint="check that disk, then try again; the other segments can be read",
            ) from error


def _skip(data: bytes, lines: int) -> int:
    offset = 0
    for _ in range(lines):
        offset = data.find(b"\n", offset) + 1
    return offset


def _agree(header: Header, footer: Footer, seal_at: int, segment: Segment) -> bool:
    places = [0, *footer.offsets, seal_at]
    return all(one < other for one, other in pairwise(places)) and (
        (header.segment, header.generation) == (segment.number, segment.generation)
        and footer.segment == segment.number
        and footer.last - footer.records + 1 == header.first
        and len(footer.offsets) == (footer.records + STRIDE - 1) // STRIDE
    )
