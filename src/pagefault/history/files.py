"""The files that an import reads: plain ones, and the members of a zip archive.

Only regular files are opened, and within a folder no link is followed: a FIFO would block forever,
and a link may lead anywhere. Members of an archive are read as streams and never unpacked to disk.
One that claims, or turns out, to be far larger than its compressed form is refused.
"""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Final, cast

from pagefault.history.values import Flaw

DEPTH_MAX: Final = 64  # of folders
MEMBERS_MAX: Final = 200_000  # of an archive
MEMBER_BYTES: Final = 8 << 30
RATIO_MAX: Final = 200
"""JSON of chats packs to a tenth; data that packs to less than a two-hundredth is empty filler."""

RATIO_FREE: Final = 16 << 20  # bytes below which the ratio is not checked
HEAD_BYTES: Final = 256 << 10  # enough to recognise a file
ATTACHMENT_BYTES: Final = 64 << 20

Told = Callable[[int], None]
"""Called with the number of further bytes read."""

_BROKEN: Final = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


class Unreadable(Exception):
    """A file cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file beside a conversation's, or in the same archive."""

    name: str
    size: int
    read: Callable[[], bytes] = field(repr=False)


@dataclass(frozen=True, slots=True)
class File:
    """A readable file. `name` is for people, `path` identifies it."""

    name: str
    path: str
    size: int
    opened: Callable[[], BinaryIO] = field(repr=False)
    beside: Callable[[], dict[str, Attachment]] = field(default=dict, repr=False)
    is_named: bool = False  # explicitly, rather than found in a folder

    def head(self) -> bytes:
        """The beginning of its content. Raises `Unreadable`."""
        with self.open() as file:
            return read(file, HEAD_BYTES)

    def open(self, told: Told = lambda _: None) -> BinaryIO:
        """Raises `Unreadable`, here or while reading, if it turns out to be broken."""
        try:
            return cast(BinaryIO, _Counted(self.opened(), told))
        except (OSError, *_BROKEN) as problem:
            raise Unreadable(_why(problem)) from problem


class _Counted:
    """A stream that reports how much was read, and has only one kind of failure."""

    def __init__(self, file: IO[bytes], told: Told) -> None:
        self._file = file
        self._told = told

    def read(self, size: int = -1) -> bytes:
        return self._count(self._file.read, size)

    def readline(self, size: int = -1) -> bytes:
        return self._count(self._file.readline, size)

    def _count(self, call: Callable[[int], bytes], size: int) -> bytes:
        try:
            data = call(size)
        except (OSError, *_BROKEN) as problem:
            raise Unreadable(_why(problem)) from problem
        self._told(len(data))
        return data

    def __enter__(self) -> _Counted:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def read(file: BinaryIO, size: int) -> bytes:
    """Up to `size` bytes of a stream."""
    pieces, left = [], size
    while left > 0 and (piece := file.read(left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


_MEMORY: Final = frozenset({"root.json", "secret", "log"})
"""What every memory's folder holds. Its log would be read as messages without roles."""


def find_files(path: Path, taken: Set[Path] = frozenset()) -> Iterator[File | Flaw | Path]:
    """The files at a given path, and below it, by name; an archive is replaced by its members. A
    folder comes before its content; if it is in `taken` by then, it is skipped.
    """
    try:
        real = path.resolve(strict=True)  # a link given explicitly is followed
        mode = real.stat().st_mode
    except (OSError, RuntimeError) as problem:
        yield Flaw(place=str(path), why=_why(problem))
        return
    if stat.S_ISDIR(mode):
        yield from _below(real, path, 0, taken)
    else:
        yield from _file(real, str(path), is_named=True)


def _below(folder: Path, told: Path, depth: int, taken: Set[Path]) -> Iterator[File | Flaw | Path]:
    yield folder
    if folder in taken:
        return
    if depth > DEPTH_MAX:
        yield Flaw(place=str(told), why=f"folders within {DEPTH_MAX} folders")
        return
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as problem:
        yield Flaw(place=str(told), why=_why(problem))
        return
    if {entry.name for entry in entries} >= _MEMORY:
        yield Flaw(place=str(told), why="a memory of pagefault: open it instead of importing it")
        return
    for entry in entries:
        here = told / entry.name
        if entry.is_symlink():
            yield Flaw(place=str(here), why="a link: name what it leads to, if it is meant")
        elif entry.is_dir(follow_symlinks=False):
            yield from _below(Path(entry.path), here, depth + 1, taken)
        else:
            yield from _file(Path(entry.path), str(here), is_named=False)


def _file(path: Path, name: str, *, is_named: bool) -> Iterator[File | Flaw]:
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            is_zip = file.read(4) == b"PK\x03\x04"
    except (OSError, Unreadable) as problem:
        yield Flaw(place=name, why=_why(problem))
        return
    if is_zip:
        yield from _members(path, name)
        return
    yield File(
        name,
        str(path),
        size,
        lambda: open_regular(path),
        lambda: _siblings(path.parent),
        is_named,
    )


def open_regular(path: Path) -> BinaryIO:
    """Raises `OSError`, and `Unreadable` for anything but a regular file, such as a link."""
    flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | os.O_NONBLOCK
    number = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise Unreadable("not a regular file")
    return os.fdopen(number, "rb")


def _siblings(folder: Path) -> dict[str, Attachment]:
    """The files of an unpacked export: those in the same folder and its subfolders."""
    found: dict[str, Attachment] = {}
    for part in (folder, *sorted(one for one in listed(folder) if _is_folder(one))):
        for path in listed(part)[:MEMBERS_MAX]:
            with_stat = path.lstat()
            if stat.S_ISREG(with_stat.st_mode):
                found.setdefault(path.name, _attachment_at(path, with_stat.st_size))
    return found


def _attachment_at(path: Path, size: int) -> Attachment:
    def data() -> bytes:
        try:
            with open_regular(path) as file:
                return read(file, ATTACHMENT_BYTES + 1)
        except OSError as problem:
            raise Unreadable(_why(problem)) from problem

    return Attachment(path.name, size, data)


def listed(folder: Path) -> list[Path]:
    """The content of a folder, by name; empty if it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _is_folder(path: Path) -> bool:
    return stat.S_ISDIR(path.lstat().st_mode)


# --- archives -------------------------------------------------------------------------------------


def _members(path: Path, name: str) -> Iterator[File | Flaw]:
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            infos = [one for one in archive.infolist() if not one.is_dir()]
            packed = os.fstat(file.fileno()).st_size
    except (OSError, Unreadable, *_BROKEN, ValueError) as problem:
        yield Flaw(place=name, why=f"no archive that can be read: {_why(problem)}")
        return
    if len(infos) > MEMBERS_MAX:
        yield Flaw(place=name, why=f"an archive of {len(infos):,} files")
        return
    if sum(one.compress_size for one in infos) > packed:
        yield Flaw(place=name, why="an archive whose files overlap")
        return

    readable = {info.filename: info for info in infos if not _refusal(info)}

    def beside() -> dict[str, Attachment]:
        found = (_attachment_in(path, info) for info in readable.values())
        return {one.name: one for one in found}

    for info in infos:
        called = f"{name}!{info.filename}"
        if info.filename in readable:
            opened = partial(_member, path, info)
            yield File(called, f"{path}!{info.filename}", info.file_size, opened, beside)
        else:
            yield Flaw(place=called, why=_refusal(info))


def _refusal(info: zipfile.ZipInfo) -> str:
    """Why a member is not read; empty if it may be."""
    if info.flag_bits & 0x1:
        return "encrypted"
    if info.file_size > MEMBER_BYTES:
        return f"of {info.file_size:,} bytes"
    if info.file_size > max(RATIO_FREE, RATIO_MAX * info.compress_size):
        return f"{info.file_size:,} bytes packed into {info.compress_size:,}: a bomb"
    return ""


def _attachment_in(path: Path, info: zipfile.ZipInfo) -> Attachment:
    def data() -> bytes:
        with _Counted(_member(path, info), lambda _: None) as file:
            return read(cast(BinaryIO, file), ATTACHMENT_BYTES + 1)

    return Attachment(PurePosixPath(info.filename).name, info.file_size, data)


def _member(path: Path, info: zipfile.ZipInfo) -> BinaryIO:
    return cast(BinaryIO, _Member(path, info))


class _Member:
    """A member of an archive as a stream, which keeps its archive open."""

    def __init__(self, path: Path, info: zipfile.ZipInfo) -> None:
        self._file = open_regular(path)
        try:
            self._archive = zipfile.ZipFile(self._file)
            self._stream = self._archive.open(info)
        except BaseException:
            self._file.close()
            raise
        self.read, self.readline = self._stream.read, self._stream.readline

    def close(self) -> None:
        self._stream.close()
        self._archive.close()
        self._file.close()


def _why(problem: BaseException) -> str:
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror
    return str(problem) or type(problem).__name__
