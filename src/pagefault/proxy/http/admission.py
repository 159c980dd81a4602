"""The head of a request, and which requests are let in: decided before a body is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from pagefault.engine.endpoint import is_of_this_machine, origin_is_of_this_machine
from pagefault.model.kinds import ControlMode
from pagefault.proxy.http.client import CONTROL_HEADER, FORM_HEADER, MARK_HEADER, named_in_path
from pagefault.proxy.http.relay import Headers
from pagefault.proxy.http.token import TOKEN_HEADER, is_token, user_of

CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    CONTROL_HEADER: tuple(ControlMode),
    MARK_HEADER: ("on", "off"),
    FORM_HEADER: ("on", "off"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What a request says before its body."""

    method: str
    version: str  # of HTTP
    path: str  # as the provider knows it
    named: str  # the conversation that the path names, or ""
    query: bytes
    raw: Headers
    headers: Mapping[str, str]  # by lower-case names

    @property
    def has_body(self) -> bool:
        return self.headers.get("content-length", "0") != "0" or "transfer-encoding" in self.headers

    @property
    def length(self) -> int:
        """The announced length of the body in bytes; 0 if there is none."""
        told = self.headers.get("content-length", "")
        return int(told) if told.isascii() and told.isdecimal() and len(told) < 20 else 0


def head_of(scope: Mapping[str, Any]) -> Head:
    """The head of an ASGI request."""
    headers = _joined(scope["headers"])
    authority, raw_path = _target(scope["raw_path"].decode("latin-1"))
    if authority:  # RFC 9112 §3.2.2: it overrides Host
        headers["host"] = authority
    named, path = named_in_path(raw_path)
    return Head(
        method=scope["method"],
        version=scope["http_version"],
        path=path,
        named=named,
        query=scope["query_string"],
        raw=scope["headers"],
        headers=headers,
    )


class Refusal(NamedTuple):
    status: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRules:
    """Who is let in. Without a `token`, or `tokens` by the names of users, that is everybody on
    this machine; `user` sends all requests, if set. `any_host` also lets other machines in.
    """

    token: str = ""
    tokens: Mapping[str, str]
    user: str = ""
    any_host: bool = False

    def __post_init__(self) -> None:
        is_guarded = self.token or self.tokens
        assert is_guarded or not self.any_host, "other machines are served by a token alone"
        assert not (self.tokens and (self.token or self.user)), "a token of several says who it is"

    def refuse_source(self, head: Head) -> Refusal | None:
        """Why a request is refused for where it comes from, or None."""
        if not (self.any_host or is_of_this_machine(head.headers.get("host", ""), head.version)):
            return Refusal(421, "this proxy answers to this machine's names only")
        if not origin_is_of_this_machine(head.headers.get("origin")):
            return Refusal(403, "requests from web pages are not passed on")
        return None

    def user_of(self, head: Head) -> str | None:
        """The user whose token a request has, "" if the token is not a user's; None if it is
        refused.
        """
        given = head.headers.get(TOKEN_HEADER, "")
        if self.tokens:
            return user_of(given, self.tokens)
        return self.user if not self.token or is_token(given, self.token) else None


def refuse_form(head: Head) -> Refusal | None:
    """Why a request is refused for what it asks, or None."""
    if "websocket" in head.headers.get("upgrade", "").lower():
        return Refusal(426, "no websockets here: send an ordinary POST")
    if not head.path.startswith("/") or _steps_up(head.path):
        return Refusal(400, "a path begins with / and has no . or .. in it")
    for name, choices in CHOICES.items():
        if head.headers.get(name, choices[0]) not in choices:
            of = " or ".join(choices) if len(choices) == 2 else f"one of {', '.join(choices)}"
            return Refusal(400, f"{name} is {of}")
    return None


def _joined(headers: Headers) -> dict[str, str]:
    """Headers by their lower-case names. A name that is sent twice has both values (RFC 9110 §5.3),
    so an id or a token sent beside another does not pass for it.
    """
    known: dict[str, str] = {}
    for header, value in headers:
        name, told = header.decode("latin-1").lower(), value.decode("latin-1")
        known[name] = f"{known[name]}, {told}" if name in known else told
    return known


def _target(raw: str) -> tuple[str, str]:
    """The authority of a request line, if it is in absolute form (RFC 9112 §3.2.2), and its path,
    byte for byte.
    """
    scheme, separator, rest = raw.partition("://")
    if not separator or scheme.lower() not in ("http", "https"):
        return "", raw
    authority, slash, path = rest.partition("/")
    return authority, slash + path if slash else "/"


def _steps_up(path: str) -> bool:
    """Whether a hop on the way might read this path as another one (RFC 3986 §5.2.4)."""
    return any(step in (".", "..") for step in re.split(r"[/\\]", unquote(path)))
