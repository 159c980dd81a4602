"""Whether a memory can be written just now; and that it can be again, once a full disk has room.

A failed write latches a memory until it is opened anew (`store/latch.py`). Where nothing but room
was missing, whoever stays open for long asks here instead: what an opening would do is done in its
place, and every session folds anew what the log holds.
"""

from __future__ import annotations

import asyncio

from pagefault.model.errors import StoreBusy, StoreError
from pagefault.service.memory import Memory
from pagefault.service.session import Session


def refusal_of(memory: Memory) -> StoreError | None:
    """Why nothing can be written, as far as is known; None if it can."""
    return memory._store.refusal


def hurry(memory: Memory, wait_s: float) -> None:
    """Wait no longer than that for another process that writes, and once only for one that does not
    let go: where clients wait behind each write, what cannot be written is better told soon.
    """
    if memory._store.lock is not None:
        memory._store.lock.hurry(wait_s)


async def check_writable(
    memory: Memory, session: Session | None = None, *, wait_s: float | None = None
) -> None:
    """Raise what would be in the way of writing now, to that session if one is named, after a
    memory that was out of room has had its chance to go on. Nothing is written.

    Waits for other processes as a write does, or so long.
    """
    store = memory._store

    def look() -> None:
        store.recover()
        store.check_writable()
        if session is not None and session.kept_as is not None:
            store.check_free(session.kept_as)

    try:
        async with asyncio.timeout(wait_s):
            await memory._committer.run(look)
    except TimeoutError:
        raise StoreBusy("the memory is in use by another process") from None
