"""An archived segment, read like any other: its offsets are those of the segment."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import google_crc32c

from pagefault.model.errors import ArchiveMissing, StoreCorrupt
from pagefault.model.ids import NOTHING, Seq
from pagefault.store import codec
from pagefault.store.embedded.archive import Archive
from pagefault.store.embedded.archive_format import Stub, inflate_all, lines_of
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.files import read
from pagefault.store.embedded.handles import Handles
from pagefault.store.embedded.inventory import take_inventory
from pagefault.store.embedded.scan import Problem
from pagefault.store.embedded.segment import ReadGuard, Replaced, Segment
from pagefault.store.embedded.segment_format import FILE_BYTES_MAX, Footer, parse_footer

KEPT: Final = "what stayed here of this archived segment is damaged"

_NONE = (Seq(1), NOTHING)


class ArchivedSegment(Segment):
    """Every method may raise `ArchiveMissing`, except what its stub answers (first, last, links,
    seal), and for the records that were kept.
    """

    archived = True

    def __init__(
        self,
        archive: Archive,
        number: int,
        generation: int,
        handles: Handles,
        follows: Callable[[], Seq],
    ) -> None:
        super().__init__(archive.path(number, generation), number, generation, handles, follows)
        self._archive = archive
        self._told: Stub | None = None
        self._kept: dict[Seq, codec.Record] | None = None  # read if the archive is missing

    def record(self, seq: Seq) -> codec.Record:
        try:
            return super().record(seq)
        except ArchiveMissing:
            if self._kept is None:
                self._kept = self._archive.kept(self.number, self.generation)
            if seq not in self._kept:
                raise
            return self._kept[seq]

    def records(self, seq: Seq, upto: Seq) -> list[codec.Record | StoreCorrupt]:
        try:
            return super().records(seq, upto)
        except ArchiveMissing:
            return [self.record(seq)]

    def content(self, end: int | None = None) -> bytes:
        stub = self._stub()
        data = self._packed()
        is_as_packed = stub is None or (
            len(data) == stub.packed[-1] and google_crc32c.value(data) == stub.checksum
        )
        whole = inflate_all(data) if is_as_packed else b""
        if stub is not None and len(whole) != stub.raw[-1]:
            whole = stub.inflate(data, range(len(stub.raw) - 1))
        return whole if end is None else whole[:end]

    def put(self, disk: Disk, generation: int, data: bytes) -> Path:
        kept = self._archive.kept(self.number, self.generation)
        return self._archive.put(self.number, generation, data, disk, kept)

    def destroy(self, disk: Disk) -> None:
        self._archive.remove(self.number, self.generation, disk)

    def wrapping(self) -> list[Problem]:
        stub = self._stub()
        if stub is None:
            path = self._archive.stub_path(self.number, self.generation)
            return [Problem(path, 0, 0, *_NONE, "this stub of an archived segment is damaged")]
        data = self._packed()
        if google_crc32c.value(data) == stub.checksum:
            return []
        what = "this archived segment is damaged" if data else "this archived segment is missing"
        return [Problem(self.path, 0, len(data), *_NONE, what)]

    def beside(self, data: bytes) -> list[Problem]:
        found = self._archive.find_kept(self.number, self.generation)
        with suppress(FileNotFoundError):  # nothing was kept, or a forget is rewriting it
            if found is None or lines_of(data, found) != self._archive.kept_lines(
                self.number, self.generation
            ):
                path = self._archive.kept_path(self.number, self.generation)
                return [Problem(path, 0, 0, *_NONE, KEPT)]
        return []

    def _read(self, offset: int, length: int) -> bytes:
        stub = self._stub()
        if stub is None:
            return self.content()[offset : offset + length]
        members = stub.members(offset, length)
        start, end = stub.packed[members.start], stub.packed[members.stop]
        try:
            with self._handles.hold(self._name) as fd:
                data = os.pread(fd, end - start, start)
                gone = os.fstat(fd).st_nlink == 0
        except FileNotFoundError:
            data, gone = self._packed(), False
        except OSError:
            with ReadGuard(self._name):
                raise
        if gone:  # what was read may have been erased since
            self._handles.drop(self._name)
            raise Replaced(self._name)
        begin = offset - stub.raw[members.start]
        return stub.inflate(data, members)[begin : begin + length]

    def _first_line(self) -> bytes:
        stub = self._stub()
        if stub is not None:
            return stub.header_line
        data = self.content()
        return data[: data.find(b"\n") + 1]

    def _last_line(self) -> tuple[Footer | None, int]:
        stub = self._stub()
        if stub is not None:
            return stub.footer, stub.footer_at
        data = self.content()
        begin = data.rfind(b"\n", 0, max(0, len(data) - 1)) + 1
        return parse_footer(data[begin:]), begin

    def _stub(self) -> Stub | None:
        """None if it is damaged: then the file alone must do."""
        if self._told is None:
            with ReadGuard(self._name):
                self._told = self._archive.stub(self.number, self.generation)
        return self._told

    def _packed(self) -> bytes:
        """The archive's file; empty if only it is lost. `Replaced` if this generation is gone."""
        try:
            with ReadGuard(self._name):
                return read(self.path, FILE_BYTES_MAX)
        except Replaced:
            self._archive.require()
            now = take_inventory(self._archive.log)
            counts = now.generations.get(self.number) == self.generation
            if counts and self.number in now.archived:
                return b""
            raise
