"""Whose conversation a request belongs to, told from what clients send anyway.

No client needs to be configured: each sends an id of its own with every request. For programs on a
plain SDK there is a header, a field, or a path to name one; and where there is none of these, what
the conversation begins with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from pagefault.proxy.history import History, Json, digest

SESSION_HEADER: Final = "x-pagefault-session"  # never sent on
_PATH: Final = re.compile(r"\A/s/([^/?#]{1,300})(/.*)\Z")
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")
_NOT_IN_A_NAME: Final = re.compile(r"[/:\x00-\x1f\x7f-\x9f\ud800-\udfff]|\A\s|\s\Z")
_NAME_MAX: Final = 48
NAMED: Final = "named"


@dataclass(frozen=True, slots=True)
class Client:
    """`key` is the same for all requests under one session of the client."""

    kind: str
    key: str

    def session_name(self, lane: str) -> str:
        """The name of the memory's session for one of its conversations: whose it is, and which.

        A name that somebody gave stands for itself, without a kind before it, in any script.
        """
        if (
            self.kind == NAMED
            and len(self.key) <= _NAME_MAX
            and not _NOT_IN_A_NAME.search(self.key)
        ):
            return f"{self.key}:{lane}"
        plain = _NO_NAME.sub("-", self.key)
        if len(plain) > _NAME_MAX or plain != self.key:
            plain = f"{plain[: _NAME_MAX - 13]}-{digest(self.key)[:12]}"
        return f"{plain}:{lane}" if self.kind == NAMED else f"{self.kind}:{plain}:{lane}"


def named_in_path(path: str) -> tuple[str, str]:
    """The session that a path names, or "", and the path as the provider knows it.

    `path` is as it was sent, percent-encoded: a name may be in any script.
    """
    match = _PATH.match(path)
    return (unquote(match[1]), match[2]) if match else ("", path)


def recognise(headers: Mapping[str, str], body: Json, history: History, named: str = "") -> Client:
    """`headers` have lower-case names. The first that is there counts."""
    metadata = body.get("metadata")
    in_metadata = metadata if isinstance(metadata, dict) else {}
    for kind, key in (
        (NAMED, named or _in_utf_8(headers.get(SESSION_HEADER, ""))),
        ("claude", headers.get("x-claude-code-session-id") or _of_user_id(in_metadata)),
        ("codex", headers.get("session-id")),
        ("opencode", headers.get("x-session-id") or headers.get("x-session-affinity")),
        (NAMED, in_metadata.get("pagefault_session")),
        ("cache", body.get("prompt_cache_key")),
    ):
        if key and isinstance(key, str):
            return Client(kind, key)
    placed = history.placed
    return Client("begins", digest(f"{history.lane} {placed[0].place if placed else ''}"))


def _in_utf_8(header: str) -> str:
    """A header's value as most clients mean it; it is read as Latin-1, byte for byte."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


def _of_user_id(metadata: Json) -> str:
    """Claude Code tells its session in JSON inside a field, where its header was taken off."""
    told = metadata.get("user_id")
    if not isinstance(told, str) or not told.startswith("{"):
        return ""
    try:
        return str(json.loads(told).get("session_id") or "")
    except (ValueError, AttributeError, RecursionError):
        return ""
