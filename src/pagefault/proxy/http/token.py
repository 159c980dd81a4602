"""The proxy's own tokens, without which it serves nobody.

A client's key belongs to the provider and is passed on, so the token has a header of its own, which
is never sent on. Tokens are compared in constant time, stored nowhere and shown nowhere. If there
are several, each belongs to a user, for whom its sender speaks.
"""

from __future__ import annotations

import hmac
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pagefault.model.errors import BadInput
from pagefault.proxy.http.principal import checked_user

TOKEN_HEADER: Final = "x-pagefault-token"  # never sent on
TOKEN_CHARS_MIN: Final = 16
_PLAIN: Final = re.compile(r"[!-~]+")  # what any client can send in a header

WANTED: Final = (
    f"this is a pagefault proxy that wants its own token, apart from the provider's key: send it "
    f"as the header {TOKEN_HEADER} (Claude Code takes headers from ANTHROPIC_CUSTOM_HEADERS, "
    f"Codex from http_headers, opencode from options.headers)"
)


def checked_token(token: str) -> str:
    """The token, if it is valid. Raises `BadInput`, which does not repeat it."""
    if len(token) < TOKEN_CHARS_MIN or not _PLAIN.fullmatch(token):
        raise BadInput(
            f"a proxy's token has at least {TOKEN_CHARS_MIN} characters, all ASCII and no spaces",
            hint="make one: python -c 'import secrets; print(secrets.token_urlsafe())'",
        )
    return token


def is_token(given: str, token: str) -> bool:
    """Whether both are equal, in a time that does not depend on where they differ."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def user_of(given: str, tokens: Mapping[str, str]) -> str | None:
    """The user that a token belongs to, or None. Every token is compared, whichever it is."""
    found = [name for name, token in tokens.items() if is_token(given, token)]
    return found[0] if found else None


def read_tokens(path: Path) -> dict[str, str]:
    """The users of a file and their tokens: one line each, `NAME TOKEN`; `#` begins a comment.

    Raises `BadInput` for a file that others may read and for any other line; it repeats no token.
    """
    try:
        with path.open(encoding="utf-8") as file:
            if os.name == "posix" and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise BadInput(
                    f"other users can read {path}, and anyone with a token acts as its user",
                    hint=f"chmod 600 {path}",
                )
            lines = file.read(_FILE_CHARS_MAX).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {path}: {type(error).__name__}") from None
    tokens: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            if len(words) != 2:
                raise BadInput("it is no name and a token")
            name, token = checked_user(words[0]), checked_token(words[1])
        except BadInput as wrong:
            raise BadInput(f"line {number} of {path}: {wrong}", hint=wrong.hint) from None
        if name in tokens or token in tokens.values():
            raise BadInput(f"line {number} of {path}: its name, or its token, stands there twice")
        tokens[name] = token
    if not tokens:
        raise BadInput(f"{path} has no tokens", hint="one line each: NAME TOKEN")
    return tokens


_FILE_CHARS_MAX: Final = 1_000_000
