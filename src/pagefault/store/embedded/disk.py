"""The store's calls to the operating system, and what it assumes of them.

Assumptions: a file that was written, synced and renamed, and whose directory was synced, survives a
power failure intact. An unsynced write may survive in part, its blocks in any order, or not at all,
and an unsynced name may be the old or the new one. After a failed sync nothing is known, so nobody
retries one. Tests pass a `Disk` that fails at chosen points. No call follows a link: see
`files.py`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from contextlib import suppress
from pathlib import Path

from pagefault.store.embedded.files import folder, is_folder, open_file


class Disk:
    """The calls that change anything. Reading is in `files.py`."""

    def write(self, fd: int, data: bytes | memoryview) -> int:
        return os.write(fd, data)

    def sync(self, fd: int) -> None:
        """Put the file's bytes and length on stable storage."""
        if sys.platform == "darwin":  # where fsync leaves them in the drive's cache
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(fd)

    def sync_directory(self, path: Path) -> None:
        """Put the names in the directory on stable storage."""
        with folder(path) as place:
            fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def create(self, path: Path) -> int:
        """Create a file, open for appending, readable by its owner alone. It must not exist."""
        return open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND)

    def append_to(self, path: Path) -> int:
        return open_file(path, os.O_WRONLY | os.O_APPEND)

    def truncate(self, fd: int, length: int) -> None:
        os.ftruncate(fd, length)

    def rename(self, old: Path, new: Path) -> None:
        with folder(old.parent) as source, folder(new.parent) as target:
            os.rename(old.name, new.name, src_dir_fd=source, dst_dir_fd=target)

    def unlink(self, path: Path) -> None:
        """Remove a name; a missing one is fine."""
        with suppress(FileNotFoundError), folder(path.parent) as place:
            os.unlink(path.name, dir_fd=place)

    def rmdir(self, path: Path) -> None:
        """Remove an empty directory."""
        with folder(path.parent) as place:
            os.rmdir(path.name, dir_fd=place)

    def make_directory(self, path: Path) -> None:
        """Make a directory and its parents, and make their names durable: even of an existing one,
        whose creator may have been killed in between. This process did not make a directory inside
        one that it may not read.
        """
        if is_folder(path):
            with suppress(PermissionError):
                self.sync_directory(path.parent)
            return
        self.make_directory(path.parent)
        with folder(path.parent) as place, suppress(FileExistsError):
            os.mkdir(path.name, 0o700, dir_fd=place)
        with folder(path):  # or the name is taken by something else
            pass
        self.sync_directory(path.parent)

    # --- built from the calls above ------------------------------------------------------------

    def remove_directory(self, path: Path) -> bool:
        """Durably remove a directory if it is empty; whether it was."""
        try:
            self.rmdir(path)
        except OSError as failure:
            if failure.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                return False
            raise
        self.sync_directory(path.parent)
        return True

    def write_all(self, fd: int, data: bytes) -> None:
        """Write every byte: in one call, unless the system writes only a part."""
        written = self.write(fd, data)
        if written == len(data):
            return
        rest = memoryview(data)[written:]
        while rest:
            rest = rest[self.write(fd, rest) :]

    def place(self, path: Path, temporary: Path, data: bytes) -> None:
        """Make `path` hold exactly `data`, durably and atomically.

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
            with suppress(OSError):  # on a full disk, give back the space
                self.unlink(temporary)
            raise
        self.sync_directory(path.parent)
