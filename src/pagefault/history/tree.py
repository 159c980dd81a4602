"""The order in which a tree of messages is told: parents first, and the current branch before the
others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


def in_order(parents: Mapping[str, str], current: str) -> Iterator[tuple[str, str]]:
    """Every node and its parent ("" for a root), given each node's parent; `current` is the last
    node of the branch that is shown. Children stand as they do in the mapping, but for the one that
    leads there. What has no parent among the nodes, or is its own ancestor, begins anew.
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
    for node in parents:  # in a ring, which no root leads to
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
    """Siblings as they wait: the one that is told first is the last."""
    ordered = sorted(nodes, key=lambda node: node not in leading)
    return [(node, "") for node in reversed(ordered)]
