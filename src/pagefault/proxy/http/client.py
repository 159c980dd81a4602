"""Which of a principal's conversations a request belongs to, by what clients send anyway.

Coding clients need no configuration: each sends an id of its own with every request. Programs on a
plain SDK can name a conversation in a header, a field or the path. An id only distinguishes
conversations of one principal; `principal.py` decides whose they are. Nothing else counts as an id:
a `prompt_cache_key` is a hint to the provider and is shared by many conversations, and
`metadata.user_id` is a user's unless it holds a session.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from pagefault.proxy.history.history import Json
from pagefault.service.turn.turn import encodable

SESSION_HEADER: Final = "x-pagefault-session"  # never sent on
CONTROL_HEADER: Final = "x-pagefault-mode"  # likewise
MARK_HEADER: Final = "x-pagefault-mark"  # likewise
FORM_HEADER: Final = "x-pagefault-form"  # likewise
_PATH: Final = re.compile(r"\A/s/([^/?#]{1,2000})(/.*)\Z")
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")
_NOT_IN_A_NAME: Final = re.compile(r"[/:@]|\A\s|\s\Z")
_INVISIBLE: Final = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_WHOSE: Final = re.compile(r":[0-9a-f]{6}@([^:@]+)\Z")
_NAME_MAX: Final = 48
NAMED: Final = "named"
UNNAMED: Final = "unnamed"


@dataclass(frozen=True, slots=True)
class Client:
    """The id of a client's session. `key` is the same for all of its requests."""

    kind: str
    key: str

    def session_name(self, lane: str, principal: str, keyed: Callable[[str], str]) -> str:
        """The name of the memory's session for one of its conversations, with the principal in it.

        A name that a person gave is kept as it is, in any script, without a kind before it.
        Different keys make different names: what cannot be in a plain name, or is too long, is
        replaced by a digest.
        """
        if self.kind == NAMED and is_plain(self.key):
            return f"{self.key}:{lane}@{principal}"
        plain = _NO_NAME.sub("-", self.key[: 2 * _NAME_MAX])
        if len(self.key) > _NAME_MAX or plain != self.key:
            plain = f"{plain[: _NAME_MAX - 13]}-{keyed(f'client {self.key}')[:12]}"
        return self._named(plain, lane, principal)

    def sealed_name(self, lane: str, principal: str, keyed: Callable[[str], str]) -> str:
        """The same without any of the key, for a key that looks like a secret."""
        return self._named(keyed(f"client {self.key}")[:12], lane, principal)

    def _named(self, plain: str, lane: str, principal: str) -> str:
        name = plain if self.kind == NAMED else f"{self.kind}:{plain}"
        return f"{name}:{lane}@{principal}"


def principal_in(name: str) -> str:
    """The principal in the name of a proxied session; "" for any other session."""
    match = _WHOSE.search(name)
    return match[1] if match else ""


def is_plain(name: str) -> bool:
    """Whether a name can be part of a session name, and be shown in a terminal."""
    return (
        len(name) <= _NAME_MAX
        and not _NOT_IN_A_NAME.search(name)
        and not any(unicodedata.category(char) in _INVISIBLE for char in name)
    )


def named_in_path(path: str) -> tuple[str, str]:
    """The session that a path names, or "", and the path as the provider knows it.

    `path` is percent-encoded, as it was sent: a name may be in any script.
    """
    match = _PATH.match(path)
    return (unquote(match[1]), match[2]) if match else ("", path)


def recognise(headers: Mapping[str, str], body: Json, named: str = "") -> Client | None:
    """The id that comes with a request, or None. `headers` have lower-case names. The first one
    found counts.
    """
    metadata = body.get("metadata")
    in_metadata = metadata if isinstance(metadata, dict) else {}
    for kind, key in (
        (NAMED, named or _in_utf_8(headers.get(SESSION_HEADER, ""))),
        ("claude", headers.get("x-claude-code-session-id") or _of_user_id(in_metadata)),
        ("opencode", headers.get("x-session-id") or headers.get("x-session-affinity")),
        ("codex", headers.get("session-id")),  # opencode sends it to OpenAI as well
        (NAMED, in_metadata.get("pagefault_session")),
    ):
        if isinstance(key, str) and key.strip():
            return Client(kind, encodable(key))
    return None


def program(headers: Mapping[str, str], body: Json) -> str:
    """The coding client that sent this, as `recognise` names it, whatever the session is called; ""
    if none is recognised.
    """
    metadata = body.get("metadata")
    if headers.get("x-claude-code-session-id") or (
        isinstance(metadata, dict) and _of_user_id(metadata)
    ):
        return "claude"
    if headers.get("x-session-id") or headers.get("x-session-affinity"):
        return "opencode"
    return "codex" if headers.get("session-id") else ""


def wants_marks(headers: Mapping[str, str], default: bool) -> bool:
    """Whether to set cache marks in this request if its client sets none."""
    told = headers.get(MARK_HEADER)
    return default if told is None else told == "on"


def wants_formation(headers: Mapping[str, str], default: bool) -> bool:
    """Whether the user of this request agrees that memory is formed of its conversation, at his
    provider and on his account.
    """
    told = headers.get(FORM_HEADER)
    return default if told is None else told == "on"


def _in_utf_8(header: str) -> str:
    """A header's value in UTF-8, as most clients mean it; it was decoded as Latin-1."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


def _of_user_id(metadata: Json) -> str:
    """Claude Code's session, from JSON in a field: for requests whose header was removed."""
    told = metadata.get("user_id")
    if not isinstance(told, str) or not told.startswith("{"):
        return ""
    try:
        return str(json.loads(told).get("session_id") or "")
    except (ValueError, AttributeError, RecursionError):
        return ""
