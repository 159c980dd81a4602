"""What lies in a root and belongs to nothing: blobs that no record names, and half-made files.

A process that is killed between putting a blob and appending the record that names it leaves the
blob; one that is killed while writing a file leaves a part of it. Both look the same as what
another process is doing right now, so only what is old enough is garbage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from pagefault.model.clock import Clock
from pagefault.model.errors import StoreCorrupt, StoreMissing
from pagefault.model.ids import IdMinter
from pagefault.store.archive import Archive, discard
from pagefault.store.archive_format import parse_packed_name
from pagefault.store.backup import PARTIAL
from pagefault.store.blobs import DirectoryBlobs
from pagefault.store.disk import Disk
from pagefault.store.inventory import take_inventory
from pagefault.store.lock import RootLock
from pagefault.store.references import references
from pagefault.store.root import RootFacts, acknowledged_in, read_root
from pagefault.store.segments import SegmentLog

SAFE_S: Final = 3_600
"""How old garbage must be: far longer than any process takes from a blob to its record."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Garbage:
    """What was found (and deleted, if `done`)."""

    blobs: tuple[str, ...]
    blob_bytes: int
    leftovers: tuple[Path, ...]
    leftover_bytes: int
    young: int  # of either, too young to be judged
    beside: tuple[Path, ...]  # partial copies beside the root: said, never deleted
    done: bool


def collect(
    path: Path,
    *,
    clock: Clock,
    older_than_s: float = SAFE_S,
    delete: bool = False,
    disk: Disk | None = None,
    progress: Progress | None = None,
) -> Garbage:
    """Find the garbage of the root at `path`, and with `delete` delete it, under the root's lock.

    Raises `StoreCorrupt`, with nothing deleted, if the log is damaged: a record that cannot be
    read may name any blob. `ArchiveMissing` likewise, `StoreBusy`, `StoreMissing`.
    """
    if not (path / "root.json").exists():
        raise StoreMissing(
            f"there is no memory at {path}", hint="--root or PAGEFAULT_HOME says where"
        )
    disk = disk or Disk()
    before_s = clock.now_ms() / 1000 - older_than_s
    facts = read_root(path)
    store = DirectoryBlobs(path / "blobs", secret=facts.secret, read_only=not delete, disk=disk)
    present = list(store.names())  # before the log is read: whoever puts more is young
    needed = _needed(path, facts, present, clock, progress)
    with ExitStack() as stack:
        if delete:
            stack.enter_context(RootLock(path, clock=clock).held())
        blobs: list[str] = []
        blob_bytes = young = 0
        for name in present:
            if name in needed or (found := store.put_at(name)) is None:
                continue
            put_at_s, size = found
            if put_at_s >= before_s or (delete and not store.expire(name, before_s)):
                young += 1
            else:
                blobs.append(name)
                blob_bytes += size
        leftovers: list[Path] = []
        leftover_bytes = 0
        for leftover in _leftovers(path):
            try:
                told = leftover.stat()
            except FileNotFoundError:
                continue
            if told.st_mtime >= before_s:
                young += 1
                continue
            if delete:
                discard(leftover, disk)
            leftovers.append(leftover)
            leftover_bytes += told.st_size
        return Garbage(
            blobs=tuple(blobs),
            blob_bytes=blob_bytes,
            leftovers=tuple(leftovers),
            leftover_bytes=leftover_bytes,
            young=young,
            beside=tuple(_beside(path)),
            done=delete,
        )


def _needed(
    path: Path,
    facts: RootFacts,
    present: Sequence[str],
    clock: Clock,
    progress: Progress | None,
) -> set[str]:
    """Names of blobs that a record needs, or that stand in what `repair` set aside."""
    log = SegmentLog(
        path / "log",
        root=facts.id,
        project=facts.project,
        secret=facts.secret,
        clock=clock,
        minter=IdMinter(clock, Random(0)),
        acknowledged=acknowledged_in(path, facts.id),
        read_only=True,
    )
    try:
        names = set(references(log))
        wrong = log.verify(progress)
    finally:
        log.close()
    if wrong:
        raise StoreCorrupt(
            f"the log is damaged, so nobody knows what its records need: {wrong[0]}",
            hint="`pagefault repair` sets the damage aside; then try again",
        )
    for aside in (path / "quarantine").glob("*"):
        data = aside.read_bytes()
        names |= {name for name in present if name.encode() in data}
    return names


def _leftovers(path: Path) -> Iterator[Path]:
    """Files that a killed process left: not whole, or in another's place."""
    yield from take_inventory(path / "log").leftovers
    for pattern in ("*.tmp", "index.db.new*", "quarantine/*.new", "archive/*.new", "archive/*.tmp"):
        yield from sorted(path.glob(pattern))
    yield from sorted((path / "blobs").glob("*/*/*.new"))
    archive = Archive(path / "log")
    for packed in sorted(archive.directory.glob("*.gz")):
        named = parse_packed_name(packed.name)
        if named is not None and not archive.stub_path(*named).exists():
            yield packed


def _beside(path: Path) -> Iterator[Path]:
    """Backups and restores that were cut short, as far as they lie beside the root."""
    for partial in sorted(path.resolve().parent.glob(f"*{PARTIAL}")):
        if (partial / "log").is_dir() and (partial / "lock").exists():
            yield partial
