"""The readable text of a block that is neither the user's words nor the model's.

Providers run tools of their own, each with its own blocks for results, and add new ones every
month. So none is known by name: everything but text, calls, results and thinking is data. Its
readable text is its strings, without bookkeeping (types, ids, states) and without what is not text
(base64, sealed content). That errs on the side of more: whose words data is does not depend on how
much of it can be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

_BOOKS: Final = re.compile(
    r"type|id|role|status|signature|encrypted_.*|.*_(?:id|type)|cache_control|.*_breakpoint"
)
_NO_TEXT: Final = re.compile(r"data:[^\s,]*,\S*|[A-Za-z0-9+/=_-]{128,}")
_ANSWERS: Final = ("_output", "_result", "_response")
_WHAT_FOR: Final = re.compile(r"_tool_result|_tool_use|_call_output|_call|_output")


def readable(value: Any) -> str:
    """The readable strings of a JSON value, each on lines of its own."""
    return "\n".join(_strings(value))


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str() if value.strip() and not _NO_TEXT.fullmatch(value):
            yield value
        case list():
            for one in value:
                yield from _strings(one)
        case Mapping() if value.get("type") != "base64":
            for name, one in value.items():
                if not _BOOKS.fullmatch(name):
                    yield from _strings(one)


def named(block: Mapping[str, Any], chars: int) -> str:
    """The notice for a block of so many characters of which nothing can be read."""
    return f"[{_kind(block) or 'data'}, {chars:,} characters: only the provider can read it]"


def tool_of(block: Mapping[str, Any]) -> str:
    """The tool that a block is from, by its own name or type."""
    name = block.get("name")
    return name if isinstance(name, str) and name else _WHAT_FOR.sub("", _kind(block))


def call_of(block: Mapping[str, Any]) -> str:
    """The id of the call that a block makes or answers, or ""."""
    ids = (block.get("call_id"), block.get("tool_use_id"), "input" in block and block.get("id"))
    return next((one for one in ids if isinstance(one, str) and one), "")


def link_of(block: Mapping[str, Any]) -> str:
    """The id that a block shares with its call or its result; "" if none. A request for approval is
    referred to by its own id, and some outputs have the id of their call as their own.
    """
    asked, kind = block.get("approval_request_id"), _kind(block)
    if isinstance(asked, str) and asked:
        return asked
    own = block.get("id") if kind.endswith(("_request", *_ANSWERS)) else None
    return call_of(block) or (own if isinstance(own, str) else "")


def is_answer(block: Mapping[str, Any]) -> bool:
    """Whether a block answers the one with which it shares its id."""
    return _kind(block).endswith(_ANSWERS)


def _kind(block: Mapping[str, Any]) -> str:
    kind = block.get("type")
    return kind[:_KIND_CHARS] if isinstance(kind, str) else ""


_KIND_CHARS: Final = 64
