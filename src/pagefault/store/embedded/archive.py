"""L4, the archive: compressed sealed segments, and moving them in and out.

Invariant: no file of the archive exists without a stub in `log/` that names it. The stub is created
first and removed last, so erasing finds every copy, even one that a crash left behind.

The archived records that open sessions also stay in `log/` (`kept`): a missing archive makes only
its own content unavailable.
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
"""The file that marks an archive. If it is missing, a disk is not mounted."""


class Archive:
    """The archive of a root: `archive/` in it (`given`), a directory or a link to one elsewhere
    (`directory` is the link's target).
    """

    def __init__(self, log: Path) -> None:
        """`log` is the root's directory of segments."""
        self.log = log
        self.given = log.parent / "archive"

    @property
    def directory(self) -> Path:
        """The archive's directory, through the one link that a memory may have."""
        return Path(os.path.realpath(self.given))

    def path(self, number: int, generation: int) -> Path:
        return self.directory / packed_name(number, generation)

    def stub_path(self, number: int, generation: int) -> Path:
        return self.log / stub_name(number, generation)

    @property
    def is_there(self) -> bool:
        return is_file(self.directory / MARK)

    def require(self) -> None:
        """Raise `ArchiveMissing` unless the archive is there."""
        if not self.is_there:
            raise ArchiveMissing(str(self.directory))

    def is_marked(self, root_id: str) -> bool:
        """Whether its mark is exactly the one made for this root."""
        return read(self.directory / MARK, FACTS_BYTES_MAX) == mark_of(root_id)

    def mark(self, root_id: str, disk: Disk) -> None:
        """Mark this as the archive of that root."""
        mark = self.directory / MARK
        disk.place(mark, mark.with_name(f"{MARK}.tmp"), mark_of(root_id))

    def stub(self, number: int, generation: int) -> Stub | None:
        """The stub, or None if it is damaged. `FileNotFoundError` if there is none."""
        return parse_stub(read(self.stub_path(number, generation), FILE_BYTES_MAX))

    def holds(self, number: int, generation: int) -> bool:
        """Whether a stub and its file exist, both of the right size.

        If the archive is missing, the stub is trusted.
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
        """The kept records of an archived segment; none if the file is damaged."""
        return self.find_kept(number, generation) or {}

    def find_kept(self, number: int, generation: int) -> dict[Seq, codec.Record] | None:
        """The same, but None if the file is damaged."""
        try:
            lines = self.kept_lines(number, generation).splitlines(keepends=True)
            records = [codec.parse(line) for line in lines]
        except (FileNotFoundError, NotADirectoryError):  # an earlier version kept nothing
            return {}
        except (OSError, StoreCorrupt):
            return None
        return {Seq(record.seq): record for record in records}

    def kept_lines(self, number: int, generation: int) -> bytes:
        """The lines of the kept records. `StoreCorrupt` if the file is damaged."""
        return unpack_kept(read(self.kept_path(number, generation), FILE_BYTES_MAX))

    def keep(
        self, number: int, generation: int, data: bytes, seqs: Collection[Seq], disk: Disk
    ) -> None:
        """Keep these records of a segment (its bytes are `data`), instead of those kept so far."""
        _place(self.kept_path(number, generation), keep(data, seqs), disk)

    def put(
        self, number: int, generation: int, data: bytes, disk: Disk, kept: Collection[Seq] = ()
    ) -> Path:
        """Archive the bytes of a sealed segment, durably, and verify them by reading them back."""
        path = self.place(number, generation, *pack(data), disk)
        self.keep(number, generation, data, kept, disk)
        return path

    def place(self, number: int, generation: int, stub: Stub, packed: bytes, disk: Disk) -> Path:
        """As `put`, for a segment that is already packed; keeps no records."""
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
    """Remove a file of the log directory that does not count, and the archived file it refers to.

    A stub whose archive is missing stays, because it shows that there may be a copy.
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
