"""Redaction of home folders, which have the user's name: `/home/ann/code` becomes `~/code`."""

from __future__ import annotations

import re
from typing import Final

from pagefault.guard.detect import Finding

_HOME: Final = re.compile(
    r"(?<![\w~.-])(?:/home|/Users|/var/home)/(?!(?:Shared|linuxbrew|runner)\b)[\w.@-]+(?=[/\\\s\"'`,;:)\]}>|]|\Z)"
    r"|(?<![A-Za-z0-9])[A-Za-z]:(?P<slash>\\{1,4}|/)Users(?P=slash)"
    r"(?!(?:Public|Default|All Users)\b)[\w.@-]+(?=[/\\\s\"'`,;:)\]}>|]|\Z)"
)


class HomePaths:
    """The layer that removes users' names from paths."""

    name: Final = "paths"

    def may_hold(self, text: str) -> bool:
        return "/home/" in text or "Users" in text

    def find(self, text: str) -> list[Finding]:
        return [Finding(*match.span(), "path", "~") for match in _HOME.finditer(text)]

    def open_from(self, text: str) -> int:
        """The start of the last word."""
        return max(text.rfind(space) + 1 for space in " \t\n")
