"""A token of one's own, without which the proxy serves nobody.

A client's key is the provider's and goes on to it; so the token has a header to itself, which is
never sent on. Compared in constant time, kept and shown nowhere.
"""

from __future__ import annotations

import hmac
import re
from typing import Final

from pagefault.model.errors import BadInput

TOKEN_HEADER: Final = "x-pagefault-token"  # never sent on
TOKEN_CHARS_MIN: Final = 16
_PLAIN: Final = re.compile(r"[!-~]+")  # what any client can put into a header

WANTED: Final = (
    f"this is a pagefault proxy that wants its own token, apart from the provider's key: send it "
    f"as the header {TOKEN_HEADER} (Claude Code takes headers from ANTHROPIC_CUSTOM_HEADERS, "
    f"Codex from http_headers, opencode from options.headers)"
)


def checked_token(token: str) -> str:
    """The token, if it can be one. Raises `BadInput`, which does not repeat it."""
    if len(token) < TOKEN_CHARS_MIN or not _PLAIN.fullmatch(token):
        raise BadInput(
            f"a proxy's token has at least {TOKEN_CHARS_MIN} characters, all ASCII and no spaces",
            hint="make one: python -c 'import secrets; print(secrets.token_urlsafe())'",
        )
    return token


def is_token(given: str, token: str) -> bool:
    """Whether they are the same, in a time that does not depend on where they differ."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())
