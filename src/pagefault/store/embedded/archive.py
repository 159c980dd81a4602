"""L4, the archive: where sealed segments are kept compressed, and how they get there and away.

Invariant: no file of the archive exists without a stub in `log/` that names it. The stub is made
first and removed last, so whoever erases knows of every copy, even of one that a crash left.

Of what is archived, the records that sessions are opened with stay in `log/` too (`kept`): an
archive that is away takes away what is in it, and nothing else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Final

from pagefault.model.errors import ArchiveMissing, StoreCorrupt, StoreError
from pagefault.model.ids import Seq
from pagefault.store import codec
from pagefault.store.embedded.archive_format import (
    Stub,
    keep,
    kept_name,
    pack,
    packed_name,
    parse_stub,
    parse_stub_name,
    stub_name,
    unpack_kept,
)
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.facts import FACTS_BYTES_MAX
from pagefault.store.embedded.files import is_file, read, status
from pagefault.store.embedded.segment_format import FILE_BYTES_MAX, TEMPORARY

MARK: Final = "archive.json"
"""The file by which an archive is known: where it is missing, a disk is not mounted."""


class Archive:
    """The archive of a root: `archive/` there (`given`), a directory or a link to one elsewhere
    (`directory` is where that leads).
    """

    def __init__(self, log: Path) -> None:
        """`log` is the root's directory of segments."""
        self.log = log
        self.given = log.parent / "archive"

    @property
    def directory(self) -> Path:
        """Where it is, over the one link that a memory may have."""
        return Path(os.path.realpath(self.given))

    def path(self, number: int, generation: int) -> Path:
        return self.directory / packed_name(number, generation)

    def stub_path(self, number: int, generation: int) -> Path:
        return self.log / stub_name(number, generation)

    @property
    def is_there(self) -> bool:
        return is_file(self.directory / MARK)

    def require(self) -> None:
        """Raise `ArchiveMissing` unless it is there."""
        if not self.is_there:
            raise ArchiveMissing(str(self.directory))

    def is_marked(self, root_id: str) -> bool:
        """Whether its mark is just as it was made for this root."""
        return read(self.directory / MARK, FACTS_BYTES_MAX) == mark_of(root_id)

    def mark(self, root_id: str, disk: Disk) -> None:
        """Say that this is the archive of that root."""
        mark = self.directory / MARK
        disk.place(mark, mark.with_name(f"{MARK}.tmp"), mark_of(root_id))

    def stub(self, number: int, generation: int) -> Stub | None:
        """The stub, or nothing if it is damaged. `FileNotFoundError` if there is none."""
        return parse_stub(read(self.stub_path(number, generation), FILE_BYTES_MAX))

    def holds(self, number: int, generation: int) -> bool:
        """Whether a stub and its file are here, both whole as far as their sizes tell.

        Where the archive is not there, the stub is believed.
        """
        try:
            data = read(self.stub_path(number, generation), FILE_BYTES_MAX)
            stub = parse_stub(data, of_any_version=True)
            if stub is None or not self.is_there:
                return stub is not None
            return status(self.path(number, generation)).st_size == stub.packed[-1]
        except OSError:
            return False

    def kept_path(self, number: int, generation: int) -> Path:
        return self.log / kept_name(number, generation)

    def kept(self, number: int, generation: int) -> dict[Seq, codec.Record]:
        """The records of an archived segment that stayed; none where the file is damaged."""
        return self.find_kept(number, generation) or {}

    def find_kept(self, number: int, generation: int) -> dict[Seq, codec.Record] | None:
        """The same, and nothing where that file is damaged."""
        try:
            lines = self.kept_lines(number, generation).splitlines(keepends=True)
            records = [codec.parse(line) for line in lines]
        except (FileNotFoundError, NotADirectoryError):  # an earlier version kept nothing
            return {}
        except (OSError, StoreCorrupt):
            return None
        return {Seq(record.seq): record for record in records}

    def kept_lines(self, number: int, generation: int) -> bytes:
        """The lines that these are. `StoreCorrupt` if the file is damaged."""
        return unpack_kept(read(self.kept_path(number, generation), FILE_BYTES_MAX))

    def keep(
        self, number: int, generation: int, data: bytes, seqs: Collection[Seq], disk: Disk
    ) -> None:
        """Let these records of a segment, whose bytes these are, stay; those of before do not."""
        _place(self.kept_path(number, generation), keep(data, seqs), disk)

    def put(
        self, number: int, generation: int, data: bytes, disk: Disk, kept: Collection[Seq] = ()
    ) -> Path:
        """Archive the bytes of a sealed segment, durably, and read them back."""
        path = self.place(number, generation, *pack(data), disk)
        self.keep(number, generation, data, kept, disk)
        return path

    def place(self, number: int, generation: int, stub: Stub, packed: bytes, disk: Disk) -> Path:
        """As `put`, for a segment that is packed already; nothing of it stays."""
        self.require()
        _place(self.stub_path(number, generation), stub.encode(), disk)
        path = self.path(number, generation)
        _place(path, packed, disk)
        if read(path, FILE_BYTES_MAX) != packed:
            raise StoreError(
                f"{path} does not read back as written",
                hint="the source is intact; check that disk, then try again",
            )
        return path

    def remove(self, number: int, generation: int, disk: Disk) -> None:
        """Remove an archived segment, the stub last. Raises `ArchiveMissing`."""
        self.require()
        path = self.path(number, generation)
        for name in (path, path.with_name(path.name + TEMPORARY)):
            disk.unlink(name)
        disk.sync_directory(self.directory)
        disk.unlink(self.kept_path(number, generation))
        disk.sync_directory(self.log)
        disk.unlink(self.stub_path(number, generation))
        disk.sync_directory(self.log)


def mark_of(root_id: str) -> bytes:
    return json.dumps({"pagefault": "archive", "root": root_id}).encode()


def discard(leftover: Path, disk: Disk) -> None:
    """Remove a file of the log directory that does not count, and what it stands for.

    A stub whose archive is not there stays: it tells that there may be a copy.
    """
    named = parse_stub_name(leftover.name)
    if named is None:
        disk.unlink(leftover)
        return
    archive = Archive(leftover.parent)
    if archive.is_there:
        archive.remove(*named, disk)


def _place(path: Path, data: bytes, disk: Disk) -> None:
    disk.place(path, path.with_name(path.name + TEMPORARY), data)
