"""Writes files for people: reports, handoffs."""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

NAME_BYTES: Final = 120  # of the session's part in a file name, for which file systems allow 255


def file_of(folder: Path, kind: str, session: str, day: str, ending: str = "md") -> Path:
    """The path of a session's file, such as HANDOFF_bike-workshop_2026-03-24.md. `day` may be a
    timestamp that begins with the day.
    """
    plain = re.sub(r"[^\w.-]+", "-", session).strip("-.")
    short = plain.encode()[:NAME_BYTES].decode(errors="ignore") or "session"
    return folder / f"{kind}_{short}_{day[:10]}.{ending}"


def place(target: Path, page: str) -> int:
    """Write the file atomically, readable by its owner only. Returns its size in bytes."""
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(target.parent))
    data = page.encode()
    try:
        _put(target, data)
    except OSError as failed:  # name the file that was asked for, not the temporary one
        raise OSError(failed.errno, failed.strerror, str(target)) from None
    return len(data)


def _put(target: Path, data: bytes) -> None:
    if target.exists() and not target.is_file():  # a device or pipe: write to it, do not replace it
        target.write_bytes(data)
        return
    with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
        try:
            file.write(data)
            file.close()
            os.replace(file.name, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(file.name)
            raise
