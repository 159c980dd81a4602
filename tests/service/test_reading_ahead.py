"""What is read of pages for the next epoch, and when."""

from __future__ import annotations

from pathlib import Path

import pagefault
from pagefault import Session
from tests.service.memories import words

WINDOW = 8_000


async def _ask(session: Session) -> int:
    """A request, and how many pages of the window were not read for an epoch once it is done."""
    await session.request()
    await session.owned.settled()
    return len(session.owned.state.unread)


async def test_the_first_request_after_opening_reads_nothing_ahead(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", window=WINDOW) as memory:
        session = await memory.session("s")
        for turn in range(6):
            await session.user(words(120, f"u{turn}w"))
            await session.assistant(words(120, f"a{turn}w"))
        await session.user("And now?")
        await session.request()
    async with pagefault.open(tmp_path / "m", window=WINDOW) as memory:
        session = await memory.session("s", create=False)
        unread = len(session.owned.state.unread)
        assert unread > 5
        assert await _ask(session) == unread, "the process may end with this request"
        assert await _ask(session) < unread, "control: the next request has pages read"
