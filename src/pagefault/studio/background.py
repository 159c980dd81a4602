"""Work that the studio does while it goes on drawing."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from textual.dom import DOMNode
from textual.worker import WorkType


def begin(
    node: DOMNode, work: Callable[[], Coroutine[Any, Any, None]], group: str, *, only: bool = False
) -> None:
    """Run `work` in a worker of `node`; with `only`, in place of the others of its group.

    It takes a function, since a worker may be cancelled before it starts: a coroutine made for it
    would then never be awaited.
    """
    started: WorkType[None] = work
    node.run_worker(started, group=group, exclusive=only)
