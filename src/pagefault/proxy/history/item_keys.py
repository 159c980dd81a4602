"""The text of an item as it is logged, and its idempotency key."""

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
    """For each item that would be logged, its key by the page that it follows."""
    return [partial(key_of, item) for item in items if text_of(item)]


def key_of(item: Item, follows: str, old: str = "") -> str:
    """The idempotency key of an item that follows a page or replaces an old one.

    It contains nothing of the earlier messages: once they are forgotten, nothing is left that could
    confirm a guess at them.
    """
    stands = f"instead of {old}" if old else f"after {follows}"
    call_id = encodable(item.call_id)
    return f"{stands}: {item.part} {item.role} {call_id} {digest(text_of(item))}"


def text_of(item: Item) -> str:
    text = encodable(item.told)
    return f"[calls {encodable(item.name)}] {text}" if item.part is Part.CALL else text
