"""Searches give way to appends.

A process runs one thread of Python at a time. An append lets go of the interpreter some fifty
times: at each statement, at the sync, on its way to the writing thread and back. Each time, a
thread that searches may take it, and keep it for the interpreter's switch interval, 5 ms. So one
that searches looks between its steps whether an append is under way, and waits until one is done.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

RUN_S: Final = 0.0001
"""How long a search runs before it waits again: appends without a pause slow it, to half its pace
or so, and do not stop it.
"""

WAIT_S: Final = 0.005
"""How long it waits for an append, at most; one that takes longer is not waited for again. Many
messages in one batch, or a slow disk, are no reason to search later.
"""


class _Search(threading.local):
    waits = False  # whether this thread gives way
    until = 0.0  # it runs until then
    unawaited = 0  # the value of `_Appends.begun` when it last waited in vain


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
    """An append is under way in this block."""
    with _appends.done:
        _appends.begun += 1
        _appends.under_way += 1
    try:
        yield
    finally:
        with _appends.done:
            _appends.under_way -= 1
            _appends.done.notify_all()


def yields_to_appends() -> None:
    """From here on this thread waits where it calls `give_way`. It may not run an event loop."""
    _search.waits = True


@contextmanager
def giving_way(*, waits: bool) -> Iterator[None]:
    """Whether this thread waits in this block: not if it holds what an append needs."""
    before, _search.waits = _search.waits, waits
    try:
        yield
    finally:
        _search.waits = before


def give_way() -> None:
    """Between two steps of a search: wait if an append is under way."""
    if not _appends.under_way or not _search.waits or _search.unawaited == _appends.begun:
        return
    if time.monotonic() < _search.until:
        return
    with _appends.done:
        if _appends.under_way and not _appends.done.wait(WAIT_S):
            _search.unawaited = _appends.begun
    _search.until = time.monotonic() + RUN_S
