"""Classifies the files of a log directory: valid segments, leftovers of a crash, and strays.

Segments are numbered without gaps, so a file counts as one if its number follows those before it.
After a gap, segments may be lost; then the file itself must prove that it is one, by the first line
of that number or an intact record. Otherwise, or if the gap is wider than any plausible loss, it is
a stray: reported, and ignored. So is anything with a segment's name that is not a plain file, or is
larger than any segment.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pagefault.model.errors import StoreCorrupt, StoreError, StoreIncompatible
from pagefault.store import codec
from pagefault.store.embedded.archive import Archive
from pagefault.store.embedded.archive_format import parse_stub_name
from pagefault.store.embedded.files import file_kind, listing, open_file
from pagefault.store.embedded.segment_format import (
    FILE_BYTES_MAX,
    TEMPORARY,
    parse_footer,
    parse_header,
    parse_name,
)

GAP_MAX: Final = 1_000
"""The most segments that may be missing between two: 10 GB of a log."""

_PEEK: Final = 1 << 20  # of a file after a gap: enough for its first line, or a record

_USUAL_BYTES: Final = 16 << 20  # few segments are larger: most files are not read here
_LOOKS: Final = 64  # samples of a larger one
_LOOK_BYTES: Final = 4_096
_MARKS: Final = (b'{"v":"', b',"crc":"', b'{"pagefault":"segment"')

_Candidate = tuple[int, bool, str]
"""A generation of a segment, whether it is a plain file (else a stub), and its name."""


@dataclass(frozen=True, slots=True)
class Stray:
    """Something in a log directory that is not part of the log."""

    path: Path
    what: str

    def __str__(self) -> str:
        path = str(self.path).encode("utf-8", "backslashreplace").decode()
        return f"{path} is no part of the log and is passed over: {self.what}"


@dataclass(frozen=True, slots=True)
class Inventory:
    """`generations` is what counts: for each segment, its highest complete generation.

    Those in `archived` are in the archive; if a segment is in both places, the log's copy counts.
    `stubs` lists all segments with a stub, valid or left over, whose bytes may be in the archive.
    """

    generations: dict[int, int]
    leftovers: tuple[Path, ...]
    archived: frozenset[int] = frozenset()
    stubs: frozenset[int] = frozenset()
    strays: tuple[Stray, ...] = ()

    @property
    def missing(self) -> list[int]:
        """Numbers below the highest that no file has."""
        return [n for n in range(1, max(self.generations, default=0)) if n not in self.generations]


def take_inventory(directory: Path) -> Inventory:
    """Classify files by name. A file is read only if two claim to be the same segment, after a gap,
    or if it is unusually large.
    """
    by_number: dict[int, list[_Candidate]] = {}
    leftovers: list[Path] = []
    strays: list[Stray] = []
    large: set[str] = set()
    for name, st in _listed(directory).items():
        parsed = parse_name(name)
        if wrong := _wrong_with(name, st):
            strays.append(Stray(directory / name, wrong))
        elif name.endswith(TEMPORARY):
            leftovers.append(directory / name)
        elif parsed:
            by_number.setdefault(parsed[0], []).append((parsed[1], True, name))
            if st.st_size > _USUAL_BYTES:
                large.add(name)
        elif parsed := parse_stub_name(name):
            by_number.setdefault(parsed[0], []).append((parsed[1], False, name))
    strays += _set_apart(directory, by_number, large)
    chosen: dict[int, _Candidate] = {}
    newest = max(by_number, default=0)
    for number in sorted(by_number):
        candidates = sorted(by_number[number], reverse=True)
        whole = candidates
        if len(candidates) > 1:
            sealed = number < newest
            whole = [one for one in candidates if _counts(directory, number, one, sealed=sealed)]
        chosen[number] = (whole or candidates)[0]
        leftovers += [directory / one[2] for one in candidates if one != chosen[number]]
    return Inventory(
        {number: generation for number, (generation, _, _) in chosen.items()},
        tuple(leftovers),
        frozenset(number for number, (_, plain, _) in chosen.items() if not plain),
        frozenset(n for n, some in by_number.items() if not all(plain for _, plain, _ in some)),
        tuple(strays),
    )


def _listed(directory: Path) -> dict[str, os.stat_result]:
    try:
        return listing(directory)
    except FileNotFoundError:
        return {}
    except OSError as failure:
        raise StoreError(
            f"{failure.filename or directory} cannot be read: {failure.strerror}",
            hint="the log is a folder of this memory; see what stands in its place",
        ) from failure


def _wrong_with(name: str, st: os.stat_result) -> str:
    """Why this cannot be a file of the log, whatever its name; empty if it can."""
    is_named_so = name.endswith((TEMPORARY, ".jsonl", ".archived"))
    if stat.S_ISREG(st.st_mode):
        is_large = is_named_so and st.st_size > FILE_BYTES_MAX
        is_large = is_large and not name.endswith(TEMPORARY)
        if is_large:
            return f"it has {st.st_size:,} bytes, and no segment has"
    elif is_named_so and not (name.endswith(TEMPORARY) and stat.S_ISLNK(st.st_mode)):
        return f"it is {file_kind(st.st_mode)}"
    if name.endswith((".jsonl", ".archived")) and not (parse_name(name) or parse_stub_name(name)):
        return "no segment has such a name"
    return ""


def _set_apart(
    directory: Path, by_number: dict[int, list[_Candidate]], large: Collection[str]
) -> Iterator[Stray]:
    """Remove from `by_number` what is not a segment: files after a gap that do not prove to be one,
    and large files of other content, which would be read whole.
    """
    last = 0
    for number in sorted(by_number):
        kept = []
        for candidate in by_number[number]:
            name = candidate[2]
            if number == last + 1:
                if name not in large or _may_hold(directory / name):
                    kept.append(candidate)
                    continue
                what = "it is large, and nothing in it looks like a record"
            elif number - last > GAP_MAX:
                what = f"segment {number} would stand {number - last:,} behind segment {last}"
            elif candidate[1] and not _says_so(directory / name, number):
                what = "segments are missing before it, and it holds no record"
            else:
                kept.append(candidate)
                continue
            yield Stray(directory / name, what)
        if kept:
            by_number[number], last = kept, number
        else:
            del by_number[number]


def _says_so(path: Path, number: int) -> bool:
    """Whether the beginning of a file shows that it is this segment."""
    try:
        fd = open_file(path)
        try:
            data = os.pread(fd, _PEEK, 0)
        finally:
            os.close(fd)
    except OSError:
        return False
    lines = data.split(b"\n", 64)[:64]
    try:
        header = parse_header(lines[0] + b"\n")
        return (header is not None and header.segment == number) or any(
            _is_record(line + b"\n") for line in lines
        )
    except StoreIncompatible:
        return True


def _may_hold(path: Path) -> bool:
    """Whether a sample of a file has anything that looks like a record: whatever damage a disk did
    to a segment, it did not do it everywhere.
    """
    try:
        fd = open_file(path)
        try:
            size = os.fstat(fd).st_size
            places = range(0, size, max(1, size // _LOOKS))
            return any(
                mark in look
                for at in places
                for look in [os.pread(fd, _LOOK_BYTES, at)]
                for mark in _MARKS
            )
        finally:
            os.close(fd)
    except OSError:
        return True  # the reader will report it


def _is_record(line: bytes) -> bool:
    try:
        codec.parse(line)
    except StoreCorrupt:
        return False
    return True


def _counts(directory: Path, number: int, candidate: _Candidate, *, sealed: bool) -> bool:
    generation, plain, name = candidate
    if plain:
        return _is_whole(directory / name, sealed=sealed)
    return Archive(directory).holds(number, generation)


def _is_whole(path: Path, *, sealed: bool) -> bool:
    """Whether a generation has its first line and, if required, its seal."""
    try:
        fd = open_file(path)
        try:
            first = os.pread(fd, _PEEK, 0)
            size = os.fstat(fd).st_size
            end = os.pread(fd, _PEEK, max(0, size - _PEEK))
        finally:
            os.close(fd)
    except OSError:
        return False
    if parse_header(first[: first.find(b"\n") + 1], of_any_version=True) is None:
        return False
    return not sealed or parse_footer(end[end.rfind(b"\n", 0, -1) + 1 :]) is not None
