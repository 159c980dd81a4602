"""Starting a thread when memory may be short.

`Thread.start` waits until the new thread reports that it runs. One that gets its stack but has no
memory left for its first objects dies before that, and CPython then waits forever. So the memory is
requested beforehand, where its lack is an ordinary error.
"""

from __future__ import annotations

import mmap
import resource
import threading
from typing import Final

ROOM_BYTES: Final = 2 << 20  # beside its stack: what a thread needs before it reports that it runs
_STACK_BYTES: Final = 8 << 20  # if the stack size is unlimited


def start(thread: threading.Thread) -> None:
    """Start a thread. Raises `RuntimeError`, as `Thread.start`, if none is available."""
    check_room()
    thread.start()


def check_room() -> None:
    """Raise `RuntimeError` unless there is memory for one more thread."""
    stack = threading.stack_size() or resource.getrlimit(resource.RLIMIT_STACK)[0]
    try:
        mmap.mmap(-1, (stack if stack > 0 else _STACK_BYTES) + ROOM_BYTES).close()
    except OSError:
        raise RuntimeError("there is no memory for another thread") from None
