"""A bounded cache of files open for reading, each held while in use."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from pagefault.store.embedded.files import open_file


@dataclass(slots=True)
class _Handle:
    fd: int
    users: int = 0
    dropped: bool = False


class Handles:
    """Descriptors by path, least recently used first.

    Invariants, true between any two public calls:
     (1) At most `files_max` are open, plus those held beyond it right now.
     (2) A held descriptor is never closed, so its number cannot come to mean another file.
    """

    def __init__(self, files_max: int) -> None:
        self._files_max = files_max
        self._open: OrderedDict[str, _Handle] = OrderedDict()
        self._lock = Lock()

    @contextmanager
    def hold(self, path: str) -> Iterator[int]:
        """The descriptor of `path`, for this block. `OSError` if it cannot be opened."""
        with self._lock:
            handle = self._open.get(path)
            if handle is None:
                handle = _Handle(open_file(path))
                self._open[path] = handle
            else:
                self._open.move_to_end(path)
            handle.users += 1
            if len(self._open) > self._files_max:
                self._shrink()
        try:
            yield handle.fd
        finally:
            with self._lock:
                handle.users -= 1
                if handle.dropped and not handle.users:
                    os.close(handle.fd)

    def drop(self, path: str) -> None:
        """Drop `path` from the cache: the next `hold` opens it afresh."""
        with self._lock:
            self._drop(path)

    def close(self) -> None:
        with self._lock:
            for path in list(self._open):
                self._drop(path)

    def _drop(self, path: str) -> None:
        handle = self._open.pop(path, None)
        if handle is None:
            return
        handle.dropped = True
        if not handle.users:
            os.close(handle.fd)

    def _shrink(self) -> None:
        idle = [path for path, handle in self._open.items() if not handle.users]
        for path in idle[: len(self._open) - self._files_max]:
            self._drop(path)
