"""The windows of a tree of histories: each node has that of the nearest epoch on the way to it."""

from __future__ import annotations

from collections.abc import Iterable

from pagefault.window.slots import WHOLE_CONVERSATION, Window


class Windows:
    def __init__(self) -> None:
        self._begun: dict[str, Window] = {}  # by the node with which each began

    def at(self, path: Iterable[str]) -> Window:
        """The window at the end of a path, which is given from its end back to the root."""
        return next((self._begun[one] for one in path if one in self._begun), WHOLE_CONVERSATION)

    def begin(self, window: Window) -> None:
        """An epoch: from its node on this is the window. Another at the same node replaces it."""
        self._begun[window.epoch] = window
