"""The histories that a client resends, as a tree in which equal beginnings share nodes.

A node is a position, not a text: the path to it from the root. A request is a path. Sent again, it
is the same path; continued, a longer one; rewound, a branch. A text that changed between unchanged
neighbours keeps its place, and from then on says what the client says now.

After a restart the tree is rebuilt from the log (`restore`). The log has the position of what was
logged, but neither what a client kept when it compacted nor what was forgotten since. These are
recognised with the first request, between what is known.

Invariants, true between any two public calls:
 (1) Every node has a key of its own, which means nothing outside this tree.
 (2) No two children of a node have the same place and the same digest.
 (3) Nodes are added and never removed; only restored ones may move, until they are recognised.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from typing import Final

from pagefault.proxy.history.history import (
    Item,
    Part,
    in_common,
    is_blanked,
    is_notice,
    is_same_call,
)

KEPT_MIN: Final = 2  # items of the old end that a shortened history must have to be recognised
NODE_CHARS: Final = 500  # that a position weighs beside its text, about


class Change(StrEnum):
    """How a request differs from the one before it in the same conversation."""

    BEGUN = "begun"
    SAME = "same"  # a retry, or a look back: nothing new is said
    EXTENDED = "extended"
    BRANCHED = "branched"  # rewound, and something else was said
    COMPACTED = "compacted"  # the client summed up, or cut out, what came before


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """The record of an item. `words` is a digest of its logged text."""

    page_id: str  # the first of its pages
    follows: str  # the page before it; for the first, a name that no page has
    supersedes: str  # the page that this one replaces
    role: str
    words: str
    text: str = ""  # of a call or a result
    call_id: str = ""  # of a call or a result
    first: int = 0  # the orders of its pages
    last: int = 0


@dataclass(eq=False, slots=True, repr=False)
class Node:
    """An item at its position. `origin` is where it was before the client compacted."""

    key: str
    parent: Node | None
    place: str
    digest: str
    text: str = ""  # of a call or a result: before it was shortened
    former: list[tuple[str, str]] = field(default_factory=list)  # places and digests before edits
    origin: Node | None = None
    before: tuple[Node, ...] = ()  # of the first node of a compacted history: the one it replaces
    children: list[Node] = field(default_factory=list)
    is_sent: bool = False  # by the client; an answer is once the client sends it back
    is_bare: bool = False  # the log has no record of it at this position
    logged: Logged | None = None  # restored, and not recognised yet

    @property
    def source(self) -> Node:
        """The node that first held what is said here."""
        node = self
        while node.origin is not None:
            node = node.origin
        return node

    @property
    def is_lost(self) -> bool:
        """Whether its record was forgotten; data need not have one."""
        return self.is_bare and self.origin is None and " sealed " not in self.place

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
    """The match of a request. `path` has a node for each placed item; the first `known` existed."""

    change: Change
    path: tuple[Node, ...]
    known: int
    edited: frozenset[int] = frozenset()  # indexes in `path` of nodes whose words changed

    @property
    def new(self) -> tuple[Node, ...]:
        return self.path[self.known :]


class Trie:
    """The histories of one conversation of a client. Pure: no clock, no chance, no I/O."""

    def __init__(self, words: Callable[[Item], str] = lambda item: "") -> None:
        """`words` returns a digest of the text that would be logged of an item, or ""."""
        self._count = 0
        self.chars = 0  # of all that was said here, each position counted as `NODE_CHARS` as well
        self._root = self._new(None, "", "")
        self._latest: tuple[Node, ...] = ()
        self._matched: Sequence[Item] = ()  # the items of the newest request
        self._exact = 0  # how many of these, from the first on, were found unchanged
        self._words = words
        self._unknown = 0  # nodes that were restored and not recognised yet
        self._lost: list[Node] = []  # of these, those whose parent was forgotten
        self._orders: set[int] = set()  # of the pages that are there
        self._by_words: dict[str, Node] = {}
        self._lasts: dict[str, int] = {}  # by key: the order of a recognised node's last page

    @property
    def latest(self) -> tuple[Node, ...]:
        """The path of the newest request."""
        return self._latest

    def restore(
        self, logged: Iterable[Logged], orders: Iterable[int], compacted: Collection[str] = ()
    ) -> dict[str, Node]:
        """Rebuild an empty tree from records, oldest first. Returns the nodes by the pages that
        they are, or were before an edit. `orders` are those of all pages of the session;
        `compacted` are the last pages that were new with requests in which the client had
        compacted.
        """
        assert not self._root.children, "it is empty"
        self._orders = set(orders)
        nodes: dict[str, Node] = {}
        newest: Node | None = None
        replaced: Node | None = None  # the last node before the run
        first: Node | None = None  # of a run of nodes, each of which follows the one logged before
        for one in logged:
            node = nodes.get(one.supersedes)
            if node is None:
                is_first = one.follows == FIRST
                parent = self._root if is_first else nodes.get(one.follows)
                node = self._new(parent or self._root, "", "")
                self.chars += len(one.text)
                if parent is None:
                    self._lost.append(node)
                else:
                    parent.children.append(node)
                    parent.is_sent = True
                node.is_sent = one.role != "assistant"
                self._unknown += 1
            if first is None or node.parent is not newest:
                first, replaced = node, newest
            if one.page_id in compacted and replaced is not None:
                first.before = tuple(replaced.path())
            if node.logged is not None:  # the place is that of the first words
                one = replace(one, first=node.logged.first, last=node.logged.last)
            node.logged, newest = one, node
            nodes[one.page_id] = node
            self._by_words[one.words] = node
        self._latest = tuple(newest.path()) if newest is not None else ()
        return nodes

    def match(self, items: Sequence[Item]) -> Match:
        """Find the path of a request, adding new nodes. `items` are those that have a place."""
        path, edited = self._repeated(items), set[int]()
        node, exact = path[-1] if path else self._root, len(path)
        for at, item in enumerate(items[exact:], exact):
            found = self._same(node, item)
            if found is not None and at == exact and _is_exact(found, item):
                exact += 1
            if found is None and self._unknown:
                found = self._recovered(node, items, at)
            found = found or self._reworded(node, items, at)
            if found is None:
                break
            if found.digest != item.digest and self._is_edited(found, item):
                edited.add(at)
            path.append(found)
            node = found
        known = len(path)
        exact = len(items) if exact == known else exact  # new items are unchanged
        change = self._change(items, path)
        kept = self._kept(items, known) if change is Change.COMPACTED else {}
        replaced = self._latest if change is Change.COMPACTED else ()
        for at in range(known, len(items)):
            node = self._add(node, items[at], origin=kept.get(at), before=replaced)
            replaced = ()
            path.append(node)
        for node in path:
            node.is_sent = True
        self._latest, self._matched = tuple(path), items
        self._exact = 0 if edited else exact
        return Match(change, tuple(path), known, frozenset(edited))

    def _repeated(self, items: Sequence[Item]) -> list[Node]:
        """The nodes of the items that also begin the newest request, as long as these were found
        unchanged. A search would find them again: children are only added after others, and no two
        have the same place and digest. An edit, which may change that, or an item recognised from
        an earlier run ends them.
        """
        return list(self._latest[: min(self._exact, in_common(self._matched, items))])

    def has(self, path: Sequence[Node]) -> bool:
        """Whether a path leads through this tree, and not through one that it replaced."""
        return not path or path[0].parent is self._root

    def follow(self, path: Sequence[Node], items: Sequence[Item]) -> tuple[Node, ...]:
        """The nodes of an answer to the request of that path, which becomes the newest."""
        node = path[-1] if path else self._root
        answer: list[Node] = []
        for item in items:
            node = self._same(node, item) or self._add(node, item)
            answer.append(node)
        if self._latest == tuple(path):
            self._latest = (*path, *answer)
        return tuple(answer)

    def check(self) -> None:
        """The invariants, slowly."""
        keys = [node.key for node in self._nodes()]
        assert len(set(keys)) == len(keys), "(1)"
        for node in self._nodes():
            known = [child for child in node.children if child.logged is None]
            for child in node.children:
                assert child.parent is node, "(3)"
            stand = [(child.place, child.digest) for child in known]
            assert len(set(stand)) == len(stand), "(2)"

    def __len__(self) -> int:
        return sum(1 for _ in self._nodes()) - 1

    def _nodes(self) -> Iterator[Node]:
        stack = [self._root]
        while stack:
            node = stack.pop()
            yield node
            stack += node.children

    def _same(self, node: Node, item: Item) -> Node | None:
        """The child that is this item, now or before an edit."""
        same = [child for child in node.children if _stands_at(child, item.place)]
        for child in same:
            if child.digest == item.digest or item.part is Part.CALL:
                return child
        return next((one for one in same if (item.place, item.digest) in one.former), None)

    def _reworded(self, node: Node, items: Sequence[Item], at: int) -> Node | None:
        """The child at this item's place that says something else."""
        item = items[at]
        same = [child for child in node.children if _stands_at(child, item.place)]
        if item.continues:
            return None  # it is a summary
        after = items[at + 1].place if at + 1 < len(items) else ""  # shows that it is an edited one
        edited = [
            child
            for child in (same or node.children if after else ())
            if any(_stands_at(grandchild, after) for grandchild in child.children)
            and (child in same or _is_text_of_one_role(child.place, item))
        ]
        return next(reversed(edited or [one for one in same if _is_gone(one, item)]), None)

    def _is_edited(self, node: Node, item: Item) -> bool:
        """Set what a node says to what the client says there now. Returns whether that is an edit:
        a result that was only shortened still says what it said.
        """
        if item.part is Part.RESULT and is_blanked(node.text, item.text):
            return False
        if item.part is Part.CALL and is_same_call(node.text, item.text):
            return False
        self._exact = 0
        if (node.place, node.digest) not in node.former:
            node.former.append((node.place, node.digest))
        node.place, node.digest, node.text = item.place, item.digest, _text_of(item)
        return True

    def _recovered(self, node: Node, items: Sequence[Item], at: int) -> Node | None:
        """The restored child at this item's place; a bare one if the log only has what follows."""
        item, base = items[at], node
        while base.is_bare:  # the log has what follows a bare node as following the one before it
            assert base.parent is not None
            base = base.parent
        loaned = [one for one in (*base.children, *self._lost) if one.logged is not None]
        if not loaned:
            return self._kept_once(node, base, items, at)
        words = self._words(item)
        if not words:
            return self._add(node, item, is_bare=True)
        known = next((one for one in loaned if _was_written(one, item, words)), None)
        if known is not None:
            return self._recognise(known, node, item, is_edited=False)
        kept = self._kept_once(node, base, items, at)
        if kept is not None:
            return kept
        other = next((one for one in loaned if self._was_edited(one, items, at)), None)
        if other is not None:
            return self._recognise(other, node, item, is_edited=True)
        if self._is_forgotten(base, items, at) or self._was_passed_over(base, items, at):
            return self._add(node, item, is_bare=True)
        return None

    def _was_passed_over(self, base: Node, items: Sequence[Item], at: int) -> bool:
        """Whether the log has what follows a block of data as following what is before the block:
        an earlier version wrote it, which kept nothing of such blocks.
        """
        for before, item in pairwise(items[at:]):
            if before.part not in (Part.SEALED, Part.RESULT):
                return False
            words = self._words(item)
            if any(_was_written(one, item, words) for one in base.children):
                return True
        return False

    def _was_edited(self, one: Node, items: Sequence[Item], at: int) -> bool:
        """Whether a restored node is at this item's place but says something else."""
        item, logged = items[at], one.logged
        assert logged is not None
        if item.continues or one in self._lost:
            return False
        if at + 1 == len(items) and not _is_gone(one, item):
            return False
        if item.part in (Part.CALL, Part.RESULT):
            return bool(item.call_id) and logged.call_id == item.call_id
        after = next((later for later in items[at + 1 :] if self._words(later)), None)
        return (
            after is not None
            and logged.role == item.told_by
            and not logged.call_id
            and any(_was_written(child, after, self._words(after)) for child in one.children)
        )

    def _is_forgotten(self, base: Node, items: Sequence[Item], at: int) -> bool:
        """Whether an item is where a forgotten page was: what came after it is known, and as many
        pages are missing between. There may be others besides: an answer that the client did not
        take up.
        """
        if base is not self._root and base.key not in self._lasts:
            return False  # it was said in this run, after the forgetting
        before = self._lasts.get(base.key, -1)
        between = 1  # items that were written, if they are not what was forgotten
        for later in items[at + 1 :]:
            words = self._words(later)
            for one in self._lost if words else ():
                assert one.logged is not None
                gone = set(range(before + 1, one.logged.first)) - self._orders
                if between <= len(gone) and _was_written(one, later, words):
                    return True
            between += bool(words)  # without any it never had a page
        return False

    def _kept_once(self, node: Node, base: Node, items: Sequence[Item], at: int) -> Node | None:
        """What a client kept when it compacted in an earlier run: it was logged elsewhere, and is
        behind the client's summary or before what was said next.
        """
        origin = self._by_words.get(self._words(items[at]))
        if origin is None:
            return None
        is_kept = (
            (node.is_bare and node.origin is not None)
            or any(item.continues for item in items[:at])
            or self._leads_on(base, items[at + 1 :])
        )
        return self._add(node, items[at], origin=origin, is_bare=True) if is_kept else None

    def _leads_on(self, base: Node, items: Sequence[Item]) -> bool:
        """Whether one of these is what the log has next after `base`, with nothing before it that
        is not logged elsewhere.
        """
        for item in items:
            words = self._words(item)
            if any(_was_written(one, item, words) for one in base.children):
                return True
            if words and words not in self._by_words:
                return False
        return False

    def _recognise(self, one: Node, parent: Node, item: Item, *, is_edited: bool) -> Node:
        """A restored node, from now on at its place."""
        assert one.logged is not None
        self._exact = 0
        if one in self._lost:
            self._lost.remove(one)
        else:
            assert one.parent is not None
            one.parent.children.remove(one)
        one.parent = parent
        parent.children.append(one)
        self._lasts[one.key] = one.logged.last
        one.place, one.text = item.place, one.logged.text
        one.digest = _UNKNOWN if is_edited else item.digest
        one.logged = None
        self._unknown -= 1
        return one

    def _change(self, items: Sequence[Item], path: Sequence[Node]) -> Change:
        known = len(path)
        if known == len(items):
            return Change.SAME
        last = path[-1] if path else self._root
        if not any(child.is_sent for child in last.children):
            return Change.EXTENDED if path else Change.BEGUN
        if any(item.continues for item in items[known:]) or self._kept(items, known):
            return Change.COMPACTED
        return Change.BRANCHED if path else Change.BEGUN

    def _kept(self, items: Sequence[Item], known: int) -> dict[int, Node]:
        """Which of the items after the first `known` are the end of the newest history, moved, or
        precede a summary: Codex puts the user's messages there.
        """
        old = self._latest[known:]
        before = self._before_summary(items, known, old)
        best: dict[int, Node] = {}
        for end in range(known + 1, len(items) + 1):
            run = self._run(items, known, end, old)
            if len(run) > len(best):
                best = run
        return before | best if len(best) >= KEPT_MIN else before

    def _before_summary(
        self, items: Sequence[Item], known: int, old: Sequence[Node]
    ) -> dict[int, Node]:
        """The items before a client's summary that are among the old nodes, in their order."""
        upto = next((at for at in range(known, len(items)) if items[at].continues), known)
        found: dict[int, Node] = {}
        begin = 0
        for at in range(known, upto):
            stay = (n for n in range(begin, len(old)) if self._stays(old[n], items[at]))
            place = next(stay, None)
            if place is not None:
                found[at], begin = old[place], place + 1
        return found

    def _run(
        self, items: Sequence[Item], known: int, end: int, old: Sequence[Node]
    ) -> dict[int, Node]:
        """The items before `end` that are the last of the old nodes, one after another."""
        run: dict[int, Node] = {}
        at = end
        for node in reversed(old):
            while at > known and node.logged is not None and not self._words(items[at - 1]):
                at -= 1  # it is not in the log
            if at == known or not self._stays(node, items[at - 1]):
                break
            at -= 1
            run[at] = node
        return run

    def _stays(self, node: Node, item: Item) -> bool:
        """Whether an item may be an old node, whatever its place is now."""
        if node.logged is not None:
            return _was_written(node, item, self._words(item))
        return node.place == item.place

    def _new(self, parent: Node | None, place: str, said: str) -> Node:
        self._count += 1
        self.chars += NODE_CHARS
        return Node(key=str(self._count), parent=parent, place=place, digest=said)

    def _add(
        self,
        parent: Node,
        item: Item,
        *,
        origin: Node | None = None,
        before: tuple[Node, ...] = (),
        is_bare: bool = False,
    ) -> Node:
        node = self._new(parent, item.place, item.digest)
        self.chars += len(item.text)
        node.text, node.origin, node.before, node.is_bare = _text_of(item), origin, before, is_bare
        parent.children.append(node)
        return node


FIRST: Final = "start"
_UNKNOWN: Final = "?"  # the digest of words before an edit in an earlier run


def _is_exact(node: Node, item: Item) -> bool:
    return node.place == item.place and (node.digest == item.digest or item.part is Part.CALL)


def _stands_at(node: Node, place: str) -> bool:
    return node.place == place or any(place == former for former, _ in node.former)


def _was_written(node: Node, item: Item, words: str) -> bool:
    """Whether a restored node is this item, by its logged text."""
    logged = node.logged
    return (
        logged is not None
        and logged.words == words
        and logged.role == item.told_by
        and logged.call_id == item.call_id
    )


def _is_gone(node: Node, item: Item) -> bool:
    """Whether a client's notice stands where a result was, even if nothing after it shows that. It
    is an old result, with something after it: the model must see another one of its newest call.
    """
    return item.part is Part.RESULT and bool(node.children) and is_notice(item.text)


def _text_of(item: Item) -> str:
    return item.text if item.part in (Part.RESULT, Part.CALL) else ""


def _is_text_of_one_role(place: str, item: Item) -> bool:
    return item.part is Part.TEXT and place.split(" ", 1)[0] == item.role
