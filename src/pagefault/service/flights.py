"""Single flight: of several threads that want the same thing at once, one fetches it for all."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Flights(Generic[K, V]):
    """Fetches under way, by key. Keeps no results."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._flying: dict[K, Future[V] | None] = {}  # None while nobody else waits for it

    def fly(self, key: K, fetch: Callable[[], V]) -> V:
        """Return or raise what `fetch` does, here or in the first thread with this key."""
        with self._guard:
            is_ours = key not in self._flying
            if is_ours:
                self._flying[key] = None
            else:
                flight = self._flying[key] or Future[V]()
                self._flying[key] = flight
        if not is_ours:
            return flight.result()
        try:
            fetched = fetch()
        except BaseException as failure:
            if (awaited := self._landed(key)) is not None:
                awaited.set_exception(failure)
            raise
        if (awaited := self._landed(key)) is not None:
            awaited.set_result(fetched)
        return fetched

    def _landed(self, key: K) -> Future[V] | None:
        """What others wait for, if any do."""
        with self._guard:
            return self._flying.pop(key)
