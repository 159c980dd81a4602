"""Starting a thread where memory may be short.

`Thread.start` waits until the new thread says that it runs. One that gets its stack but has no
memory left for its first objects dies before that, and CPython then waits for ever. So the memory
is asked for beforehand, where its absence is an ordinary error.
"""

from __future__ import annotations

import mmap
import resource
import threading
from typing import Final

ROOM_BYTES: Final = 2 << 20  # beside its stack: what a thread needs until it says that it runs
_STACK_BYTES: Final = 8 << 20  # where the limit of a stack is none


def start(thread: threading.Thread) -> None:
    """Start it. Raises `RuntimeError`, as `Thread.start`, where no thread is to be had."""
    check_room()
    thread.start()


def check_room() -> None:
    """Raise `RuntimeError` unless there is memory for one more thread."""
    stack = threading.stack_size() or resource.getrlimit(resource.RLIMIT_STACK)[0]
    try:
        mmap.mmap(-1, (stack if stack > 0 else _STACK_BYTES) + ROOM_BYTES).close()
    except OSError:
        raise RuntimeError("there is no memory for another thread") from None
