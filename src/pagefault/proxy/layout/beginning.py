"""What a request begins with as the one before it did: its first places, and what came of them.

Nearly all of a request was in the one before, and is shown as it was there. So what the engine, the
scales and the renderer made of it is kept, and a request is worked out from there on. Where
anything may be different the beginning is dropped, and the request is worked out from its own.

Invariant: what a beginning tells is what would be told again of the same messages. So its places
were sent, others were sent behind them, memory has all that they say, and they are dropped with

 - another window, or another way to name pages;
 - anything that was sent being made anew, put in or taken back (`Verbatim.changes`);
 - another `state`: what memory says of a node that it has;
 - other messages, or other nodes, as objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pagefault.proxy.history.history import History, in_common
from pagefault.proxy.history.trie import Node
from pagefault.proxy.layout.places import MessagePlace, instructs
from pagefault.window.slots import WHOLE_CONVERSATION, Form, Item, Window


@dataclass(slots=True, kw_only=True)
class Beginning:
    """Of one request; empty, unless another went before it."""

    window: Window = WHOLE_CONVERSATION
    names_pages: bool = False
    changes: int = 0
    state: object = None
    messages: Sequence[Any] = ()  # of that request, and more than these places
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
    stayed: list[Any] = field(default_factory=list)  # instructions that stand before what follows
    shows_any: bool = False  # of these places

    def is_of(self, window: Window, changes: int, *, names_pages: bool) -> bool:
        """Whether it holds still."""
        return self.window is window and self.changes == changes and self.names_pages == names_pages

    def begins(self, history: History, path: Sequence[Node], state: object) -> bool:
        """Whether a request begins so, and goes on. What stands behind the last place must not
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
