"""What a process that runs for long does every so often."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress


@asynccontextmanager
async def periodically(
    work: Callable[[], Awaitable[str | None]],
    say: Callable[[str], object] = lambda told: None,
    *,
    every_s: float,
) -> AsyncIterator[None]:
    """Within the block, do this every so many seconds, and say what it returns, if anything. It
    must not raise.
    """

    async def working() -> None:
        while True:
            await asyncio.sleep(every_s)
            if told := await work():
                say(told)

    task = asyncio.ensure_future(working())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
