"""Verifying a whole log, and setting aside what damage has made unreadable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from pagefault.model.errors import ArchiveMissing, StoreCorrupt
from pagefault.model.events import ScrubBegun
from pagefault.model.ids import NOTHING, Seq
from pagefault.model.progress import Progress
from pagefault.store import codec
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.files import is_file, read, status
from pagefault.store.embedded.opening import too_short
from pagefault.store.embedded.recovery import judge_tail
from pagefault.store.embedded.rewrite import Mended, mend
from pagefault.store.embedded.scan import Problem, Scan, Surroundings, problems, salvage, scan
from pagefault.store.embedded.segment import Segment
from pagefault.store.embedded.segment_format import FILE_BYTES_MAX, TEMPORARY, Header, file_name
from pagefault.store.embedded.staging import vouch
from pagefault.store.references import ranges, targets
from pagefault.store.soundness import sound

_NONE = (Seq(1), NOTHING)

UNCHECKED: Final = "not checked"
"""The beginning of a problem of a segment that cannot be reached."""


# --- verifying --------------------------------------------------------------------------------


def verify(
    log: Readable,
    first_link: bytes,
    acknowledged: Seq,
    progress: Progress | None = None,
) -> list[Problem]:
    """All problems of the segments that this log has now."""
    told: list[Problem] = []
    scrubbed = _Scrubbed()
    segments = log.listed()
    total = sum(_size(segment.path) for segment in segments)
    done = 0
    first: Seq | None = Seq(1)
    link: bytes | None = first_link
    number = 1
    for index in range(len(segments)):
        try:
            segment, data, outside = log.whole(index)
            following = log.header(index + 1) if index + 1 < len(segments) else None
        except ArchiveMissing as away:
            first, link, number = _believed(segments[index])
            told.append(Problem(segments[index].path, 0, 0, *_NONE, f"{UNCHECKED}: {away}"))
            continue
        if segment.number != number:
            gap = range(number, segment.number)
            told += [
                Problem(_sibling(segment, n), 0, 0, *_NONE, "this segment is missing") for n in gap
            ]
            first = link = None
        result = scan(data)
        around = Surroundings(
            path=segment.path,
            number=segment.number,
            generation=segment.generation,
            sealed=index < len(segments) - 1 or segment.sealed,
            first=first,
            link=link,
            last=_ends(segment, following),
        )
        wrong = [*outside, *problems(result, around)]
        told += wrong or segment.beside(data)
        if not around.sealed:
            told += judge_tail(data, result, around, acknowledged).wrong
        told += _records(data, result, segment.path, scrubbed)
        footer, number = result.footer, segment.number + 1
        first = Seq(footer.last + 1) if footer else None
        link = footer.link if footer else None
        done += len(data)
        if progress:
            progress(done, max(done, total))
    return told or list(scrubbed.unvouched())


class Readable(Protocol):
    """The segments of a log, by position. Others may rewrite them meanwhile."""

    def listed(self) -> Sequence[Segment]: ...

    def whole(self, index: int) -> tuple[Segment, bytes, list[Problem]]:
        """The segment at this position, its valid bytes, and the problems around them. If it is the
        last and not sealed, what follows its last complete batch is not valid.
        """
        ...

    def header(self, index: int) -> Header | None:
        """Its first line; None if that is damaged."""
        ...


def _believed(segment: Segment) -> tuple[Seq | None, bytes | None, int]:
    """What must follow a segment that cannot be read now, according to its stub."""
    footer = segment.footer if segment.sealed else None
    return (
        Seq(footer.last + 1) if footer else None,
        footer.link if footer else None,
        segment.number + 1,
    )


@dataclass(slots=True)
class _Scrubbed:
    """Records that differ from how they were written, and the scrubs that vouch for them."""

    commitments: dict[Seq, tuple[str, Path]] = field(default_factory=dict)
    begun: list[ScrubBegun] = field(default_factory=list)

    def see(self, record: codec.Record, path: Path) -> None:
        if record.join:
            self.commitments[Seq(record.seq)] = record.commit, path
        elif record.type == "scrub_begun":
            body = sound(codec.to_event(record)).body
            if isinstance(body, ScrubBegun):
                self.begun.append(body)

    def unvouched(self) -> Iterator[Problem]:
        """Rewritten records that no scrub vouches for. The last scrub of a record counts. If one of
        a scrub's records was forgotten since, what it vouched for can no longer be verified.
        """
        open_ = dict(self.commitments)
        for body in reversed(self.begun):
            own = targets(body)
            if own and all(seq in open_ for seq in own):
                now = [open_[seq][0] for seq in own]
                if vouch(now) != body.vouches:
                    what = "what it says since a scrub is not what that vouched for"
                    yield Problem(open_[own[0]][1], 0, 0, own[0], own[-1], what)
            for seq in own:
                open_.pop(seq, None)
        for seq, (_, path) in open_.items():
            yield Problem(path, 0, 0, seq, seq, "it was rewritten, and no scrub vouches for it")


def _records(data: bytes, result: Scan, path: Path, scrubbed: _Scrubbed) -> Iterator[Problem]:
    """Problems inside records whose lines are intact."""
    owed = 0  # records still missing from the current batch
    for found in result.found:
        record = codec.parse(data[found.offset : found.end])
        what = ""
        try:
            codec.to_event(record)
            scrubbed.see(record, path)
        except StoreCorrupt as problem:
            what = problem.message
        if record.erased != (bytes(record.payload) == b"null"):
            what = "salt and payload are not erased together"
        elif not record.erased and not codec.confirms(record):
            what = "its payload is not the one it committed to"
        elif owed and not found.lost and found.more != owed - 1:
            what = "the batch before it is not whole"
        if what:
            yield Problem(path, found.offset, found.length, found.seq, found.seq, what)
        owed = found.more


# --- repairing --------------------------------------------------------------------------------


@dataclass(slots=True)
class RepairReport:
    """What a repair did; all empty if there was nothing to do."""

    lost: list[tuple[Seq, Seq]] = field(default_factory=list)  # inclusive ranges, now `lost`
    quarantined: list[Path] = field(default_factory=list)
    rewritten: list[Path] = field(default_factory=list)
    unrepaired: list[Problem] = field(
        default_factory=list
    )  # readable, but no longer as it was written


class _MakeHeader(Protocol):
    def __call__(self, number: int, generation: int, first: Seq, link: bytes, /) -> Header: ...


@dataclass(slots=True)
class Repairer:
    """Walks the segments in order; `_first` and `_link` are what the next must begin with."""

    directory: Path
    quarantine: Path
    disk: Disk
    first_link: bytes
    acknowledged: Seq
    header: _MakeHeader
    lost_line: Callable[[Seq, bytes], tuple[bytes, bytes]]

    def run(self, segments: Sequence[Segment]) -> RepairReport:
        report = RepairReport()
        first, link, number, is_sealed = Seq(1), self.first_link, 1, True
        for index, segment in enumerate(segments):
            data = segment.content()
            result = scan(data)
            while number < segment.number:
                first, link = self._stand_in(number, segment, result, first, link, report)
                number += 1
            is_last = index == len(segments) - 1
            following = None if is_last else segments[index + 1]
            mended = self._mend(segment, data, result, first, link, following, report)
            if mended is None:
                report.unrepaired += _records(data, result, segment.path, _Scrubbed())
            else:
                now = mended.new.data
                report.unrepaired += _records(now, scan(now), report.rewritten[-1], _Scrubbed())
            if mended is not None:
                first, link = Seq(mended.new.header.first + len(mended.new.lengths)), mended.link
            elif result.footer is not None:
                first, link = Seq(result.footer.last + 1), result.footer.link
            number += 1
            is_sealed = not is_last or result.footer is not None
        if is_sealed and first <= self.acknowledged:  # the last file is gone
            self._all_lost(number, first, link, self.acknowledged, report, sealed=False)
        return report

    def _mend(
        self,
        segment: Segment,
        data: bytes,
        result: Scan,
        first: Seq,
        link: bytes,
        following: Segment | None,
        report: RepairReport,
    ) -> Mended | None:
        """Make a new generation of a segment, if it needs one."""
        is_last = following is None
        after = _begins(segment, following)
        around = Surroundings(
            path=segment.path,
            number=segment.number,
            generation=segment.generation,
            sealed=not is_last or result.footer is not None,
            first=first,
            last=Seq(after.first - 1) if after else None,
        )
        outside = segment.wrapping()
        wrong = [*outside, *problems(result, around)]
        if is_last:
            wrong += judge_tail(data, result, around, self.acknowledged).wrong
            there = max([Seq(first - 1), *(one.seq for one in result.found)])
            there = max([there, *(one.last for one in wrong)])
            if result.footer is None and there < self.acknowledged:
                wrong.append(too_short(segment.path, there, self.acknowledged))
        chained = {one.seq for one in result.unlinked}
        report.unrepaired += [
            one for one in wrong if one.first == one.last and one.first in chained
        ]
        wrong = [one for one in wrong if one not in report.unrepaired]
        if not wrong:
            return None
        last = Seq(max([first - 1, *(one.seq for one in result.found)]))
        if result.footer is not None:
            last = max(last, result.footer.last)
        if after is not None:
            last = max(last, Seq(after.first - 1))
        if is_last:
            last = max([last, *(one.last for one in wrong)])
            last = max(last, self._salvaged_last(data, result))
        header = self.header(
            segment.number,
            segment.generation + 1,
            first,
            result.header.link if result.header and result.header.first == first else link,
        )
        mended = mend(
            data,
            result,
            header,
            last=last,
            sealed=around.sealed,
            link=result.footer.link if result.footer else after.link if after else None,
            lost_line=self.lost_line,
        )
        for stretch in mended.aside:
            name = f"{segment.path.stem}.{stretch.offset}.damaged"
            report.quarantined.append(self._set_aside(name, data[stretch.offset : stretch.end]))
        if outside and is_file(segment.path):
            name = f"{segment.path.name}.damaged"
            report.quarantined.append(self._set_aside(name, read(segment.path, FILE_BYTES_MAX)))
        path = segment.put(self.disk, header.generation, mended.new.data)
        segment.destroy(self.disk)
        report.rewritten.append(path)
        report.lost += ranges(mended.lost)
        return mended

    def _salvaged_last(self, data: bytes, result: Scan) -> Seq:
        return Seq(
            max(
                (
                    codec.parse(line).seq
                    for stretch in result.stretches
                    for _, line in salvage(data[stretch.offset : stretch.end])
                ),
                default=0,
            )
        )

    def _stand_in(
        self,
        number: int,
        following: Segment,
        result: Scan,
        first: Seq,
        link: bytes,
        report: RepairReport,
    ) -> tuple[Seq, bytes]:
        """Make a segment in place of a missing one, with all its records lost.

        The first of several missing segments takes all the seqs, as their distribution is unknown.
        """
        begins = (
            result.header.first if result.header else result.found[0].seq if result.found else first
        )
        known = result.header.link if result.header else None
        last = Seq(max(begins, first) - 1)
        mended = self._all_lost(number, first, link, last, report, ends=known, sealed=True)
        return max(begins, first), mended.link

    def _all_lost(
        self,
        number: int,
        first: Seq,
        link: bytes,
        last: Seq,
        report: RepairReport,
        *,
        ends: bytes | None = None,
        sealed: bool,
    ) -> Mended:
        """Make a segment of lost records only; `ends` is the link after it, if known."""
        mended = mend(
            b"",
            Scan(size=0),
            self.header(number, 0, first, link),
            last=last,
            sealed=sealed,
            link=ends,
            lost_line=self.lost_line,
        )
        report.rewritten.append(self._place(number, 0, mended.new.data))
        report.lost += ranges(mended.lost)
        return mended

    def _place(self, number: int, generation: int, data: bytes) -> Path:
        path = self.directory / file_name(number, generation)
        self.disk.place(path, path.with_name(path.name + TEMPORARY), data)
        return path

    def _set_aside(self, name: str, data: bytes) -> Path:
        self.disk.make_directory(self.quarantine)
        path = self.quarantine / name
        self.disk.place(path, path.with_name(name + TEMPORARY), data)
        return path


def _begins(segment: Segment, following: Segment | None) -> Header | None:
    """The first line of the segment right after this one, if it exists and is readable."""
    if following is None or following.number != segment.number + 1:
        return None
    return following.header


def _ends(segment: Segment, following: Header | None) -> Seq | None:
    """The seq that a segment should end with, from the first line of the one after it."""
    if following is None or following.segment != segment.number + 1:
        return None
    return Seq(following.first - 1)


def _sibling(segment: Segment, number: int) -> Path:
    return segment.path.with_name(file_name(number, 0))


def _size(path: Path) -> int:
    try:
        return status(path).st_size
    except OSError:
        return 0
