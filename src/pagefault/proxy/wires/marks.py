"""A client's cache markers, taken off and put back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pagefault.proxy.history.history import CACHE_MARKS, Json, canonical, digest, essence
from pagefault.proxy.history.known import KnownValues

SENT_NOW: Final = "as the client sends it"  # not the name of a member of a body


def with_marks(sent: Sequence[Any], now: Sequence[Any], known: KnownValues) -> list[Any]:
    """The unmarked messages with the client's present cache markers: on the same blocks, otherwise
    at the end of the same message.
    """
    out = list(sent)
    end = len(out)
    for number in reversed(known.marked_in(SENT_NOW, now)):  # the latest of equal messages is meant
        message = now[number]
        marks, bare = _marks(message), known.bare(message)
        if not marks:
            continue
        at = next((n for n in range(end - 1, -1, -1) if _is_same(sent[n], bare)), None)
        if at is not None:
            end = at
            out[at] = _marked(out[at], marks)
    return out


def _is_same(sent: Any, now: Any) -> bool:
    """Whether a sent message is the client's, apart from dress and insertions."""
    if sent == now:
        return True
    if sent.get("role") != now.get("role"):
        return False
    ours, theirs = _block_keys(sent), _block_keys(now)
    return bool(theirs) and ours[-len(theirs) :] == theirs


def _block_keys(message: Any) -> list[str]:
    content = message.get("content")
    if isinstance(content, str):
        return [digest(essence(content))]
    keys = []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            if said := essence(block["text"]):
                keys.append(digest(said))
        elif isinstance(block, dict) and block.get("type") == "tool_result":
            keys.append(str(block.get("tool_use_id")))
        else:
            keys.append(digest(canonical(block)))
    return keys


def _marks(message: Any) -> list[tuple[int, Json]]:
    """The marked blocks of a message, counted from its end, with their markers."""
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return []
    return [
        (len(content) - at, {k: v for k, v in block.items() if k in CACHE_MARKS})
        for at, block in enumerate(content)
        if isinstance(block, dict) and CACHE_MARKS & block.keys()
    ]


def _marked(message: Any, marks: Sequence[tuple[int, Json]]) -> Any:
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    content = list(content)
    for from_end, mark in marks:
        at = max(0, len(content) - from_end)
        if isinstance(content[at], dict):
            content[at] = {**content[at], **mark}
    return {**message, "content": content}
