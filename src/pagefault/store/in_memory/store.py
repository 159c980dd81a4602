"""A store that leaves nothing on disk."""

from __future__ import annotations

from collections.abc import Callable

from pagefault.model import defaults
from pagefault.model.clock import Clock
from pagefault.model.ids import IdMinter
from pagefault.store.in_memory.log import MemoryBlobs, MemoryLog
from pagefault.store.leases import Leases
from pagefault.store.store import Store


def memory_store(clock: Clock, minter: IdMinter, entropy: Callable[[int], bytes]) -> Store:
    """An empty store that ends with its process."""
    # NumPy takes a tenth of a second to import: only stores that are opened pay for it.
    from pagefault.store.in_memory.index import MemoryIndex
    from pagefault.store.in_memory.vectors import MemoryVectorPlace

    secret = entropy(32)
    log = MemoryLog(clock=clock, minter=minter, secret=secret)
    return Store(
        log,
        MemoryIndex(),
        MemoryBlobs(secret),
        MemoryVectorPlace(),
        secret,
        Leases("memory", None, defaults.LEASE_S),
    )
