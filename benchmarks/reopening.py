"""What a request costs that brings nothing in, in sessions of different sizes, asked by turns.

    python benchmarks/reopening.py WINDOW PAGES [PAGES ...]

fills a session for each number of pages under a temporary folder, with turns of 60 made-up words;
of the last 300 each other was sent with a request. It prints for each, as JSON: what a request
holds, how long the next takes within its turn, how long the first takes after the session was
opened anew (the opening of the memory apart, the tokenizer loaded), and what of both is processor
time (p50, in milliseconds).
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

import pagefault
from pagefault.lab.kernel import BATCH, words
from pagefault.model.kinds import USER_TYPED, Role
from pagefault.service.turn.drafts import Incoming

SENT = 300  # turns
AGAIN = 300  # requests
OPENINGS = 7


async def fill(home: Path, window: int, pages: int) -> None:
    chance = random.Random(pages)
    async with pagefault.open(home, window=window, sync="os") as memory:
        session = await memory.session("s")
        for first in range(0, pages - SENT, BATCH):
            numbers = range(first, min(first + BATCH, pages - SENT))
            roles = (Role.ASSISTANT if number % 2 else Role.USER for number in numbers)
            await session.say(
                [Incoming(text=words(chance), role=role) for role in roles], origin=USER_TYPED
            )
        for _ in range(SENT // 2):
            await session.user(words(chance))
            await session.request()
            await session.assistant(words(chance))
        await session.user("What now?")
        await session.request()


class Watch:
    def __init__(self) -> None:
        self._took: list[tuple[float, float]] = []

    async def time(self, call: Callable[[], Awaitable[object]]) -> None:
        began, worked = time.perf_counter(), time.process_time()
        await call()
        self._took.append((time.perf_counter() - began, time.process_time() - worked))

    def told(self, name: str) -> dict[str, float]:
        wall, cpu = (round(1000 * median(took), 2) for took in zip(*self._took, strict=True))
        return {f"{name}_ms": wall, f"{name}_cpu_ms": cpu}


async def main(window: int, sizes: list[int], root: Path) -> None:
    homes = {pages: root / str(pages) for pages in sizes}
    opened, again = ({pages: Watch() for pages in sizes} for _ in range(2))
    for pages, home in homes.items():
        await fill(home, window, pages)
    for _ in range(OPENINGS):
        for pages, home in homes.items():
            async with pagefault.open(home, window=window) as memory:

                async def first(memory: pagefault.Memory = memory) -> None:
                    await (await memory.session("s", create=False)).request()

                await opened[pages].time(first)
    async with AsyncExitStack() as stack:
        sessions = {}
        for pages, home in homes.items():
            memory = await stack.enter_async_context(pagefault.open(home, window=window))
            sessions[pages] = await memory.session("s", create=False)
        held = {pages: (await session.request()).tokens for pages, session in sessions.items()}
        for _ in range(AGAIN):
            for pages, session in sessions.items():
                await again[pages].time(session.request)
    for pages in sizes:
        told = opened[pages].told("opened") | again[pages].told("again")
        line = {"pages": pages, "window": window, "tokens": held[pages]} | told
        sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="pagefault-requests-") as folder:
        asyncio.run(main(int(sys.argv[1]), [int(pages) for pages in sys.argv[2:]], Path(folder)))
