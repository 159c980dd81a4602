"""Creating an overlay over a store."""

from __future__ import annotations

from typing import Final

from pagefault.model import defaults
from pagefault.model.clock import Clock
from pagefault.model.ids import IdMinter, Seq
from pagefault.store.in_memory.vectors import MemoryVectorPlace
from pagefault.store.leases import Leases
from pagefault.store.overlay.index import OverlayIndex
from pagefault.store.overlay.log import FIRST, OverlayBlobs, OverlayLog
from pagefault.store.store import Store

RECORDS_MAX: Final = 1 << 24
"""The most records of one overlay: the next one's numbers begin after them."""


def overlay_store(base: Store, clock: Clock, minter: IdMinter, *, number: int = 0) -> Store:
    """An in-memory store that reads what `base` holds now, and never writes to it. It ends with its
    process; close it before `base`. Overlays with different numbers have different records.
    """
    after = Seq(FIRST - 1 + number * RECORDS_MAX)
    return Store(
        OverlayLog(base.log, secret=base.secret, clock=clock, minter=minter, after=after),
        OverlayIndex(base.index, after),
        OverlayBlobs(base.blobs, base.secret),
        MemoryVectorPlace(),
        base.secret,
        Leases("overlay", None, defaults.LEASE_S),
        is_adopted=base.is_adopted,
        keeps=False,
    )
