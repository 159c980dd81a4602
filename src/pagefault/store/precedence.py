"""Searches give way to appends.

A process runs one thread of Python at a time. An append releases the interpreter's lock some fifty
times: at each statement, at the sync, on its way to the writing thread and back. Each time, a
thread that searches may take the lock, and keep it for the switch interval, 5 ms. So a search
checks between its steps whether an append is under way, and waits until one is done.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

RUN_S: Final = 0.0001
"""How long a search runs before it waits again. So appends without a pause slow it to about half
its pace, and do not stop it.
"""

WAIT_S: Final = 0.005
"""How long a search waits, at most. An append that takes longer is not waited for again: a large
batch or a slow disk must not hold up a search.
"""


class _Search(threading.local):
    waits = False  # whether this thread gives way
    runs_until = 0.0  # by the monotonic clock: it does not wait before
    given_up = 0  # the value of `_Appends.begun` when it last waited in vain


class _Appends:
    """The appends to all memories of this process."""

    def __init__(self) -> None:
        self.begun = 0
        self.under_way = 0
        self.done = threading.Condition()


_search: Final = _Search()
_appends: Final = _Appends()


@contextmanager
def appending() -> Iterator[None]:
    """An append is under way in this block. Blocks may nest, and count apart: a message is drafted
    and written in one, and written in another within it.
    """
    with _appends.done:
        _appends.begun += 1
        _appends.under_way += 1
    try:
        yield
    finally:
        with _appends.done:
            _appends.under_way -= 1
            _appends.done.notify_all()


def start_giving_way() -> None:
    """From here on, this thread waits where it calls `give_way`. Not for a thread with an event
    loop: appends start there.
    """
    _search.waits = True


@contextmanager
def giving_way(*, waits: bool) -> Iterator[None]:
    """Within this block, this thread waits or not. It must not if it holds what an append needs."""
    before, _search.waits = _search.waits, waits
    try:
        yield
    finally:
        _search.waits = before


def give_way() -> None:
    """Wait if an append is under way. Called between two steps of a search."""
    if not _appends.under_way or not _search.waits or _search.given_up == _appends.begun:
        return
    if time.monotonic() < _search.runs_until:
        return
    with _appends.done:
        if _appends.under_way and not _appends.done.wait(WAIT_S):
            _search.given_up = _appends.begun
    _search.runs_until = time.monotonic() + RUN_S
