"""The one way into the log: every text passes the screen, then the committer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pagefault.guard.screen import Screen
from pagefault.model.events import Draft, Event
from pagefault.store.commit import Committer


class Journal:
    def __init__(self, committer: Committer, screen: Screen) -> None:
        self._committer = committer
        self._screen = screen

    def clean(self, text: str) -> str:
        """What would be written of this text. Content is cleaned before it is counted and split."""
        return self._screen.clean(text)

    async def append(self, drafts: Sequence[Draft]) -> list[Event]:
        """Write these as one batch, and return them as events once they are acknowledged.

        Raises `ScreenFailed` with nothing written if the screen cannot vouch for them.
        """
        cleaned = []
        for draft in drafts:
            body = self._screen.clean_body(draft.body)
            cleaned.append(draft if body is draft.body else replace(draft, body=body))
        return await self._committer.append(cleaned)
