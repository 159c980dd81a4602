"""What the store asks of the operating system, and what it assumes of the answer.

Assumptions: a file that was written, synced, renamed and whose directory was synced survives a
power cut whole; a write that was not synced may survive in part, its blocks in any order, or not at
all, and a name that was not synced may be the old one or the new; after a failed sync nothing is
known, so nobody retries one. Tests pass a `Disk` that fails where they want.
"""

from __future__ import annotations

import fcntl
import os
import sys
from contextlib import suppress
from pathlib import Path


class Disk:
    """The calls that change anything. Reading goes to `os` directly."""

    def write(self, fd: int, data: bytes | memoryview) -> int:
        return os.write(fd, data)

    def sync(self, fd: int) -> None:
        """The file's bytes and its length are on stable storage."""
        if sys.platform == "darwin":  # fsync leaves them in the drive's cache there
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(fd)

    def sync_directory(self, path: Path) -> None:
        """The names in the directory are on stable storage."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def create(self, path: Path) -> int:
        """A new file, open for appending, readable by its owner alone. It must not exist."""
        return os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600
        )

    def append_to(self, path: Path) -> int:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)

    def truncate(self, fd: int, length: int) -> None:
        os.ftruncate(fd, length)

    def rename(self, old: Path, new: Path) -> None:
        os.rename(old, new)

    def unlink(self, path: Path) -> None:
        """Remove a name; that there is none is as good."""
        path.unlink(missing_ok=True)

    def make_directory(self, path: Path) -> None:
        """Make a directory and what leads to it, and their names durable: also of one that is
        there, as whoever made it may have been killed in between. One that stands in what this
        process may not read was not made by it.
        """
        if path.is_dir():
            with suppress(PermissionError):
                self.sync_directory(path.parent)
            return
        self.make_directory(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
        self.sync_directory(path.parent)

    # --- from the calls above -----------------------------------------------------------------

    def write_all(self, fd: int, data: bytes) -> None:
        """Write every byte: in one call if the system takes it whole, which it may refuse to."""
        written = self.write(fd, data)
        if written == len(data):
            return
        rest = memoryview(data)[written:]
        while rest:
            rest = rest[self.write(fd, rest) :]

    def place(self, path: Path, temporary: Path, data: bytes) -> None:
        """Make `path` hold exactly `data`, durably: nobody ever sees a part of it.

        Both names must be in one directory. A crash may leave the temporary name behind.
        """
        self.unlink(temporary)
        try:
            fd = self.create(temporary)
            try:
                self.write_all(fd, data)
                self.sync(fd)
            finally:
                os.close(fd)
            self.rename(temporary, path)
        except OSError:
            with suppress(OSError):  # on a full disk, give back what it took
                self.unlink(temporary)
            raise
        self.sync_directory(path.parent)
