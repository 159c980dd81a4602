"""One opening of a memory at a time makes its vectors, which would else be made twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pagefault.store.api import VectorPlace

_LOOK_S: Final = 0.02  # between two tries


class WriteTurn:
    """Of one opening; its threads take turns, too."""

    def __init__(self, place: VectorPlace) -> None:
        self._place = place
        self._mine = threading.Lock()

    @contextmanager
    def taken(self, stop: threading.Event) -> Iterator[bool]:
        """Waits for the turn, or for `stop`; whether it was had. The block ends it."""
        with self._mine:
            try:
                while not self._place.take_turn() and not stop.wait(_LOOK_S):
                    pass
                yield not stop.is_set()
            finally:
                self._place.end_turn()
