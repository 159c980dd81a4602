"""A root's writer lock: an advisory lock that the kernel releases when its holder dies.

Two files make it fair. `lock` is the lock itself, and `turnstile` comes before it: a process takes
the turnstile, waits for the lock, takes it, and releases the turnstile. So a process that releases
the lock and wants it again queues behind one that is already waiting.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pagefault.model import defaults
from pagefault.model.clock import Clock
from pagefault.model.errors import StoreBusy, StoreError, StoreMissing
from pagefault.store.embedded.files import open_file, read

TEXT_BYTES: Final = 512
"""The fixed length of a holder's description: one write call replaces the previous one."""

COMMAND_MAX: Final = 60
"""Maximum length of a program's name. Its arguments are never written: they may be texts, names and
queries, and the file outlives what is forgotten.
"""

_PAUSE_FIRST_S: Final = 0.0001
_PAUSE_LAST_S: Final = 0.005
_PAUSE_GROWTH: Final = 1.5
_HASTY_S: Final = 0.02
_COURTESY_S: Final = 0.25  # longer than any queue; a process stopped there is bypassed by then


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """The process that holds something, described for people who find it held."""

    pid: int
    host: str
    command: str
    since_ms: int

    @classmethod
    def here(cls, clock: Clock) -> Process:
        """This process."""
        command = Path(sys.argv[0]).name or "python"
        if len(command) > COMMAND_MAX:
            command = command[: COMMAND_MAX - 1] + "…"
        return cls(
            pid=os.getpid(),
            host=socket.gethostname()[:64],
            command=command,
            since_ms=clock.now_ms(),
        )

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.since_ms / 1000, UTC).isoformat(" ", "seconds")
        return f"process {self.pid} on {self.host} ({self.command}), since {since}"

    def encode(self) -> bytes:
        """One line of `TEXT_BYTES`."""
        line = json.dumps(asdict(self), ensure_ascii=False).encode(errors="replace")
        return line.ljust(TEXT_BYTES - 1)[: TEXT_BYTES - 1] + b"\n"


def decode_process(text: bytes) -> Process | None:
    """The inverse of `Process.encode`; None if the text cannot be read."""
    try:
        told = json.loads(text)
        return Process(
            pid=int(told["pid"]),
            host=str(told["host"]),
            command=str(told["command"]),
            since_ms=int(told["since_ms"]),
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


class RootLock:
    """Held by the process that is writing to a root.

    It is never stolen: the lock is the kernel's (`flock`), the file's text is only for people, and
    stale text after a kill is harmless. The files stay, because removing one would let two
    processes lock two files of one name. Two `RootLock`s exclude each other within one process,
    too. A forked child shares its parent's lock: do not use in a fork what its parent opened.
    """

    def __init__(
        self,
        root: Path,
        *,
        clock: Clock,
        wait_s: float = defaults.LOCK_WAIT_S,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`wait_s` is how long `acquire` waits before it raises `StoreBusy`."""
        self._root = root
        self._wait_s = wait_s
        self._is_hasty = self._was_busy = False
        self._sleep = sleep
        self._text = Process.here(clock).encode()
        self._turnstile = self._lock = -1  # opened on first use, and kept

    def acquire(self) -> None:
        """Acquire, waiting if need be. `StoreBusy`, with the holder's name, on timeout;
        `StoreMissing` if the root was deleted, as a recreated root has another lock file.
        """
        if self._turnstile < 0:
            self._turnstile = open_to_lock(self._root / "turnstile")
        if self._lock < 0:
            self._lock = open_to_lock(self._root / "lock")
        hurries = self._is_hasty and self._was_busy
        waiting = _Waiting(_HASTY_S if hurries else self._wait_s, self._sleep)
        is_in_turn, self._was_busy = False, True
        try:
            is_in_turn = waiting.until(lambda: take(self._turnstile), at_most_s=_COURTESY_S)
            if not waiting.until(lambda: take(self._lock)):
                raise StoreBusy(
                    f"{self._root} is in use by {read_process(self._root) or 'another process'}",
                    hint="wait for it, end it, or open this memory read-only",
                )
        except OSError as failure:
            raise StoreError(
                f"{self._root} cannot be locked: {failure.strerror}",
                hint="move it to a file system with locks (flock), or open it read-only",
            ) from failure
        finally:
            if is_in_turn:
                fcntl.flock(self._turnstile, fcntl.LOCK_UN)
        self._was_busy = False
        if os.fstat(self._lock).st_nlink == 0:
            self.release()
            raise StoreMissing(
                f"{self._root} was deleted while open, so nothing can be written there",
                hint="end this process, and restore the memory if you have a copy",
            )
        # On a full disk the lock still holds: only the text for people is missing.
        with suppress(OSError):
            if os.pread(self._lock, TEXT_BYTES, 0) != self._text:
                os.pwrite(self._lock, self._text, 0)

    def hurry(self, wait_s: float) -> None:
        """Wait at most `wait_s` from now on, and hardly at all if the last wait failed: others
        queue behind this one.
        """
        self._wait_s, self._is_hasty = min(wait_s, self._wait_s), True

    def release(self) -> None:
        """Release. Idempotent."""
        if self._lock >= 0:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def close(self) -> None:
        """Release, and close the files. Idempotent."""
        for fd in (self._lock, self._turnstile):
            if fd >= 0:
                os.close(fd)
        self._lock = self._turnstile = -1

    @contextmanager
    def held(self) -> Iterator[None]:
        """Held for this block; the files are closed after it."""
        try:
            self.acquire()
            yield
        finally:
            self.close()


class _Waiting:
    """Retries with growing pauses, for at most so many seconds of sleep in all."""

    def __init__(self, left_s: float, sleep: Callable[[float], None]) -> None:
        self._left_s = left_s
        self._sleep = sleep

    def until(self, taken: Callable[[], bool], *, at_most_s: float = float("inf")) -> bool:
        """Whether it was taken in time. Tries at least once."""
        pause_s = _PAUSE_FIRST_S
        while not taken():
            if self._left_s <= 0 or at_most_s <= 0:
                return False
            self._sleep(pause_s)
            self._left_s -= pause_s
            at_most_s -= pause_s
            pause_s = min(pause_s * _PAUSE_GROWTH, _PAUSE_LAST_S)
        return True


def read_process(root: Path) -> Process | None:
    """The last writer of the lock file, if readable. It may be gone: the lock itself decides."""
    try:
        return decode_process(read(root / "lock", TEXT_BYTES))
    except OSError:
        return None


def open_to_lock(path: Path) -> int:
    """The descriptor of a lock file, created if it is missing."""
    try:
        return open_file(path, os.O_RDWR | os.O_CREAT)
    except OSError as failure:
        raise StoreError(
            f"{path} cannot be opened: {failure.strerror}",
            hint="see what stands in its place and that its folder can be written, or open this "
            "memory for reading only",
        ) from failure


def take(fd: int) -> bool:
    """Whether the lock of this file could be taken at once."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
