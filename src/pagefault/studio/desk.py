"""The studio's subject: a feed of a memory, and one of its sessions."""

from __future__ import annotations

from dataclasses import dataclass

from pagefault.views.browser import Browser
from pagefault.views.feed import Feed
from pagefault.views.texts import Clean


@dataclass(slots=True)
class Desk:
    """`clean` removes from a text what must not be shown, and makes terminal control characters
    visible; the feed's texts have been through it.
    """

    feed: Feed
    session_id: str
    clean: Clean

    async def browser(self, session_id: str = "") -> Browser:
        """The page browser of this session, or another."""
        return await self.feed.browser(session_id or self.session_id)

    def shown(self, text: str) -> str:
        """The text, cleaned and on one line."""
        return " ".join(self.clean(text).split())
