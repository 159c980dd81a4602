"""Damage done to the files of a root, by hand."""

from __future__ import annotations

from pathlib import Path


def segments(root: Path) -> list[Path]:
    """The files of the log, in order."""
    return sorted((root / "log").glob("*.jsonl"))


def damage_record(root: Path, marker: str) -> None:
    """Change one byte of the record in which this word stands."""
    for path in segments(root):
        data = bytearray(path.read_bytes())
        at = data.find(marker.encode())
        if at >= 0:
            data[at] ^= 1
            path.write_bytes(data)
            return
    raise LookupError(marker)


def flip(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
