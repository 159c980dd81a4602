"""Who a client speaks for: nobody's conversations are seen under another principal.

A principal is the name that belongs to our own token, or the user that the proxy was declared for;
else all that a request authorises itself with, taken together. Some of it (an account, a project)
can be claimed by anybody, so it adds to a credential and never stands for one; and what is not
known to be a credential, but is called like one, is taken for one. That may part what belongs
together, and never joins what does not.

Invariant: nothing of a credential is kept, shown or told but a digest that is keyed with the
memory's secret.
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
    """The name of a principal, if it can be one. Raises `BadInput`."""
    if not _USER.fullmatch(name):
        raise BadInput(
            "a user of the proxy has a name of 1 to 32 ASCII letters, digits, '.', '_' and '-', "
            "which begins with a letter or a digit"
        )
    return name


def principal_of(headers: Headers, query: bytes, keyed: Callable[[str], str]) -> str:
    """The principal that a request's credentials stand for. `keyed` gives a digest under a secret.

    No user's name begins with what it begins with.
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
