"""The beginning that a request shares with the one before it, and what was computed from it.

Nearly all of a request was in the one before, and is sent as it was. So the results of the engine,
the scales and the renderer for it are kept, and only the rest is computed. If anything in it may
differ, the beginning is dropped and the whole request is computed.

Invariant: a beginning holds what would be computed again from the same messages. So its places were
sent, others were sent after them, and memory has all that they say. It is dropped with

 - another window, or another way to name pages;
 - anything sent being made anew, put in or taken back (`Verbatim.changes`);
 - another `state`: what memory says of a node that it has;
 - other messages, or other nodes, as objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pagefault.proxy.history.history import History, in_common
from pagefault.proxy.history.trie import Node
from pagefault.proxy.layout.places import MessagePlace
from pagefault.proxy.wires.wire import instructs
from pagefault.window.slots import WHOLE_CONVERSATION, Form, Item, Window


@dataclass(slots=True, kw_only=True)
class Beginning:
    """The beginning of one request; empty for the first."""

    window: Window = WHOLE_CONVERSATION
    names_pages: bool = False
    changes: int = 0
    state: object = None
    messages: Sequence[Any] = ()  # of the whole request, not only of these places
    places: list[MessagePlace] = field(default_factory=list)
    path: list[Node] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)  # of the window
    less: dict[str, Form] = field(default_factory=dict)  # forms of items that are not whole
    hidden: list[Node] = field(default_factory=list)  # the nodes of these
    quoting: list[str] = field(default_factory=list)
    reminders: list[str] = field(default_factory=list)
    tokens: int = 0
    left_tokens: int = 0
    sent: list[Any] = field(default_factory=list)
    stayed: list[Any] = field(default_factory=list)  # instructions to put before what follows
    shows_any: bool = False  # of these places

    def is_of(self, window: Window, changes: int, *, names_pages: bool) -> bool:
        """Whether it still holds."""
        return self.window is window and self.changes == changes and self.names_pages == names_pages

    def begins(self, history: History, path: Sequence[Node], state: object) -> bool:
        """Whether a request begins with it and continues. What follows the last place must not
        belong to it.
        """
        if not self.places or state is None or self.state != state:
            return False
        upto = self.places[-1].upto
        return (
            len(self.path) < len(path)
            and upto < len(history.messages)
            and not instructs(history.messages[upto])
            and in_common(self.messages, history.messages) >= upto
            and in_common(self.path, path) == len(self.path)
        )
