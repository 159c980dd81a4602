"""The principal of a request: no conversation is seen under another principal.

A principal is the user that our own token belongs to, or the one user that the proxy serves;
otherwise it is everything by which a request authenticates itself, taken together. Some of that (an
account, a project) anybody can claim, so it adds to a credential and never replaces one. A header
that is not known, but is named like a credential, counts as one. That may separate what belongs
together, but never joins what does not.

Invariant: of a credential, only a digest keyed with the memory's secret is kept, shown or logged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final
from urllib.parse import parse_qsl

from pagefault.model.errors import BadInput
from pagefault.proxy.http.relay import Headers

NOBODY: Final = "~"  # the principal of requests without a credential
_CREDENTIAL: Final = re.compile(
    r"auth|token|key|secret|cookie|credential|bearer|jwt|sig|pass|pwd|access-?code|login|account"
    r"|member|organi[sz]ation|org-?id|project|tenant|workspace|customer|principal|identity|email"
    r"|subject|user(?!-agent)|(?<![a-z])(?:pat|pin|uid)(?![a-z])"
)
_NO_CREDENTIAL: Final = re.compile(
    r"x-pagefault-(?:token|session|mode)|(?:x-)?idempotency-key|sec-(?:websocket|fetch)-.*"
)
_OF_THE_WAY: Final = re.compile(r"\s*(?:__cf_bm|_cfuvid|__cflb|__cfruid|__cfseq)\s*=")
"""Cookies that a network between sets anew all the time, and that tell nobody."""
_USER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")


def checked_user(name: str) -> str:
    """A principal's name, if it is valid. Raises `BadInput`."""
    if not _USER.fullmatch(name):
        raise BadInput(
            "a user of the proxy has a name of 1 to 32 ASCII letters, digits, '.', '_' and '-', "
            "which begins with a letter or a digit",
            hint="it is a name for this memory only, such as ann or team-2.bob",
        )
    return name


def principal_of(headers: Headers, query: bytes, keyed: Callable[[str], str]) -> str:
    """The principal that a request's credentials stand for. `keyed` returns a digest under a
    secret.

    It begins with a character with which no user's name begins.
    """
    told = [
        (name, value)
        for name, value in (
            *((n.decode("latin-1").lower(), v.decode("latin-1")) for n, v in headers),
            *((f"?{n}".lower(), v) for n, v in _asked(query)),
        )
        if _CREDENTIAL.search(name) and not _NO_CREDENTIAL.fullmatch(name)
    ]
    told = [(name, _less_the_way(value) if name == "cookie" else value) for name, value in told]
    told = sorted((name, value) for name, value in told if value.strip())
    return f"{NOBODY}{keyed(f'principal {json.dumps(told)}')}" if told else NOBODY


def _asked(query: bytes) -> list[tuple[str, str]]:
    return parse_qsl(query.decode("latin-1"), encoding="latin-1")


def _less_the_way(cookies: str) -> str:
    return ";".join(one for one in cookies.split(";") if not _OF_THE_WAY.match(one)).strip()
