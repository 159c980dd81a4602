"""Openings of a root for writing: a file for each, locked while its process lives.

The kernel tells live processes from dead ones (`flock`), so a reused pid means nothing. A suspended
process cannot beat: its beat grows old, and then its leases may be taken over.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import google_crc32c

from pagefault.model.clock import Clock
from pagefault.model.errors import StoreBusy, StoreError
from pagefault.model.ids import IdMinter
from pagefault.model.threads import start
from pagefault.store.embedded.files import folder, names, open_file
from pagefault.store.embedded.lock import TEXT_BYTES, Process, decode_process

_BEATS_PER_LEASE: Final = 6  # so that one late beat costs no lease
_BEAT_EVERY_S_MIN: Final = 0.01
_BEAT_BYTES: Final = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """Another live opening of this root. `beat_age_s` is 0 if unknown."""

    instance: str
    process: Process | None
    beat_age_s: float

    def __str__(self) -> str:
        return str(self.process or "another process")


class Presence:
    """This opening, as others see it. Made, and closed, under the root's lock or by its owner."""

    def __init__(
        self, root: Path, *, clock: Clock, minter: IdMinter, lease_s: float, beats: bool = True
    ) -> None:
        """`OSError` if no file can be made there, `StoreError` if no thread can be started. With
        `beats=False`, it beats only when `beat` is called.
        """
        self.directory = root / "instances"
        self._clock = clock
        self._minter = minter
        self._closing = threading.Event()
        with folder(root) as place, suppress(FileExistsError):
            os.mkdir(self.directory.name, 0o700, dir_fd=place)
        self._clear_the_dead()
        self.instance, self._path, self._fd = self._make()
        with suppress(OSError):  # on a full disk: it lives, but cannot be identified
            os.pwrite(self._fd, Process.here(clock).encode(), 0)
        self.beat()
        self._thread: threading.Thread | None = None
        if beats:
            every_s = max(_BEAT_EVERY_S_MIN, lease_s / _BEATS_PER_LEASE)
            thread = threading.Thread(
                target=self._beat_on, args=(every_s,), name="pagefault-beat", daemon=True
            )
            try:
                start(thread)
            except RuntimeError as failure:
                self.close()
                raise StoreError(
                    f"the thread that beats cannot be started: {failure}",
                    hint="let this process have more threads or memory, then open it again",
                ) from failure
            self._thread = thread

    def beat(self) -> None:
        """Record that this opening is responsive now."""
        with suppress(OSError):
            os.pwrite(self._fd, _beat(self._clock.monotonic_s()), TEXT_BYTES)

    def now_ms(self) -> int:
        """The time now, as records have it."""
        return self._clock.now_ms()

    def find(self, instance: str) -> Instance | None:
        """The opening of this name, if it is alive and not this one."""
        return None if instance == self.instance else living(self.directory, instance, self._clock)

    def others(self) -> list[Instance]:
        """Every other live opening."""
        return list(all_living(self.directory, self._clock, but=self.instance))

    def close(self) -> None:
        """Leave. Idempotent."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._fd >= 0:
            with suppress(OSError):
                _unlink(self._path)
            os.close(self._fd)
            self._fd = -1

    def _beat_on(self, every_s: float) -> None:
        while not self._closing.wait(every_s):
            self.beat()

    def _make(self) -> tuple[str, Path, int]:
        while True:
            instance = self._minter.mint()
            path = self.directory / instance
            try:
                fd = open_file(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            except FileExistsError:  # two that mint from the same seed
                continue
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return instance, path, fd

    def _clear_the_dead(self) -> None:
        for name in names(self.directory):
            if living(self.directory, name, self._clock) is None:
                with suppress(OSError):
                    _unlink(self.directory / name)


def check_alone(root: Path, clock: Clock, what: str, *, but: str = "") -> None:
    """Raise `StoreBusy`, naming them, while openings other than `but` have this root open. Call it
    under the root's lock.
    """
    others = list(all_living(root / "instances", clock, but=but))
    if others:
        raise StoreBusy(
            f"{root} is in use by {'; '.join(map(str, others))}",
            hint=f"{what} needs exclusive access: close whatever else has this memory open for "
            "writing",
        )


def living(directory: Path, instance: str, clock: Clock) -> Instance | None:
    """The opening of this name, if its process lives. A dead one may have left its file."""
    try:
        fd = open_file(directory / instance)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: concurrent checks must not collide
        return None
    except OSError:
        told = os.pread(fd, TEXT_BYTES + _BEAT_BYTES, 0)
    finally:
        os.close(fd)
    beat = _read_beat(told[TEXT_BYTES:])
    age_s = 0.0 if beat is None else max(0.0, clock.monotonic_s() - beat)
    return Instance(instance=instance, process=decode_process(told[:TEXT_BYTES]), beat_age_s=age_s)


def _beat(now_s: float) -> bytes:
    """A time with its checksum: a holder that looks suspended loses its sessions."""
    text = f"{now_s:.3f}"
    return (
        f"{text} {google_crc32c.value(text.encode()):08x}".ljust(_BEAT_BYTES - 1).encode() + b"\n"
    )


def _read_beat(told: bytes) -> float | None:
    """The time of a beat, or None if these bytes are not one."""
    text = told.split(b" ", 1)[0]
    try:
        beat = float(text)
    except ValueError:
        return None
    return beat if told == _beat(beat) else None


def all_living(directory: Path, clock: Clock, *, but: str = "") -> Iterator[Instance]:
    """Every live opening in this directory, except one."""
    try:
        listed = names(directory)
    except OSError:  # missing, or not a folder: nobody writes there
        return
    for name in listed:
        found = living(directory, name, clock) if name != but else None
        if found is not None:
            yield found


def _unlink(path: Path) -> None:
    with folder(path.parent) as place:
        os.unlink(path.name, dir_fd=place)
