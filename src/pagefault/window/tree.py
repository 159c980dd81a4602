"""The windows of a tree of histories: each node has that of its nearest ancestor with an epoch."""

from __future__ import annotations

from collections.abc import Iterable

from pagefault.window.slots import WHOLE_CONVERSATION, Window


class Windows:
    def __init__(self) -> None:
        self._begun: dict[str, Window] = {}  # by the node with which each began

    def at(self, path: Iterable[str]) -> Window:
        """The window at the end of a path, given from its end back to the root."""
        return next((self._begun[one] for one in path if one in self._begun), WHOLE_CONVERSATION)

    def begin(self, window: Window) -> None:
        """Begin an epoch: its node and descendants get this window. Replaces one at that node."""
        self._begun[window.epoch] = window
