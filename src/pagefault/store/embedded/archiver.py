"""Moves sealed segments into the archive. At every moment one whole copy of each counts."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pagefault.model.clock import Clock
from pagefault.model.errors import BadInput, StoreCorrupt, StoreError
from pagefault.model.ids import Seq
from pagefault.model.progress import Progress
from pagefault.store.embedded.archive import MARK, Archive, discard, mark_of
from pagefault.store.embedded.archive_format import Stub, pack, packed_name
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.facts import read_facts
from pagefault.store.embedded.files import folder, is_folder, read
from pagefault.store.embedded.inventory import Inventory, take_inventory
from pagefault.store.embedded.lock import RootLock
from pagefault.store.embedded.root_file import check_there, read_root
from pagefault.store.embedded.scan import Surroundings, problems, scan
from pagefault.store.embedded.segment_format import FILE_BYTES_MAX, file_name

KEEP: Final = 1
"""How many sealed segments stay in the log: the newest, whose pages are faulted most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """What was archived, or would be."""

    directory: Path
    segments: tuple[int, ...]
    bytes_before: int
    bytes_after: int
    archived: int  # segments in the archive now, including earlier ones
    done: bool


def archive(
    path: Path,
    *,
    clock: Clock,
    to: Path | None = None,
    keep: int = KEEP,
    needed: Callable[[], Collection[Seq]] = tuple,
    dry_run: bool = False,
    disk: Disk | None = None,
    progress: Progress | None = None,
) -> Archived:
    """Move all sealed segments but the newest `keep` into the archive of the root at `path`.

    `to` sets the archive's directory the first time: empty or not existing yet; by default
    `archive/` in the root. Readers and writers find it there from then on. `needed` returns the
    records that also stay in the root, wherever the archive is, including those of segments
    archived before. A dry run compresses, to report the sizes, and changes nothing.

    Raises `BadInput`, `StoreBusy`, `ArchiveMissing`, and `StoreCorrupt` if a segment is damaged:
    earlier ones are moved, it and the rest unchanged.
    """
    path = Path(os.path.realpath(path))
    check_there(path)
    if keep < 0:
        raise BadInput(f"cannot keep {keep} segments", hint="0 or more")
    disk = disk or Disk()
    root_id = read_root(path).id
    target = Archive(path / "log")
    _check_place(target, to, root_id)
    if dry_run:
        return _plan(path, target, to, keep)
    lock = RootLock(path, clock=clock)
    with _explained(target.directory):
        with lock.held():
            _check_place(target, to, root_id)  # again: another process may have made one
            inventory = take_inventory(path / "log")
            for leftover in inventory.leftovers:
                discard(leftover, disk)
            numbers = _candidates(inventory, keep)
            if numbers:
                _establish(target, to, root_id, disk)
        wanted = sorted(needed()) if numbers or inventory.archived else []
        moved: list[int] = []
        before = after = 0
        for done, number in enumerate(numbers, start=1):
            generation = inventory.generations[number]
            plain = path / "log" / file_name(number, generation)
            with suppress(FileNotFoundError):  # a forget rewrote it: the next run takes it
                data = _sound(plain, number, generation)
                stub, packed = pack(data)  # without the lock, as it takes a second
                with lock.held():
                    _check_counts(path / "log", number, generation)
                    target.place(number, generation, stub, packed, disk)
                    target.keep(number, generation, data, _within(stub, wanted), disk)
                    disk.unlink(plain)
                    disk.sync_directory(path / "log")
                moved.append(number)
                before += len(data)
                after += len(packed) + len(stub.encode())
            if progress is not None:
                progress(done, len(numbers))
        for number in sorted(inventory.archived):
            with lock.held(), suppress(FileNotFoundError):  # as above
                generation = inventory.generations[number]
                _check_is_archived(path / "log", number, generation)
                _keep_more(target, number, generation, wanted, disk)
        return Archived(
            directory=target.directory,
            segments=tuple(moved),
            bytes_before=before,
            bytes_after=after,
            archived=len(take_inventory(path / "log").archived),
            done=True,
        )


def _check_counts(log: Path, number: int, generation: int) -> None:
    """Raise `FileNotFoundError` if another process has rewritten or archived this segment."""
    now = take_inventory(log)
    if now.generations.get(number) != generation or number in now.archived:
        raise FileNotFoundError(file_name(number, generation))


def _check_is_archived(log: Path, number: int, generation: int) -> None:
    now = take_inventory(log)
    if now.generations.get(number) != generation or number not in now.archived:
        raise FileNotFoundError(packed_name(number, generation))


def _keep_more(
    target: Archive, number: int, generation: int, wanted: Sequence[Seq], disk: Disk
) -> None:
    """Keep more records of an archived segment, if more are needed by now or the kept ones are
    damaged.
    """
    stub = target.stub(number, generation)
    found = target.find_kept(number, generation)
    kept = set(found or ())
    if stub is None or not target.is_there:
        return
    more = set(_within(stub, wanted)) - kept
    if found is not None and not more:
        return
    packed = read(target.path(number, generation), FILE_BYTES_MAX)
    data = stub.inflate(packed, range(len(stub.raw) - 1))
    target.keep(number, generation, data, kept | more, disk)


def _within(stub: Stub, wanted: Sequence[Seq]) -> Sequence[Seq]:
    """The records among these ascending ones that a segment holds."""
    return wanted[bisect_left(wanted, stub.header.first) : bisect_right(wanted, stub.footer.last)]


def _plan(path: Path, target: Archive, to: Path | None, keep: int) -> Archived:
    inventory = take_inventory(path / "log")
    numbers = _candidates(inventory, keep)
    before = after = 0
    for number in numbers:
        generation = inventory.generations[number]
        data = _sound(path / "log" / file_name(number, generation), number, generation)
        stub, packed = pack(data)
        before += len(data)
        after += len(packed) + len(stub.encode())
    return Archived(
        directory=Path(os.path.realpath(to)) if to is not None else target.directory,
        segments=tuple(numbers),
        bytes_before=before,
        bytes_after=after,
        archived=len(inventory.archived),
        done=False,
    )


def _candidates(inventory: Inventory, keep: int) -> list[int]:
    """Sealed segments that are not archived yet, oldest first. Never the last file, which is
    written to.
    """
    if inventory.missing:
        name = file_name(inventory.missing[0], 0)
        raise StoreCorrupt(f"the log is damaged: {name} is missing")
    sealed = sorted(inventory.generations)[:-1]
    return [n for n in sealed[: max(0, len(sealed) - keep)] if n not in inventory.archived]


def _sound(path: Path, number: int, generation: int) -> bytes:
    """The bytes of a sealed segment, verified."""
    data = read(path, FILE_BYTES_MAX)
    wrong = problems(scan(data), Surroundings(path=path, number=number, generation=generation))
    if wrong:
        raise StoreCorrupt(f"the log is damaged, and what is damaged is not archived: {wrong[0]}")
    return data


# --- where it is --------------------------------------------------------------------------------


def _check_place(target: Archive, to: Path | None, root_id: str) -> None:
    if is_folder(target.directory) and not target.is_there and not take_inventory(target.log).stubs:
        pass  # begun, and still empty
    elif os.path.lexists(target.given):
        target.require()
        _check_mark(target.directory, root_id)
        if to is not None and to.resolve() != target.directory:
            raise BadInput(
                f"this memory's archive is at {target.directory}",
                hint="leave --to out; to move it, move that directory and make "
                f"{target.given} a link to it",
            )
    elif to is not None and to.resolve() != target.directory:
        if to.resolve().is_relative_to(target.log.parent.resolve()):
            raise BadInput(
                f"{to} lies inside the memory", hint="omit --to, or choose another place"
            )
        if (to / MARK).exists():
            _check_mark(to, root_id)
        elif os.path.lexists(to) and not (to.is_dir() and not any(to.iterdir())):
            raise BadInput(f"{to} is not an empty directory", hint="name one, or a new one")


def _check_mark(directory: Path, root_id: str) -> None:
    try:
        owner = read_facts(directory.resolve() / MARK)["root"]
    except (OSError, ValueError, KeyError) as problem:
        raise StoreError(
            f"{directory / MARK} cannot be read: {problem}",
            hint="see that it can be read; if it is damaged, `pagefault repair` makes it again",
        ) from problem
    if owner != root_id:
        raise BadInput(f"{directory} is the archive of another memory", hint="choose another place")


def _establish(target: Archive, to: Path | None, root_id: str, disk: Disk) -> None:
    """Create the archive, its mark first: without a mark it counts as missing."""
    if target.is_there:
        return
    elsewhere = to is not None and not os.path.lexists(target.given)
    directory = to.resolve() if to is not None and elsewhere else target.directory
    disk.make_directory(directory)
    mark = directory / MARK
    disk.place(mark, mark.with_name(f"{MARK}.tmp"), mark_of(root_id))
    if elsewhere:
        with folder(target.given.parent) as place:
            os.symlink(directory, target.given.name, dir_fd=place)
        disk.sync_directory(target.given.parent)


@contextmanager
def _explained(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        raise StoreError(
            f"{directory} cannot be written: {failure.strerror}",
            hint="make room or choose another place; every segment is intact where it was",
        ) from failure
