"""The bytes of content in a record, as counted by quotas.

They are the bytes of texts in UTF-8, and of blobs: what grows with what callers write. The overhead
on disk and in the index is about the same for a long text as for a short one (docs/storage.md has
figures).
"""

from __future__ import annotations

from typing import Final

from pagefault.model.events import (
    Body,
    PageBody,
    Received,
    SessionConfigured,
    SessionOpened,
)

BYTES_MAX: Final = 1 << 40
"""The most bytes of one blob that a record is believed to name."""


def size_of(body: Body) -> int:
    """The bytes of content in a body; 0 if it only refers to other records."""
    match body:
        case PageBody():
            return page_size(body)
        case SessionOpened() | SessionConfigured():
            tools = (_utf8(one.description) + _utf8(one.parameters) for one in body.tools)
            return _utf8(body.system) + sum(tools)
        case Received():
            return _utf8(body.json) + sum(_sane(hole.end) for hole in body.holes if hole.blob)
        case _:
            return 0


def page_size(body: PageBody) -> int:
    """The same for a page, from its attributes, whatever its class."""
    return _utf8(body.text) + _sane(getattr(body, "size_bytes", 0))


def _sane(told: int) -> int:
    """A length stated in a record, unverified, limited so that sums stay within 64 bits."""
    return min(max(told, 0), BYTES_MAX)


def _utf8(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
