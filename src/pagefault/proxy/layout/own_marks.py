"""Cache marks of our own, for Messages clients that set none, if the user asked for them.

Anthropic caches at marks only: a prefix is written where a mark is, and found again within twenty
blocks before a mark. There may be four. These are worth it, each because what follows it changes on
its own: the end of the tools, of the instructions, of what the request shares with the one before,
and of the request. The third is needed because of those twenty blocks: a turn with more results
would silently miss the cache. (`pack/breakpoints.py` does the same for requests that are made
here.)

A first request with marks costs more than one without, by the price of writing over plain input
(1.25 against 1); the second one earns that back about four times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pagefault.model.catalogue import find_model
from pagefault.proxy.history.history import Json
from pagefault.proxy.layout.prefix import Again
from pagefault.proxy.wires.wire import Wire

MARK: Final[Json] = {"cache_control": {"type": "ephemeral"}}
_TAKES_MARKS: Final = frozenset({"document", "image", "text", "tool_result", "tool_use"})
"""Of the types of blocks those that a provider lets a client mark; thinking is none of them."""


def may_be_marked(wire: Wire, body: Json) -> bool:
    """Whether a provider looks for marks in such a request, of a client that sets none."""
    if wire.name != "messages":
        return False
    model = find_model(str(wire.model(body) or ""))
    return model.prices.takes_marks or not model.is_known


def marked(body: Json, again: Again) -> Json:
    """The request with our marks. Its messages may still carry ours from before, and begin like
    those of the request before it.
    """
    told = dict(body)
    tools = body.get("tools")
    if isinstance(tools, list):
        told["tools"] = _marked_last(tools, "input_schema")
    system = body.get("system")
    if isinstance(system, str) and system:
        system = [{"type": "text", "text": system}]
    if isinstance(system, list):
        told["system"] = _marked_last(system, "text")
    messages = list(body["messages"])
    for upto in (again, Again(len(messages))):
        _mark_end(messages, upto)
    return told | {"messages": messages}


def _marked_last(blocks: Sequence[Any], field: str) -> list[Any]:
    """With a mark on the last one that has this field; a tool with deferred loading may not carry
    one.
    """
    out = list(blocks)
    for at in range(len(out) - 1, -1, -1):
        one = out[at]
        if isinstance(one, dict) and one.get(field) and not one.get("defer_loading"):
            out[at] = one | MARK
            break
    return out


def _mark_end(messages: list[Any], upto: Again) -> None:
    """Put a mark on the last block up to there that may carry one."""
    for at in range(min(upto.messages, len(messages) - 1), -1, -1):
        message = messages[at]
        if not isinstance(message, dict) or message.get("role") not in ("assistant", "user"):
            continue
        content = message.get("content")
        if isinstance(content, str) and at < upto.messages:
            content = [{"type": "text", "text": content}]
        if not isinstance(content, list):
            continue
        end = len(content) if at < upto.messages else upto.blocks
        for place in range(end - 1, -1, -1):
            block = content[place]
            if _is_markable(block):
                content = [*content[:place], block | MARK, *content[place + 1 :]]
                messages[at] = message | {"content": content}
                return


def _is_markable(block: Any) -> bool:
    if not isinstance(block, dict) or block.get("type") not in _TAKES_MARKS:
        return False
    return block["type"] != "text" or bool(block.get("text"))
