"""A store that leaves nothing on disk: log and blobs in memory, and an index there, too."""

from __future__ import annotations

from collections.abc import Callable

from pagefault.model import defaults
from pagefault.model.clock import Clock
from pagefault.model.ids import IdMinter
from pagefault.store.api import PageIndex
from pagefault.store.embedded.connections import MEMORY
from pagefault.store.embedded.index import SqliteIndex
from pagefault.store.in_memory.log import MemoryBlobs, MemoryLog
from pagefault.store.leases import Leases
from pagefault.store.store import Store


def memory_store(
    clock: Clock,
    minter: IdMinter,
    entropy: Callable[[int], bytes],
    *,
    index: PageIndex | None = None,
) -> Store:
    """A store that leaves nothing on disk. The same code runs on it. Its index is SQLite's, as that
    stays quick when there is much in it, unless another is given.
    """
    secret = entropy(32)
    log = MemoryLog(clock=clock, minter=minter, secret=secret)
    if index is None:
        index = SqliteIndex.create(MEMORY, root_id="memory")
    leases = Leases("memory", None, defaults.LEASE_S)
    return Store(log, index, MemoryBlobs(secret), log.hash_key, secret, leases)
