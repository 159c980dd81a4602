"""An overlay over a store."""

from __future__ import annotations

from pagefault.model import defaults
from pagefault.model.clock import Clock
from pagefault.model.ids import IdMinter
from pagefault.store.in_memory.vectors import MemoryVectorPlace
from pagefault.store.leases import Leases
from pagefault.store.overlay.index import OverlayIndex
from pagefault.store.overlay.log import OverlayBlobs, OverlayLog
from pagefault.store.store import Store


def overlay_store(base: Store, clock: Clock, minter: IdMinter) -> Store:
    """A store in memory that reads what `base` holds by now, and never writes there. It ends with
    its process, and must be closed before `base` is.
    """
    return Store(
        OverlayLog(base.log, secret=base.secret, clock=clock, minter=minter),
        OverlayIndex(base.index),
        OverlayBlobs(base.blobs, base.secret),
        MemoryVectorPlace(),
        base.secret,
        Leases("overlay", None, defaults.LEASE_S),
        is_adopted=base.is_adopted,
    )
