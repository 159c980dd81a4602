"""Backups: whole copies of a root, made while others write, and verified by reading them back.

A copy is made next to its target, in `NAME.partial`, and renamed to it once verified, so an
interrupted copy never looks like a backup. Until then it has no `root.json`, so nothing opens it by
mistake.

Segments are copied in order, the unsealed one last and in one read. So if a copied record is erased
meanwhile, the record of that (`forget_begun`, written before) is in the copy, too.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from pagefault.model.clock import Clock
from pagefault.model.errors import BadInput, StoreBusy, StoreCorrupt, StoreError, StoreMissing
from pagefault.model.ids import NOTHING, IdMinter, Seq
from pagefault.model.progress import Progress
from pagefault.store.api import Copied
from pagefault.store.codec import short
from pagefault.store.embedded import sealed
from pagefault.store.embedded.adoption import Adoptions
from pagefault.store.embedded.archive import MARK, Archive
from pagefault.store.embedded.archive_format import (
    inflate_all,
    keep,
    kept_name,
    packed_name,
    parse_stub,
    stub_name,
)
from pagefault.store.embedded.blobs import DirectoryBlobs
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.facts import FACTS_BYTES_MAX
from pagefault.store.embedded.files import is_file, is_folder, read, status
from pagefault.store.embedded.inventory import take_inventory
from pagefault.store.embedded.lock import RootLock
from pagefault.store.embedded.opening import short as short_log
from pagefault.store.embedded.recovery import judge_tail
from pagefault.store.embedded.root import acknowledged_in
from pagefault.store.embedded.root_file import RootFacts, check_there, read_root
from pagefault.store.embedded.scan import Surroundings, problems, scan
from pagefault.store.embedded.segment_format import (
    FILE_BYTES_MAX,
    file_name,
    first_link,
    parse_footer,
)
from pagefault.store.embedded.segments import SegmentLog
from pagefault.store.embedded.staging import NAME as STAGED
from pagefault.store.embedded.staging import STAGED_BYTES_MAX, Staging
from pagefault.store.references import going, references

PARTIAL: Final = ".partial"
"""The suffix of a backup's name until it is verified."""

ENDS: Final = "backup.json"
"""Has the last record and link of a backup: a log alone cannot show that it was truncated."""

_PARTS: Final = {
    "turnstile",
    "lock",
    "log",
    "archive",
    "blobs",
    "secret",
    "root.json",
    ENDS,
    STAGED,
}

_CUT_HINT: Final = (
    f"copy it again from where it was made; without its {ENDS} it is taken as far as it goes"
)
_TRIES: Final = 20  # attempts to read files that others keep replacing


def backup(
    source: Path,
    target: Path,
    *,
    clock: Clock,
    disk: Disk | None = None,
    adoptions: Adoptions | None = None,
    progress: Progress | None = None,
) -> Copied:
    """Copy the root at `source` to `target`, which must not exist.

    Takes no lock of the source and changes nothing there: other processes may write meanwhile. The
    copy holds every record that existed when the call began, and maybe later ones. The index is
    left out, because it is derived. If the root is not in `adoptions`, its index is not read
    either. `progress(done, total)` is in bytes.

    Raises `BadInput` for a bad target, `StoreMissing`, `ArchiveMissing`, `StoreBusy` if another
    backup is being made there, `StoreCorrupt` if the source is damaged, `StoreError` if the medium
    fails; then there is nothing at `target`.
    """
    source = Path(os.path.realpath(source))
    check_there(source)
    if os.path.lexists(target):
        raise BadInput(f"{target} already exists", hint="choose a folder that does not exist yet")
    _refuse_inside(source, target)
    acknowledged = acknowledged_in(source, read_root(source).id, adoptions)
    return _copy(source, target, clock, disk or Disk(), progress, acknowledged, is_backup=True)


def restore(
    source: Path,
    target: Path,
    *,
    clock: Clock,
    disk: Disk | None = None,
    progress: Progress | None = None,
) -> Copied:
    """Copy the backup at `source` to be the root at `target`, which must be empty or not exist.

    The copy is verified before it takes its place. Errors as for `backup`.
    """
    source = Path(os.path.realpath(source))
    if not is_file(source / "root.json"):
        if is_folder(source / "log"):
            raise StoreMissing(
                f"what is at {source} was cut short, or is no backup: it has no root.json",
                hint="copy the backup again from where it was made, or make another",
            )
        raise StoreMissing(
            f"there is no backup at {source}", hint="name a folder that `Memory.backup` made"
        )
    if os.path.lexists(target) and not (target.is_dir() and not any(target.iterdir())):
        raise BadInput(
            f"{target} is not empty, and restore never overwrites",
            hint="choose an empty folder: --root or PAGEFAULT_HOME",
        )
    _refuse_inside(source, target)
    return _copy(source, target, clock, disk or Disk(), progress, NOTHING, is_backup=False)


def _refuse_inside(source: Path, target: Path) -> None:
    if target.resolve().is_relative_to(source.resolve()):
        raise BadInput(f"{target} lies inside {source}", hint="put the copy beside it")


def _copy(
    source: Path,
    target: Path,
    clock: Clock,
    disk: Disk,
    progress: Progress | None,
    acknowledged: Seq,
    *,
    is_backup: bool,
) -> Copied:
    target = Path(os.path.abspath(target))  # a name that ends in / or .. has no sibling
    target = Path(os.path.realpath(target.parent)) / target.name
    partial = target.with_name(target.name + PARTIAL)
    with _explained(target), _made(partial, clock, disk):
        copier = _Copier(
            source,
            partial,
            clock,
            disk,
            progress or (lambda done, total: None),
            acknowledged,
            is_backup,
        )
        copied = copier.run(target)
        disk.rename(partial, target)
        disk.sync_directory(target.parent)
        return copied


@contextmanager
def _made(partial: Path, clock: Clock, disk: Disk) -> Iterator[None]:
    """An empty directory for this block alone. Removed on failure. If the process is killed, the
    next backup removes it.
    """
    lock = RootLock(partial, clock=clock, wait_s=0)
    if os.path.lexists(partial) and not _is_ours(partial):
        raise BadInput(f"{partial} is in the way, and is not an interrupted copy", hint="move it")
    disk.make_directory(partial)
    lock.acquire()
    try:
        _empty(partial)
        yield
    except (Exception, KeyboardInterrupt):
        shutil.rmtree(partial, ignore_errors=True)
        raise
    finally:
        lock.close()


def _is_ours(partial: Path) -> bool:
    """Whether a directory can be the remains of an interrupted copy: nothing else is removed."""
    if not partial.is_dir() or partial.is_symlink():
        return False
    names = {path.name for path in partial.iterdir()}
    return not names or ("turnstile" in names and names <= _PARTS)


def _empty(partial: Path) -> None:
    for path in partial.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name not in {"turnstile", "lock"}:
            path.unlink()


@contextmanager
def _explained(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        raise StoreError(
            f"{target} cannot be made: {failure.strerror}: {failure.filename or target}",
            hint="make room or choose another place; the source is unchanged",
        ) from failure


@dataclass(slots=True)
class _Tail:
    """The end of the copied records."""

    head: Seq = NOTHING
    link: bytes = b""


@dataclass(slots=True)
class _Copier:
    source: Path
    partial: Path
    clock: Clock
    disk: Disk
    progress: Progress
    acknowledged: Seq  # a record that is known to have been durable
    is_backup: bool  # a backup is being restored
    _logs: dict[int, tuple[list[Path], bool]] = field(default_factory=dict)
    """For each segment its copied files, and whether it is sealed."""
    _done: int = 0
    _total: int = 0

    def run(self, target: Path) -> Copied:
        facts = read_root(self.source)
        self._total = sum(_sizes(self.source))
        for name in ("log", "blobs"):
            self.disk.make_directory(self.partial / name)
        blobs = DirectoryBlobs(self.partial / "blobs", secret=facts.secret, disk=self.disk)
        before: list[str] = []
        for _ in range(_TRIES):
            tail = self._copy_log(facts)
            log = self._read_back(facts, tail)
            try:
                missing = self._copy_blobs(facts, _needed(log), blobs)
            finally:
                log.close()
            # During a forget its blobs are missing, which only another look at the log can explain.
            if not missing or (missing == before and not self._is_outdated()):
                break
            before = missing
        else:
            raise _restless(self.source)
        if self.is_backup:
            ends = {"head": tail.head, "link": short(tail.link).decode()}
            self._write(self.partial / ENDS, sealed.encode(ends))
        with suppress(FileNotFoundError):  # of a scrub under way, which the copy continues
            staged = Staging(self.source).path
            self._write(self.partial / staged.name, read(staged, STAGED_BYTES_MAX))
        for name in ("secret", "root.json"):
            self._write(self.partial / name, read(self.source / name, FACTS_BYTES_MAX))
        for directory, _, _ in os.walk(self.partial):
            self.disk.sync_directory(Path(directory))
        if read_root(self.partial) != facts:
            raise StoreCorrupt(f"{self.partial} does not read back as written")
        names = list(blobs.names())
        return Copied(
            path=target,
            head=tail.head,
            link=short(tail.link).decode(),
            segments=len(self._logs),
            blobs=len(names),
            bytes=sum(_sizes(self.partial)),
            blobs_missing=tuple(missing),
        )

    # --- the log ------------------------------------------------------------------------------

    def _copy_log(self, facts: RootFacts) -> _Tail:
        """Copy every segment, or again those that were replaced by a newer generation."""
        tail = _Tail(link=first_link(facts.id))
        number = 1
        while self._copy_segment(number, tail):
            number += 1
        if tail.head < self.acknowledged:
            lost_end = short_log(tail.head, self.acknowledged)
            raise self._damaged(lost_end.message, hint=lost_end.hint)
        self._check_end(tail)
        return tail

    def _check_end(self, tail: _Tail) -> None:
        """Raise if the source is a backup that has lost its end."""
        path = self.source / ENDS
        try:
            told = sealed.decode(read(path, FACTS_BYTES_MAX), unsealed=("head", "link"))
            head, link = int(told["head"]), str(told["link"])
        except FileNotFoundError:  # a memory, or a copy made in another way
            return
        except (OSError, ValueError, KeyError, TypeError):
            raise self._damaged(f"{path} cannot be read", hint=_CUT_HINT) from None
        if tail.head < head:
            what = f"it ends with record {tail.head}, and was made with {head}: it was cut short"
            raise self._damaged(what, hint=_CUT_HINT)
        if tail.head == head and short(tail.link).decode() != link:
            what = f"record {head} is not the one that it was made with"
            raise self._damaged(what, hint=_CUT_HINT)

    def _copy_segment(self, number: int, tail: _Tail) -> bool:
        """Copy one segment and advance `tail` to its end; whether another may follow."""
        gap = 0
        for _ in range(_TRIES):
            inventory = take_inventory(self.source / "log")
            generation = inventory.generations.get(number)
            if generation is None:
                if not inventory.missing:
                    return False
                if inventory.missing[0] == gap:
                    raise self._damaged(f"{file_name(gap, 0)} is missing")
                gap = inventory.missing[0]  # the listing may lack one of two new segments
                continue
            try:
                if number in inventory.archived:
                    return self._copy_archived(number, generation, tail)
                return self._copy_plain(number, generation, tail)
            except FileNotFoundError:  # rewritten since: look again
                continue
        raise _restless(self.source)

    def _copy_plain(self, number: int, generation: int, tail: _Tail) -> bool:
        path = Path("log") / file_name(number, generation)
        data = read(self.source / path, FILE_BYTES_MAX)
        footer = parse_footer(data[data.rfind(b"\n", 0, -1) + 1 :])
        if footer is None:
            data = self._whole_batches(self.source / path, number, generation, data, tail)
        else:
            tail.head, tail.link = footer.last, footer.link
        if data:
            self._keep(number, {path: data}, sealed=footer is not None)
        return footer is not None

    def _copy_archived(self, number: int, generation: int, tail: _Tail) -> bool:
        """Copy it as it is in the archive, into the copy's own archive."""
        archive = Archive(self.source / "log")
        archive.require()
        stub = read(archive.stub_path(number, generation), FILE_BYTES_MAX)
        packed = read(archive.path(number, generation), FILE_BYTES_MAX)
        told = parse_stub(stub)
        if told is None:
            raise self._damaged(f"{archive.stub_path(number, generation)} is damaged")
        tail.head, tail.link = told.footer.last, told.footer.link
        mark = Path("archive") / MARK
        if not (self.partial / mark).exists():
            self.disk.make_directory(self.partial / "archive")
            self._write(self.partial / mark, read(archive.directory / MARK, FACTS_BYTES_MAX))
        files = {
            Path("log") / stub_name(number, generation): stub,
            Path("archive") / packed_name(number, generation): packed,
        }
        if kept := archive.kept(number, generation):
            stayed = keep(inflate_all(packed), kept)
            files[Path("log") / kept_name(number, generation)] = stayed
        self._keep(number, files, sealed=True)
        return True

    def _whole_batches(
        self, path: Path, number: int, generation: int, data: bytes, tail: _Tail
    ) -> bytes:
        """The valid part of the last segment: a writer may be in the middle of a line."""
        result = scan(data)
        around = Surroundings(
            path=path,
            number=number,
            generation=generation,
            sealed=False,
            first=Seq(tail.head + 1),
            link=tail.link,
        )
        verdict = judge_tail(data, result, around, self.acknowledged)
        if verdict.wrong:
            raise self._damaged(str(verdict.wrong[0]))
        kept = verdict.torn.kept if verdict.torn else len(data)
        if kept and (wrong := problems(result, around)):
            raise self._damaged(str(wrong[0]))
        whole = [one for one in result.found if one.end <= kept]
        if whole:
            tail.head, tail.link = whole[-1].seq, whole[-1].link
        return data[:kept]

    def _keep(self, number: int, files: dict[Path, bytes], *, sealed: bool) -> None:
        """Hold these files of a segment, replacing those that an earlier round copied."""
        paths = sorted(files)
        if sealed and self._logs.get(number) == (paths, sealed):
            return  # a sealed generation never changes
        for path in self._logs.pop(number, ([], False))[0]:
            self.disk.unlink(self.partial / path)
        for path in paths:
            self._write(self.partial / path, files[path])
        self._logs[number] = (paths, sealed)

    def _read_back(self, facts: RootFacts, tail: _Tail) -> SegmentLog:
        """The copied log, open for reading, with every byte of it checked."""
        log = SegmentLog(
            self.partial / "log",
            root=facts.id,
            project=facts.project,
            secret=facts.secret,
            clock=self.clock,
            minter=IdMinter(self.clock, Random(0)),  # for reading: it mints nothing
            read_only=True,
        )
        wrong = log.verify()
        if wrong or log.tip() != (tail.head, tail.link):
            log.close()
            told = str(wrong[0]) if wrong else f"it ends at {log.head()}, not at {tail.head}"
            raise self._damaged(told)
        return log

    def _is_outdated(self) -> bool:
        """Whether a copied segment was rewritten in the source since."""
        return any(
            not is_file(self.source / path) for paths, _ in self._logs.values() for path in paths
        )

    # --- the rest -----------------------------------------------------------------------------

    def _copy_blobs(
        self, facts: RootFacts, named: dict[str, set[Seq]], blobs: DirectoryBlobs
    ) -> list[str]:
        """Copy only the blobs that records name. Returns those that the source lacks."""
        source = DirectoryBlobs(self.source / "blobs", secret=facts.secret, read_only=True)
        for name in set(blobs.names()) - named.keys():
            blobs.delete(name)  # its record was forgotten during the copy
        missing = []
        for name in sorted(named.keys() - set(blobs.names())):
            try:
                data = source.get(name)
            except (KeyError, StoreCorrupt):
                missing.append(name)
            else:
                blobs.put(data)
                self._tell(len(data))
        return missing

    def _write(self, path: Path, data: bytes) -> None:
        fd = self.disk.create(path)
        try:
            self.disk.write_all(fd, data)
            self.disk.sync(fd)
        finally:
            os.close(fd)
        self._tell(len(data))

    def _damaged(self, what: str, hint: str = "") -> StoreCorrupt:
        done = "backed up" if self.is_backup else "restored"
        at = "" if self.is_backup else f" --root {shlex.quote(str(self.source))}"
        usual = f"`pagefault verify{at}` lists the damage, `pagefault repair{at}` sets it aside"
        return StoreCorrupt(
            f"{self.source} cannot be {done}, as it does not read back whole: {what}",
            hint=hint or usual,
        )

    def _tell(self, length: int) -> None:
        self._done += length
        self.progress(self._done, max(self._done, self._total))


def _needed(log: SegmentLog) -> dict[str, set[Seq]]:
    """The blobs that records name, except those of a forget under way: it deletes blobs first."""
    gone = going(log.of_type("forget_begun"))
    return {name: seqs for name, seqs in references(log).items() if not seqs <= gone}


def _sizes(root: Path) -> Iterator[int]:
    """The sizes of everything that a backup holds."""
    for part in ("root.json", "secret"):
        with suppress(OSError):
            yield status(root / part).st_size
    for folder in (root / "log", root / "blobs", Archive(root / "log").directory):
        for directory, _, files in os.walk(folder):  # follows no link below it
            for name in files if is_folder(Path(directory)) else ():
                with suppress(OSError):  # another process may be cleaning up
                    yield status(Path(directory, name)).st_size


def _restless(source: Path) -> StoreBusy:
    return StoreBusy(f"the files of {source} keep changing", hint="try again")
