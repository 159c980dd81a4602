"""The turn to compute a memory's vectors: one opening at a time, so that none is computed twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pagefault.store.api import VectorPlace

_LOOK_S: Final = 0.02  # between two attempts


class WriteTurn:
    """Of one opening, whose threads take turns, too."""

    def __init__(self, place: VectorPlace) -> None:
        self._place = place
        self._mine = threading.Lock()

    @contextmanager
    def taken(self, stop: threading.Event) -> Iterator[bool]:
        """Wait for the turn, or for `stop`; yields whether it was taken. It ends with the block."""
        with self._mine:
            try:
                while not self._place.take_turn() and not stop.wait(_LOOK_S):
                    pass
                yield not stop.is_set()
            finally:
                self._place.end_turn()
