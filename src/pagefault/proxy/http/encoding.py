"""Decompresses request bodies, up to a bound."""

from __future__ import annotations

import sys
import zlib
from typing import Any

CHUNK_BYTES = 1 << 20


class TooLarge(Exception):
    """More bytes than allowed, compressed or not."""


class NotOpened(Exception):
    """An unknown encoding, or bytes that are not valid in it."""


def opened(body: bytes, encoding: str, bytes_max: int) -> bytes:
    """The decompressed body. Raises `TooLarge` and `NotOpened`."""
    match encoding.strip().lower():
        case "" | "identity":
            return body
        case "zstd":
            return _all(_zstd(), body, bytes_max)
        case "gzip" | "x-gzip":
            return _all(zlib.decompressobj(wbits=31), body, bytes_max)
        case "deflate":
            return _all(zlib.decompressobj(), body, bytes_max)
    raise NotOpened(encoding)


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.ZstdDecompressor()


def _all(decompressor: Any, body: bytes, bytes_max: int) -> bytes:
    """Decompresses in steps, so that a small body cannot grow past the bound unnoticed."""
    found = bytearray()
    data = body
    try:
        while True:
            piece = decompressor.decompress(data, CHUNK_BYTES)
            found += piece
            if len(found) > bytes_max:
                raise TooLarge
            data = getattr(decompressor, "unconsumed_tail", b"")  # zlib's; zstd keeps its own
            if decompressor.eof or not (piece or data):
                break
    except TooLarge:
        raise
    except Exception as error:  # zlib.error, ZstdError: they have no common parent
        raise NotOpened(str(error)) from None
    if not decompressor.eof:
        raise NotOpened("it ends early")
    return bytes(found)
