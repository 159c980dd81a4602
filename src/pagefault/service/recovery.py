"""Recovery from a full disk: whether a memory can be written now, or again.

A failed write latches a memory until it is opened again (`store/latch.py`). If only room was
missing, a long-running process calls this instead: it does what an opening would, and every session
is folded again from the log.
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
    """Bound the wait for another process that writes, and wait only once for one that does not let
    go: if clients wait behind each write, an early error is better.
    """
    if memory._store.lock is not None:
        memory._store.lock.hurry(wait_s)


async def check_writable(
    memory: Memory, session: Session | None = None, *, wait_s: float | None = None
) -> None:
    """Raise what would prevent a write now, to that session if one is named, after a memory that
    was out of room has tried to recover. Writes nothing.

    Waits for other processes as a write does, or for the given time.
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
