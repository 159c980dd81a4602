"""What is written of an item of a history, and the idempotency key that it is written under."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from pagefault.proxy.history.history import Item, Part, digest
from pagefault.service.turn.turn import encodable

_NO_TOOL_NAME: Final = re.compile(r"[^A-Za-z0-9_.-]")


def tool_name(name: str) -> str:
    return _NO_TOOL_NAME.sub("_", name)[:64] or "tool"


def keys_of(items: Iterable[Item]) -> list[Callable[[str], str]]:
    """Of each item that would be written its key, by the page that it follows."""
    return [partial(key_of, item) for item in items if text_of(item)]


def key_of(item: Item, follows: str, old: str = "") -> str:
    """The idempotency key of an item, after a page or instead of an old one.

    It holds nothing of what was said before it: once that is forgotten, nothing is left that could
    confirm a guess at it.
    """
    stands = f"instead of {old}" if old else f"after {follows}"
    call_id = encodable(item.call_id)
    return f"{stands}: {item.part} {item.role} {call_id} {digest(text_of(item))}"


def text_of(item: Item) -> str:
    text = encodable(item.told)
    return f"[calls {encodable(item.name)}] {text}" if item.part is Part.CALL else text
