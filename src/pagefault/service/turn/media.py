"""Media headers: the pixels of a picture, the seconds of a recording.

Only headers are read, of the most common picture formats and of uncompressed sound. Other formats
and damaged files give None.
"""

from __future__ import annotations

import io
import wave
from struct import error, unpack_from
from typing import Final

_JPEG_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # SOF0 to SOF15
_JPEG_BARE: Final = frozenset({0x01, *range(0xD0, 0xD9)})  # markers without a length


def dimensions(data: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG, GIF, WebP or JPEG, as stored; None for anything else."""
    try:
        width, height = _dimensions(data)
    except (error, IndexError):  # truncated
        return None
    return (width, height) if width and height else None


def _dimensions(data: bytes) -> tuple[int, int]:
    if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
        return unpack_from(">II", data, 16)
    if data.startswith((b"GIF87a", b"GIF89a")):
        return unpack_from("<HH", data, 6)
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return _webp(data)
    if data.startswith(b"\xff\xd8"):
        return _jpeg(data)
    return 0, 0


def _webp(data: bytes) -> tuple[int, int]:
    """RFC 9649: an extended file has the size of its canvas, a plain one that of its only frame."""
    match data[12:16]:
        case b"VP8X":
            return 1 + _three_bytes(data, 24), 1 + _three_bytes(data, 27)
        case b"VP8L":
            (bits,) = unpack_from("<I", data, 21)
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            width, height = unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
        case _:
            return 0, 0


def _three_bytes(data: bytes, at: int) -> int:
    low, high = unpack_from("<HB", data, at)
    return int(low | high << 16)


def _jpeg(data: bytes) -> tuple[int, int]:
    """The size is in the frame header, behind segments that begin with their lengths."""
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if marker in _JPEG_FRAMES:
            height, width = unpack_from(">HH", data, at + 5)
            return width, height
        if marker == 0xFF or marker in _JPEG_BARE:
            at += 1 if marker == 0xFF else 2
            continue
        (length,) = unpack_from(">H", data, at + 2)
        at += 2 + length
    return 0, 0


def duration_seconds(data: bytes) -> float | None:
    """The duration of a WAV file; None for anything else."""
    if not (data.startswith(b"RIFF") and data[8:12] == b"WAVE"):
        return None
    try:
        with wave.open(io.BytesIO(data)) as sound:
            seconds: float = sound.getnframes() / sound.getframerate()
            return round(seconds, 3)
    except (wave.Error, EOFError, ZeroDivisionError):
        return None
