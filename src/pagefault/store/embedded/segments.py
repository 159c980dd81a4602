"""The log as a directory of segments: the source of truth of a memory root.

Invariants, true between any two public calls:
 (1) The bytes of the last segment are whole batches, up to the end that its `Segment` has.
 (2) `_head` is its last seq and `_link` the link after it; nothing is written otherwise.
 (3) Every segment but the last is sealed. The last may be: then the next append begins another.
 (4) After a failed write or sync nothing more is written (`_latch`), until `recover` has read the
     medium again.

One thread writes at a time, under `_lock`; readers take no lock. Several processes may have one log
open: a writer holds the root's lock (`lock.py`), and calls `refresh` under it before anything else.
Nothing here excludes a second writer.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Final, TypeVar

from pagefault.model.clock import Clock
from pagefault.model.errors import (
    ArchiveMissing,
    StoreCorrupt,
    StoreError,
    StoreLatched,
    StoreMissing,
    StoreReadOnly,
)
from pagefault.model.events import Draft, Event
from pagefault.model.ids import NOTHING, IdMinter, Seq, SessionNo
from pagefault.model.progress import Progress
from pagefault.store import codec
from pagefault.store.acceptance import accept, hash_key, lost
from pagefault.store.api import LogReport
from pagefault.store.embedded.adoption import exposed
from pagefault.store.embedded.advice import FACTS, advice_on
from pagefault.store.embedded.archive import MARK, Archive, discard
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.files import names
from pagefault.store.embedded.handles import Handles
from pagefault.store.embedded.inventory import take_inventory
from pagefault.store.embedded.opening import Opener, segment_of, short, too_short
from pagefault.store.embedded.recovery import Recovery
from pagefault.store.embedded.repair import Repairer, RepairReport, verify
from pagefault.store.embedded.rewrite import Rewritten, revised, with_lines, without
from pagefault.store.embedded.scan import Problem
from pagefault.store.embedded.segment import Replaced, Segment
from pagefault.store.embedded.segment_format import TEMPORARY, Header, file_name, first_link
from pagefault.store.embedded.staging import Staged, Staging
from pagefault.store.embedded.tail import read_tail
from pagefault.store.latch import Latch
from pagefault.store.leaf import Leaf, to_fold
from pagefault.store.soundness import sound

T = TypeVar("T")

SEGMENT_BYTES: Final = 10_000_000
FILES_MAX: Final = 64
_HEAD_BYTES: Final = 48  # of a line, enough for its seq
_AWAY_TOLD: Final = 3  # unreachable segments that a message names, by their records


class SegmentLog:
    """`EventLog` over files. The constructor opens it, and recovers from a crash if there was one.

    `root` names the memory root and `secret` keys its hashes. `acknowledged` is a seq that is known
    to have been durable (from the index, say): a log that ends before it lost its end. When opened
    for reading, writes raise `refusal`.
    `entropy(n)` returns n random bytes. With `durable=False`, `sync` leaves it to the kernel.

    A log that is damaged, or whose medium cannot be written, still opens, for reading; `refusal`
    says why. `recovery` is what was cut.
    """

    def __init__(
        self,
        directory: Path,
        *,
        root: str,
        project: str,
        secret: bytes,
        clock: Clock,
        minter: IdMinter,
        entropy: Callable[[int], bytes] = os.urandom,
        acknowledged: Seq = NOTHING,
        read_only: bool = False,
        durable: bool = True,
        segment_bytes: int = SEGMENT_BYTES,
        files_max: int = FILES_MAX,
        disk: Disk | None = None,
        refusal: StoreReadOnly | None = None,
    ) -> None:
        self._directory = directory
        self._root = root
        self._project = project
        self._secret = secret
        self._clock = clock
        self._minter = minter
        self._entropy = entropy
        self._acknowledged = acknowledged
        self._read_only = read_only
        self._refused = refusal or StoreReadOnly("this log was opened for reading")
        self._durable = durable
        self._segment_bytes = segment_bytes
        self._disk = disk or Disk()
        self._lock = RLock()
        self._handles = Handles(files_max)
        self._is_closed = False
        self._open()

    # --- opening ------------------------------------------------------------------------------

    def _open(self) -> None:
        """Initialise all mutable state: on opening, and again after a repair."""
        self._latch = Latch()
        self.recovery: Recovery | None = None
        self._survey(self._acknowledged)

    def _survey(self, acknowledged: Seq, *, looking: bool = False) -> None:
        """Survey the files: on opening, and after another process changed more than the end.

        When only `looking`, nothing is cut, removed or opened for writing.
        """
        latch = Latch() if looking else self._latch
        if looking or self._read_only:
            latch.refuse_from_now(self._refused)
        else:
            with latch.read_only_if_unwritable(self._directory):
                self._disk.make_directory(self._directory)
        opened = Opener(
            directory=self._directory,
            first_link=first_link(self._root),
            acknowledged=acknowledged,
            disk=self._disk,
            handles=self._handles,
            latch=latch,
        ).open()
        self._segments = opened.segments  # before the head, so readers find its records
        self._missing = opened.missing
        self.strays = opened.strays
        self._link = opened.link
        self._head = opened.head
        self._unsynced = False
        self._fd = opened.fd  # last: nothing is written without it
        if not looking:
            self.recovery = opened.recovery or self.recovery

    # --- other writers ------------------------------------------------------------------------

    def is_current(self) -> bool:
        """Whether no other process has changed anything. Costs one look at one file.

        Whatever another process does to the log ends in a record of its own, which changes the
        length of the last segment, or replaces it. While another thread writes to this log, the
        result may be a false alarm.
        """
        segment = self._segments[-1] if self._segments else None
        if segment is None or segment.footer is not None or (self._fd < 0 and not self._read_only):
            return False
        try:
            st = os.fstat(self._fd) if self._fd >= 0 else os.lstat(segment.path)
        except OSError:
            return False
        return st.st_nlink > 0 and st.st_size == segment.end

    def refresh(self, acknowledged: Seq | None = None) -> None:
        """Read what other processes wrote.

        Under the root's lock, pass what is known to have been durable: a torn tail was then left by
        a killed process, and is cut. Without `acknowledged`, nothing is changed.
        """
        with self._lock:
            owned = acknowledged is not None and not self._read_only
            is_damaged = self._segments and self._segments[-1].problems
            if self._is_closed or is_damaged or (owned and self.refusal is not None):
                return
            if self.is_current():
                return
            if not (owned and self._fd < 0) and self._take_in_the_end(owned=owned):
                return
            if self._read_only and self._head and not os.path.lexists(self._directory):
                raise StoreMissing(
                    f"{self._directory.parent} was deleted while open, so it cannot be read",
                    hint="end this process, and restore the memory if you have a copy",
                )
            self._shut()
            self._handles.close()
            known = self._acknowledged = max(self._acknowledged, acknowledged or NOTHING)
            self._survey(known, looking=not owned and not self._read_only)

    def _take_in_the_end(self, *, owned: bool) -> bool:
        """Read what was added to the last segment. False if more than that was changed."""
        if not self._segments or self._segments[-1].footer is not None:
            return False
        segment = self._segments[-1]
        try:
            with self._handles.hold(str(segment.path)) as fd:
                st = os.fstat(fd)
                data = os.pread(fd, max(0, st.st_size - segment.end), segment.end)
        except OSError:
            return False
        tail = read_tail(data, Seq(self._head + 1), self._link)
        if st.st_nlink == 0 or tail.is_sealed or (tail.rest and owned):
            return False
        if tail.lengths:
            with self._latch.latching("taking in what others wrote"):
                segment.grow(tail.lengths)
                self._link = tail.link
                self._head = Seq(self._head + len(tail.lengths))
        return st.st_size >= segment.end

    # --- writing ------------------------------------------------------------------------------

    def append(self, drafts: Sequence[Draft]) -> list[Event]:
        if not drafts:
            return []
        with self._lock:
            self._latch.check()
            events, lines, link = self._encode(drafts)
            with self._latch.latching("an append", may_want_room=True):
                if self._fd < 0 or self._segments[-1].end >= self._segment_bytes:
                    self._roll()
                self._unsynced = True
                self._disk.write_all(self._fd, b"".join(lines))
                # Even if what follows fails: otherwise the next append would reuse these seqs.
                self._segments[-1].grow([len(line) for line in lines])
                self._link = link
                self._head = events[-1].seq
            return events

    def _encode(self, drafts: Sequence[Draft]) -> tuple[list[Event], list[bytes], bytes]:
        at_ms, link, seq = self._clock.now_ms(), self._link, self._head
        salts = self._entropy(codec.SALT_BYTES * len(drafts))
        events, lines = [], []
        for number, draft in enumerate(drafts):
            seq = Seq(seq + 1)
            event = accept(draft, seq, self._minter.mint(), at_ms, self.hash_key)
            line, link = codec.encode(
                event,
                more=len(drafts) - 1 - number,
                salt=salts[number * codec.SALT_BYTES : (number + 1) * codec.SALT_BYTES],
                previous=link,
            )
            events.append(event)
            lines.append(line)
        return events, lines, link

    def _roll(self) -> None:
        """Seal the last segment, if it is not sealed, and begin the next."""
        if self._fd >= 0:
            last = self._segments[-1]
            if self._unsynced:  # or a power failure may keep the seal, and lose the records
                self._sync_now()
            footer = last.seal(self._link)
            self._disk.write_all(self._fd, footer.encode())
            self._sync_now()
            last.footer = footer
            os.close(self._fd)
            self._fd = -1
        number = self._segments[-1].number + 1 if self._segments else 1
        header = self._header(number, 0, Seq(self._head + 1), self._link)
        path = self._directory / file_name(number, 0)
        line = header.encode()
        self._disk.place(path, path.with_name(path.name + TEMPORARY), line)
        segment = segment_of(self._segments, self._directory, number, 0, self._handles)
        segment.begin(header, len(line))
        self._fd = self._disk.append_to(path)
        self._segments.append(segment)

    def _header(self, number: int, generation: int, first: Seq, link: bytes) -> Header:
        return Header(
            segment=number,
            generation=generation,
            first=first,
            root=self._root,
            project=self._project,
            link=link,
        )

    def sync(self) -> None:
        with self._lock:
            if isinstance(self.refusal, StoreLatched):
                self._latch.check()
            if self._unsynced and self._durable and self._fd >= 0:
                self._sync_now()
            self._unsynced = False

    def _sync_now(self) -> None:
        """A failed sync is never retried (`disk.py`), so it latches whatever it was for."""
        with self._latch.latching("a sync"):
            self._disk.sync(self._fd)

    def hash_key(self, session: SessionNo, key: str) -> str:
        """The stored form of a key: without the root's secret nobody can confirm a guess."""
        return hash_key(self._secret, session, key)

    # --- reading ------------------------------------------------------------------------------

    def head(self) -> Seq:
        return self._head

    def get(self, seq: Seq) -> Event:
        if seq > self._head:
            self.refresh()  # an index that others write may name their new records
        if self._head < seq <= self._acknowledged:
            raise short(self._head, self._acknowledged)
        if not 1 <= seq <= self._head:
            raise IndexError(f"the log has records 1 to {self._head}, not {seq}")
        while True:
            index = self._index_of(seq)
            try:
                return _event(self._segments[index].record(seq))
            except Replaced:
                self._look_again(index)
            except StoreCorrupt as damage:
                self._latch.refuse_from_now(damage)  # a damaged log is served for reading only
                raise

    def tip(self) -> tuple[Seq, bytes]:
        """The head, and the link after it: two logs that agree on them hold the same records."""
        return self._head, self._link

    def of_type(self, type: str, after: Seq = NOTHING) -> Iterator[Event]:
        # Every such line has these bytes, and no text has them, as its quotes are escaped.
        mark = f'"type":"{type}"'.encode()
        first = self._index_of(Seq(after + 1)) if after else 0
        for index in range(first, len(self._segments)):
            data = self._bytes_of(index)
            at = data.find(mark)
            while at >= 0:
                end = data.find(b"\n", at) + 1 or len(data)
                event = _event(codec.parse(data[data.rfind(b"\n", 0, at) + 1 : end]))
                if event.seq > after:
                    yield event
                at = data.find(mark, end)

    def lines(self, seqs: Sequence[Seq]) -> Iterator[tuple[Seq, bytes]]:
        first, block = NOTHING, list[bytes]()
        for seq in seqs:
            if not 0 <= seq - first < len(block):
                try:
                    first, block = self._segments[self._index_of(seq)].block(seq)
                except (Replaced, StoreError):  # `get` raises the reason
                    first, block = seq, [b""]
            line = block[seq - first]
            is_its = line.find(b'"seq":%d,' % seq, 0, _HEAD_BYTES) >= 0
            yield seq, line if is_its else b""

    def read(self, after: Seq = NOTHING, upto: Seq | None = None) -> Iterator[Event]:
        last = self._head if upto is None else min(upto, self._head)
        return self._read(after, last, _event, damaged_too=False)

    def read_rest(self, after: Seq = NOTHING) -> Iterator[Event]:
        """As `read`, but yields `Lost` for a record that cannot be read."""
        return self._read(after, self._head, _event, damaged_too=True)

    def read_to_fold(self, after: Seq = NOTHING) -> Iterator[Event | Leaf]:
        """As `read_rest`, but a page is yielded as what an index keeps of it."""
        return self._read(after, self._head, to_fold, damaged_too=True)

    def _read(
        self, after: Seq, head: Seq, made: Callable[[codec.Record], T], *, damaged_too: bool
    ) -> Iterator[T | Event]:
        seq = Seq(max(after, NOTHING) + 1)
        while seq <= head:
            index = self._index_of(seq)
            try:
                chunk = self._segments[index].records(seq, head)
            except Replaced:
                self._look_again(index)
                continue
            except ArchiveMissing as away:
                if not damaged_too:
                    raise
                yield lost(seq, "", 0, away.message)
                seq = Seq(seq + 1)
                continue
            for record in chunk:
                try:
                    if isinstance(record, StoreCorrupt):
                        raise record
                    yield made(record)
                except StoreCorrupt as problem:
                    if not damaged_too:
                        raise
                    yield lost(seq, "", 0, problem.message)
                seq = Seq(seq + 1)

    def _index_of(self, seq: Seq) -> int:
        return max(0, bisect_right(self._segments, seq, key=self._first_of) - 1)

    def _first_of(self, segment: Segment) -> Seq:
        while True:
            try:
                return segment.first
            except Replaced:
                index = next(i for i, s in enumerate(self._segments) if s.number == segment.number)
                self._look_again(index)
                segment = self._segments[index]

    def _look_again(self, index: int) -> None:
        """Find the generation that replaced this segment, unless this process's writer has."""
        with self._lock:
            old = self._segments[index]
            inventory = take_inventory(self._directory)
            generation = inventory.generations.get(old.number)
            archived = old.number in inventory.archived
            if generation is None:
                raise StoreCorrupt(f"{old.path.name} is missing")
            if (generation, archived) == (old.generation, old.archived):
                return
            self._handles.drop(str(old.path))
            if index == len(self._segments) - 1 and old.footer is None:
                self._shut()  # it may have grown since, and no seal shows its end
                self._survey(self._acknowledged, looking=not self._read_only)
            else:
                self._segments[index] = self._generation(old, generation, archived=archived)

    # --- forgetting ---------------------------------------------------------------------------

    def erase(self, seqs: Collection[Seq]) -> int:
        """As in the contract. Destroys everything that `repair` set aside, too: what damaged bytes
        once were is unknown.
        """
        wanted = sorted(set(seqs))
        if not wanted:
            return 0
        if not 1 <= wanted[0] <= wanted[-1] <= self._head:
            raise IndexError(f"the log has records 1 to {self._head}")
        with self._lock:
            self._latch.check()
            groups = self._grouped(dict.fromkeys(wanted))
            self._check_reach(wanted)
            with self._latch.latching("an erasure"):
                for path in take_inventory(self._directory).leftovers:
                    discard(path, self._disk)  # a copy of what is erased, if a crash left one
                changed = sum(self._erase_in(index, [*group]) for index, group in groups.items())
                self._empty_quarantine()
            return changed

    def _erase_in(self, index: int, seqs: Sequence[Seq]) -> int:
        data = self._bytes_of(index)
        old = self._segments[index]
        new = without(data, seqs, old.generation + 1, old.last)
        if new.changed:
            self._put(index, new)
        return new.changed

    # --- scrubbing ----------------------------------------------------------------------------

    def payload(self, seq: Seq) -> bytes:
        while True:
            index = self._index_of(seq)
            try:
                return bytes(self._segments[index].record(seq).payload)
            except Replaced:
                self._look_again(index)

    def stage(self, events: Sequence[Event], going: Sequence[str]) -> str:
        with self._lock:
            self._latch.check()
            self._check_reach([event.seq for event in events])
            lines: dict[Seq, bytes] = {}
            for index, group in self._grouped({event.seq: event for event in events}).items():
                data, last = self._bytes_of(index), self._segments[index].last
                lines |= revised(data, group, last, lambda: self._entropy(codec.SALT_BYTES))
            staged = Staged(lines, tuple(going))
            self._staging.put(staged, self._disk)
            return staged.vouched

    def revise(self, vouched: str) -> list[str]:
        with self._lock:
            self._latch.check()
            staged = self._staging.get(vouched)
            self._check_reach(list(staged.lines))
            with self._latch.latching("a scrub"):
                for path in take_inventory(self._directory).leftovers:
                    discard(path, self._disk)
                for index, group in self._grouped(staged.lines).items():
                    data, old = self._bytes_of(index), self._segments[index]
                    new = with_lines(data, group, old.generation + 1, old.last)
                    if new.changed:
                        self._put(index, new)
                self._empty_quarantine()
            return list(staged.going)

    def unstage(self) -> None:
        self._staging.clear(self._disk)

    def _grouped(self, by_seq: Mapping[Seq, T]) -> dict[int, dict[Seq, T]]:
        """Group by segment, in order."""
        groups: dict[int, dict[Seq, T]] = {}
        for seq in sorted(by_seq):
            groups.setdefault(self._index_of(seq), {})[seq] = by_seq[seq]
        return groups

    @property
    def _staging(self) -> Staging:
        return Staging(self._directory.parent)

    def _put(self, index: int, new: Rewritten) -> None:
        """Replace a segment by a new generation. Until the old one is gone, both are complete."""
        old, is_last = self._segments[index], index == len(self._segments) - 1
        path = old.put(self._disk, new.header.generation, new.data)
        segment = self._generation(old, new.header.generation, archived=old.archived)
        if is_last and self._fd >= 0:
            fd = self._disk.append_to(path)
            os.close(self._fd)
            self._fd = fd
            segment.begin(new.header, new.header_end, new.lengths)
        self._segments[index] = segment
        old.destroy(self._disk)
        self._handles.drop(str(old.path))

    def _generation(self, old: Segment, generation: int, *, archived: bool) -> Segment:
        return segment_of(
            self._segments,
            self._directory,
            old.number,
            generation,
            self._handles,
            archived=archived,
        )

    def check_reach(self, seqs: Collection[Seq]) -> None:
        """Raise `ArchiveMissing` unless everything that may hold these records can be reached."""
        with self._lock:
            self._check_reach(seqs)

    def _check_reach(self, seqs: Collection[Seq]) -> None:
        if self.out_of_reach(seqs):
            Archive(self._directory).require()

    def out_of_reach(self, seqs: Collection[Seq]) -> dict[Seq, str]:
        archive = Archive(self._directory)
        if not seqs or archive.is_there:
            return {}
        stubs = take_inventory(self._directory).stubs
        if not stubs:
            return {}
        where = str(archive.directory.resolve())
        return {seq: where for seq in seqs if self._segments[self._index_of(seq)].number in stubs}

    def archived(self, seqs: Collection[Seq]) -> frozenset[Seq]:
        numbers = take_inventory(self._directory).archived if seqs else frozenset()
        if not numbers:
            return frozenset()
        return frozenset(s for s in seqs if self._segments[self._index_of(s)].number in numbers)

    def away(self) -> str:
        """The unreachable records, in words; empty if there are none."""
        archived = [one for one in self._segments if one.archived]
        archive = Archive(self._directory)
        if not archived or archive.is_there:
            return ""
        ranges = ", ".join(f"{one.first:,} to {one.last:,}" for one in archived[:_AWAY_TOLD])
        more = f" and {len(archived) - _AWAY_TOLD:,} more stretches" * (len(archived) > _AWAY_TOLD)
        return (
            f"records {ranges}{more} are in the archive at {archive.directory}, which is not there"
        )

    @property
    def _quarantine(self) -> Path:
        return self._directory.parent / "quarantine"

    def _empty_quarantine(self) -> None:
        try:
            aside = names(self._quarantine)
        except FileNotFoundError:
            return
        for name in aside:
            self._disk.unlink(self._quarantine / name)
        self._disk.sync_directory(self._quarantine)

    # --- damage -------------------------------------------------------------------------------

    def check_writable(self) -> None:
        """Raise `refusal` if there is one."""
        self._latch.check()

    def refuse_from_now(self, refusal: StoreError) -> None:
        """Refuse all writes from now on; an earlier reason is kept."""
        self._latch.refuse_from_now(refusal)

    @property
    def refusal(self) -> StoreError | None:
        """Why nothing can be written; None if it can."""
        return self._latch.refusal

    def recover(self, acknowledged: Seq) -> bool:
        with self._lock:
            if not self._latch.is_for_room or self._is_closed:
                return self.refusal is None
            self._acknowledged = max(self._acknowledged, acknowledged)
            try:
                self._reopen()
            except Exception as failure:  # try again later: its end is unknown
                told = StoreLatched(f"the log cannot be read anew: {failure}")
                self._latch.refuse_from_now(told, failure, is_for_room=True)
            return self.refusal is None

    def known(self) -> LogReport:
        return self._report(self.damage())

    def audit(self, progress: Progress | None = None) -> LogReport:
        report = self._report(self.verify(progress))
        archive = Archive(self._directory)
        if not archive.is_there or archive.is_marked(self._root):
            return report
        wrong = f"{archive.directory / MARK} is damaged, or of another memory"
        return replace(report, problems=(*report.problems, wrong), advice=(*report.advice, FACTS))

    def _report(self, problems: Sequence[Problem]) -> LogReport:
        return LogReport(
            problems=tuple(map(str, problems)),
            advice=tuple(advice_on(problems, missing=self.missing)),
            segments=self.segments,
            missing=self.missing,
            recovery=str(self.recovery or ""),
            strays=tuple(map(str, self.strays)),
            away=self.away(),
            exposed=exposed(self._directory.parent),
        )

    @property
    def missing(self) -> int:
        """The number of acknowledged records missing from the end."""
        return max(0, self._acknowledged - self._head)

    @property
    def segments(self) -> int:
        """The number of files of the log."""
        return len(self._segments)

    def damage(self) -> list[Problem]:
        """Damage known from opening or reading. `verify` checks everything."""
        return [*self._missing, *(problem for one in self._segments for problem in one.problems)]

    def verify(self, progress: Progress | None = None) -> list[Problem]:
        """Read everything and check it: checksums, JSON, seqs, commitments, chain, first and last
        lines. `progress(done, total)` is in bytes.
        """
        wrong = verify(self, first_link(self._root), self._acknowledged, progress)
        if self.missing:
            wrong.append(too_short(self._last_path, self._head, self._acknowledged))
        return wrong

    @property
    def _last_path(self) -> Path:
        return self._segments[-1].path if self._segments else self._directory / file_name(1, 0)

    def _bytes_of(self, index: int) -> bytes:
        """The valid bytes of a segment, without the tail that recovery left out."""
        with self._lock:
            return self.whole(index)[1]

    def listed(self) -> Sequence[Segment]:
        """The current segments, in order."""
        return tuple(self._segments)

    def whole(self, index: int) -> tuple[Segment, bytes, list[Problem]]:
        """As in `repair.Readable`. No lock is held while a file is read."""
        while True:
            segment = self._segments[index]
            try:
                is_whole = segment.sealed or segment.problems
                data = segment.content(None if is_whole else segment.end)
                return segment, data, segment.wrapping()
            except Replaced:
                self._look_again(index)

    def header(self, index: int) -> Header | None:
        """As in `repair.Readable`."""
        while True:
            try:
                return self._segments[index].header
            except Replaced:
                self._look_again(index)

    def beside(self, acknowledged: Seq) -> SegmentLog:
        """A second, read-only handle of the same files, for long reads that would block this one.
        `acknowledged` is as for the constructor. The caller closes it.
        """
        return SegmentLog(
            self._directory,
            root=self._root,
            project=self._project,
            secret=self._secret,
            clock=self._clock,
            minter=self._minter,
            acknowledged=acknowledged,
            read_only=True,
        )

    def repair(self) -> RepairReport:
        """Set the damage aside and go on with the rest. Idempotent.

        Each damaged stretch is copied to `quarantine/` beside the log; each unreadable record
        becomes a `lost` one, so its seq stays taken. The chain continues from the stored link of
        the record after it: the content of the lost ones can no longer be proved.
        """
        with self._lock:
            self._latch.check(but_damage=True)
            self._reopen()  # the damage may be newer than the opening
            self._latch.check(but_damage=True)
            repairer = Repairer(
                directory=self._directory,
                quarantine=self._quarantine,
                disk=self._disk,
                first_link=first_link(self._root),
                acknowledged=self._acknowledged,
                header=self._header,
                lost_line=self._lost_line,
            )
            with self._latch.latching("a repair"):
                report = repairer.run(self._segments)
            self._reopen()
            return report

    def _reopen(self) -> None:
        self._shut()
        self._handles.close()
        self._open()

    def _lost_line(self, seq: Seq, previous: bytes) -> tuple[bytes, bytes]:
        event = lost(seq, self._minter.mint(), self._clock.now_ms(), "damaged, set aside by repair")
        return codec.encode(event, more=0, salt=self._entropy(codec.SALT_BYTES), previous=previous)

    # --- closing ------------------------------------------------------------------------------

    def _shut(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def close(self) -> None:
        """Close. Does not sync: what was not synced was not acknowledged."""
        with self._lock:
            self._is_closed = True
            self._shut()
            self._handles.close()
            self._latch.refuse_from_now(StoreReadOnly("this log was closed"))


def _event(record: codec.Record) -> Event:
    """A record as an event, for the folds."""
    return sound(codec.to_event(record))
