"""Ordering of a tree of messages: parents first, and the current branch before the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


def in_order(parents: Mapping[str, str], current: str) -> Iterator[tuple[str, str]]:
    """Every node and its parent ("" for a root), from a mapping of nodes to parents; `current` is
    the last node of the visible branch. Children keep the mapping's order, except for the one that
    leads there. A node without a known parent, or in a cycle, is a root.
    """
    leading = set[str]()
    while current in parents and current not in leading:
        leading.add(current)
        current = parents[current]
    children: dict[str, list[str]] = {}
    for node, parent in parents.items():
        children.setdefault(parent if parent in parents and parent != node else "", []).append(node)
    told = set[str]()
    yield from _walk(_roots(children.get("", []), leading), children, leading, told)
    for node in parents:  # in a cycle, which no root leads to
        if node not in told:
            yield from _walk([(node, "")], children, leading, told)


def _walk(
    waiting: list[tuple[str, str]],
    children: Mapping[str, Sequence[str]],
    leading: set[str],
    told: set[str],
) -> Iterator[tuple[str, str]]:
    while waiting:
        node, parent = waiting.pop()
        if node in told:
            continue
        told.add(node)
        yield node, parent
        waiting += [(one, node) for one, _ in _roots(children.get(node, ()), leading)]


def _roots(nodes: Sequence[str], leading: set[str]) -> list[tuple[str, str]]:
    """Siblings on the stack: the last one is visited first."""
    ordered = sorted(nodes, key=lambda node: node not in leading)
    return [(node, "") for node in reversed(ordered)]
