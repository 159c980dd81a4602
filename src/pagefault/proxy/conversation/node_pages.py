"""The pages of the log that hold what each node of a conversation's histories says.

Invariants:
 (1) A node is *kept* when its present words are in the log, or need not be.
 (2) `order_next` is the order of the session's next page, unless another process wrote to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pagefault.model.events import HISTORY_START
from pagefault.model.ids import PageId
from pagefault.proxy.history.trie import Node


class NodePages:
    """For one conversation. Pure."""

    def __init__(self) -> None:
        self.order_next = 0
        self._pages: dict[str, Sequence[PageId]] = {}  # by the key of the node that says it
        self._keys: dict[str, str] = {}  # of nodes, by every page that they ever were
        self._edited: set[str] = set()  # keys of nodes whose present words are not logged yet

    def restore(
        self, nodes: Mapping[str, Node], pages: Iterable[Sequence[PageId]], order_next: int
    ) -> None:
        """Begin from the log: the nodes by their first pages, and all pages of each."""
        self._keys = {page_id: node.key for page_id, node in nodes.items()}
        self._pages = {self._keys[one[0]]: one for one in pages}
        self.order_next = order_next

    def forget(self) -> None:
        """The session was forgotten: what these nodes say was said, and has no page any more."""
        self._pages = dict.fromkeys(self._pages, ())
        self._keys.clear()
        self.order_next = 0

    # --- looking up ---------------------------------------------------------------------------

    def of(self, node: Node) -> Sequence[PageId]:
        """The pages that hold what a node says."""
        return self._pages.get(node.source.key, ())

    def count(self, nodes: Iterable[Node]) -> int:
        """How many pages hold what these nodes say. Called for all that left a window, with each
        request: so no function is called for each.
        """
        find = self._pages.get
        sources = [node if node.origin is None else node.source for node in nodes]
        return len({page for node in sources for page in find(node.key, ())})

    def is_said(self, node: Node) -> bool:
        """Whether a page holds any of it."""
        return bool(self.of(node))

    def first(self, node: Node | None) -> PageId:
        """The first of these pages, or "" """
        pages = self.of(node) if node is not None else ()
        return PageId(pages[0] if pages else "")

    def first_in(self, nodes: Iterable[Node]) -> PageId:
        """The first page of the first of these nodes that has one, or "" """
        return next(filter(None, map(self.first, nodes)), PageId(""))

    def key_of(self, page_id: PageId) -> str:
        """The key of the node that a page belongs to, or "" """
        return self._keys.get(page_id, "")

    def before(self, node: Node) -> str:
        """The page that a node's own follows in the client's history."""
        parent = node.parent
        while parent is not None:
            pages = self._pages.get(parent.key)
            if pages and parent.origin is None:
                return pages[0]
            parent = parent.parent
        return HISTORY_START

    # --- what is logged -----------------------------------------------------------------------

    def is_kept(self, node: Node) -> bool:
        return node.key in self._pages and node.key not in self._edited

    def is_logged(self, node: Node) -> bool:
        """Whether its words, or the ones before an edit, are in the log at its own position."""
        return node.key in self._pages

    def is_edited(self, node: Node) -> bool:
        """Whether its words replace others, and are not logged yet."""
        return node.key in self._edited

    def is_new(self, node: Node) -> bool:
        """Whether nothing was logged for this node, nor for the one that it repeats."""
        is_known = node.key in self._pages or node.source.key in self._pages or node.is_bare
        return not (is_known or node.key in self._edited)

    def find(self, node: Node) -> Sequence[PageId] | None:
        """The pages of a node, of its former words if it is edited; None if never logged."""
        return self._pages.get(node.source.key)

    def written(self, node: Node) -> Sequence[PageId] | None:
        """The pages of its present words, or None if these are not logged yet."""
        return None if node.key in self._edited else self.find(node)

    def kept_upto(self, nodes: Sequence[Node]) -> int:
        """How many of these, from the first on, are kept. Called for whole histories, of which all
        but the last are nearly always kept: so no function is called for each.
        """
        keys = [node.key for node in nodes]
        if not self._edited and all(map(self._pages.__contains__, keys)):
            return len(keys)
        missing = (n for n, key in enumerate(keys) if key not in self._pages or key in self._edited)
        return next(missing, len(keys))

    # --- changes ------------------------------------------------------------------------------

    def edit(self, nodes: Iterable[Node]) -> None:
        """The client replaced the words of these nodes."""
        self._edited.update(node.key for node in nodes)

    def adopt(self, node: Node, pages: Sequence[PageId]) -> None:
        """A node says what these pages, logged for another node, hold."""
        self._pages[node.key] = pages

    def note(self, node: Node, pages: Sequence[PageId]) -> None:
        """These pages were logged for a node."""
        if not any(page_id in self._keys for page_id in pages):
            self.order_next += len(pages)
        self._edited.discard(node.key)
        self._pages[node.key] = pages
        for page_id in pages:
            self._keys.setdefault(page_id, node.key)
