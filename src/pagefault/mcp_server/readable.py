"""The lines of a client that are messages, and an answer to those that are none.

The package `mcp` leaves a line that it cannot read unanswered, and its client would wait.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any, Final

from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from mcp_types.jsonrpc import jsonrpc_message_adapter
from pydantic import ValidationError

_NO_JSON: Final = "the line is no JSON, or longer than 4 MiB"
_NO_MESSAGE: Final = "the line is no message of JSON-RPC 2.0: it needs jsonrpc, id and method"
_HALF: Final = re.compile("[\ud800-\udfff]")  # of a character that is two in UTF-16


async def readable(
    lines: AsyncIterable[str], refuse: Callable[[JSONRPCError], Awaitable[None]]
) -> AsyncIterator[str]:
    """The lines that are messages; the others are refused. In a text that was cut within a
    character, what is left of it becomes U+FFFD: a client writes it as JSON, and it is no UTF-8.
    """
    async for line in lines:
        if _is_message(line):
            yield line
            continue
        try:
            told: Any = json.loads(line)
            line = json.dumps(_whole(told), ensure_ascii=False)
        except (ValueError, RecursionError):
            if line.strip():
                await refuse(_error(None, PARSE_ERROR, _NO_JSON))
            continue
        if _is_message(line):
            yield line
        elif not isinstance(told, dict):
            await refuse(_error(None, INVALID_REQUEST, _NO_MESSAGE))
        elif not told.keys() & {"result", "error"}:  # nobody answers an answer
            await refuse(_error(told.get("id"), INVALID_REQUEST, _NO_MESSAGE))


def _is_message(line: str) -> bool:
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return False
    return True


def _whole(told: Any) -> Any:
    if isinstance(told, str):
        return _HALF.sub("\N{REPLACEMENT CHARACTER}", told)
    if isinstance(told, dict):
        return {_whole(key): _whole(value) for key, value in told.items()}
    return list(map(_whole, told)) if isinstance(told, list) else told


def _error(asked: Any, code: int, message: str) -> JSONRPCError:
    is_id = isinstance(asked, str | int) and not isinstance(asked, bool)
    return JSONRPCError(
        jsonrpc="2.0",
        id=asked if is_id else None,
        error=ErrorData(code=code, message=message),
    )
