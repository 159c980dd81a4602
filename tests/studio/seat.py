"""A studio that is driven by its keys. It needs `textual`: who imports this skips before."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input

from pagefault import Memory
from pagefault.cli.term import printable
from pagefault.service.bootstrap import open_memory
from pagefault.studio.app import StudioApp


class Seat:
    """Somebody at the studio."""

    def __init__(self, app: StudioApp, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something is so, which it must be before long, on a busy machine, too."""
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            if holds():
                return
            await self.pilot.pause(0.01)
        raise AssertionError(f"{self.screen()}\n{self.told}")

    async def sees(self, *texts: str) -> None:
        await self.until(lambda: all(text in self.screen() for text in texts))

    async def hears(self, text: str) -> None:
        await self.until(lambda: any(text in one for one in self.told))

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def types(self, text: str) -> None:
        """Type something where the cursor is, and Enter."""
        await self.until(lambda: isinstance(self.app.focused, Input))
        assert isinstance(self.app.focused, Input)
        self.app.focused.value = text
        await self.pilot.press("enter")

    def screen(self) -> str:
        """What stands on the screen, line by line, less what fades away by itself."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(one.text for one in strip).rstrip() for strip in strips)

    @property
    def told(self) -> list[str]:
        """What it was told in passing, oldest first."""
        return [note.message for note in self.app._notifications]


@asynccontextmanager
async def studio(
    root: Path,
    *,
    size: tuple[int, int] = (110, 40),
    name: str = "workshop",
    writing: Callable[[], AbstractAsyncContextManager[Memory]] | None = None,
) -> AsyncIterator[Seat]:
    async with open_memory(root, read_only=True) as memory:
        session = await memory.session(name, create=False)
        app = StudioApp(
            memory, session, writing=writing or (lambda: open_memory(root)), clean=printable
        )
        async with app.run_test(size=size) as pilot:
            seat = Seat(app, pilot)
            await seat.until(lambda: app.strip.shows is not None and app.timeline.shows is not None)
            yield seat
