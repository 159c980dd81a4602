"""Draws docs/images/studio.svg, the studio on the demo's conversation: the same picture each time.

    python docs/studio_picture.py

It is no part of `docs/generate.py`, whose check must not need the package `textual`.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from pathlib import Path

from generate import FixedClock

from pagefault.cli import demo_script
from pagefault.engine.scripted import ScriptedEngine
from pagefault.service.bootstrap import open_memory
from pagefault.service.limits import Limits
from pagefault.studio.app import StudioApp

TARGET = Path(__file__).parent / "images" / "studio.svg"
SIZE = (120, 36)


async def drawn(root: Path) -> str:
    limits = Limits(recall_tokens_max=0)  # as in the demo, every page that comes back is a fault
    async with open_memory(
        root, limits=limits, window=demo_script.WINDOW_TOKENS, clock=FixedClock(), seed=1
    ) as memory:
        session = await memory.session("bike workshop", mode="active")
        await demo_script.replay(session)
        for question in demo_script.QUESTIONS:
            await session.user(question, speaker="Mira")
            await session.run(ScriptedEngine())
    async with open_memory(root, read_only=True, clock=FixedClock()) as memory:
        session = await memory.session("bike workshop", create=False)
        app = StudioApp(memory, session, writing=lambda: open_memory(root), clean=str)
        async with app.run_test(size=SIZE) as pilot:
            while app.timeline.shows is None or app.pages.window is None:
                await pilot.pause(0.05)
            back = next(at for at, count in enumerate(app.timeline.shows.brought) if count)
            app._go(back)  # a question, and what came back for it
            while not (view := app.strip.shows) or not view.segments or view.is_next:
                await pilot.pause(0.05)
            await pilot.pause(0.3)
            app.pages.lines.cursor = app.pages.lines.count - 3
            await pilot.pause(0.3)
            picture = app.export_screenshot(simplify=True)
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)  # loads nothing
    return re.sub(r"terminal-\d+", "terminal", picture)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        TARGET.write_text(asyncio.run(drawn(Path(folder) / "memory")), encoding="utf-8")
