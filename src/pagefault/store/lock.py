"""One writer to a memory root: an advisory lock that the kernel lets go of when its holder dies."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from pagefault.model.clock import Clock
from pagefault.model.errors import StoreBusy, StoreError


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds a root, for the person who finds it held."""

    pid: int
    host: str
    command: str
    since_ms: int

    @classmethod
    def here(cls, clock: Clock) -> Holder:
        """This process."""
        return cls(
            pid=os.getpid(),
            host=socket.gethostname(),
            command=" ".join([Path(sys.argv[0]).name, *sys.argv[1:2]]).strip() or "python",
            since_ms=clock.now_ms(),
        )

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.since_ms / 1000, UTC).isoformat(" ", "seconds")
        return f"process {self.pid} on {self.host} ({self.command}), since {since}"


class RootLock:
    """Holding it is being the writer of a root.

    It is never stolen: the lock is the kernel's (`flock`), the file's text is only for people, and
    stale text after a kill is harmless. The file stays, as removing it would let two processes
    lock two files of one name. A forked child shares the lock until it ends.
    """

    def __init__(self, root: Path, *, clock: Clock) -> None:
        self._root = root
        self._clock = clock
        self._fd = -1

    def acquire(self) -> None:
        """Take it at once, or raise `StoreBusy`. Nothing waits here: the caller knows how long."""
        assert self._fd < 0, "taken already"
        path = self._root / "lock"
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as failure:
            raise StoreError(f"{path} cannot be opened: {failure.strerror}") from failure
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise StoreBusy(
                f"{self._root} is in use by {read_holder(self._root) or 'another process'}",
                hint="wait until it is done, end it, or open this memory for reading only",
            ) from None
        except OSError as failure:
            os.close(fd)
            raise StoreError(f"{path} cannot be locked: {failure.strerror}") from failure
        self._fd = fd
        self._write(json.dumps(asdict(Holder.here(self._clock))).encode() + b"\n")

    def release(self) -> None:
        """Let go. Harmless when repeated."""
        if self._fd >= 0:
            self._write(b"")
            os.close(self._fd)
            self._fd = -1

    @contextmanager
    def held(self) -> Iterator[None]:
        """Taken for this block."""
        self.acquire()
        try:
            yield
        finally:
            self.release()

    def _write(self, text: bytes) -> None:
        # On a full disk the lock holds all the same: only the text for people is missing.
        with suppress(OSError):
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, text, 0)


def read_holder(root: Path) -> Holder | None:
    """Who wrote into the lock file last, if it can be read. It may be gone: ask the lock itself."""
    try:
        told = json.loads((root / "lock").read_text())
        return Holder(
            pid=int(told["pid"]),
            host=str(told["host"]),
            command=str(told["command"]),
            since_ms=int(told["since_ms"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
