"""Access to the files of a memory without following links.

A memory's folder may come from elsewhere: version control and archives carry links, pipes and hard
links, and a link named `lock` would make us write to its target. So every file of ours is opened
here, one path component at a time (`openat`), and each step refuses a link. Anything but a plain
file is refused by name. The paths of a root and of its archive may contain links: the caller
resolves them once (`os.path.realpath`), and none is followed after that.

Refusals are `OSError`s, like the system's own.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_BASE: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_STEP: Final = _BASE | getattr(os, "O_PATH", os.O_RDONLY)
_NO_LINK_AT_ALL: Final = getattr(os, "O_NOFOLLOW_ANY", 0)  # macOS: in one call

_KINDS: Final = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISREG, "a file"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class NotPlain(OSError):
    """A file of ours is not a plain file, but a link, a pipe or a folder. Nothing was done."""


@contextmanager
def folder(path: Path | str) -> Iterator[int]:
    """A descriptor of this folder for this block, only for `dir_fd`. `NotPlain` names a link."""
    if _NO_LINK_AT_ALL:
        fd = os.open(path, os.O_DIRECTORY | os.O_CLOEXEC | _NO_LINK_AT_ALL)
    else:
        fd = _walk(os.fspath(path))
    try:
        yield fd
    finally:
        os.close(fd)


def _walk(path: str) -> int:
    """Opening a memory takes sixty walks, so they work on strings: a `Path` costs more than the
    system calls.
    """
    top = "/" if path.startswith("/") else ""
    names = [name for name in path.split("/") if name not in ("", ".")]
    fd = os.open(top or ".", _STEP)
    for at, name in enumerate(names, 1):
        try:
            below = os.open(name, _STEP, dir_fd=fd)
        except OSError as failure:
            walked = top + "/".join(names[:at])
            if failure.errno in (errno.ENOTDIR, errno.ELOOP):
                _check_kind(os.lstat(name, dir_fd=fd), walked, stat.S_ISDIR)
            raise OSError(failure.errno, failure.strerror, walked) from None
        finally:
            os.close(fd)
        fd = below
    return fd


def open_file(path: Path | str, flags: int = os.O_RDONLY) -> int:
    """Open a plain file. `NotPlain` if it is something else, or if it is to be written in place and
    has another name (a hard link), whose readers would see the change.
    """
    around, name = os.path.split(path)
    with folder(around) as fd:
        with suppress(FileNotFoundError):
            _check_file(os.lstat(name, dir_fd=fd), path, flags)
        try:
            file = os.open(
                name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600, dir_fd=fd
            )
        except OSError as failure:
            raise OSError(failure.errno, failure.strerror, str(path)) from None
    try:
        _check_file(os.fstat(file), path, flags)  # it may have been replaced since
    except BaseException:
        os.close(file)
        raise
    return file


def check_plain(path: Path | str) -> None:
    """Raise `NotPlain` unless this is a plain file with one name, or nothing. For callers that open
    it by path.
    """
    with suppress(FileNotFoundError):
        _check_file(status(path), path, os.O_RDWR)


def read(path: Path, bytes_max: int) -> bytes:
    """A whole file. `NotPlain` without reading it if it is larger than any of its kind."""
    fd = open_file(path)
    try:
        size = os.fstat(fd).st_size
        if size > bytes_max:
            raise NotPlain(errno.EFBIG, f"it has {size:,} bytes, and no such file has", str(path))
        parts, left = [], bytes_max + 1
        while left > 0 and (part := os.read(fd, min(left, 1 << 20 if not size else size + 1))):
            parts.append(part)
            left -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)
    finally:
        os.close(fd)


def names(path: Path) -> list[str]:
    """The names in a folder, sorted. `FileNotFoundError` if there is no folder."""
    with folder(path) as fd:
        return _names_in(fd)


def _names_in(fd: int) -> list[str]:
    readable = os.open(".", os.O_RDONLY | _BASE, dir_fd=fd)  # the other is for `dir_fd` only
    try:
        return sorted(os.listdir(readable))
    finally:
        os.close(readable)


def listing(path: Path) -> dict[str, os.stat_result]:
    """The sorted entries of a folder, with their status. `FileNotFoundError` if there is none."""
    with folder(path) as fd:
        found = {}
        for name in _names_in(fd):
            with suppress(FileNotFoundError):  # removed meanwhile
                found[name] = os.lstat(name, dir_fd=fd)
        return found


def status(path: Path | str) -> os.stat_result:
    """The status of a name, without following a link. `FileNotFoundError` if it does not exist."""
    around, name = os.path.split(path)
    with folder(around) as fd:
        return os.lstat(name, dir_fd=fd)


def is_file(path: Path | str) -> bool:
    """Whether this is a plain file."""
    try:
        return stat.S_ISREG(status(path).st_mode)
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Whether this is a folder."""
    try:
        with folder(path):
            return True
    except OSError:
        return False


def file_kind(mode: int) -> str:
    """The kind of something that is not a plain file, in words."""
    return next((words for is_it, words in _KINDS if is_it(mode)), "no plain file")


def _check_file(st: os.stat_result, path: Path | str, flags: int) -> None:
    _check_kind(st, path, stat.S_ISREG)
    if st.st_nlink > 1 and flags & (os.O_WRONLY | os.O_RDWR):
        what = "it has another name elsewhere (a hard link), where it would change too"
        raise NotPlain(errno.EMLINK, what, str(path))


def _check_kind(st: os.stat_result, path: Path | str, is_right: Callable[[int], bool]) -> None:
    if is_right(st.st_mode):
        return
    number = errno.ELOOP if stat.S_ISLNK(st.st_mode) else errno.EINVAL
    what = "it is a link, and none is followed here" if number == errno.ELOOP else ""
    raise NotPlain(number, what or f"it is {file_kind(st.st_mode)}", str(path))
