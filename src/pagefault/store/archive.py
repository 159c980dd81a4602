"""L4, the archive: where sealed segments are kept compressed, and how they get there and away.

Invariant: no file of the archive exists without a stub in `log/` that names it. The stub is made
first and removed last, so whoever erases knows of every copy, even of one that a crash left.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pagefault.model.errors import ArchiveMissing, StoreError
from pagefault.store.archive_format import (
    Stub,
    pack,
    packed_name,
    parse_stub,
    parse_stub_name,
    stub_name,
)
from pagefault.store.disk import Disk
from pagefault.store.segment_format import TEMPORARY

MARK: Final = "archive.json"
"""The file by which an archive is known: where it is missing, a disk is not mounted."""


class Archive:
    """The archive of a root: `archive/` there, a directory or a link to one elsewhere."""

    def __init__(self, log: Path) -> None:
        """`log` is the root's directory of segments."""
        self.log = log
        self.directory = log.parent / "archive"

    def path(self, number: int, generation: int) -> Path:
        return self.directory / packed_name(number, generation)

    def stub_path(self, number: int, generation: int) -> Path:
        return self.log / stub_name(number, generation)

    @property
    def is_there(self) -> bool:
        return (self.directory / MARK).is_file()

    def require(self) -> None:
        """Raise `ArchiveMissing` unless it is there."""
        if not self.is_there:
            raise ArchiveMissing(str(self.directory.resolve()))

    def stub(self, number: int, generation: int) -> Stub | None:
        """The stub, or nothing if it is damaged. `FileNotFoundError` if there is none."""
        return parse_stub(self.stub_path(number, generation).read_bytes())

    def holds(self, number: int, generation: int) -> bool:
        """Whether a stub and its file are here, both whole as far as their sizes tell.

        Where the archive is not there, the stub is believed.
        """
        try:
            stub = self.stub(number, generation)
            if stub is None or not self.is_there:
                return stub is not None
            return self.path(number, generation).stat().st_size == stub.packed[-1]
        except OSError:
            return False

    def put(self, number: int, generation: int, data: bytes, disk: Disk) -> Path:
        """Archive the bytes of a sealed segment, durably, and read them back."""
        return self.place(number, generation, *pack(data), disk)

    def place(self, number: int, generation: int, stub: Stub, packed: bytes, disk: Disk) -> Path:
        """As `put`, for a segment that is packed already."""
        self.require()
        _place(self.stub_path(number, generation), stub.encode(), disk)
        path = self.path(number, generation)
        _place(path, packed, disk)
        if path.read_bytes() != packed:
            raise StoreError(
                f"{path} does not read back as it was written",
                hint="what it was made from is whole; see to that disk, then try again",
            )
        return path

    def remove(self, number: int, generation: int, disk: Disk) -> None:
        """Remove an archived segment, the stub last. Raises `ArchiveMissing`."""
        self.require()
        path = self.path(number, generation)
        for name in (path, path.with_name(path.name + TEMPORARY)):
            disk.unlink(name)
        disk.sync_directory(self.directory)
        disk.unlink(self.stub_path(number, generation))
        disk.sync_directory(self.log)


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
