"""Garbage collection in a root: blobs that no record names, and half-written files.

A process that is killed between putting a blob and appending the record that names it leaves the
blob; one that is killed while writing a file leaves a part of it. Neither can be told from what
another process is writing now, so only old enough files are garbage.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from random import Random
from stat import S_ISREG
from typing import Final

from pagefault.model.clock import Clock
from pagefault.model.errors import StoreCorrupt
from pagefault.model.ids import IdMinter
from pagefault.model.progress import Progress
from pagefault.store.embedded.adoption import Adoptions
from pagefault.store.embedded.archive import Archive, discard
from pagefault.store.embedded.archive_format import parse_packed_name
from pagefault.store.embedded.backup import PARTIAL
from pagefault.store.embedded.blobs import DirectoryBlobs
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.files import is_file, is_folder, listing, read, status
from pagefault.store.embedded.inventory import take_inventory
from pagefault.store.embedded.lock import RootLock
from pagefault.store.embedded.root import acknowledged_in
from pagefault.store.embedded.root_file import RootFacts, check_there, read_root
from pagefault.store.embedded.scan import Problem
from pagefault.store.embedded.segment_format import FILE_BYTES_MAX
from pagefault.store.embedded.segments import SegmentLog
from pagefault.store.references import References

SAFE_S: Final = 3_600
"""Minimum age of garbage: far longer than any process takes from a blob to its record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Garbage:
    """The garbage found (and deleted, if `done`)."""

    blobs: tuple[str, ...]
    blob_bytes: int
    leftovers: tuple[Path, ...]
    leftover_bytes: int
    young: int  # of either, too recent to judge
    beside: tuple[Path, ...]  # partial copies beside the root: reported, never deleted
    done: bool


def collect(
    path: Path,
    *,
    clock: Clock,
    older_than_s: float = SAFE_S,
    delete: bool = False,
    disk: Disk | None = None,
    adoptions: Adoptions | None = None,
    progress: Progress | None = None,
) -> Garbage:
    """Find garbage of the root at `path`, and with `delete` delete it. Others may be writing.

    Raises `StoreCorrupt`, with nothing deleted, if the log is damaged, as an unreadable record may
    name any blob; `ArchiveMissing` likewise, `StoreBusy`, `StoreMissing`.
    """
    path = Path(os.path.realpath(path))
    check_there(path)
    disk = disk or Disk()
    before_s = clock.now_ms() / 1000 - older_than_s
    facts = read_root(path)
    store = DirectoryBlobs(path / "blobs", secret=facts.secret, read_only=not delete, disk=disk)
    present = list(store.names())  # before the log is read: blobs put later are young
    lock = RootLock(path, clock=clock)
    blobs: list[str] = []
    blob_bytes = young = 0
    with closing(_Needs(path, facts, clock, adoptions)) as needs:
        needs.read(present, progress)
        for name in present:
            if needs.has(name) or (found := store.put_at(name)) is None:
                continue
            put_at_s, size = found
            if put_at_s >= before_s or (delete and not needs.expire(name, before_s, store, lock)):
                young += 1
            else:
                blobs.append(name)
                blob_bytes += size
    leftovers: list[Path] = []
    leftover_bytes = 0
    with lock.held() if delete else nullcontext():
        for leftover in _leftovers(path):
            try:
                st = status(leftover)
            except FileNotFoundError:
                continue
            if st.st_mtime >= before_s:
                young += 1
                continue
            if delete:
                discard(leftover, disk)
            leftovers.append(leftover)
            leftover_bytes += st.st_size
        if delete:
            store.remove_empty_folders()
    return Garbage(
        blobs=tuple(blobs),
        blob_bytes=blob_bytes,
        leftovers=tuple(leftovers),
        leftover_bytes=leftover_bytes,
        young=young,
        beside=tuple(_beside(path)),
        done=delete,
    )


class _Needs:
    """The blobs that records need, while other processes write more of them.

    Reading a log takes long, so it is read without the lock. Under the lock only what was appended
    since is read, and one blob deleted, so others wait no longer than that.
    """

    def __init__(
        self, path: Path, facts: RootFacts, clock: Clock, adoptions: Adoptions | None
    ) -> None:
        self._aside: set[str] = set()  # named in data that `repair` set aside
        self._quarantine = path / "quarantine"
        self._log = SegmentLog(
            path / "log",
            root=facts.id,
            project=facts.project,
            secret=facts.secret,
            clock=clock,
            minter=IdMinter(clock, Random(0)),
            acknowledged=acknowledged_in(path, facts.id, adoptions),
            read_only=True,
        )
        self._references: References | None = None

    def read(self, present: Sequence[str], progress: Progress | None) -> None:
        """Read which blobs records name, and which of `present` are in what `repair` set aside."""
        self._references = References(self._log)
        self._check(self._log.verify(progress))
        for aside in _plain_in(self._quarantine):
            data = read(aside, FILE_BYTES_MAX)
            self._aside |= {name for name in present if name.encode() in data}

    def has(self, name: str) -> bool:
        """Whether anything needs a blob, in the log as read so far."""
        assert self._references is not None
        return name in self._references.names or name in self._aside

    def expire(self, name: str, before_s: float, blobs: DirectoryBlobs, lock: RootLock) -> bool:
        """Delete a blob, unless it is young or was named since. Whether it was deleted."""
        with lock.held():
            self._log.refresh()
            self._check(self._log.damage())
            assert self._references is not None
            self._references.read_on(self._log)
            return not self.has(name) and blobs.expire(name, before_s)

    def _check(self, wrong: Sequence[Problem]) -> None:
        if wrong:
            raise StoreCorrupt(
                f"the log is damaged, so it is unknown what its records need: {wrong[0]}",
                hint="`pagefault repair` sets the damage aside; then try again",
            )

    def close(self) -> None:
        self._log.close()


def _leftovers(path: Path) -> Iterator[Path]:
    """Files that a killed process left behind: incomplete, or superseded."""
    yield from take_inventory(path / "log").leftovers
    archive = Archive(path / "log")
    for folder, patterns in (
        (path, ("*.tmp", "index.db.new*")),
        (path / "quarantine", ("*.new",)),
        (archive.directory, ("*.new", "*.tmp")),
    ):
        for file in _plain_in(folder):
            if any(fnmatchcase(file.name, pattern) for pattern in patterns):
                yield file
    yield from DirectoryBlobs(path / "blobs", secret=b"", read_only=True).leftovers()
    for packed in _plain_in(archive.directory):
        named = parse_packed_name(packed.name)
        if named is not None and not is_file(archive.stub_path(*named)):
            yield packed


def _plain_in(folder: Path) -> list[Path]:
    """The plain files in a folder; none if the folder is missing or a link."""
    try:
        return [folder / name for name, st in listing(folder).items() if S_ISREG(st.st_mode)]
    except OSError:
        return []


def _beside(path: Path) -> Iterator[Path]:
    """Interrupted backups and restores that are beside the root."""
    for partial in sorted(path.parent.glob(f"*{PARTIAL}")):
        if is_folder(partial / "log") and is_file(partial / "lock"):
            yield partial
