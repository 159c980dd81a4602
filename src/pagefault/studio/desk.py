"""What somebody looks at: a feed of a memory, and one of its sessions."""

from __future__ import annotations

from dataclasses import dataclass

from pagefault.views.browser import Browser
from pagefault.views.feed import Feed
from pagefault.views.texts import Clean


@dataclass(slots=True)
class Desk:
    """`clean` takes out of a text what must not be shown, and makes visible what acts on a
    terminal; what the feed tells went through it.
    """

    feed: Feed
    session_id: str
    clean: Clean

    async def browser(self, session_id: str = "") -> Browser:
        """The pages of the session, or of another."""
        return await self.feed.browser(session_id or self.session_id)

    def shown(self, text: str) -> str:
        """Cleaned, and on one line."""
        return " ".join(self.clean(text).split())
