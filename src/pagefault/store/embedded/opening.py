"""Opening a log: which files are valid, where it ends, and what to clean up after a crash."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pagefault.model.errors import StoreCorrupt, StoreError
from pagefault.model.ids import NOTHING, Seq
from pagefault.store.embedded.archive import Archive, discard
from pagefault.store.embedded.archived_segment import ArchivedSegment
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.files import status
from pagefault.store.embedded.handles import Handles
from pagefault.store.embedded.inventory import Stray, take_inventory
from pagefault.store.embedded.recovery import Recovery, Tear, judge_tail
from pagefault.store.embedded.scan import Problem, Surroundings, scan
from pagefault.store.embedded.segment import Replaced, Segment
from pagefault.store.embedded.segment_format import file_name
from pagefault.store.latch import Latch

SHORT_HINT: Final = (
    "put the missing file back from a backup, or `pagefault repair` goes on without them"
)


@dataclass(slots=True)
class Opened:
    """A log as found. `fd` is open for appending to the unsealed segment; -1 if there is none."""

    head: Seq
    link: bytes
    segments: list[Segment] = field(default_factory=list)
    missing: list[Problem] = field(default_factory=list)
    recovery: Recovery | None = None
    strays: tuple[Stray, ...] = ()
    fd: int = -1

    def damage(self) -> list[Problem]:
        return [*self.missing, *(problem for one in self.segments for problem in one.problems)]


class Opener:
    """Examines a log once. `latch` decides whether anything may be written."""

    def __init__(
        self,
        *,
        directory: Path,
        first_link: bytes,
        acknowledged: Seq,
        disk: Disk,
        handles: Handles,
        latch: Latch,
    ) -> None:
        self.directory = directory
        self.first_link = first_link
        self.acknowledged = acknowledged
        self.disk = disk
        self.handles = handles
        self.latch = latch
        self._opened = Opened(NOTHING, first_link)

    def open(self) -> Opened:
        for _ in range(10):
            try:
                self._opened = Opened(NOTHING, self.first_link)
                self._survey()
                return self._opened
            except Replaced:  # another process is rewriting it: look again
                continue
        raise StoreError(f"the files in {self.directory} keep changing", hint="try again")

    def _survey(self) -> None:
        inventory = take_inventory(self.directory)
        self._opened.strays = inventory.strays
        if self.latch.refusal is None:
            with self.latch.read_only_if_unwritable(self.directory):
                # Its writer may have been killed before the names it created were durable.
                self.disk.sync_directory(self.directory)
                for path in inventory.leftovers:
                    discard(path, self.disk)
                if inventory.leftovers:
                    self.disk.sync_directory(self.directory)
        for number, generation in sorted(inventory.generations.items()):
            self._opened.segments.append(
                segment_of(
                    self._opened.segments,
                    self.directory,
                    number,
                    generation,
                    self.handles,
                    archived=number in inventory.archived,
                )
            )
        none = (Seq(1), NOTHING)
        self._opened.missing = [
            Problem(self.directory / file_name(n, 0), 0, 0, *none, "this segment is missing")
            for n in inventory.missing
        ]
        if self._opened.segments:
            self._survey_last()
        damage = self._opened.damage()
        if damage:
            self.latch.refuse_from_now(
                StoreCorrupt(f"the log is damaged in {len(damage)} place(s), first: {damage[0]}")
            )
        if self._opened.head < self.acknowledged:
            self.latch.refuse_from_now(short(self._opened.head, self.acknowledged))
            path = self.directory / file_name(1, 0)
            if self._opened.segments:
                path = self._opened.segments[-1].path
            self._opened.missing.append(too_short(path, self._opened.head, self.acknowledged))

    def _survey_last(self) -> None:
        """Read the last segment, and decide what its end means."""
        segment = self._opened.segments[-1]
        first, link = self._expected(len(self._opened.segments) - 1)
        data = segment.content()
        footer_line = data[data.rfind(b"\n", 0, -1) + 1 :]
        if footer_line.startswith(b'{"seal":') and segment.sealed and not segment.problems:
            assert segment.footer is not None
            self._opened.head, self._opened.link = segment.last, segment.footer.link
            if self.latch.refusal is None:
                with self.latch.read_only_if_unwritable(self.directory):
                    fd = self.disk.append_to(segment.path)
                    try:
                        self.disk.sync(fd)  # as below: only its seal may be unsynced
                    finally:
                        os.close(fd)
            return
        result = scan(data)
        around = replace(surroundings_of(segment, sealed=False), first=first, link=link)
        verdict = judge_tail(data, result, around, self.acknowledged)
        torn = verdict.torn
        if torn is not None and torn.tear is Tear.HEADER:
            self._begin_again(segment, torn)
            return
        segment.take(data, result, around, verdict.wrong)
        self._opened.head = segment.last
        if torn is not None:
            kept = [one for one in result.found if one.end <= torn.kept]
            self._opened.head = kept[-1].seq if kept else Seq(segment.first - 1)
            self._opened.recovery = torn
            if not segment.problems:
                segment.shorten(torn.kept, self._opened.head)
        self._opened.head = max([self._opened.head, *(problem.last for problem in verdict.wrong)])
        whole = [one for one in result.found if one.seq <= self._opened.head]
        self._opened.link = (
            whole[-1].link if whole else result.header.link if result.header else self._opened.link
        )
        if not segment.problems and not segment.sealed and self.latch.refusal is None:
            with self.latch.read_only_if_unwritable(self.directory):
                fd = self.disk.append_to(segment.path)
                try:
                    if torn is not None:
                        self.disk.truncate(fd, torn.kept)
                    # Its last batches may never have been synced, and from now on they are valid.
                    self.disk.sync(fd)
                    if torn is not None:
                        self._opened.recovery = replace(torn, performed=True)
                except OSError:
                    os.close(fd)
                    raise
                self._opened.fd = fd

    def _begin_again(self, segment: Segment, torn: Recovery) -> None:
        """The last segment was begun and is empty: as if it had not been begun."""
        self._opened.segments.pop()
        self._opened.recovery = torn
        if self._opened.segments:
            footer = self._opened.segments[-1].footer
            assert footer is not None
            self._opened.head, self._opened.link = footer.last, footer.link
        if self.latch.refusal is None:
            with self.latch.read_only_if_unwritable(self.directory):
                self.disk.unlink(segment.path)
                self.disk.sync_directory(self.directory)
                self._opened.recovery = replace(torn, performed=True)

    def _expected(self, index: int) -> tuple[Seq | None, bytes | None]:
        """What a segment must begin with: unknown if the one before is damaged."""
        number = self._opened.segments[index].number
        if number == 1:
            return Seq(1), self.first_link
        before = self._opened.segments[index - 1] if index else None
        if before is None or before.number != number - 1:
            return None, None
        before.load()
        if before.footer is None:
            return None, None
        return Seq(before.footer.last + 1), before.footer.link


def short(head: Seq, acknowledged: Seq) -> StoreCorrupt:
    """The error for a log that lost its end: whole records that had been acknowledged."""
    return StoreCorrupt(
        f"the log ends at {head}, and the index has seen {acknowledged}: "
        f"{acknowledged - head} acknowledged record(s) are missing",
        hint=SHORT_HINT,
    )


def too_short(path: Path, head: Seq, acknowledged: Seq) -> Problem:
    """The same, as a problem of the log's last file."""
    what = "missing: the log ends before them, and the index has seen them"
    try:
        size = status(path).st_size
    except OSError:
        size = 0
    return Problem(path, size, 0, Seq(head + 1), acknowledged, what)


def segment_of(
    segments: Sequence[Segment],
    directory: Path,
    number: int,
    generation: int,
    handles: Handles,
    *,
    archived: bool = False,
) -> Segment:
    """A segment among others, which give the seq that it should begin with."""

    def follows() -> Seq:
        earlier = [one for one in segments if one.number < number]
        for one in earlier:  # in order: each may have to ask the one before
            one.load()
        return Seq(earlier[-1].last + 1) if earlier else Seq(1)

    if archived:
        return ArchivedSegment(Archive(directory), number, generation, handles, follows)
    return Segment(directory / file_name(number, generation), number, generation, handles, follows)


def surroundings_of(segment: Segment, *, sealed: bool) -> Surroundings:
    return Surroundings(
        path=segment.path, number=segment.number, generation=segment.generation, sealed=sealed
    )
