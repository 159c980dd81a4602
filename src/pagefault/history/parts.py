"""Helpers shared by the formats: times, texts, blocks of content."""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode
from datetime import UTC, datetime
from typing import Any, Final

from pagefault.model.kinds import Role

YEARS: Final = (1990, 2100)
"""A time outside these is a bug of a clock or of a program."""

ROLES: Final = {
    "user": Role.USER,
    "human": Role.USER,
    "assistant": Role.ASSISTANT,
    "ai": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
}

_DATA_URL: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.-]+)*;base64,", re.ASCII)


def moment(value: Any) -> str | None:
    """A time as ISO 8601 in UTC, from seconds or milliseconds since 1970, or a text. "" if absent,
    None if invalid.
    """
    if value is None or value == "":
        return ""
    try:
        if isinstance(value, bool):
            return None
        if isinstance(value, int | float):
            seconds = value / 1000 if abs(value) > 1e11 else value
            at = datetime.fromtimestamp(seconds, UTC)
        else:
            at = datetime.fromisoformat(str(value).strip())
            at = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    if not YEARS[0] <= at.year < YEARS[1]:
        return None
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def as_json(value: Any) -> str:
    """A value as JSON; a text unchanged."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def text_in(value: Any) -> str:
    """The text of content that is a text, a list of texts and blocks, or a block."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, map(text_in, value)))
    if isinstance(value, dict):
        for name in ("text", "content", "output", "refusal", "thinking"):
            if value.get(name):
                return text_in(value[name])
    return ""


def data_of(block: dict[str, Any]) -> tuple[bytes | None, str]:
    """The bytes in a block, and their media type; None if it only refers to them."""
    source = block.get("source")
    if isinstance(source, dict):  # Anthropic's
        return _decoded(source.get("data")), str(source.get("media_type") or "")
    url = block.get("image_url") or block.get("url") or block.get("file_data")
    if isinstance(url, dict):
        url = url.get("url")
    match = _DATA_URL.match(url) if isinstance(url, str) else None
    if match is None or not isinstance(url, str):
        return None, str(block.get("mime") or block.get("media_type") or "")
    return _decoded(url[match.end() :]), match[1] or ""


def _decoded(text: Any) -> bytes | None:
    try:
        return b64decode(text, validate=True) if isinstance(text, str) else None
    except (binascii.Error, ValueError):
        return None


def last_folder(path: Any) -> str:
    """A project's name, from its path, which is not kept."""
    if not isinstance(path, str):
        return ""
    return next((part for part in reversed(re.split(r"[/\\]", path)) if part), "")


def a_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def a_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def a_str(value: Any) -> str:
    return value if isinstance(value, str) else ""
