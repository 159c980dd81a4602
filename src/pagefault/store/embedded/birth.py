"""A folder's birth time: what distinguishes it from a later one that reuses its inode number."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Final

_AT_FDCWD: Final = -100
_STATX_BTIME: Final = 0x800
_BUFFER_BYTES: Final = 256
_MASK_AT: Final = 0
_BTIME_AT: Final = 80  # of struct statx: stx_btime, seconds in 8 bytes, nanoseconds in 4


def born_ns(folder: Path) -> int | None:
    """Nanoseconds since 1970; None if unknown."""
    born = getattr(os.stat(folder), "st_birthtime", None)  # of macOS and BSD
    return _statx_ns(folder) if born is None else int(born * 1e9)


def _statx_ns(folder: Path) -> int | None:
    """`statx(2)`, which Python does not have yet."""
    statx = getattr(ctypes.CDLL(None), "statx", None)
    buffer = ctypes.create_string_buffer(_BUFFER_BYTES)
    name = os.fsencode(folder)
    if statx is None or statx(_AT_FDCWD, name, 0, _STATX_BTIME, buffer) != 0:
        return None
    if not _number(buffer.raw[_MASK_AT : _MASK_AT + 4]) & _STATX_BTIME:
        return None
    seconds = _number(buffer.raw[_BTIME_AT : _BTIME_AT + 8])
    nanoseconds = _number(buffer.raw[_BTIME_AT + 8 : _BTIME_AT + 12])
    return seconds * 1_000_000_000 + nanoseconds or None  # some file systems report 0 for unknown


def _number(raw: bytes) -> int:
    return int.from_bytes(raw, sys.byteorder)
