"""Leases that a process which runs for long gives up, so that others can write to the session.

A lease given up too early costs two records and is never unsound: whoever writes next leases the
session again, and folds first what others wrote (`Owned.lease`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Container
from contextlib import AbstractAsyncContextManager, suppress

from pagefault.model.defaults import LEASE_IDLE_S
from pagefault.model.errors import PagefaultError
from pagefault.service.memory import Memory
from pagefault.service.periodic import periodically
from pagefault.store.leases import GIVE_UP_EVERY_S


def giving_up_idle(memory: Memory, busy: Container[str] = ()) -> AbstractAsyncContextManager[None]:
    """Within the block, call `give_up_idle` now and then."""
    return periodically(lambda: give_up_idle(memory, busy), every_s=GIVE_UP_EVERY_S)


async def give_up_idle(memory: Memory, busy: Container[str] = ()) -> None:
    """Give up the leases of sessions to which nothing was written for `LEASE_IDLE_S` seconds, by
    the memory's clock, except the `busy` ones, by name. What cannot be given up now stays leased.
    """
    runtime, store = memory._runtime, memory._store
    for session in store.leases.held():
        with suppress(PagefaultError):
            row = await asyncio.to_thread(runtime.index.session, session)
            if row is None or row.name in busy:
                continue
            idle_ms = runtime.clock.now_ms() - row.last_used_ms
            if 0 <= idle_ms < LEASE_IDLE_S * 1_000:  # a clock that was set back keeps nothing
                continue
            live = memory._sessions.get(session)
            if live is not None:
                await live.owned.give_up()
            else:
                await runtime.journal.give_up(session)
