"""The histories that one client resends, as a tree: where they agree they are the same nodes.

A node is a position, not a text: the way to it from the root. A request is a path. Sent again, it
is the path again; continued, a longer one; rewound, a branch where it was rewound to. A text that
was changed between neighbours that were not keeps its place.

Invariants, true between any two public calls:
 (1) A node's key is a digest of the places from the root to it, so it is the same in every run.
 (2) No two children of a node stand at one place with one digest.
 (3) Nodes are added and never removed or moved: what was recognised once stays so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from pagefault.proxy.history import Item, Part, digest

KEPT_MIN: Final = 2  # items of the old end that a shortened history must still have, to be known


class Change(StrEnum):
    """How a request stands to the one before it in the same conversation."""

    BEGUN = "begun"
    SAME = "same"  # a retry, or a look back: nothing new is said
    EXTENDED = "extended"
    BRANCHED = "branched"  # rewound, and something else was said
    COMPACTED = "compacted"  # the client summed up, or cut out, what came before


@dataclass(eq=False, slots=True, repr=False)
class Node:
    """An item at its position. `origin` is where it stood before the client compacted."""

    key: str
    parent: Node | None
    depth: int
    place: str
    digest: str
    origin: Node | None = None
    before: tuple[Node, ...] = ()  # of the first node of a compacted history: the one it replaces
    children: list[Node] = field(default_factory=list)
    is_sent: bool = False  # by the client; an answer is not until it is sent back

    @property
    def source(self) -> Node:
        """The node that first held what is said here."""
        node = self
        while node.origin is not None:
            node = node.origin
        return node

    def path(self) -> list[Node]:
        """From the first item to this one."""
        nodes: list[Node] = []
        node: Node | None = self
        while node is not None and node.parent is not None:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]


@dataclass(frozen=True, slots=True)
class Match:
    """What a request is. `path` has a node for each placed item; the first `known` were there."""

    change: Change
    path: tuple[Node, ...]
    known: int
    edited: frozenset[int] = frozenset()  # places in `path` that say something else than before

    @property
    def new(self) -> tuple[Node, ...]:
        return self.path[self.known :]


class Trie:
    """The histories of one conversation of a client. Pure: no clock, no chance, no I/O."""

    def __init__(self) -> None:
        self._root = Node(key="", parent=None, depth=0, place="", digest="")
        self._latest: tuple[Node, ...] = ()

    @property
    def latest(self) -> tuple[Node, ...]:
        """The path of the newest request."""
        return self._latest

    def match(self, items: Sequence[Item]) -> Match:
        """Find the path of a request, adding what is new. `items` are those that have a place."""
        node, path, edited = self._root, list[Node](), set[int]()
        for at, item in enumerate(items):
            found = self._child(node, items, at)
            if found is None:
                break
            if found.digest != item.digest:
                edited.add(at)
            path.append(found)
            node = found
        known = len(path)
        change = self._change(items, path)
        kept = self._kept(items, known) if change is Change.COMPACTED else {}
        replaced = self._latest if change is Change.COMPACTED else ()
        for at in range(known, len(items)):
            node = self._add(node, items[at], origin=kept.get(at), before=replaced)
            replaced = ()
            path.append(node)
        for node in path:
            node.is_sent = True
        self._latest = tuple(path)
        return Match(change, tuple(path), known, frozenset(edited))

    def follow(self, path: Sequence[Node], items: Sequence[Item]) -> tuple[Node, ...]:
        """The nodes of an answer to the request of that path, which becomes the newest."""
        node = path[-1] if path else self._root
        answer: list[Node] = []
        for at, item in enumerate(items):
            node = self._child(node, items, at) or self._add(node, item)
            answer.append(node)
        if self._latest == tuple(path):
            self._latest = (*path, *answer)
        return tuple(answer)

    def check(self) -> None:
        """The invariants, slowly."""
        for node in self._nodes():
            for child in node.children:
                assert child.parent is node, "(3)"
                assert child.key == _key(node, child.place, child.digest), "(1)"
            stand = [(child.place, child.digest) for child in node.children]
            assert len(set(stand)) == len(stand), "(2)"

    def __len__(self) -> int:
        return sum(1 for _ in self._nodes()) - 1

    def _nodes(self) -> Iterator[Node]:
        stack = [self._root]
        while stack:
            node = stack.pop()
            yield node
            stack += node.children

    def _child(self, node: Node, items: Sequence[Item], at: int) -> Node | None:
        """The child that stands where this item does."""
        item = items[at]
        same = [child for child in node.children if child.place == item.place]
        for child in same:
            if child.digest == item.digest or item.part is Part.CALL:
                return child  # a client may write a call's arguments in another order
        if at + 1 == len(items) or item.continues:
            return None  # nothing after it says that it is an old one, edited; or it is a summary
        after = items[at + 1].place
        edited = [
            child
            for child in same or node.children
            if any(grandchild.place == after for grandchild in child.children)
            and (child in same or _is_text_of_one_role(child.place, item))
        ]
        return edited[-1] if edited else None

    def _change(self, items: Sequence[Item], path: Sequence[Node]) -> Change:
        known = len(path)
        if known == len(items):
            return Change.SAME
        last = path[-1] if path else self._root
        if not any(child.is_sent for child in last.children):
            return Change.EXTENDED if path else Change.BEGUN
        if any(item.continues for item in items[known : known + 2]) or self._kept(items, known):
            return Change.COMPACTED
        return Change.BRANCHED if path else Change.BEGUN

    def _kept(self, items: Sequence[Item], known: int) -> dict[int, Node]:
        """Which of the items after the first `known` are the end of the newest history, moved."""
        old = self._latest[known:]
        best: dict[int, Node] = {}
        for end in range(known + 1, len(items) + 1):
            run: dict[int, Node] = {}
            for back in range(1, min(end - known, len(old)) + 1):
                if items[end - back].place != old[-back].place:
                    break
                run[end - back] = old[-back]
            if len(run) > len(best):
                best = run
        return best if len(best) >= KEPT_MIN else {}

    def _add(
        self,
        parent: Node,
        item: Item,
        *,
        origin: Node | None = None,
        before: tuple[Node, ...] = (),
    ) -> Node:
        node = Node(
            key=_key(parent, item.place, item.digest),
            parent=parent,
            depth=parent.depth + 1,
            place=item.place,
            digest=item.digest,
            origin=origin,
            before=before,
        )
        parent.children.append(node)
        return node


def _key(parent: Node, place: str, said: str) -> str:
    return digest(f"{parent.key}\n{place}\n{said}")


def _is_text_of_one_role(place: str, item: Item) -> bool:
    return item.part is Part.TEXT and place.split(" ", 1)[0] == item.role
