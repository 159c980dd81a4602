"""How many bytes a record says: what quotas count.

They are those of texts in UTF-8, and of blobs: what grows with what somebody says. What a record
takes beside that on the disk, and in the index, is about as much for a long text as for a short one
(docs/storage.md has figures).
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
"""Of one blob, as far as a record is believed."""


def size_of(body: Body) -> int:
    """The bytes that a body says; 0 of one that tells of other records only."""
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
    """The same of a page, by what its body has, whatever class it is of."""
    return _utf8(body.text) + _sane(getattr(body, "size_bytes", 0))


def _sane(told: int) -> int:
    """A length that a record tells, and nothing vouches for: sums of it stay in 64 bits."""
    return min(max(told, 0), BYTES_MAX)


def _utf8(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
