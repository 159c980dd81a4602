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
        self._flying: dict[K, Future[V]] = {}

    def fly(self, key: K, fetch: Callable[[], V]) -> V:
        """Return or raise what `fetch` does, here or in the first thread with this key."""
        with self._guard:
            flight = self._flying.get(key)
            is_ours = flight is None
            if flight is None:
                flight = self._flying[key] = Future()
        if not is_ours:
            return flight.result()
        try:
            flight.set_result(fetch())
        except BaseException as failure:
            flight.set_exception(failure)
            raise
        finally:
            with self._guard:
                del self._flying[key]
        return flight.result()
