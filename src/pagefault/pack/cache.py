"""An LRU cache of rendered requests, so that none is rendered twice.

A key covers everything a pack depends on, so a pack is never stale. Its digest covers the pages
(ids and records), the listing, the calls of the turn, the prompt and the tools. `drop` removes
packs that may not stay in memory: after a forget, or when a session is reconfigured.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from pagefault.model.defaults import PACK_CACHE_ENTRIES
from pagefault.model.request import Message


@dataclass(frozen=True, slots=True)
class PackKey:
    session_id: str
    model: str  # that decides the token count
    token_budget: int
    digest: str  # of the working set, and of everything else that is rendered


@dataclass(frozen=True, slots=True)
class Pack:
    """The messages of a request, and their tokens with the tools, framing included."""

    messages: tuple[Message, ...]
    tokens: int


class PackCache:
    """The most recently used packs. Thread-safe."""

    def __init__(self) -> None:
        self._packs: OrderedDict[PackKey, Pack] = OrderedDict()
        self._guard = threading.Lock()

    def __len__(self) -> int:
        return len(self._packs)

    def find(self, key: PackKey) -> Pack | None:
        with self._guard:
            pack = self._packs.get(key)
            if pack is not None:
                self._packs.move_to_end(key)
            return pack

    def put(self, key: PackKey, pack: Pack) -> None:
        """Keep a pack, in place of the least recently used one if the cache is full."""
        with self._guard:
            self._packs[key] = pack
            self._packs.move_to_end(key)
            while len(self._packs) > PACK_CACHE_ENTRIES:
                self._packs.popitem(last=False)

    def drop(self, session_id: str = "") -> None:
        """Drop the packs of a session, or of all."""
        with self._guard:
            for key in list(self._packs):
                if session_id in ("", key.session_id):
                    del self._packs[key]
