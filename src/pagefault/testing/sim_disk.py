"""A disk that fails, fills up, loses power or sees its process killed, where and when it is told.

    disk = SimulatedDisk(Medium(root, chance), chance)
    with IndexVfs(disk):                                  # so that index.db rests on it, too
        store = open_store(root, disk=disk, …)
        disk.die_after(7, Death.POWER)                    # the eighth change does not come back
        …                                                 # `Died`, somewhere
        store.close()                                     # changes nothing any more
        disk.revive()                                     # what is left is on the real disk again

Every chance it takes comes from `chance`, so a seed repeats a life.
"""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from pagefault.store.embedded.disk import Disk
from pagefault.testing.sim_medium import Image, Medium


class Syscall(StrEnum):
    """What may be made to fail."""

    WRITE = "write"
    SYNC = "sync"
    SYNC_DIRECTORY = "sync_directory"
    CREATE = "create"
    APPEND_TO = "append_to"
    TRUNCATE = "truncate"
    RENAME = "rename"
    UNLINK = "unlink"
    INDEX_OPEN = "index_open"
    INDEX_READ = "index_read"
    INDEX_WRITE = "index_write"
    INDEX_SYNC = "index_sync"
    INDEX_TRUNCATE = "index_truncate"
    INDEX_DELETE = "index_delete"


INDEX: Final = frozenset(call for call in Syscall if call.startswith("index_"))
LOG: Final = frozenset(Syscall) - INDEX
FILLING: Final = frozenset({Syscall.WRITE, Syscall.CREATE, Syscall.INDEX_WRITE})
"""What a full disk refuses."""


class Death(StrEnum):
    """How a process may end that was not asked."""

    KILL = "kill"  # what was written is there
    POWER = "power"  # what was not synced may not be


class Died(Exception):
    """The process would have ended here. Whoever sees it must not believe that anything follows."""


@dataclass(frozen=True, slots=True)
class Fault:
    """From the `nth` of these calls on (1 is the next) it fails, once or as long as it lasts."""

    calls: Collection[Syscall]
    errno: int = errno.EIO
    nth: int = 1
    lasting: bool = False


class SimulatedDisk(Disk):
    """A `Disk` over real files. `lying` syncs nothing and says that it has: a control."""

    def __init__(self, medium: Medium, chance: random.Random, *, lying: bool = False) -> None:
        self.medium = medium
        self.dead = False
        self.lives = 0  # counts revivals: a file that was opened in an earlier life is dead
        self.changes = 0  # calls that would have changed something, so far
        self.short_writes = 0.0  # how likely a write takes only a part
        self._chance = chance
        self._lying = lying
        self._fault: Fault | None = None
        self._seen = 0
        self._left = -1
        self._death = Death.KILL
        self._image: Image = {}

    # --- what is to happen --------------------------------------------------------------------

    def fail(self, fault: Fault) -> None:
        """Let this happen, instead of what was to happen before."""
        self._fault, self._seen = fault, 0

    def heal(self) -> None:
        """Let nothing more happen."""
        self._fault, self._left, self.short_writes = None, -1, 0.0

    def die_after(self, changes: int, death: Death) -> None:
        """Die at a change: after this many more went well."""
        self._left, self._death = changes, death

    def die(self, death: Death) -> None:
        """Die now: from here on nothing changes, and what is left is decided."""
        if not self.dead:
            self.dead, self._death = True, death
            medium = self.medium
            self._image = medium.survivors() if death is Death.POWER else medium.contents()

    def revive(self) -> None:
        """Put on the real disk what is left. Whatever rested on it must have been closed."""
        assert self.dead
        self.medium.restore(self._image, durable=self._death is Death.POWER)
        self.heal()
        self.dead = False
        self.lives += 1

    def before(self, call: Syscall) -> None:
        """Raise what is to happen at this call. A dead disk does nothing any more."""
        self._check_alive()
        if call is not Syscall.INDEX_READ:
            self.changes += 1
            if self._left == 0:
                self.die(self._death)
                raise Died(call)
            self._left -= self._left > 0
        fault = self._fault
        if fault is not None and call in fault.calls:
            self._seen += 1
            if self._seen == fault.nth or (fault.lasting and self._seen > fault.nth):
                raise OSError(fault.errno, os.strerror(fault.errno))

    def part(self, length: int) -> int:
        """How many bytes of a write that fails, or dies, get through all the same."""
        return self._chance.randint(0, length)

    def sync_of(self, inode: int) -> None:
        if not self._lying:
            self.medium.synced(inode)

    def sync_of_directory(self, path: Path) -> None:
        if not self._lying:
            self.medium.directory_synced(path)

    def _check_alive(self) -> None:
        if self.dead:
            raise Died("the disk is dead")

    @property
    def dies_next(self) -> bool:
        """Whether the next change is the one that does not come back."""
        return self._left == 0 and not self.dead

    # --- the calls ----------------------------------------------------------------------------

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self._check_alive()
        if self.dies_next:  # what was under way may have got through in part
            self._write(fd, data[: self.part(len(data))])
        try:
            self.before(Syscall.WRITE)
        except OSError:
            self._write(fd, data[: self.part(len(data))])
            raise
        if len(data) > 1 and self._chance.random() < self.short_writes:
            data = data[: 1 + self.part(len(data) - 2)]
        return self._write(fd, data)

    def _write(self, fd: int, data: bytes | memoryview) -> int:
        status = os.fstat(fd)
        written = super().write(fd, data) if data else 0
        self.medium.wrote(status.st_ino, status.st_size, bytes(data[:written]))
        return written

    def sync(self, fd: int) -> None:
        self.before(Syscall.SYNC)
        self.sync_of(os.fstat(fd).st_ino)

    def sync_directory(self, path: Path) -> None:
        self.before(Syscall.SYNC_DIRECTORY)
        self.sync_of_directory(path)

    def create(self, path: Path) -> int:
        self.before(Syscall.CREATE)
        fd = super().create(path)
        self.medium.created(path)
        return fd

    def append_to(self, path: Path) -> int:
        self.before(Syscall.APPEND_TO)
        return super().append_to(path)

    def truncate(self, fd: int, length: int) -> None:
        self.before(Syscall.TRUNCATE)
        super().truncate(fd, length)
        self.medium.truncated(os.fstat(fd).st_ino, length)

    def rename(self, old: Path, new: Path) -> None:
        self.before(Syscall.RENAME)
        super().rename(old, new)
        self.medium.renamed(old, new)

    def unlink(self, path: Path) -> None:
        self.before(Syscall.UNLINK)
        super().unlink(path)
        self.medium.unlinked(path)

    def rmdir(self, path: Path) -> None:
        self.before(Syscall.UNLINK)
        inode = path.stat().st_ino
        super().rmdir(path)
        self.medium.removed(path, inode)
