"""SQLite's files on a `SimulatedDisk`, through a VFS that replaces the default one.

Within the block it is SQLite's default, so the product opens its index as usual, unaware of it.
Files outside the disk's root are left alone. Shared memory and locks are the real ones: they do not
outlive a process.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import apsw

from pagefault.testing.sim_disk import Died, SimulatedDisk, Syscall

_JOURNALS: Final = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_WAL
_NAME: Final = "pagefault-simulated"
_FULL: Final = {errno.ENOSPC, errno.EDQUOT}


class IndexVfs(apsw.VFS):
    """The VFS of one simulated disk, for a block. One at a time."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self.disk = disk
        self.base = apsw.vfs_names()[0]  # the default one
        assert self.base != _NAME, "another disk is being simulated"
        super().__init__(_NAME, self.base)

    def __enter__(self) -> Self:
        apsw.set_default_vfs(_NAME)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        apsw.set_default_vfs(self.base)
        self.unregister()

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        text = name.filename() if isinstance(name, apsw.URIFilename) else name
        path = Path(text) if text else None
        if path is None or not self._is_ours(path):
            return apsw.VFSFile(self.base, name, flags)
        _guarded(self.disk, Syscall.INDEX_OPEN)
        return _IndexFile(self, name, flags, path)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        path = Path(filename)
        if not self._is_ours(path):
            super().xDelete(filename, syncdir)
            return
        _guarded(self.disk, Syscall.INDEX_DELETE)
        super().xDelete(filename, False)
        self.disk.medium.unlinked(path)
        if syncdir:
            self.disk.sync_of_directory(path.parent)

    def _is_ours(self, path: Path) -> bool:
        return path.is_relative_to(self.disk.medium.root) and not self.disk.dead

    def excepthook(
        self,
        etype: type[BaseException] | None,
        evalue: BaseException | None,
        etraceback: TracebackType | None,
    ) -> bool:
        """Ignore what cannot be raised here: SQLite already has its own error code."""
        return True


class _IndexFile(apsw.VFSFile):
    """One of SQLite's files. On a dead disk, or after its revival, it accepts writes and discards
    them: there is nobody left to report to.
    """

    def __init__(
        self, vfs: IndexVfs, name: str | apsw.URIFilename | None, flags: list[int], path: Path
    ) -> None:
        is_new = not path.exists()
        super().__init__(vfs.base, name, flags)
        self._disk = vfs.disk
        self._life = vfs.disk.lives
        self._inode = path.stat().st_ino
        self._path = path
        self._name_is_new = bool(is_new and flags[0] & _JOURNALS)
        self._disk.medium.opened(path)

    def xRead(self, amount: int, offset: int) -> bytes:
        if self._lives:
            _guarded(self._disk, Syscall.INDEX_READ)
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:
        def part() -> None:
            begun = data[: self._disk.part(len(data))]
            if begun:
                self._write(begun, offset)

        if self._lives:
            _guarded(self._disk, Syscall.INDEX_WRITE, part)
            self._write(data, offset)

    def xTruncate(self, newsize: int) -> None:
        if self._lives:
            _guarded(self._disk, Syscall.INDEX_TRUNCATE)
            super().xTruncate(newsize)
            self._disk.medium.truncated(self._inode, newsize)

    def xSync(self, flags: int) -> None:
        if self._lives:
            _guarded(self._disk, Syscall.INDEX_SYNC)
            self._disk.sync_of(self._inode)
            if self._name_is_new:  # as SQLite's own VFS does for a new journal
                self._disk.sync_of_directory(self._path.parent)
                self._name_is_new = False

    def excepthook(
        self,
        etype: type[BaseException] | None,
        evalue: BaseException | None,
        etraceback: TracebackType | None,
    ) -> bool:
        return True

    @property
    def _lives(self) -> bool:
        return not self._disk.dead and self._life == self._disk.lives

    def _write(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        self._disk.medium.wrote(self._inode, offset, bytes(data))


def _guarded(disk: SimulatedDisk, call: Syscall, part: Callable[[], Any] | None = None) -> None:
    """Raise this call's fault as SQLite's error; `part` of a write is done all the same."""
    if part is not None and disk.dies_next:
        part()
    try:
        disk.before(call)
    except Died as death:
        raise apsw.IOError("the process died") from death
    except OSError as failure:
        if part is not None:
            part()
        error = apsw.FullError if failure.errno in _FULL else apsw.IOError
        raise error(os.strerror(failure.errno or 0)) from failure
