"""A store's life on a simulated disk: opened, written to, killed, and opened again.

One process at a time, and one seed for all randomness. Appends go through the real `Committer`: its
thread is parked while a group is queued, so that the group is as intended.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from pagefault.model import defaults
from pagefault.model.errors import StoreError
from pagefault.model.events import Draft, Event
from pagefault.model.ids import IdMinter, SessionNo
from pagefault.model.kinds import Sync
from pagefault.store.commit import Committer
from pagefault.store.embedded.root import open_store
from pagefault.store.leases import Leases
from pagefault.store.store import Store
from pagefault.testing.sim_disk import Died, SimulatedDisk
from pagefault.testing.sim_medium import Medium
from pagefault.testing.sim_vfs import IndexVfs

T = TypeVar("T")


class JumpyClock:
    """A clock that stands still until it is set; `now_ms` may be set to anything."""

    def __init__(self) -> None:
        self.now = 1_764_000_000_000
        self._elapsed_s = 0.0

    def now_ms(self) -> int:
        return self.now

    def monotonic_s(self) -> float:
        self._elapsed_s += 0.001
        return self._elapsed_s


class _Alone(Leases):
    """Leases for a single process: it never records another lease on its own session, so that the
    log has only what was asked for.
    """

    def is_ours(self, session: SessionNo) -> bool:
        return True


class StoreLife:
    """`store` is the store, None while it is not open."""

    def __init__(self, seed: int, *, segment_bytes: int, lying: bool = False) -> None:
        self.chance = random.Random(seed)
        self.clock = JumpyClock()
        self._folder = tempfile.TemporaryDirectory(prefix="pagefault-life-")
        folder = Path(self._folder.name).resolve()
        self.root = folder / "memory"
        self.disk = SimulatedDisk(Medium(folder, self.chance), self.chance, lying=lying)
        self.store: Store | None = None
        self._segment_bytes = segment_bytes
        self.minter = IdMinter(self.clock, self.chance)
        self._committer: Committer | None = None
        self._loop = asyncio.new_event_loop()
        self._vfs = IndexVfs(self.disk)
        self._vfs.__enter__()

    def end(self) -> None:
        """Close everything and leave nothing behind."""
        self.bury()
        self._vfs.__exit__(None, None, None)
        self._loop.close()
        self.disk.medium.close()
        self._folder.cleanup()

    def open(self) -> Store:
        """Open as a new process does. Raises what opening raises, and `Died`."""
        assert self.store is None
        self.store = self.another()
        self._committer = Committer(self.store, Sync.GROUP)
        return self.store

    def another(self, *, read_only: bool = False) -> Store:
        """A second opening of the same root."""
        store = open_store(
            self.root,
            clock=self.clock,
            minter=self.minter,
            sync=Sync.GROUP,
            read_only=read_only,
            entropy=self.chance.randbytes,
            disk=self.disk,
            segment_bytes=self._segment_bytes,
        )
        store.leases = _Alone("", store.leases.presence, defaults.LEASE_S)
        return store

    def close(self) -> None:
        """Close as a process that exits normally. On a dead disk nothing changes."""
        committer, store = self._committer, self.store
        self._committer = self.store = None
        if committer is not None:
            committer.close()
        if store is not None:
            close_whole(store)

    def bury(self) -> None:
        """Close what is open; if the process died, restore what is left of its files."""
        self.close()
        if self.disk.dead:
            self.disk.revive()

    # --- writing ------------------------------------------------------------------------------

    def append(self, group: Sequence[Sequence[Draft]]) -> list[list[Event] | StoreError | Died]:
        """Append these batches in one group; returns each one's events, or why it failed."""
        committer = self._committer
        assert committer is not None

        async def waiting() -> list[list[Event] | StoreError | Died]:
            gate = threading.Event()
            parked = asyncio.ensure_future(committer.run(gate.wait))
            appends = [asyncio.ensure_future(committer.append(batch)) for batch in group]
            for _ in range(5):
                await asyncio.sleep(0)
            gate.set()
            await parked
            told: list[list[Event] | StoreError | Died] = []
            for append in appends:
                try:
                    told.append(await append)
                except (StoreError, Died) as failure:
                    told.append(failure)
            return told

        return self._loop.run_until_complete(waiting())

    def run(self, call: Callable[[], T]) -> T:
        """Run on the writing thread."""
        assert self._committer is not None
        return self._loop.run_until_complete(self._committer.run(call))


def close_whole(store: Store) -> None:
    """Close a store, even if closing its index fails."""
    for _ in range(5):
        with suppress(StoreError, Died):
            store.close()
            return
    raise AssertionError("it cannot be closed")
