"""Files that somebody asked for: a report, a handoff."""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile


def file_of(folder: Path, kind: str, session: str, day: str, ending: str = "md") -> Path:
    """What hands a session on is called, as HANDOFF_bike-workshop_2026-03-24.md. `day` may be a
    time that begins with it.
    """
    plain = re.sub(r"[^A-Za-z0-9.-]+", "-", session).strip("-.")[:60] or "session"
    return folder / f"{kind}_{plain}_{day[:10]}.{ending}"


def place(target: Path, page: str) -> int:
    """Put the file there whole or not at all, for its owner alone to read; its size in bytes."""
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(target.parent))
    data = page.encode()
    try:
        _put(target, data)
    except OSError as failed:  # not by the name of a file that nobody asked for
        raise OSError(failed.errno, failed.strerror, str(target)) from None
    return len(data)


def _put(target: Path, data: bytes) -> None:
    if target.exists() and not target.is_file():  # a device, a pipe: nothing takes its place
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
