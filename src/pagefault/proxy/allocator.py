"""How glibc's allocator treats large blocks, in a process that is left running.

A request allocates blocks of its history's size (the body, its text, what is sent on) and frees
them with its answer. Up to `M_MMAP_THRESHOLD` glibc places a block in a heap, which it gives back
only from its end; a larger one is mapped by itself, and unmapped when freed. But the threshold
adapts: freeing a mapped block raises it to that size, up to 32 MB (mallopt(3)). After its first
long history a proxy would so place all of them in heaps, between small blocks that stay, and grow
by 40 MB more in 7,000 requests of 300 kB. Setting the threshold, to what it is at first, stops
that. It costs a system call for each such block: 5 % of a request's processor time at most.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Final

_M_MMAP_THRESHOLD: Final = -3  # of malloc.h
LARGE_BYTES: Final = 128 * 1024  # glibc's own default, before it adapts


def map_large_blocks() -> bool:
    """Have every block from `LARGE_BYTES` on given back when it is freed, from now on. Whether the
    C library can: only glibc has such a setting, and needs it.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES))
