"""A simulated disk that fails, fills up, loses power or has its process killed on demand.

    disk = SimulatedDisk(Medium(root, chance), chance)
    with IndexVfs(disk):                                  # so that index.db is on it, too
        store = open_store(root, disk=disk, …)
        disk.die_after(7, Death.POWER)                    # the eighth change does not return
        …                                                 # `Died`, somewhere
        store.close()                                     # changes nothing any more
        disk.revive()                                     # the remains are on the real disk again

All randomness comes from `chance`, so a seed reproduces a run.
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
    """Calls that can be made to fail."""

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
"""Calls that a full disk refuses."""


class Death(StrEnum):
    """Ways in which a process can end unexpectedly."""

    KILL = "kill"  # everything written survives
    POWER = "power"  # anything not synced may be lost


class Died(Exception):
    """The process would have ended here. Code that catches this must not count on what follows."""


@dataclass(frozen=True, slots=True)
class Fault:
    """From the `nth` matching call on (1 is the next), fail once or, if lasting, every time."""

    calls: Collection[Syscall]
    errno: int = errno.EIO
    nth: int = 1
    lasting: bool = False


class SimulatedDisk(Disk):
    """A `Disk` over real files. With `lying`, syncs do nothing but report success: a control."""

    def __init__(self, medium: Medium, chance: random.Random, *, lying: bool = False) -> None:
        self.medium = medium
        self.dead = False
        self.lives = 0  # counts revivals: files opened in an earlier life are dead
        self.changes = 0  # calls so far that would have changed something
        self.short_writes = 0.0  # probability that a write is partial
        self._chance = chance
        self._lying = lying
        self._fault: Fault | None = None
        self._seen = 0
        self._left = -1
        self._death = Death.KILL
        self._image: Image = {}

    # --- what is to happen --------------------------------------------------------------------

    def fail(self, fault: Fault) -> None:
        """Set this fault, replacing any earlier one."""
        self._fault, self._seen = fault, 0

    def heal(self) -> None:
        """Clear all planned faults."""
        self._fault, self._left, self.short_writes = None, -1, 0.0

    def die_after(self, changes: int, death: Death) -> None:
        """Die at a change, after this many more have succeeded."""
        self._left, self._death = changes, death

    def die(self, death: Death) -> None:
        """Die now: nothing changes any more, and what survives is decided here."""
        if not self.dead:
            self.dead, self._death = True, death
            medium = self.medium
            self._image = medium.survivors() if death is Death.POWER else medium.contents()

    def revive(self) -> None:
        """Restore what survived to the real disk. Its users must have been closed."""
        assert self.dead
        self.medium.restore(self._image, durable=self._death is Death.POWER)
        self.heal()
        self.dead = False
        self.lives += 1

    def before(self, call: Syscall) -> None:
        """Raise the fault planned for this call. On a dead disk, every call raises."""
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
        """How many bytes of a failing or dying write get through anyway."""
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
        """Whether the next change is fatal."""
        return self._left == 0 and not self.dead

    # --- the calls ----------------------------------------------------------------------------

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self._check_alive()
        if self.dies_next:  # a write in progress may have got through in part
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
