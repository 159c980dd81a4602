"""The messages of a request that have a place, with what belongs to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pagefault.proxy.history.history import (
    History,
    Item,
    Part,
    essence,
    is_blanked,
    is_same_call,
)
from pagefault.proxy.history.trie import Node
from pagefault.proxy.wires.wire import Wire, instructs


@dataclass(slots=True)
class SentMessage:
    """A message as it was first sent, with what leads up to it, and what is between it and the next
    place and belongs to neither.
    """

    message: Any
    lead: list[Any]
    gap: list[Any]
    closed: bool  # the next one was sent: nothing can be inserted between any more
    tokens: int = -1  # of all these; -1 until weighed


@dataclass(slots=True)
class MessagePlace:
    """A message that has a place, with the reasoning and memory's calls that lead up to it and the
    instructions after it.
    """

    number: int
    nodes: tuple[Node, ...]
    items: tuple[Item, ...]  # what each of these is
    message: Any
    lead: list[Any] = field(default_factory=list)
    gap: list[Any] = field(default_factory=list)
    opens: bool = False  # a turn
    tokens: int = -1  # of all these as the client has them; -1 until weighed

    @property
    def node(self) -> Node:
        return self.nodes[-1]

    @property
    def upto(self) -> int:
        """The number of the message after it and its gap."""
        return self.number + 1 + len(self.gap)


def says_the_same(before: Sequence[Item], now: Sequence[Item]) -> bool:
    """Whether the placed items of a message say what they said before, or what a client makes of
    that later: an old result blanked, a call without its defaults.
    """
    return len(now) == len(before) and all(map(_is_same, before, now))


def _is_same(before: Item, now: Item) -> bool:
    if before.place != now.place:
        return False
    if now.part is Part.CALL:
        return is_same_call(before.text, now.text)
    return before.digest == now.digest or (
        now.part is Part.RESULT and is_blanked(essence(before.text), essence(now.text))
    )


def find_places(
    wire: Wire, history: History, path: Sequence[Node], before: Sequence[MessagePlace], known: int
) -> list[MessagePlace]:
    """The places of a request, in order. It begins with those `before`, which are known, and have
    so many nodes.
    """
    by_message: dict[int, list[tuple[Node, Item]]] = {}
    for item, node in zip(history.placed[known:], path[known:], strict=True):
        by_message.setdefault(item.message, []).append((node, item))
    places = list(before)
    lead: list[Any] = []
    begin = before[-1].upto if before else 0
    for number, message in enumerate(history.messages[begin:], begin):
        if number in by_message:
            nodes, items = zip(*by_message[number], strict=True)
            opens = wire.opens_turn(message)
            places.append(MessagePlace(number, nodes, items, message, lead, opens=opens))
            lead = []
        elif places and not lead and instructs(message):
            places[-1].gap.append(message)
        elif places:
            lead.append(message)
    if places:
        places[-1].gap += lead
    return places
