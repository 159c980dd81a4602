"""Finds the messages that a client sends for the first time, whose JSON is then logged.

A message is known as long as its pages are the same: marking, blanking or leaving out parts of it
later does not make it new. Messages without a place (reasoning, a reminder) belong to the next one
that has one. Messages that nobody said, and those of which something was forgotten, are left out;
those of which something is not logged yet wait until it is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from operator import is_
from typing import Any

from pagefault.model.events import HISTORY_START, ReceivedItem
from pagefault.model.ids import PageId
from pagefault.model.kinds import Role
from pagefault.proxy.history.history import History, Item, Part, canonical, digest, unmarked
from pagefault.proxy.history.trie import Match, Node
from pagefault.service.inspection.received import FromClient


@dataclass(frozen=True, slots=True)
class News:
    """New messages, and the path up to which the log is complete once it has them."""

    messages: list[FromClient]
    path: tuple[Node, ...]


@dataclass(slots=True)
class FirstSent:
    """For one conversation. `said_in` returns the pages of a node, or None if it
    is not logged yet.
    """

    said_in: Callable[[Node], Sequence[str] | None]
    _kept: set[str] = field(default_factory=set)  # keys of messages that the log has
    _path: tuple[Node, ...] = ()  # whose messages are among them, as far as possible

    def find(self, history: History, match: Match) -> News:
        """The messages of a request that were not kept before.

        A request repeats its history, so only the path after the last common node is examined; an
        edited node pulls that point back. A message is new if its key is. Messages without a place
        are held until the next one that has one.
        """
        path, placed, items = match.path, history.placed, history.items
        same = sum(takewhile(bool, map(is_, path, self._path)))
        same = min(same, *match.edited) if match.edited else same
        begin = placed[same - 1].message + 1 if same else 0
        if same < len(placed) and placed[same].message < begin:
            begin -= 1  # it has grown since
        upto = bisect_left(placed, begin, key=_number)
        nodes = iter(path[upto:])
        follows = next(filter(None, map(self._page, reversed(path[:upto]))), HISTORY_START)
        found, loose, is_waiting = list[FromClient](), list[_Told](), False
        for number, group in groupby(items[bisect_left(items, begin, key=_number) :], _number):
            said = [(item, next(nodes) if item.place else None) for item in group]
            if any(item.part is Part.DRESS and item.role is Role.SYSTEM for item, _ in said):
                continue  # instructions: nobody said them
            pages = [self._page(node) for _, node in said]
            told = _Told(history.own[number], said, pages, follows)
            follows = next(filter(None, reversed(pages)), follows)
            placed_nodes = [node for _, node in said if node is not None]
            if not placed_nodes:
                loose.append(told)
                continue
            is_waiting |= any(self.said_in(node) is None for node in placed_nodes)
            upto += 0 if is_waiting else len(placed_nodes)
            if told.is_whole and told.key not in self._kept:
                found += [one.from_client() for one in (*loose, told)]
            loose = []
        return News(found, path[:upto])

    def keep(self, found: News) -> None:
        """The log has these now, or never will."""
        self._kept.update(one.key for one in found.messages)
        self._path = found.path

    def _page(self, node: Node | None) -> PageId:
        """The first page of a node, or "" """
        pages = self.said_in(node) if node is not None else ()
        return PageId(pages[0] if pages else "")


def _number(item: Item) -> int:
    return item.message


@dataclass(frozen=True, slots=True)
class _Told:
    """A message of a request: its items, and their pages."""

    message: Any
    items: Sequence[tuple[Item, Node | None]]
    pages: Sequence[PageId]
    follows: PageId

    @property
    def is_whole(self) -> bool:
        """Whether everything that it says is logged."""
        told = zip(self.items, self.pages, strict=True)
        return all(page or not item.is_said for (item, _), page in told)

    @property
    def key(self) -> str:
        """Identifies a message within its session, and distinguishes it from its replacements: by
        its pages; if it has none, by its position and content.
        """
        if not any(self.pages):
            said = digest(canonical(unmarked(self.message)))
            return f"received after {self.follows}: {said}"
        placed = zip(self.items, self.pages, strict=True)
        names = (page or digest(item.place) for (item, _), page in placed if item.place)
        return f"received {' '.join(names)}"

    def from_client(self) -> FromClient:
        items = tuple(
            ReceivedItem(kind=item.kind, page_id=page)
            for (item, _), page in zip(self.items, self.pages, strict=True)
        )
        return FromClient(message=self.message, items=items, follows=self.follows, key=self.key)
