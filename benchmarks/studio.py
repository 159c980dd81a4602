"""What the studio costs: its first picture beside that of an empty Textual app, and a key.

    python benchmarks/studio.py make MEMORY PAGES [TURNS_PER_REQUEST]
    python benchmarks/studio.py MEMORY [SESSION]

The first makes a memory to measure: a session of so many pages, of random words of the project's
own pages, with a request every few turns (default 1). That takes about 7 ms of CPU time a page.
Measured is the CPU time of this process, in milliseconds, without a terminal. Each key has two
figures, each as minimum, median and maximum: until the screen is first drawn after it, and until
nothing is left to do, window, lists and previews included.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from textual.app import App, ComposeResult
from textual.widgets import Footer, Static

from pagefault import Memory
from pagefault.service.bootstrap import open_memory
from pagefault.studio.app import StudioApp

SIZE = (120, 40)
KEYS = ("down", "pagedown", "end", "home", "w", "pagedown", "end", "w", *["left"] * 6, "2", "1")
TIMES = 5


class Empty(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("Nothing.")
        yield Footer()


class Watched(StudioApp):
    """Notes when the screen is drawn."""

    is_drawn = False
    drawn = 0.0

    def _display(self, *drawing: Any) -> None:
        super()._display(*drawing)
        if not self.is_drawn:
            self.is_drawn, self.drawn = True, time.process_time()


async def make(root: str, pages: int, each: int) -> None:
    chance = random.Random(1)
    words = (Path(__file__).parents[1] / "docs" / "recall.md").read_text().split()
    async with open_memory(root, window=16_000, sync="os", control="capture_only") as memory:
        session = await memory.session("long")
        for turn in range(pages // 2):
            await session.user(f"{' '.join(chance.choices(words, k=20))} number {turn}?")
            if turn % each == 0:
                await session.request()
            await session.assistant(" ".join(chance.choices(words, k=30)))


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


async def settled() -> float:
    """Until a while went by in which this process had nothing to do; when it began."""
    idle, last = 0, time.process_time()
    while idle < 3:
        before = time.process_time()
        await asyncio.sleep(0.05)
        busy = time.process_time() - before >= 0.004
        idle, last = (0, time.process_time()) if busy else (idle + 1, last)
    return last


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
        app = Watched(memory, session, writing=_never, clean=str)
        answered: dict[str, list[float]] = {}
        done: dict[str, list[float]] = {}
        ready: list[float] = []
        began_here, began = time.thread_time(), time.process_time()
        async with app.run_test(size=SIZE):
            app.call_after_refresh(lambda: ready.append(time.thread_time() - began_here))
            await until(lambda: app.timeline.shows is not None)
            await settled()
            first = 1000 * ready[0]
            requests = 1000 * (time.process_time() - began)
            for _ in range(TIMES):
                for key in KEYS:
                    app.is_drawn, before = False, time.process_time()
                    app.simulate_key(key)
                    end = await settled()
                    drawn = app.drawn if app.is_drawn else end
                    answered.setdefault(key, []).append(1000 * (drawn - before))
                    done.setdefault(key, []).append(1000 * (end - before))
    told = {
        "pages": row.pages,
        "session_opened_ms": round(opening),
        "empty_app_ms": round(empty),
        "studio_ms": round(first),
        "beyond_ms": round(first - empty),
        "requests_read_ms": round(requests),
        "answered_ms": {key: _figures(costs) for key, costs in answered.items()},
        "done_ms": {key: _figures(costs) for key, costs in done.items()},
    }
    sys.stdout.write(json.dumps(told, indent=2) + "\n")


def _never() -> AbstractAsyncContextManager[Memory]:
    raise SystemExit("nothing is written here")


def _figures(costs: list[float]) -> list[int]:
    return [round(one) for one in (min(costs), statistics.median(costs), max(costs))]


if __name__ == "__main__":
    if sys.argv[1] == "make":
        each = int(sys.argv[4]) if len(sys.argv) > 4 else 1
        asyncio.run(make(sys.argv[2], int(sys.argv[3]), each))
    else:
        asyncio.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""))
