"""A simulated remote engine of a store: any call may be slow, be refused, or lose its connection
after it was executed, so that its outcome is unknown.

`put_away` moves a store's engine behind a `Link`, whose faults are random. All calls are
intercepted, whatever their names: `Distant` has no list of methods.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, cast

from pagefault.model.errors import StoreBusy, StoreError
from pagefault.store.api import Presence
from pagefault.store.store import Store

SLOW_S: Final = 0.002
NEVER_FAILS: Final = frozenset({"close", "hash_key", "release", "end_turn"})
"""Calls that need no server, or that the server makes by itself when clients are gone."""

LEADS_ON: Final = frozenset({"beside", "find", "make"})
"""Calls that return further remote objects."""


@dataclass(slots=True)
class Link:
    """Probabilities of slow, refused and cut-off calls; `faults` counts the last two."""

    chance: random.Random
    slow: float = 0.0
    refused: float = 0.0
    cut: float = 0.0
    faults: int = 0
    names: list[str] = field(default_factory=list)  # of the calls that failed

    def heal(self) -> None:
        """Make every further call succeed."""
        self.slow = self.refused = self.cut = 0.0

    def call(self, name: str, verb: Callable[[], Any]) -> Any:
        if self.chance.random() < self.slow:
            time.sleep(SLOW_S)
        if self.chance.random() < self.refused:
            self._note(name)
            raise StoreBusy("the server answers nobody", hint="try again")
        made = verb()
        if self.chance.random() < self.cut:
            self._note(name)
            raise StoreError("the connection broke", hint="look whether the server is there")
        return made

    def _note(self, name: str) -> None:
        self.faults += 1
        self.names.append(name)


class Distant:
    """A proxy for the object `there` at the other end of a link."""

    def __init__(self, there: Any, link: Link) -> None:
        self._there = there
        self._link = link

    def __str__(self) -> str:
        return str(self._there)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._there, name)
        if not callable(found) or name in NEVER_FAILS:
            return found

        def asked(*args: Any, **options: Any) -> Any:
            made = self._link.call(name, lambda: found(*args, **options))
            if name in LEADS_ON and made is not None:
                return Distant(made, self._link)
            return self._pieces(name, made) if isinstance(made, Iterator) else made

        return asked

    def _pieces(self, name: str, made: Iterator[Any]) -> Iterator[Any]:
        """Stream a long answer; the link may fail before any piece."""
        done = object()
        while (piece := self._link.call(name, lambda: next(made, done))) is not done:
            yield piece


def put_away(store: Store, link: Link) -> Store:
    """The same store, with its engine at the other end of a link."""
    for name in ("log", "index", "blobs", "vector_place", "lock"):
        engine = getattr(store, name)
        setattr(store, name, None if engine is None else Distant(engine, link))
    presence = store.leases.presence
    store.leases.presence = None if presence is None else cast("Presence", Distant(presence, link))
    return store
