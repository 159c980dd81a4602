"""One process at a time does some work that would else be done twice. The kernel lets go when a
process dies (`flock`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pagefault.store.embedded.lock import open_to_lock, take

_LOOK_S: Final = 0.02  # between two tries


class WriteTurn:
    """Of one opening; its threads take turns, too. Without a path there are no other processes."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._mine = threading.Lock()

    @contextmanager
    def taken(self, stop: threading.Event) -> Iterator[bool]:
        """Waits for the turn, or for `stop`; whether it was had. The block ends it."""
        with self._mine:
            fd = -1
            try:
                if self._path is not None:
                    fd = open_to_lock(self._path)
                    while not take(fd) and not stop.wait(_LOOK_S):
                        pass
                yield not stop.is_set()
            finally:
                if fd >= 0:
                    os.close(fd)  # which lets go
