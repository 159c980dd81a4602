"""What the studio costs: its first picture beside that of an empty Textual app, and a key.

    python benchmarks/studio.py MEMORY [SESSION]

Processor time of this process, in milliseconds, without a terminal: what drawing on one takes is
the terminal's. A key is counted until nothing is left to do, its previews and lists with it.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from textual.app import App, ComposeResult
from textual.widgets import Footer, Static

from pagefault import Memory
from pagefault.service.bootstrap import open_memory
from pagefault.studio.app import StudioApp

SIZE = (120, 40)
KEYS = ("down", "pagedown", "end", "home", "w", "pagedown", "end", "left", "left", "2", "1")
TIMES = 3


class Empty(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("Nothing.")
        yield Footer()


async def first_picture(app: App[None]) -> float:
    """Of the thread that draws, from when it began to run."""
    began = time.thread_time()
    ready: list[float] = []
    async with app.run_test(size=SIZE):
        app.call_after_refresh(lambda: ready.append(time.thread_time() - began))
        await until(lambda: bool(ready))
    return 1000 * ready[0]


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(200_000):
        if holds():
            return
        await asyncio.sleep(0.002)
    raise SystemExit("it never came to that")


async def settled(app: App[None]) -> None:
    """Until a while went by in which this process had nothing to do."""
    idle = 0
    while idle < 3:
        before = time.process_time()
        await asyncio.sleep(0.05)
        idle = idle + 1 if time.process_time() - before < 0.004 else 0


async def main(root: str, name: str) -> None:
    async with open_memory(root, read_only=True) as memory:
        rows = await memory.sessions()
        row = next(row for row in rows if name in ("", row.name))
        began = time.process_time()
        session = await memory.session(row.session_id, create=False)
        opening = 1000 * (time.process_time() - began)

        async with open_memory(":memory:") as none:
            small = StudioApp(none, await none.session("s"), writing=_never, clean=str)
            await first_picture(small)  # what is loaded once
        empty = statistics.median([await first_picture(Empty()) for _ in range(TIMES)])
        app = StudioApp(memory, session, writing=_never, clean=str)
        keys: dict[str, list[float]] = {}
        ready: list[float] = []
        began_here, began = time.thread_time(), time.process_time()
        async with app.run_test(size=SIZE):
            app.call_after_refresh(lambda: ready.append(time.thread_time() - began_here))
            await until(lambda: app.timeline.shows is not None)
            await settled(app)
            first = 1000 * ready[0]
            requests = 1000 * (time.process_time() - began)
            quiet = await _quiet()
            for _ in range(TIMES):
                for key in KEYS:
                    before = time.process_time()
                    app.simulate_key(key)
                    await asyncio.sleep(0.15)
                    cost = 1000 * (time.process_time() - before) - quiet
                    keys.setdefault(key, []).append(cost)
                    await settled(app)
    told = {
        "pages": row.pages,
        "session_opened_ms": round(opening),
        "empty_app_ms": round(empty),
        "studio_ms": round(first),
        "beyond_ms": round(first - empty),
        "requests_read_ms": round(requests),
        "keys_ms": {
            key: [round(min(c)), round(statistics.median(c)), round(max(c))]
            for key, c in keys.items()
        },
    }
    sys.stdout.write(json.dumps(told, indent=2) + "\n")


def _never() -> AbstractAsyncContextManager[Memory]:
    raise SystemExit("nothing is written here")


async def _quiet() -> float:
    """What this process does in the time of a key when nobody presses any."""
    before = time.process_time()
    await asyncio.sleep(0.15)
    return 1000 * (time.process_time() - before)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""))
