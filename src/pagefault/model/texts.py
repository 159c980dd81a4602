"""The texts that a record can hold."""

from __future__ import annotations

from typing import Final

from pagefault.model.defaults import TEXT_BYTES
from pagefault.model.errors import BadInput

_SLICE_CHARS: Final = 1 << 20


def check_text(text: str, *, called: str) -> None:
    """Raise `BadInput`, naming the argument, for a text of more than `TEXT_BYTES`, or one that is
    not Unicode. The length is checked first, and no more is encoded than may count, so a huge text
    costs nothing.
    """
    size = len(text)  # a character takes at least one byte
    if size <= TEXT_BYTES and not text.isascii():
        size = 0
        for at in range(0, len(text), _SLICE_CHARS):
            size += _encoded_bytes(text[at : at + _SLICE_CHARS], at, called)
            if size > TEXT_BYTES:
                break
    if size > TEXT_BYTES:
        raise BadInput(
            f"{called} has {size:,} bytes or more; a text may have at most {TEXT_BYTES:,}",
            hint="pass it in parts, or store the file as an artifact",
        )


def _encoded_bytes(text: str, at: int, called: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError as bad:
        raise BadInput(
            f"{called} is not valid Unicode: it has a lone surrogate, at character "
            f"{at + bad.start}",
            hint="decode the bytes it came from as UTF-8",
        ) from None
