"""The one way into the log: every text passes the screen, then the committer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from pagefault.guard.screen import Screen
from pagefault.model.errors import BadInput
from pagefault.model.events import Body, Draft, Event
from pagefault.model.kinds import Origin
from pagefault.store.commit import Committer

B = TypeVar("B", bound=Body)


class Journal:
    def __init__(self, committer: Committer, screen: Screen) -> None:
        self._committer = committer
        self._screen = screen

    def clean(self, text: str) -> str:
        """What would be written of this text. Content is cleaned before it is counted and split.

        Raises `BadInput` for a text that no file could hold.
        """
        try:
            text.encode()
        except UnicodeEncodeError as bad:
            raise BadInput(
                f"a text is not valid Unicode: a lone surrogate at character {bad.start}",
                hint="decode the bytes it came from as UTF-8",
            ) from None
        return self._screen.clean(text)

    def clean_body(self, body: B) -> B:
        """What would be written of this body: what is folded before it is written must equal it."""
        return self._screen.clean_body(body)

    async def append(self, drafts: Sequence[Draft]) -> list[Event]:
        """Write these as one batch, and return them as events once they are acknowledged.

        Raises `ScreenFailed` with nothing written if the screen cannot vouch for them.
        """
        cleaned = []
        for draft in drafts:
            body = self._screen.clean_body(draft.body)
            origin = Origin(self.clean(draft.origin))  # a tool's name is the caller's text
            is_clean = body is draft.body and origin == draft.origin
            cleaned.append(draft if is_clean else replace(draft, body=body, origin=origin))
        return await self._committer.append(cleaned)
