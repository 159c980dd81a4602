"""Decompresses request bodies, up to a bound."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, Final

CHUNK_BYTES: Final = 1 << 20
MEMBERS_MAX: Final = 64  # each copies what stands behind it, so that many small ones cost a square


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
            return _all(_zstd, body, bytes_max)
        case "gzip" | "x-gzip":
            return _all(partial(zlib.decompressobj, wbits=31), body, bytes_max)
        case "deflate":
            return _all(zlib.decompressobj, body, bytes_max)
    raise NotOpened(encoding)


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.ZstdDecompressor()


def _all(begin: Callable[[], Any], body: bytes, bytes_max: int) -> bytes:
    """Decompresses in steps, so that a small body cannot grow past the bound unnoticed. Members of
    gzip (RFC 1952 §2.2) and frames of zstd (RFC 8878 §3.1) may follow one another: what a provider
    reads after the first is read here, too.
    """
    found = bytearray()
    decompressor, data, members = begin(), body, 1
    try:
        while True:
            piece = decompressor.decompress(data, CHUNK_BYTES)
            found += piece
            if len(found) > bytes_max:
                raise TooLarge
            if decompressor.eof:
                data = decompressor.unused_data
                if not data:
                    return bytes(found)
                members += 1
                if members > MEMBERS_MAX:
                    raise NotOpened(f"more than {MEMBERS_MAX} members")
                decompressor = begin()
                continue
            data = getattr(decompressor, "unconsumed_tail", b"")  # zlib's; zstd keeps its own
            if not (piece or data):
                raise NotOpened("it ends early")
    except (TooLarge, NotOpened):
        raise
    except Exception as error:  # zlib.error, ZstdError: they have no common parent
        raise NotOpened(str(error)) from None
