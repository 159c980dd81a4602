"""A maintained scanner as a layer: Kingfisher's rules for the keys of some hundred services.

It is an extra (`pip install 'pagefault[scanner]'`): docs/decisions/060-what-looks-like-a-secret.md
has the reasons. It runs in this process and makes no requests: the package can validate findings
over the network, but that is another class, which is not used here. Its compiled rules are cached
in the user's cache folder.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Final

from pagefault.guard.detect import Finding

PACKAGE: Final = "kingfisher_sdk"

_RUN: Final = re.compile(r"(?=[A-Za-z_/+.:-]*\d)[\w/+.:=~-]{16,}", re.ASCII)
"""Every rule needs a run of at least this length; few ordinary messages have one."""


def is_installed() -> bool:
    """Whether the scanner is installed. Imports nothing."""
    return find_spec(PACKAGE) is not None


class Kingfisher:
    """The scanner as a layer. Its rules are loaded with the first text that they may apply to."""

    name: Final = "kingfisher"

    def __init__(self, cache: Path | None) -> None:
        """`cache` is the folder for compiled rules; None compiles them in every process."""
        self._cache: Final = cache
        self._lock: Final = Lock()
        self._scanner: Any = None

    def may_hold(self, text: str) -> bool:
        return len(text) >= 16 and _RUN.search(text) is not None

    def find(self, text: str) -> list[Finding]:
        raw = text.encode("utf-8", "replace")  # a lone surrogate is one byte, as any "?" is
        found = []
        for one in self.load().scan(raw):
            where = one.location
            start, end = where["start_offset"], where["end_offset"]
            if len(raw) != len(text):
                start, end = (len(raw[:at].decode("utf-8", "replace")) for at in (start, end))
            rule = re.sub(
                r"[^\w.-]", "-", one.rule_id.rpartition("/")[2].partition(".")[2] or one.rule_id
            )
            found.append(Finding(start, end, rule))
        return found

    def open_from(self, text: str) -> int:
        """Its rules may span lines: nothing in an unfinished text is settled."""
        return 0

    def load(self) -> Any:
        """The scanner, created on first use: a second, or ten with an empty cache."""
        with self._lock:
            if self._scanner is None:
                from kingfisher_sdk import Rules, Scanner

                kept = self._cache is not None
                rules = Rules(cache=kept, cache_dir=str(self._cache) if kept else None)
                self._scanner = Scanner(rules)
            return self._scanner
